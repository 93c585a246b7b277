"""The iterated diffusion map as an estimator (Algorithm 2, sections 4.1 to 4.3)."""

import time
import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from idm import _core
from idm._coordinates import Rescaling
from idm._extension import batches, of_first_copies, warn_unsupported
from idm._feature_estimate import FeatureEstimate, estimate_feature
from idm._feature_map import feature_map
from idm._iteration import Iteration, Settings, extend_iteration, fit_iteration
from idm._kernel import global_bandwidth
from idm._local_geometry import Tuning, tuned_geometry
from idm._metric import Flow
from idm._neighbors import Neighbors, check_squares
from idm._progress import progress
from idm._threads import n_threads
from idm._validation import as_choice, as_integer, as_real, estimator_data, estimator_points
from idm.exceptions import CoincidentPointsError, ConstantFeatureWarning, EigenpairError

_Array: TypeAlias = NDArray[np.float64]

# One in so many rows are the neighbours that a held-out row is predicted from.
_NEIGHBORS_SHARE = 20

# Of section 4.3; the paper does not state the number of points or of neighbours.
_PAPER_TAU = {
    "annulus-radius": 0.65,
    "annulus-angle": 0.3,
    "torus-phi": 0.4,
    "torus-theta": 0.65,
    "sphere-x": 0.7,
    "sphere-twist": 0.6,
}


class IterationRecord(NamedTuple):
    """What an iteration came to; arrays per point are of the rows that were not held out, except `embedding`."""

    iteration: int
    epsilon: float
    diffusion_time: float
    eigenvalues: _Array  # (M,), of the Laplacian in the metric of the flow
    local_dimension: _Array
    density: _Array
    embedding: _Array  # (N, M'), of all rows of X
    n_coordinates: int  # M', those that matter
    validation_score: float | None  # R^2 of the feature at rows that were held out, from neighbours in the embedding
    seconds: float


