"""Steps 4 to 8 (b): the global bandwidth, and the normalised kernel as a sparse matrix."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._neighbors import Neighbors
from idm._validation import SMALLEST_BANDWIDTH, as_bandwidths
from idm._warnings import SILENT, Advice
from idm.exceptions import CoincidentPointsError, KernelCutWarning, NarrowKernelWarning, OutlierWarning

_Array: TypeAlias = NDArray[np.float64]

# The share of a point in its own kernel sum, in the median, beyond which eigenvalues of random points are a fifth too
# small or worse. Points whose nearest two neighbours are equally far, but for this factor, are those of a grid.
_MOST_OWN_SHARE, _GRID = 0.1, 0.98
# Points are far from all others if the mean square for them is so many times the median.
_FAR = 100


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The symmetric matrix Khat, with the sums D and Dh that normalised it, each (N,)."""

    matrix: _core.SparseMatrix
    D: _Array
    Dh: _Array

    def __len__(self) -> int:
        return len(self.D)

    def multiply(self, block: _Array, threads: int) -> _Array:
        """Khat times an (N, b) block."""
        return _core.multiply(self.matrix, block, threads)

    def chebyshev(self, block: _Array, low: float, high: float, degree: int, threads: int) -> _Array:
        """T(Khat) times an (N, b) block, for the Chebyshev polynomial T that is within [-1, 1] on [low, high]."""
        return _core.chebyshev(self.matrix, block, low, high, degree, threads)

    def part(self, rows: NDArray[np.intp], threads: int) -> "Kernel":
        """That of some points, in this order, without what connects them to others."""
        matrix = _core.submatrix(self.matrix, rows[:, np.newaxis], threads)
        return Kernel(matrix=matrix, D=self.D[rows], Dh=self.Dh[rows])

    def components(self) -> NDArray[np.intp]:
        """The connected component of each point, numbered from 0 by decreasing size.

        Entries below 1e-14 do not connect: the eigenvalues of the parts could not be told from 1.
        """
        n_components, labels = _core.connected_components(self.matrix, 1e-14)
        sizes = np.bincount(labels[:, 0], minlength=n_components)
        rank = np.empty(n_components, dtype=np.intp)
        rank[np.argsort(-sizes, kind="stable")] = np.arange(n_components)
        return rank[labels[:, 0]]


def n_near_of(n_neighbors_bandwidth: int, n_neighbors: int) -> int:
    """How many neighbours decide on bandwidths: at most a quarter, since the kernel must have decayed at the last."""
    return max(2, min(n_neighbors_bandwidth, n_neighbors // 4))


def global_bandwidth(
    distances: _Array, n_near: int, *, scaled: bool = False, least: float = SMALLEST_BANDWIDTH, advice: Advice = SILENT
) -> float:
    """The mean of squared distances over all points and their first `n_near`; above `least`, or points coincide.

    Of a point that is far from all others even by `scaled` distances, at most as much counts as makes it far.
    """
    squares = np.mean(distances[:, :n_near] ** 2, axis=1)
    if scaled and squares.any():
        typical = np.median(squares[squares > 0])
        far = np.flatnonzero(squares > _FAR * typical)
        if len(far):
            advice.warn(
                OutlierWarning,
                f"{len(far)} of {len(squares)} points are so far from all others (the first: row {advice.row(far[0])}) "
                "that they may take the first coordinates",
            )
        squares = np.minimum(squares, _FAR * typical)
    epsilon = float(np.mean(squares))
    if not epsilon > least:
        message = (
            f"no two points apart in {advice.what} (by more than {np.sqrt(least):.0e}) among the first {n_near} "
            "neighbours, at most a quarter of n_neighbors"
        )
        raise CoincidentPointsError(advice.with_remedy(CoincidentPointsError, message))
    typical = np.median(squares[squares > 0])
    if epsilon > _FAR * typical:
        far = np.flatnonzero(squares > _FAR * typical)
        advice.warn(
            OutlierWarning,
            f"the bandwidth epsilon = {epsilon:.3g} comes from {len(far)} of {len(squares)} points, far from all "
            f"others (the first: row {advice.row(far[0])}); half of the points would have {typical:.3g} or less",
        )
    return float(as_bandwidths(epsilon, "the mean of squared distances", n_rows=1)[0])


def warn_if_cut(distances: _Array, epsilon: float, advice: Advice) -> None:
    """Say so if the kernel has not decayed where the neighbours end, or reaches few, unless all points are neighbours.

    Two hundred points, evenly spaced in their order, tell how many it reaches. A grid, which has no gaps, needs few.
    """
    n, k = distances.shape
    at_the_cut = float(np.median(np.exp(-(distances[:, -1] ** 2) / (2 * epsilon))))
    if at_the_cut > 0.1 and k < n:
        advice.warn(
            KernelCutWarning,
            f"the kernel is still {at_the_cut:.2g} of its peak at the last of {k} neighbours, so that eigenvalues, "
            "dimension and density depend on where it is cut",
        )
    some = distances[:: max(1, n // 200)]
    own_share = float(np.median(1 / np.sum(np.exp(-(some**2) / (2 * epsilon)), axis=1)))
    has_gaps = float(np.median(some[:, 1] - _GRID * some[:, min(2, k - 1)])) < 0
    if own_share > _MOST_OWN_SHARE and has_gaps and k < n:
        advice.warn(
            NarrowKernelWarning,
            f"the kernel is narrow: at the bandwidth epsilon = {epsilon:.3g} it reaches so few others that half of the "
            f"points make up {own_share:.0%} or more of their own sum of weights; beyond 10 %, eigenvalues of random "
            "points are a fifth too small or worse",
        )


def normalized_kernel(neighbors: Neighbors, epsilon: float, alpha: float, threads: int, *, exact: bool) -> Kernel:
    """Khat of neighbours with any distances; `exact` if they are those that a search finds."""
    assemble = _core.nearest_kernel if exact else _core.symmetric_kernel
    matrix = assemble(*neighbors, epsilon, threads)
    D, Dh = np.ascontiguousarray(_core.normalize(matrix, alpha, threads).T)
    return Kernel(matrix=matrix, D=D, Dh=Dh)
