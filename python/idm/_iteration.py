"""One iteration of Algorithm 2, for the data and for new points, and the iterations in a row."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._coordinates import MapOptions, diffusion_coordinates
from idm._extension import FittedMap, FlowMetric, batches, extend
from idm._local_derivatives import DerivativeMethod
from idm._local_geometry import Tuning, tuned_geometry
from idm._metric import FeaturePoints, Flow, metric_neighbors
from idm._neighbors import NeighborIndex, Neighbors, Reach
from idm._progress import Progress
from idm.exceptions import OutlierWarning

_Array: TypeAlias = NDArray[np.float64]

# Candidates per neighbour: the lengths of the flow choose among more points than they keep.
_POOL = 5 / 3
# Points coincide when the square root of the bandwidth is this share of the spread of the data, or less: half of the
# digits of a float64, so that whatever is below comes from rounding errors. Such a map has collapsed.
_COLLAPSED = 1e-8
# Coordinates below this share of the largest are dropped.
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The parameters of an iteration, checked."""

    n_neighbors: int
    flow: Flow
    map: MapOptions
    bandwidth: Tuning
    derivative: DerivativeMethod
    regularization: float
    n_bandwidths: int = 100

    def pool_size(self, n: int) -> int:
        """The candidates for the neighbours of each of n points."""
        return min(n, math.ceil(_POOL * min(self.n_neighbors, n)))

    @property
    def needs_features(self) -> bool:
        """Whether the features of new points are needed: affine derivatives do without."""
        return self.flow.change == "difference" or self.derivative != "affine"


@dataclass(frozen=True, kw_only=True)
class Iteration:
    """A fitted iteration: everything that takes new points through it."""

    settings: Settings
    map: FittedMap  # of the coordinates that matter
    features: _Array  # (N, n)
    bandwidth: _Array | None  # (N,), of the derivatives, if these are used
    local_dimension: _Array  # (N,), of Algorithm 1 if there are derivatives, else of the kernel
    eigenvalues: _Array  # (M,), of all coordinates
    image: NeighborIndex  # of the coordinates: where the next iteration starts


def iterate(
    index: NeighborIndex, pool: Neighbors, features: _Array, settings: Settings, threads: int, shown: Progress
) -> Iterator[Iteration]:
    """X -> Phi(x), with the same features, without end: points with their pool, then the coordinates of each map.

    Only the first iteration tells of outliers, which are then the user's rows.
    """
    while True:
        fitted = fit_iteration(index, pool, features, settings, threads, shown)
        yield fitted
        index = fitted.image
        shown.stage("neighbours")
        pool = index.nearest(None, settings.pool_size(len(index)), threads)
        remedies = {k: v for k, v in settings.map.advice.remedies.items() if k is not OutlierWarning}
        least_epsilon = (_COLLAPSED * _spread(index.points)) ** 2
        advice = replace(settings.map.advice, remedies=remedies)
        settings = replace(settings, map=replace(settings.map, advice=advice, least_epsilon=least_epsilon))


def fit_iteration(
    index: NeighborIndex, pool: Neighbors, features: _Array, settings: Settings, threads: int, shown: Progress
) -> Iteration:
    """Steps 2 to 11: from points with their nearest (`pool_size` of them) to coordinates."""
    n, flow = len(index), settings.flow
    k = min(settings.n_neighbors, n)
    bandwidth = dimension = None
    values = features
    shown.stage("lengths")
    if flow.change == "derivative":
        near = pool.first(k)
        geometry = tuned_geometry(index.points, near, settings.bandwidth, settings.n_bandwidths, threads)
        bandwidth, dimension = geometry.bandwidth, geometry.dimension
        derivatives, _ = _core.local_derivatives(
            index.points, features, index.points, features, *near, bandwidth.reshape(-1, 1), settings.derivative,
            settings.regularization, threads,
        )  # fmt: skip
        values = derivatives.reshape(n, -1)
    data = FeaturePoints(points=index.points, values=values)
    selves = np.arange(n).reshape(-1, 1)
    neighbors = metric_neighbors(data, data, selves, pool, flow, k, threads)
    pool_reach, reach = Reach.of(pool), Reach.of(neighbors)
    shown.stage("eigenpairs")
    options = replace(settings.map, spread=_spread(index.points))
    coordinates = diffusion_coordinates(neighbors, options, threads, exact=False)
    kept = coordinates.of_size(_NEGLIGIBLE)
    embedding = kept.embedding
    return Iteration(
        settings=settings,
        map=FittedMap(
            index=index,
            metric=FlowMetric(flow=flow, values=values, pool_reach=pool_reach),
            pool_size=settings.pool_size(n),
            n_neighbors=k,
            reach=reach,
            coordinates=kept,
            embedding=embedding,
        ),
        features=features,
        bandwidth=bandwidth,
        local_dimension=kept.dimension if dimension is None else dimension,
        eigenvalues=coordinates.eigenvalues,
        image=NeighborIndex(embedding),
    )


def _spread(points: _Array) -> float:
    """The largest range of a coordinate."""
    return float(np.ptp(points, axis=0).max())


def extend_iteration(
    fitted: Iteration, queries: _Array, features: _Array | None, pool: Neighbors, twins: NDArray[np.intp], threads: int
) -> tuple[_Array, NDArray[np.bool_]]:
    """The coordinates (Q, M') of new points with their pool and features after this iteration; see `extend`."""
    values = features if fitted.bandwidth is None else _derivatives(fitted, queries, features, pool, twins, threads)
    return extend(fitted.map, queries, values, pool, twins, threads)


class NewPoints:
    """New points on their way through the iterations: `advance` them by each in turn.

    `features` are what the flow needs of them. Each row's result depends on that row alone, to the bit.
    """

    def __init__(self, queries: _Array, features: _Array | None) -> None:
        self.coordinates = queries
        self.supported = np.ones(len(queries), dtype=np.bool_)
        self._features = features
        self._twins: NDArray[np.intp] | None = None  # in the data of the first iteration

    def advance(self, fitted: Iteration, threads: int) -> None:
        """Replace the coordinates by those after this iteration."""
        n, first = len(self.coordinates), self._twins is None
        twins = np.empty((n, 1), dtype=np.intp) if self._twins is None else self._twins
        result = np.empty((n, fitted.map.embedding.shape[1]))
        for rows in batches(n, len(fitted.map.index)):
            pool = fitted.map.pool(self.coordinates[rows], threads)
            if first:
                twins[rows] = pool.twins()
            features = None if self._features is None else self._features[rows]
            result[rows], supported = extend_iteration(
                fitted, self.coordinates[rows], features, pool, twins[rows], threads
            )
            self.supported[rows] &= supported
        self.coordinates, self._twins = result, twins


def _derivatives(
    fitted: Iteration, queries: _Array, features: _Array | None, pool: Neighbors, twins: NDArray[np.intp], threads: int
) -> _Array:
    """DH at new points, with the bandwidth of the nearest data point; where they coincide with one, its own DH."""
    assert fitted.bandwidth is not None
    assert fitted.map.metric is not None
    near = pool.first(fitted.map.n_neighbors)
    derivatives, _ = _core.local_derivatives(
        fitted.map.index.points, fitted.features, queries, features, *near, fitted.bandwidth[near.indices[:, :1]],
        fitted.settings.derivative, fitted.settings.regularization, threads,
    )  # fmt: skip
    return np.where(twins >= 0, fitted.map.metric.values[twins[:, 0]], derivatives.reshape(len(queries), -1))
