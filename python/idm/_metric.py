"""Step 3 of Algorithm 2: neighbours by lengths in the metric of the flow."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._extension import Reach
from idm._neighbors import Neighbors

_Array: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], _Array]


class FeaturePoints(NamedTuple):
    """Points (N, m) with what the change of the feature needs: derivatives (N, n m) or features (N, n), not both."""

    points: _Array
    derivatives: _Array | None
    features: _Array | None


class Flow(NamedTuple):
    """A step of the flow: lengths (1 - tau) |dx| + tau |dy|, or the same of squares with mixing="metric"."""

    tau: float
    mixing: str


def metric_neighbors(data: FeaturePoints, pool: Neighbors, flow: Flow, n_neighbors: int, threads: int) -> Neighbors:
    """The `n_neighbors` nearest of the pool of each point, by the lengths of the flow."""
    return Neighbors(*_core.metric_neighbors(*data, None, None, None, *pool, *flow, n_neighbors, threads))


def metric_neighbors_of_queries(
    data: FeaturePoints, queries: FeaturePoints, pool: Neighbors, flow: Flow, n_neighbors: int, threads: int
) -> Neighbors:
    """The same for new points, whose pool are their nearest data."""
    return Neighbors(*_core.metric_neighbors(*data, *queries, *pool, *flow, n_neighbors, threads))


def reverse_metric_neighbors(
    data: FeaturePoints,
    pool_reach: Reach,
    reach: Reach,
    queries: FeaturePoints,
    twins: NDArray[np.intp],
    flow: Flow,
    threads: int,
) -> Rows:
    """The data that would count each query among their neighbours, as compressed rows."""
    return _core.reverse_metric_neighbors(
        data.points, data.derivatives, data.features, *pool_reach, *reach,
        queries.points, queries.derivatives, queries.features, twins, *flow, threads,
    )  # fmt: skip