class IteratedDiffusionMap(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    RegressorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Bend the geometry of data until points with equal features are neighbours, and map new points along.

    Each iteration measures lengths that mix those of the data with the change of the feature, makes a diffusion map
    with them, and goes on with its coordinates: directions that the feature does not depend on shrink by
    1 - tau. The lengths of X and y are compared as they are, so both should be in units that make them similar.

    Parameters
    ----------
    n_components : int
        M, the coordinates that each iteration computes; N - 1, if that is less. Those below 1e-3 of the largest are
        dropped.
    tau : float
        The step of the flow, from 0 (nothing happens) to 1 (only the feature counts).
    max_iter : int
        The most iterations.
    n_neighbors : int
        k, the neighbours of a point with itself, chosen by the lengths of the flow out of 5 k / 3 that are nearest in
        the coordinates; N, if that is less.
    n_neighbors_bandwidth : int
        The neighbours that decide on the bandwidth of the kernel, the mean of their squared lengths.
    feature_change : {"difference", "derivative"}
        How the change of the feature between two points is found: from their features, or as DH dx with the estimated
        derivative DH of the feature map, as in the paper. Differences keep the iteration stable (see
        docs/mathematics.md); new points get an estimate of their feature by local affine regression.
    bandwidth : {"d1", "svd"}
        How the bandwidth of local regressions is tuned (see `local_geometry`).
    derivative : {"affine", "regression", "correlation"}
        How DH is estimated with feature_change="derivative" (see `local_derivatives`). At new points "regression" and
        "correlation" start from an estimate of the feature there.
    regularization : float
        gamma, the ridge of local regressions in units of the bandwidth.
    mixing : {"lengths", "metric"}
        (1 - tau) |dx| + tau |dy|, or the same with squares.
    rescaling : {"isometric", "global", "local"}
        How the coordinates are scaled (see `DiffusionMap`).
    diffusion_time : "auto" or float
        s in units of epsilon. "auto" is a quarter of the mean squared length of the k-th neighbour, so that the map is
        isometric over the neighbourhoods that the next iteration uses.
    early_stopping : bool
        Hold out some rows, stop when the feature is predicted no better there, and keep the best iteration. The rows
        that are held out take no part in the fit of the iterations. False runs `max_iter` iterations on all rows.
    validation_fraction : float
        The share of the rows that is held out.
    n_iter_no_change : int
        Iterations without improvement after which the fit stops.
    tol : float
        The least increase of the score (R^2) that counts as improvement.
    callback : callable, optional
        Called with the `IterationRecord` of each iteration; the fit stops if it returns True.
    random_state : int, RandomState or None
        Decides which rows are held out.
    n_jobs : int, optional
        Threads; None follows OMP_NUM_THREADS and threadpoolctl. The result is the same to the bit for all of them.
    verbose : int
        1 shows a progress bar if tqdm is installed, and else logs to the logger "idm".

    Attributes
    ----------
    embedding_ : array of shape (N, M')
        The coordinates of all rows of X, after the iteration that was kept.
    n_iter_ : int
        The iteration that was kept.
    iterations_ : list of IterationRecord
        All iterations that were run.
    feature_map_ : array of shape (M', up to 10)
        The linear map H of section 4.2, from the coordinates (less their means) to the rescaled diffusion coordinates
        of y.
    feature_map_residual_ : float
        What H leaves of these coordinates: root mean square, relative.
    n_features_in_ : int
        m, the number of columns of X.

    Examples
    --------
    >>> import idm
    >>> X, _, y = idm.datasets.make_annulus(500, feature="radius", random_state=0)
    >>> model = idm.IteratedDiffusionMap(random_state=0).fit(X, y)
    >>> Xnew, _, ynew = idm.datasets.make_annulus(100, feature="radius", random_state=1)
    >>> bool(model.score(Xnew, ynew) > 0.99)
    True

    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        tau: float = 0.8,
        max_iter: int = 8,
        n_neighbors: int = 300,
        n_neighbors_bandwidth: int = 32,
        feature_change: Literal["difference", "derivative"] = "difference",
        bandwidth: Tuning = "d1",
        derivative: Literal["affine", "regression", "correlation"] = "affine",
        regularization: float = 0.05,
        mixing: Literal["lengths", "metric"] = "lengths",
        rescaling: Rescaling = "isometric",
        diffusion_time: Literal["auto"] | float = "auto",
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 1,
        tol: float = 0.0,
        callback: Callable[[IterationRecord], bool | None] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.max_iter = max_iter
        self.n_neighbors = n_neighbors
        self.n_neighbors_bandwidth = n_neighbors_bandwidth
        self.feature_change = feature_change
        self.bandwidth = bandwidth
        self.derivative = derivative
        self.regularization = regularization
        self.mixing = mixing
        self.rescaling = rescaling
        self.diffusion_time = diffusion_time
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def from_paper(cls, example: str) -> "IteratedDiffusionMap":
        """The settings of an example of section 4.3.

        `example` is "annulus-radius", "annulus-angle", "torus-phi", "torus-theta", "sphere-x" or "sphere-twist". Four
        iterations with 250 coordinates, derivatives, local dimensions and s = 10 epsilon, as printed but for the
        errors that docs/mathematics.md lists.
        """
        chosen = as_choice(example, "example", tuple(_PAPER_TAU))
        return cls(
            250,
            tau=_PAPER_TAU[chosen],
            max_iter=4,
            feature_change="derivative",
            rescaling="local",
            diffusion_time=10.0,
            early_stopping=False,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> "IteratedDiffusionMap":
        """Fit the map to points X (N, m) and their features y, (N,) or (N, n)."""
        points, given = estimator_data(self, X, y)
        features = given.reshape(len(points), -1)
        settings = self._checked_settings()
        max_iter = as_integer(self.max_iter, "max_iter", low=1)
        patience = as_integer(self.n_iter_no_change, "n_iter_no_change", low=1)
        tol = as_real(self.tol, "tol", low=0)
        threads = n_threads(self.n_jobs)
        if not np.ptp(features, axis=0).any():
            warnings.warn(
                "y is constant: there is no feature to find, and the map is a plain diffusion map that shrinks",
                ConstantFeatureWarning,
                stacklevel=2,
            )
        train, held_out = self._split(len(points))
        X_train, y_train = points[train], features[train]

        nearest = _neighbors(X_train, settings, threads)
        global_bandwidth(nearest.distances, settings.n_neighbors_bandwidth, rows=train)  # for its warning
        estimate = _feature_estimate(X_train, y_train, nearest, settings, threads)
        records: list[IterationRecord] = []
        iterations: list[Iteration] = []
        new = points[held_out]
        new_features, twins = _features_at(estimate, new, threads)
        best, best_score = 0, -np.inf
        current = X_train
        with progress(max_iter, self.verbose) as shown:
            for number in range(1, max_iter + 1):
                start = time.perf_counter()
                try:
                    fitted = fit_iteration(current, y_train, settings, threads, shown)
                except (CoincidentPointsError, EigenpairError):
                    if number == 1:
                        raise
                    break  # points of equal features coincide: there is nothing left to do
                current = fitted.embedding
                score = None
                if len(held_out):
                    shown.stage("held-out rows")
                    new, _ = extend_iteration(fitted, new, new_features, twins, threads)
                    score = _held_out_score(current, y_train, new, features[held_out])
                iterations.append(fitted)
                embedding = np.empty((len(points), current.shape[1]))
                embedding[train] = of_first_copies(current, X_train, nearest, threads)
                if len(held_out):
                    embedding[held_out] = new
                record = _record(number, fitted, embedding, score, time.perf_counter() - start)
                records.append(record)
                shown.done(record)
                if score is None or score > best_score + tol:
                    best, best_score = number, best_score if score is None else score
                stopped = self.callback is not None and bool(self.callback(record))
                if stopped or number - best >= patience:
                    break
        kept = records[best - 1].embedding
        regression = _regression(kept, features)
        self.feature_map_, self.feature_map_residual_ = feature_map(kept, features, threads)
        self._estimate, self._iterations, self._regression = estimate, iterations[:best], regression
        self._one_feature = given.ndim == 1
        self.iterations_, self.n_iter_ = records, best
        self.embedding_, self._n_features_out = kept, kept.shape[1]
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> _Array:
        """Fit the map and return the coordinates of the rows of X."""
        return self.fit(X, y).embedding_

    def transform(self, X: ArrayLike) -> _Array:
        """The coordinates (rows, M') of new points, through all iterations; those of a training row are its own.

        Each row's result depends on that row alone, to the bit. Rows far from all training data get an
        `ExtrapolationWarning`; `supported` tells which they are.
        """
        extended, supported = self._extend(X)
        warn_unsupported(supported)
        return extended

    def supported(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which rows of X are near enough to the training data for `transform` to say something: (rows,)."""
        return self._extend(X)[1]

    def predict(self, X: ArrayLike) -> _Array:
        """The features of new points, by linear regression on their coordinates.

        Training rows take part with their own features, so that `score` says something of new rows only. Results agree
        to rounding, not to the bit, however many rows are given at once.
        """
        predicted: _Array = self._regression_of(self.transform(X))
        return predicted

    def _regression_of(self, embedding: _Array) -> _Array:
        predicted: _Array = self._regression.predict(embedding).reshape(len(embedding), -1)
        return predicted[:, 0] if self._one_feature else predicted

    def _extend(self, X: ArrayLike) -> tuple[_Array, NDArray[np.bool_]]:
        check_is_fitted(self)
        queries = estimator_points(self, X, fit=False)
        threads = n_threads(self.n_jobs)
        result = np.empty((len(queries), self.embedding_.shape[1]))
        supported = np.ones(len(queries), dtype=np.bool_)
        for rows in batches(len(queries), len(self._estimate.points)):
            current = queries[rows]
            features, twins = _features_at(self._estimate, current, threads)
            for fitted in self._iterations:
                current, near = extend_iteration(fitted, current, features, twins, threads)
                supported[rows] &= near
            result[rows] = current
        return result, supported

    def _checked_settings(self) -> Settings:
        if isinstance(self.diffusion_time, str):
            as_choice(self.diffusion_time, "diffusion_time", ("auto",))
            diffusion_time = None
        else:
            diffusion_time = as_real(self.diffusion_time, "diffusion_time", low=0)
            if diffusion_time == 0 and self.rescaling != "isometric":
                raise ValueError(
                    f"diffusion_time=0 makes all coordinates 0 with rescaling={self.rescaling!r}; use 'isometric'"
                )
        return Settings(
            n_components=as_integer(self.n_components, "n_components", low=1),
            n_neighbors=as_integer(self.n_neighbors, "n_neighbors", low=2),
            n_neighbors_bandwidth=as_integer(self.n_neighbors_bandwidth, "n_neighbors_bandwidth", low=2),
            flow=Flow(as_real(self.tau, "tau", low=0, high=1), as_choice(self.mixing, "mixing", ("lengths", "metric"))),
            feature_change=as_choice(self.feature_change, "feature_change", ("difference", "derivative")),
            bandwidth=as_choice(self.bandwidth, "bandwidth", ("d1", "svd")),
            derivative=as_choice(self.derivative, "derivative", ("affine", "regression", "correlation")),
            regularization=as_real(self.regularization, "regularization", low=0),
            rescaling=as_choice(self.rescaling, "rescaling", ("isometric", "global", "local")),
            diffusion_time=diffusion_time,
        )

    def _split(self, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows that are fitted and rows that are held out; none of these in less than ten."""
        fraction = as_real(self.validation_fraction, "validation_fraction", low=0.001, high=0.9)
        if not self.early_stopping or n < 10:
            return np.arange(n), np.arange(0)
        order = check_random_state(self.random_state).permutation(n)
        n_held_out = min(max(2, round(fraction * n)), n - 2)
        return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _neighbors(points: _Array, settings: Settings, threads: int) -> Neighbors:
    found = Neighbors(*_core.nearest_neighbors(points, None, min(settings.n_neighbors, len(points)), threads))
    check_squares(found.distances, "X")
    return found


def _feature_estimate(
    points: _Array, features: _Array, neighbors: Neighbors, settings: Settings, threads: int
) -> FeatureEstimate:
    geometry = tuned_geometry(points, neighbors, settings.bandwidth, settings.n_bandwidths, threads)
    return estimate_feature(points, features, neighbors, geometry.bandwidth, settings.regularization, threads)


def _features_at(estimate: FeatureEstimate, queries: _Array, threads: int) -> tuple[_Array, NDArray[np.intp]]:
    """The feature (Q, n) of new points, estimated in the space of X, and their twins (Q, 1) in the data or -1."""
    if len(queries) == 0:
        return np.zeros((0, estimate.features.shape[1])), np.zeros((0, 1), dtype=np.intp)
    found = Neighbors(*_core.nearest_neighbors(estimate.points, queries, estimate.n_neighbors, threads))
    check_squares(found.distances, "X")
    twins = np.where(found.distances[:, :1] == 0, found.indices[:, :1], -1)
    return estimate.at(queries, found, twins, threads), twins


def _regression(embedding: _Array, features: _Array) -> Any:
    """Linear regression of the features on the coordinates, with a ridge that predicts left-out rows best."""
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-10, 2, 13))).fit(embedding, features)


def _held_out_score(embedding: _Array, features: _Array, new: _Array, new_features: _Array) -> float:
    """R^2 of features predicted as the mean of many neighbours in the embedding: what the map is for.

    A linear regression on all coordinates predicts as well before the irrelevant directions are gone.
    """
    n_neighbors = max(1, len(embedding) // _NEIGHBORS_SHARE)
    return float(KNeighborsRegressor(n_neighbors).fit(embedding, features).score(new, new_features))


def _record(number: int, fitted: Iteration, embedding: _Array, score: float | None, seconds: float) -> IterationRecord:
    coordinates = fitted.coordinates
    return IterationRecord(
        number,
        coordinates.epsilon,
        fitted.diffusion_time,
        fitted.eigenvalues,
        coordinates.dimension if fitted.local_dimension is None else fitted.local_dimension,
        coordinates.density,
        embedding,
        embedding.shape[1],
        score,
        seconds,
    )
