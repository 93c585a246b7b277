"""One iteration of Algorithm 2, for the data and for new points, and the iterations in a row."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._batches import batches
from idm._coordinates import MapOptions, diffusion_coordinates
from idm._extension import FittedMap, extend, support_radii
from idm._local_derivatives import DerivativeMethod
from idm._local_geometry import Tuning, tuned_geometry
from idm._metric import Flow, metric_neighbors
from idm._neighbors import NeighborIndex, Neighbors
from idm._progress import Progress
from idm.exceptions import OutlierWarning

_Array: TypeAlias = NDArray[np.float64]

# Candidates per neighbour: the lengths of the flow choose among more points than they keep.
_POOL = 5 / 3
# Points coincide when the square root of the bandwidth is this share of the spread of the data, or less: half of the
# digits of a float64, so that whatever is below comes from rounding errors. Such a map has collapsed.
_COLLAPSED = 1e-8
# Coordinates with less than this share of the weight of the first are not computed.
_LEAST_WEIGHT = 1e-3
# Of eigenpairs: the error that it leaves in distances is below 1e-6 of the largest.
_TOLERANCE = 1e-8


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
    map: FittedMap
    features: _Array  # (N, n)
    bandwidth: _Array | None  # (N,), of the derivatives, if these are used
    local_dimension: _Array  # (N,), of Algorithm 1 if there are derivatives, else of the kernel
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
    neighbors = metric_neighbors(index.points, values, pool, flow, k, threads)
    shown.stage("eigenpairs")
    radii = neighbors.distances[:, -1:].copy()
    options = replace(settings.map, spread=_spread(index.points), least_weight=_LEAST_WEIGHT, tolerance=_TOLERANCE)
    coordinates = diffusion_coordinates(neighbors, options, threads, exact=False)
    embedding = coordinates.embedding
    return Iteration(
        settings=settings,
        map=FittedMap(
            index=index,
            flow=flow,
            values=values,
            pool_size=pool.indices.shape[1],
            n_neighbors=k,
            pool_radii=pool.distances[:, -1:].copy(),
            radii=radii,
            support=support_radii(pool, options.n_neighbors_bandwidth),
            coordinates=coordinates,
            embedding=embedding,
        ),
        features=features,
        bandwidth=bandwidth,
        local_dimension=coordinates.dimension if dimension is None else dimension,
        image=NeighborIndex(embedding),
    )


def _spread(points: _Array) -> float:
    """The largest range of a coordinate."""
    return float(np.ptp(points, axis=0).max())


class NewPoints:
    """New points on their way through the iterations: `advance` them by each in turn.

    `features` are what the flow needs of them. Each row's result depends on that row alone, to the bit. Rows that
    coincide with data of the first iteration have the coordinates of these to the bit: the next iteration would take a
    rounding error for another point.
    """

    def __init__(self, queries: _Array, features: _Array | None) -> None:
        self.coordinates = queries
        self.supported = np.ones(len(queries), dtype=np.bool_)
        self._features = features
        self._twins: NDArray[np.intp] | None = None  # in the data of the first iteration, or -1

    def advance(self, fitted: Iteration, threads: int) -> None:
        """Replace the coordinates by those after this iteration."""
        new = slice(None) if self._twins is None else np.flatnonzero(self._twins < 0)
        features = None if self._features is None else self._features[new]
        extended, nearest = extend_iteration(fitted, self.coordinates[new], features, threads)
        if self._twins is None:
            self._twins = nearest.twins()
            self.supported = fitted.map.near(nearest)
            new = np.flatnonzero(self._twins < 0)
            extended = extended[new]
        self.coordinates = fitted.map.embedding[self._twins]
        self.coordinates[new] = extended

    def through(self, iterations: list[Iteration], threads: int) -> "NewPoints":
        """These points, after all iterations."""
        for fitted in iterations:
            self.advance(fitted, threads)
        return self


def extend_iteration(
    fitted: Iteration, queries: _Array, features: _Array | None, threads: int
) -> tuple[_Array, Neighbors]:
    """The coordinates (Q, M') of new points with their features after this iteration; see `extend`."""
    values = features if fitted.bandwidth is None else _derivatives(fitted, queries, features, threads)
    assert values is not None
    return extend(fitted.map, queries, values, threads)


def _derivatives(fitted: Iteration, queries: _Array, features: _Array | None, threads: int) -> _Array:
    """DH (Q, n m) at new points, with the bandwidth of the nearest data point."""
    assert fitted.bandwidth is not None
    index, settings = fitted.map.index, fitted.settings
    result = np.empty((len(queries), fitted.map.values.shape[1]))
    for rows in batches(len(queries), fitted.map.n_neighbors):
        near = index.nearest(queries[rows], fitted.map.n_neighbors, threads)
        derivatives, _ = _core.local_derivatives(
            index.points, fitted.features, queries[rows], None if features is None else features[rows], *near,
            fitted.bandwidth[near.indices[:, :1]], settings.derivative, settings.regularization, threads,
        )  # fmt: skip
        result[rows] = derivatives.reshape(len(derivatives), -1)
    return result
