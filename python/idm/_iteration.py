"""One iteration of Algorithm 2: local geometry, metric, kernel, eigenpairs, coordinates; the same for new points."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._coordinates import Coordinates, diffusion_coordinates
from idm._extension import LEAST_SUPPORT, Reach
from idm._kernel import global_bandwidth
from idm._local_geometry import tuned_geometry
from idm._metric import FeaturePoints, Flow, metric_neighbors, metric_neighbors_of_queries, reverse_metric_neighbors
from idm._neighbors import Neighbors, check_squares
from idm._progress import Progress
from idm.exceptions import CoincidentPointsError

_Array: TypeAlias = NDArray[np.float64]

# Candidates per neighbour: the lengths of the flow choose among more points than they keep.
_POOL = 5 / 3
# "auto" diffusion time, in units of the mean squared length of the last neighbour: the map is isometric up to about
# the square root of the time, and the neighbours of the next iteration have to lie within.
_TIME = 0.25
# The bandwidth in units of the largest squared length is at least this: features of few values collapse to few points,
# whose distances are rounding errors then.
_LEAST_EPSILON = 1e-16
# Coordinates below this share of the largest are dropped.
_NEGLIGIBLE = 1e-3


class Settings(NamedTuple):
    """The parameters of `IteratedDiffusionMap` that an iteration needs, checked."""

    n_components: int
    n_neighbors: int
    n_neighbors_bandwidth: int
    flow: Flow
    feature_change: str
    bandwidth: str
    derivative: str
    regularization: float
    rescaling: str
    diffusion_time: float | None  # None: automatic
    n_bandwidths: int = 100


class Iteration(NamedTuple):
    """A fitted iteration: everything that takes new points through it."""

    settings: Settings
    data: FeaturePoints
    features: _Array
    bandwidth: _Array | None  # (N,), of the derivatives, if these are used
    local_dimension: _Array | None
    pool_size: int
    n_neighbors: int
    pool_reach: Reach
    reach: Reach
    coordinates: Coordinates  # the M' that matter
    diffusion_time: float
    eigenvalues: _Array  # (M,), of all coordinates
    embedding: _Array  # (N, M'), of the data


def fit_iteration(
    points: _Array, features: _Array, settings: Settings, threads: int, shown: Progress | None = None
) -> Iteration:
    """From the coordinates of one iteration to those of the next."""
    shown = Progress() if shown is None else shown
    shown.stage("neighbours")
    n = len(points)
    k = min(settings.n_neighbors, n)
    pool_size = min(n, int(np.ceil(_POOL * k)))
    pool = Neighbors(*_core.nearest_neighbors(points, None, pool_size, threads))
    check_squares(pool.distances, "X")
    bandwidth = dimension = None
    shown.stage("lengths")
    if settings.feature_change == "derivative":
        near = Neighbors(pool.indices[:, :k].copy(), pool.distances[:, :k].copy())
        geometry = tuned_geometry(points, near, settings.bandwidth, settings.n_bandwidths, threads)
        bandwidth, dimension = geometry.bandwidth, geometry.dimension
        derivatives, _ = _core.local_derivatives(
            points, features, points, features, *near, bandwidth.reshape(-1, 1), settings.derivative,
            settings.regularization, threads,
        )  # fmt: skip
        data = FeaturePoints(points, derivatives.reshape(n, -1), None)
    else:
        data = FeaturePoints(points, None, features)
    neighbors = metric_neighbors(data, pool, settings.flow, k, threads)
    reaches = Reach.of(pool), Reach.of(neighbors)
    del pool
    try:
        epsilon = global_bandwidth(neighbors.distances, settings.n_neighbors_bandwidth, quiet=True)
    except CoincidentPointsError:
        raise CoincidentPointsError(
            f"no two neighbours are apart by the lengths of the flow (tau={settings.flow.tau:g}): most rows have "
            "copies in X, or in y if tau is 1; remove them, raise n_neighbors, or lower tau"
        ) from None
    epsilon = max(epsilon, _LEAST_EPSILON * float(np.max(neighbors.distances)) ** 2)
    time = settings.diffusion_time
    if time is None:
        time = _TIME * float(np.mean(neighbors.distances[:, -1] ** 2)) / epsilon
    shown.stage("eigenpairs")
    coordinates = diffusion_coordinates(
        neighbors,
        epsilon,
        min(settings.n_components, n - 1),
        threads,
        alpha=1.0,
        diffusion_time=time,
        rescaling=settings.rescaling,
        n_near=settings.n_neighbors_bandwidth,
        eigen_solver="auto",
        exact=False,
    )
    embedding = coordinates.embedding(time)
    sizes = np.abs(embedding).max(axis=0)
    kept = sizes >= _NEGLIGIBLE * sizes.max()
    trimmed = coordinates._replace(
        xi=coordinates.xi[kept], functions=np.ascontiguousarray(coordinates.functions[:, kept])
    )
    return Iteration(
        settings,
        data,
        features,
        bandwidth,
        dimension,
        pool_size,
        k,
        *reaches,
        trimmed,
        time,
        coordinates.eigenvalues,
        np.ascontiguousarray(embedding[:, kept]),
    )


def extend_iteration(
    fitted: Iteration, queries: _Array, query_features: _Array, twins: NDArray[np.intp], threads: int
) -> tuple[_Array, NDArray[np.bool_]]:
    """The coordinates (Q, M') of new points after this iteration, and whether the data support them.

    `twins` (Q, 1) are the data points that the queries coincide with, or -1. These get the coordinates of the data to
    the bit, since the next iteration would take a rounding error for another point.
    """
    settings, points, coordinates = fitted.settings, fitted.data.points, fitted.coordinates
    pool = Neighbors(*_core.nearest_neighbors(points, queries, fitted.pool_size, threads))
    if fitted.bandwidth is None:
        bases = FeaturePoints(queries, None, query_features)
    else:
        bases = FeaturePoints(queries, _derivatives(fitted, queries, query_features, pool, twins, threads), None)
    found = metric_neighbors_of_queries(fitted.data, bases, pool, settings.flow, fitted.n_neighbors, threads)
    row_start, columns, lengths = reverse_metric_neighbors(
        fitted.data, fitted.pool_reach, fitted.reach, bases, twins, settings.flow, threads
    )
    values = coordinates.functions * coordinates.heat(fitted.diffusion_time, per_step=1)
    weights = coordinates.weights.reshape(-1, 1)
    extended, support = _core.extend(*found, row_start, columns, lengths, coordinates.epsilon, weights, values, threads)
    extended *= coordinates.scale[pool.indices[:, 0], np.newaxis]
    extended = np.where(twins >= 0, fitted.embedding[twins[:, 0]], extended)
    # Lengths that only count the feature are no distance from the data: nearer than the candidates reach, twice.
    within = pool.distances[:, 0] <= 2 * fitted.pool_reach.radii[pool.indices[:, 0], 0]
    return extended, within & (support[:, 0] >= LEAST_SUPPORT)


def _derivatives(
    fitted: Iteration,
    queries: _Array,
    query_features: _Array,
    pool: Neighbors,
    twins: NDArray[np.intp],
    threads: int,
) -> _Array:
    """DH at new points, with the bandwidth of the nearest data point; where they coincide with one, its own DH."""
    assert fitted.bandwidth is not None
    assert fitted.data.derivatives is not None
    near = Neighbors(pool.indices[:, : fitted.n_neighbors].copy(), pool.distances[:, : fitted.n_neighbors].copy())
    derivatives, _ = _core.local_derivatives(
        fitted.data.points, fitted.features, queries, query_features, *near, fitted.bandwidth[near.indices[:, :1]],
        fitted.settings.derivative, fitted.settings.regularization, threads,
    )  # fmt: skip
    return np.where(twins >= 0, fitted.data.derivatives[twins[:, 0]], derivatives.reshape(len(queries), -1))
