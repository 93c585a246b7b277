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
from idm._stopping import DistanceChange
from idm.exceptions import OutlierWarning

_Array: TypeAlias = NDArray[np.float64]

# Candidates per neighbour: the lengths of the flow choose among more points than they keep.
_POOL = 5 / 3
# Points coincide when the square root of the bandwidth is this share, or less, of what it is for points that are evenly
# spread on a line: those with equal features are one point then, and what is left is noise.
_COLLAPSED = 0.001
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
    averaged: bool  # whether its points are the coordinates of the two iterations before, side by side
    bandwidth: _Array | None  # (N,), of the derivatives, if these are used
    local_dimension: _Array  # (N,), of Algorithm 1 if there are derivatives, else of the kernel
    image: NeighborIndex  # of the coordinates: where the next iteration starts


def iterate(
    index: NeighborIndex,
    pool: Neighbors,
    features: _Array,
    settings: Settings,
    change: DistanceChange,
    threads: int,
    shown: Progress,
) -> Iterator[Iteration]:
    """X -> Phi(x), with the same features, without end: points with their pool, then the coordinates of each map.

    Once the maps begin to cycle, each goes on from the mean of the last two: of their squared distances. Only the first
    iteration tells of outliers, which are then the user's rows.
    """
    before: _Array | None = None
    averaged = False
    while True:
        fitted = fit_iteration(
            index, pool, features, settings, threads, shown, averaged=averaged, may_collapse=before is not None
        )
        change.update(fitted.map.embedding)
        yield fitted
        index = fitted.image
        if before is not None and settings.flow.change == "difference":  # derivatives have no fixed point anyway
            averaged = averaged or change.turns_back
            index = NeighborIndex(side_by_side(fitted.map.embedding, before)) if averaged else index
        before = fitted.map.embedding
        shown.stage("neighbours")
        pool = index.nearest(None, settings.pool_size(len(index)), threads)
        remedies = {k: v for k, v in settings.map.advice.remedies.items() if k is not OutlierWarning}
        advice = replace(settings.map.advice, remedies=remedies)
        settings = replace(settings, map=replace(settings.map, advice=advice))


def fit_iteration(
    index: NeighborIndex,
    pool: Neighbors,
    features: _Array,
    settings: Settings,
    threads: int,
    shown: Progress,
    *,
    averaged: bool = False,
    may_collapse: bool = False,
) -> Iteration:
    """Steps 2 to 11: from points with their nearest (`pool_size` of them) to coordinates.

    If points with equal features are one point already, which data `may_collapse` to, they coincide: an error.
    """
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
    options = replace(settings.map, least_weight=_LEAST_WEIGHT, tolerance=_TOLERANCE)
    places = features if flow.change == "difference" and flow.tau > 0 else None  # of parts of the graph
    if may_collapse:
        # How far those are that decide on epsilon.
        evenly_spread = _spread(index.points if places is None else places) * k / (8 * n)
        options = replace(options, least_epsilon=max(options.least_epsilon, (_COLLAPSED * evenly_spread) ** 2))
    coordinates = diffusion_coordinates(neighbors, options, threads, exact=False, places=places)
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
        averaged=averaged,
        bandwidth=bandwidth,
        local_dimension=coordinates.dimension if dimension is None else dimension,
        image=NeighborIndex(embedding),
    )


def side_by_side(now: _Array, before: _Array) -> _Array:
    """Points whose squared distances are the means of those of two maps."""
    return np.hstack([now, before]) * math.sqrt(0.5)


def _spread(places: _Array) -> float:
    """The range of most points, or of all if most are in one place; of the widest column."""
    low, high = np.quantile(places, [0.05, 0.95], axis=0)
    return float(np.max(high - low)) or float(np.max(np.ptp(places, axis=0)))


class NewPoints:
    """New points on their way through the iterations: `advance` them by each in turn.

    `features` are what the flow needs of them. Each row's result depends on that row alone, to the bit. Rows that
    coincide with data of the first iteration have the coordinates of these to the bit: the next iteration would take a
    rounding error for another point.
    """

    def __init__(self, queries: _Array, features: _Array | None) -> None:
        self.coordinates = queries
        self._before = queries  # the coordinates before the last iteration
        self.supported = np.ones(len(queries), dtype=np.bool_)
        self._features = features
        self._twins: NDArray[np.intp] | None = None  # in the data of the first iteration, or -1

    def advance(self, fitted: Iteration, threads: int) -> None:
        """Replace the coordinates by those after this iteration."""
        new = slice(None) if self._twins is None else np.flatnonzero(self._twins < 0)
        features = None if self._features is None else self._features[new]
        points = side_by_side(self.coordinates, self._before) if fitted.averaged else self.coordinates
        extended, nearest = extend_iteration(fitted, points[new], features, threads)
        self._before = self.coordinates
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
