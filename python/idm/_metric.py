"""Step 3 of Algorithm 2: neighbours by lengths in the metric of the flow."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._neighbors import NeighborIndex, Neighbors, Reach

_Array: TypeAlias = NDArray[np.float64]
Mixing: TypeAlias = Literal["lengths", "metric"]
FeatureChange: TypeAlias = Literal["difference", "derivative"]
MIXINGS: tuple[Mixing, ...] = get_args(Mixing)
FEATURE_CHANGES: tuple[FeatureChange, ...] = get_args(FeatureChange)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A step of the flow: lengths (1 - tau) |dx| + tau |dy|, or the same of squares with mixing="metric".

    |dy| is the difference of features, or DH dx with the derivative of the point that the length starts from.
    """

    tau: float
    mixing: Mixing
    change: FeatureChange


@dataclass(frozen=True, kw_only=True)
class FeaturePoints:
    """Points (N, m) with what |dy| needs of them: features (N, n), or derivatives (N, n m)."""

    points: _Array
    values: _Array


def metric_neighbors(
    data: FeaturePoints,
    queries: FeaturePoints,
    twins: NDArray[np.intp],
    pool: Neighbors,
    flow: Flow,
    n_neighbors: int,
    threads: int,
) -> Neighbors:
    """The `n_neighbors` nearest data of each query by the lengths of the flow, out of the pool that it has."""
    found = _core.metric_neighbors(
        data.points, data.values, queries.points, queries.values, twins, pool.indices, pool.distances,
        tau=flow.tau, mixing=flow.mixing, change=flow.change, n_neighbors=n_neighbors, n_threads=threads,
    )  # fmt: skip
    return Neighbors(*found)


def reverse_metric_neighbors(
    index: NeighborIndex,
    values: _Array,
    pool_reach: Reach,
    reach: Reach,
    queries: FeaturePoints,
    twins: NDArray[np.intp],
    flow: Flow,
    threads: int,
) -> _core.SparseMatrix:
    """The data, with their values, that would count each query among their neighbours, as rows with their lengths."""
    return index.reverse_by_length(
        values,
        pool_radii=pool_reach.radii, pool_last=pool_reach.last, radii=reach.radii, last=reach.last,
        bases=queries.points, base_values=queries.values, twins=twins,
        tau=flow.tau, mixing=flow.mixing, change=flow.change, n_threads=threads,
    )  # fmt: skip
