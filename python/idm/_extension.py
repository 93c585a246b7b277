"""A fitted diffusion map, plain or of the flow, and its extension to new points (section 7 of the method)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._coordinates import Coordinates
from idm._metric import FeaturePoints, Flow, metric_neighbors, reverse_metric_neighbors
from idm._neighbors import NeighborIndex, Neighbors, Reach
from idm._warnings import warn
from idm.exceptions import ExtrapolationWarning

_Array: TypeAlias = NDArray[np.float64]

# Pairs of new points and data that are handled at a time, at most, to bound the memory: each row's result depends on
# that row alone.
_MOST_PAIRS = 50_000_000
# A training point has a kernel sum of at least 1, of its own; below this sum a point is beyond the data.
_LEAST_SUPPORT = 1e-6


@dataclass(frozen=True, kw_only=True)
class FlowMetric:
    """What makes a map one of the flow: its lengths choose the neighbours out of a pool."""

    flow: Flow
    values: _Array  # of the data: features, or derivatives
    pool_reach: Reach


@dataclass(frozen=True, kw_only=True)
class FittedMap:
    """A diffusion map of data and everything that takes new points through it."""

    index: NeighborIndex
    metric: FlowMetric | None  # None: neighbours are the nearest points
    pool_size: int  # the candidates for the neighbours of new points: the neighbours themselves, if there is no metric
    n_neighbors: int
    reach: Reach
    coordinates: Coordinates
    embedding: _Array  # (N, M), of the data

    def pool(self, queries: _Array, threads: int) -> Neighbors:
        """The nearest data of new points, which `extend` starts from."""
        return self.index.nearest(queries, self.pool_size, threads)

    def near(self, nearest: Neighbors) -> NDArray[np.bool_]:
        """Whether new points with these nearest data are nearer to the first than twice its candidates reach."""
        reach = self.reach if self.metric is None else self.metric.pool_reach
        near: NDArray[np.bool_] = nearest.distances[:, 0] <= 2 * reach.radii[nearest.indices[:, 0], 0]
        return near


def extend(
    fitted: FittedMap,
    queries: _Array,
    values: _Array | None,
    pool: Neighbors,
    twins: NDArray[np.intp],
    threads: int,
) -> tuple[_Array, NDArray[np.bool_]]:
    """The coordinates (Q, M) of new points with their pool, and whether the data support them (Q,).

    Phi_r(x) = scale xi_r^(2 s / eps - 1) sum_j P(x, j) phi_r(x_j), with P the rows of the kernel as it was symmetrised
    in training, and the scale that of the nearest data. `values` are those of the flow at the new points. `twins`
    (Q, 1) are the data that they coincide with, or -1: these get the coordinates of the data to the bit, since a next
    iteration would take a rounding error for another point.
    """
    coordinates, metric = fitted.coordinates, fitted.metric
    if metric is None or values is None:
        neighbors, reverse = pool, fitted.index.reverse(queries, fitted.reach, twins, threads)
    else:
        data = FeaturePoints(points=fitted.index.points, values=metric.values)
        bases = FeaturePoints(points=queries, values=values)
        neighbors = metric_neighbors(data, bases, twins, pool, metric.flow, fitted.n_neighbors, threads)
        reverse = reverse_metric_neighbors(
            fitted.index, metric.values, metric.pool_reach, fitted.reach, bases, twins, metric.flow, threads
        )
    weights = coordinates.weights.reshape(-1, 1)
    extended, support = _core.extend(*neighbors, reverse, coordinates.epsilon, weights, coordinates.extension, threads)
    extended *= coordinates.scale[pool.indices[:, 0], np.newaxis]
    extended = np.where(twins >= 0, fitted.embedding[twins[:, 0]], extended)
    supported = support[:, 0] >= _LEAST_SUPPORT
    if metric is not None:
        supported &= fitted.near(pool)  # lengths that only count the feature are no distance from the data
    return extended, supported


def extend_rows(fitted: FittedMap, queries: _Array, threads: int) -> tuple[_Array, NDArray[np.bool_]]:
    """`extend` of a plain map for any number of new points."""
    result = np.empty((len(queries), fitted.embedding.shape[1]))
    supported = np.empty(len(queries), dtype=np.bool_)
    for rows in batches(len(queries), len(fitted.index)):
        pool = fitted.pool(queries[rows], threads)
        result[rows], supported[rows] = extend(fitted, queries[rows], None, pool, pool.twins(), threads)
    return result, supported


def batches(n_rows: int, n_data: int) -> Iterator[slice]:
    """Slices of all rows that bound the memory of what is done with them."""
    size = min(8192, max(64, _MOST_PAIRS // n_data))
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))


def warn_unsupported(supported: NDArray[np.bool_]) -> None:
    """Say which rows the data do not support."""
    n_far = np.count_nonzero(~supported)
    if n_far:
        warn(
            f"{n_far} of {len(supported)} rows of X (the first: row {supported.argmin()}) are far from all training "
            "data in units of the bandwidth, and what is computed for them says little; supported(X) tells which rows "
            "these are",
            ExtrapolationWarning,
        )
