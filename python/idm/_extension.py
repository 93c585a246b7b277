"""The diffusion map at new points (section 7 of the method)."""

import warnings
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._coordinates import Coordinates
from idm._neighbors import Neighbors, check_squares
from idm.exceptions import ExtrapolationWarning

_Array: TypeAlias = NDArray[np.float64]

# Pairs of new points and data that are handled at a time, at most, to bound the memory: each row's result depends on
# that row alone.
_MOST_PAIRS = 50_000_000
# A training point has a kernel sum of at least 1, of its own; below this sum a point is beyond the data.
LEAST_SUPPORT = 1e-6


class Reach(NamedTuple):
    """How far each training point counts others among its neighbours; both (N, 1)."""

    radii: _Array
    last: NDArray[np.intp]

    @classmethod
    def of(cls, neighbors: Neighbors) -> "Reach":
        """The distance and the index of the last neighbour of each point."""
        return cls(neighbors.distances[:, -1:].copy(), neighbors.indices[:, -1:].copy())


def extend(
    points: _Array,
    reach: Reach,
    n_neighbors: int,
    coordinates: Coordinates,
    diffusion_time: float,
    queries: _Array,
    threads: int,
) -> tuple[_Array, NDArray[np.bool_]]:
    """The coordinates (Q, M) of new points, and whether the data support them (Q,).

    Phi_r(x) = scale xi_r^(2 s / eps - 1) sum_j P(x, j) phi_r(x_j), with P the rows of the kernel as it was symmetrised
    in training: for a training point this is its own coordinate. The scale is that of the nearest training point.
    """
    values = coordinates.functions * coordinates.heat(diffusion_time, per_step=1)
    weights = coordinates.weights.reshape(-1, 1)
    result = np.empty((len(queries), values.shape[1]))
    supported = np.empty(len(queries), dtype=np.bool_)
    for rows in batches(len(queries), len(points)):
        batch = queries[rows]
        found = Neighbors(*_core.nearest_neighbors(points, batch, n_neighbors, threads))
        check_squares(found.distances, "X")
        # A row that coincides with a training point is that point where ties are broken.
        twins = np.where(found.distances[:, :1] == 0, found.indices[:, :1], -1)
        row_start, columns, distances = _core.reverse_neighbors(points, *reach, batch, twins, threads)
        extended, support = _core.extend(
            *found, row_start, columns, distances, coordinates.epsilon, weights, values, threads
        )
        result[rows] = extended * coordinates.scale[found.indices[:, 0], np.newaxis]
        supported[rows] = support[:, 0] >= LEAST_SUPPORT
    return result, supported


def of_first_copies(values: _Array, points: _Array, neighbors: Neighbors, threads: int) -> _Array:
    """`values` with a row per point, in which copies of a point get that of the first of them.

    They differ where the last neighbours of a point are copies of each other and only some of them count, but new
    points cannot tell which copy they are.
    """
    if neighbors.distances.shape[1] < 2 or neighbors.distances[:, 1].all():
        return values
    first, _ = _core.nearest_neighbors(points, points, 1, threads)
    return np.ascontiguousarray(values[first[:, 0]])


def batches(n_rows: int, n_data: int) -> Iterator[slice]:
    """Slices of all rows that bound the memory of what is done with them."""
    size = min(8192, max(64, _MOST_PAIRS // n_data))
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))


def warn_unsupported(supported: NDArray[np.bool_]) -> None:
    """Say which rows the data do not support."""
    n_far = np.count_nonzero(~supported)
    if n_far:
        warnings.warn(
            f"{n_far} of {len(supported)} rows of X (the first: row {supported.argmin()}) are far from all training "
            "data in units of the bandwidth, and what is computed for them says little; supported(X) tells which rows "
            "these are",
            ExtrapolationWarning,
            stacklevel=3,
        )
