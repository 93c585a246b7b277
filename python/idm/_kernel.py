"""Steps 4 to 8 (b): the global bandwidth, and the normalised kernel as a sparse matrix."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._neighbors import Neighbors
from idm._validation import SMALLEST_BANDWIDTH, as_bandwidths
from idm.exceptions import CoincidentPointsError, KernelCutWarning, OutlierWarning


class Kernel(NamedTuple):
    """The symmetric matrix Khat as compressed rows, with the sums D and Dh that normalised it, each (N,)."""

    row_start: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    D: NDArray[np.float64]
    Dh: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.row_start) - 1

    def multiply(self, block: NDArray[np.float64], threads: int) -> NDArray[np.float64]:
        """Khat times an (N, b) block."""
        product = np.empty_like(block)
        _core.multiply(self.row_start, self.columns, self.values, block, product, threads)
        return product

    def components(self) -> NDArray[np.intp]:
        """The connected component of each point, numbered from 0 by decreasing size.

        Entries below 1e-14 do not connect: the eigenvalues of the parts could not be told from 1.
        """
        n_components, labels = _core.connected_components(self.row_start, self.columns, self.values, 1e-14)
        sizes = np.bincount(labels[:, 0], minlength=n_components)
        rank = np.empty(n_components, dtype=np.intp)
        rank[np.argsort(-sizes, kind="stable")] = np.arange(n_components)
        return rank[labels[:, 0]]


def global_bandwidth(
    distances: NDArray[np.float64],
    n_neighbors_bandwidth: int,
    *,
    rows: NDArray[np.intp] | None = None,
    quiet: bool = False,
) -> float:
    """The mean of squared distances over all points and their first neighbours.

    At most a quarter of the neighbours are used: the kernel must have decayed where the neighbours end. `rows` are the
    numbers by which the user knows the points, if they are not all; `quiet` leaves out the warning of outliers.
    """
    k = max(2, min(n_neighbors_bandwidth, distances.shape[1] // 4))
    squares = np.mean(distances[:, :k] ** 2, axis=1)
    epsilon = float(np.mean(squares))
    if not epsilon > SMALLEST_BANDWIDTH:
        raise CoincidentPointsError(
            f"X has no two points apart (by 1e-145 or more) among {k} neighbours (at most a quarter of n_neighbors); "
            "remove duplicates, raise n_neighbors, set epsilon, or rescale X"
        )
    typical = np.median(squares[squares > 0])
    if epsilon > 100 * typical and not quiet:
        far = np.flatnonzero(squares > 100 * typical)
        far = far if rows is None else rows[far]
        warnings.warn(
            f"epsilon = {epsilon:.3g} comes from {len(far)} points far from all others (the first: row {far[0]}); half "
            f"of the points would have {typical:.3g} or less. Remove those points, or set epsilon",
            OutlierWarning,
            stacklevel=4,
        )
    return float(as_bandwidths(epsilon, "the mean of squared distances", n_rows=1)[0])


def warn_if_cut(distances: NDArray[np.float64], epsilon: float, n_rows: int) -> None:
    """Say so if the kernel has not decayed where the neighbours end, unless all points are neighbours."""
    at_the_cut = float(np.median(np.exp(-(distances[:, -1] ** 2) / (2 * epsilon))))
    if at_the_cut > 0.1 and distances.shape[1] < n_rows:
        warnings.warn(
            f"the kernel is still {at_the_cut:.2g} of its peak at the last of {distances.shape[1]} neighbours, so that "
            "eigenvalues, dimension and density depend on where it is cut; raise n_neighbors, or lower "
            "n_neighbors_bandwidth or epsilon",
            KernelCutWarning,
            stacklevel=3,
        )


def normalized_kernel(neighbors: Neighbors, epsilon: float, alpha: float, exact: bool, threads: int) -> Kernel:
    """Khat of neighbours with any distances; `exact` if they are those that `nearest_neighbors` finds."""
    row_start, columns, values = _core.symmetric_kernel(*neighbors, epsilon, exact, threads)
    sums = _core.normalize(row_start, columns, values, alpha, threads)
    return Kernel(row_start, columns, values, *np.ascontiguousarray(sums.T))
