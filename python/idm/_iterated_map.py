"""What the estimators of the iterated map share: rows, iterations, result, new points."""

import numbers
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from idm._batches import Rows, batches, in_batches
from idm._coordinates import RESCALINGS, MapOptions, Rescaling
from idm._dask import lazily
from idm._extension import warn_unsupported
from idm._feature_estimate import FeatureEstimate, feature_scale, fit_estimate, outlying_rows
from idm._feature_map import feature_map
from idm._fit_size import FitSize
from idm._iteration import Iteration, NewPoints, Settings, iterate
from idm._landmarks import choose_landmarks, n_landmarks_of
from idm._linear_map import linear_map
from idm._local_derivatives import DERIVATIVE_METHODS, DerivativeMethod
from idm._local_geometry import TUNINGS, Tuning
from idm._metric import FEATURE_CHANGES, MIXINGS, FeatureChange, Flow, Mixing
from idm._neighbors import NeighborIndex
from idm._notebook import ShownInNotebooks
from idm._on_disk import is_dask
from idm._progress import Progress, progress, rows_progress
from idm._sample import Sample, sampled
from idm._spectrum import SolverInfo
from idm._stopping import DistanceChange, Stopping, StopReason
from idm._threads import n_threads, one_blas_thread
from idm._validation import (
    as_choice,
    as_integer,
    as_real,
    check_fits,
    check_output,
    estimator_queries,
    is_auto,
)
from idm._warnings import Advice, warn
from idm.exceptions import (
    CoincidentPointsError,
    ConstantFeatureWarning,
    DisconnectedGraphWarning,
    EigenpairError,
    OutlierWarning,
    UnderflowWarning,
)

_Array: TypeAlias = NDArray[np.float64]
_Rows: TypeAlias = NDArray[np.intp]
_Auto: TypeAlias = Literal["auto"]
_Self = TypeVar("_Self", bound="IteratedMap")
_Automatic = TypeVar("_Automatic", float, None)

# n_neighbors="auto": a share of the landmarks, but not so few that the graph of a curve tears, nor too many for memory.
_NEIGHBORS_SHARE, _LEAST_NEIGHBORS, _MOST_NEIGHBORS = 0.15, 100, 1000
# tol="auto" for the change of distances; a change of 2 % after three iterations is one of 0.2 % in the next.
_TOLERANCE = 0.02
# One in so many landmarks are the neighbours that a held-out row is predicted from.
_SCORED_SHARE = 20


@dataclass(frozen=True, kw_only=True)
class IterationRecord:
    """What an iteration came to; arrays per point are of the landmarks.

    Attributes
    ----------
    iteration : int
        Its number, from 1.
    epsilon, diffusion_time : float
        The bandwidth of its kernel, and s in units of it.
    eigenvalues : array of shape (M',)
        Of the Laplacian in the metric of the flow.
    local_dimension, density : array of shape (L,)
        At the landmarks, in that metric.
    landmarks : array of int of shape (L,)
        Rows of X.
    embedding : array of shape (L, M')
        Their coordinates.
    n_coordinates : int
        M', those that matter.
    distance_change : float
        Of random pairs since the iteration before, relative, but for a common factor.
    validation_score : float or None
        R^2 of the feature at rows that were held out, from neighbours in the embedding.
    solver : SolverInfo
        What the eigensolver did: its name, products, restarts and residuals.
    seconds : float
        What it took.

    """

    iteration: int
    epsilon: float
    diffusion_time: float
    eigenvalues: _Array
    local_dimension: _Array
    density: _Array
    landmarks: _Rows
    embedding: _Array
    n_coordinates: int
    distance_change: float
    validation_score: float | None
    solver: SolverInfo
    seconds: float


@dataclass(frozen=True, kw_only=True)
class _FitRows:
    """The rows of a fit, numbered from 0, and what places them."""

    of_X: _Rows | None  # (S,), their numbers in X; None: the same
    points: _Array  # (S, m)
    features: _Array  # (S, n), measured
    held_out: _Rows
    outlying: _Rows  # whose features are not used
    landmarks: _Rows
    settings: Settings
    estimate: FeatureEstimate | None  # None: affine derivatives need none
    placing: _Array  # (S, n), estimated features, or measured ones if there is no estimate
    scale: float  # what they are multiplied by

    def numbers(self, rows: _Rows) -> _Rows:
        """The numbers of some rows in X."""
        return rows if self.of_X is None else self.of_X[rows]


REMEDIES: dict[type[Exception], str] = {
    CoincidentPointsError: "most rows have copies in X, or in y if tau is 1; remove them, raise n_neighbors, lower tau",
    OutlierWarning: "remove those points from X and y, or lower n_neighbors_bandwidth",
    UnderflowWarning: "lower diffusion_time, or use rescaling='isometric'",
    DisconnectedGraphWarning: "raise n_neighbors or n_neighbors_bandwidth, or fit the components one by one",
    EigenpairError: "raise n_neighbors_bandwidth, or lower n_components or max_iter",
}


class IteratedMap(
    ShownInNotebooks,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """What the estimators share: everything but the kind of y."""

    _remedies: ClassVar = REMEDIES
    __metadata_request__transform: ClassVar = {"out": UNUSED}
    embedding_: _Array  # (N, M'), if it is stored

    def __init__(
        self,
        n_components: int = 100,
        *,
        tau: float = 0.95,
        max_iter: int = 10,
        n_landmarks: _Auto | int | None = "auto",
        n_neighbors: _Auto | int = "auto",
        n_neighbors_bandwidth: _Auto | int = "auto",
        feature_estimator: Any = None,
        feature_scale: _Auto | float = "auto",
        feature_change: FeatureChange = "difference",
        bandwidth: Tuning = "d1",
        derivative: DerivativeMethod = "affine",
        regularization: float = 0.05,
        mixing: Mixing = "lengths",
        rescaling: Rescaling = "isometric",
        diffusion_time: _Auto | float = "auto",
        early_stopping: _Auto | bool = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 1,
        tol: _Auto | float = "auto",
        subsample: int | None = 100_000,
        store_embedding: bool = True,
        callback: Callable[[IterationRecord], bool | None] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.max_iter = max_iter
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.n_neighbors_bandwidth = n_neighbors_bandwidth
        self.feature_estimator = feature_estimator
        self.feature_scale = feature_scale
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
        self.subsample = subsample
        self.store_embedding = store_embedding
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _sampled(self, X: Any, y: Any) -> tuple[Sample, np.random.RandomState]:
        """The rows that are fitted, and the random numbers that go on from there; parameters are checked before."""
        n_threads(self.n_jobs)
        self._check_parameters()
        self._settings(n_landmarks_of(self.n_landmarks, _MOST_NEIGHBORS))
        random_state = check_random_state(self.random_state)
        return sampled(self, X, y, self.subsample, random_state), random_state

    def _fit(
        self: _Self, X: Any, sample: Sample, points: _Array, features: _Array, random_state: np.random.RandomState
    ) -> _Self:
        """Fit the map to the points (S, m) and features (S, n) of a sample of X, which may be all of it."""
        threads, rows = n_threads(self.n_jobs), sample.rows
        if not np.ptp(features, axis=0).any():
            warn(
                "y is constant: there is no feature to find, and the map is a plain diffusion map that shrinks; "
                "check what y is, or use DiffusionMap",
                ConstantFeatureWarning,
            )
        store = self.store_embedding and not is_dask(X)
        self._fit_size(sample.n_rows, points.shape[1], features.shape[1], store=store).check()
        with progress(self.max_iter, self.verbose) as shown:
            shown.stage("features")
            fitted = self._rows(points, features, rows, random_state, threads)
            stopping = self._stopping(held_out=len(fitted.held_out) > 0)
            iterations, records = self._iterate(fitted, stopping, random_state, threads, shown)
            shown.stopped(f"{stopping.reason}")
        kept, embedding = iterations[: stopping.kept], records[stopping.kept - 1].embedding
        self._estimate, self._scale_, self._iterations = fitted.estimate, fitted.scale, kept
        self._placing = fitted.placing[fitted.landmarks]
        self._feature_map: tuple[_Array, float] | None = None
        self.iterations_, self.n_iter_ = records, stopping.kept
        self.stop_reason_: StopReason | None = stopping.reason
        self.landmarks_ = fitted.numbers(fitted.landmarks)
        self.relevance_ = fitted.estimate.relevance if fitted.estimate else _relevance(iterations[0], fitted.scale)
        self._n_features_out = embedding.shape[1]
        self._regression: Regression | None = None
        if fitted.estimate is None or (store and rows is None):
            with rows_progress(len(points) - len(embedding), self.verbose, "other rows") as done:
                embedding = _all_coordinates(fitted, embedding, kept, threads, done)
        if fitted.estimate is None:
            known = np.setdiff1d(np.arange(len(points)), fitted.outlying, assume_unique=True)
            self._regression = _regression(embedding[known], features[known])
        if hasattr(self, "embedding_"):
            del self.embedding_  # of a fit before
        if store:
            if rows is not None:
                embedding, supported = self._mapped(estimator_queries(self, X), threads)
                warn_unsupported(supported)
            self.embedding_ = embedding
        return self

    def _fit_size(self, n_samples: int, n_features: int, n_targets: int, *, store: bool | None = None) -> FitSize:
        most = None if self.subsample is None else as_integer(self.subsample, "subsample", low=2)
        n_fitted = n_samples if most is None else min(n_samples, most)
        n_landmarks = n_landmarks_of(self.n_landmarks, n_fitted)
        settings = self._settings(n_landmarks)
        return FitSize(
            n_samples=n_samples,
            n_fitted=n_fitted,
            n_stored=n_samples if (self.store_embedding if store is None else store) else 0,
            n_features=n_features,
            n_targets=n_targets,
            n_landmarks=n_landmarks,
            n_neighbors=settings.n_neighbors,
            pool_size=settings.pool_size(n_landmarks),
            n_components=min(settings.map.n_components, n_landmarks),
            estimated=settings.needs_features,
        )

    def _rows(
        self,
        points: _Array,
        features: _Array,
        rows: _Rows | None,
        random_state: np.random.RandomState,
        threads: int,
    ) -> _FitRows:
        """Which rows carry the geometry, and the feature that places each: an estimate that did not see its y."""
        outlying = outlying_rows(points, features, threads, rows)
        train, held_out = (
            np.setdiff1d(part, outlying, assume_unique=True) for part in self._split(len(points), random_state)
        )
        n_landmarks = n_landmarks_of(self.n_landmarks, len(train))
        landmarks = train[choose_landmarks(points[train], n_landmarks, random_state)]
        settings = self._settings(n_landmarks, landmarks if rows is None else rows[landmarks])
        estimate, placing = None, features
        if settings.needs_features:
            placing = np.empty_like(features)
            every = slice(None) if len(train) == len(points) else train  # no copy, if it is all of them
            estimate, placing[train] = fit_estimate(
                self.feature_estimator, points[every], features[every], random_state, threads
            )
            others, at = np.setdiff1d(np.arange(len(points)), train, assume_unique=True), estimate.at
            if len(others):
                (placing[others],) = in_batches(lambda part: (at(part, threads),), points[others])
        return _FitRows(
            of_X=rows,
            points=points,
            features=features,
            held_out=held_out,
            outlying=outlying,
            landmarks=landmarks,
            settings=settings,
            estimate=estimate,
            placing=placing,
            scale=self._scale(points[landmarks], placing[landmarks], random_state),
        )

    def _iterate(
        self, rows: _FitRows, stopping: Stopping, random_state: np.random.RandomState, threads: int, shown: Progress
    ) -> tuple[list[Iteration], list[IterationRecord]]:
        """Algorithm 2 on the landmarks; rows that are held out are mapped along."""
        landmarks, settings = rows.landmarks, rows.settings
        held_out = NewPoints(rows.points[rows.held_out], rows.scale * rows.placing[rows.held_out])
        change = DistanceChange(rows.points[landmarks], random_state)
        # Derivatives are taken of the measured features.
        carried = rows.scale * (rows.placing if settings.flow.change == "difference" else rows.features)[landmarks]
        iterations: list[Iteration] = []
        records: list[IterationRecord] = []
        start = time.perf_counter()
        shown.stage("neighbours")
        index = NeighborIndex(rows.points[landmarks])
        pool = index.nearest(None, settings.pool_size(len(index)), threads)
        copies = index.first_copies(pool, threads)
        for fitted in stopping.until_stopped(iterate(index, pool, carried, settings, threads, shown)):
            held_out.advance(fitted, threads)
            record = _record(
                fitted,
                iteration=stopping.last,
                landmarks=rows.numbers(landmarks),
                embedding=fitted.map.embedding[copies],
                distance_change=change.update(fitted.map.embedding),
                validation_score=_held_out_score(rows, fitted.image, held_out.coordinates, threads),
                seconds=time.perf_counter() - start,
            )
            iterations.append(fitted)
            records.append(record)
            shown.done(record)
            called_off = self.callback is not None and bool(self.callback(record))
            stopping.update(record.validation_score, record.distance_change, called_off)
            start = time.perf_counter()
        return iterations, records

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_iter_")

    def __dir__(self) -> list[str]:
        """Without what is computed when it is read, until it was: notebooks read every name that is listed here.

        Not that of scikit-learn, which reads them, too.
        """
        waiting = {"feature_map_", "feature_map_residual_"} if getattr(self, "_feature_map", None) is None else set()
        return [name for name in object.__dir__(self) if name not in waiting]

    def transform(self, X: ArrayLike, out: Any = None) -> Any:
        """The coordinates (rows, M') of new points, through all iterations; those of a training row are its own.

        Each row's result depends on that row alone, to the bit (as far as that of a `feature_estimator` does). Rows
        far from all training data get an `ExtrapolationWarning`; `supported` tells which they are. X may be on a disk,
        and is then read in blocks (`np.memmap`, h5py, zarr); a Dask array or data frame gives another, which is lazy.

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.
        out : array of shape (Q, M'), optional
            Where the coordinates are written and which is returned, on a disk for example.

        Returns
        -------
        array of shape (Q, M')
            The coordinates.

        """
        if is_dask(X) or out is not None:
            self._check_container("a Dask X" if is_dask(X) else "out")
        if is_dask(X):
            return self._lazily("transform", X, out=out, names=self.get_feature_names_out())
        queries, threads = self._queries(X)
        if out is not None:
            check_output(out, (len(queries), self._n_features_out))
        extended, supported = self._mapped(queries, threads, out)
        warn_unsupported(supported)
        return extended

    def _mapped(self, queries: Rows, threads: int, out: Any = None) -> tuple[Any, NDArray[np.bool_]]:
        def mapped(part: _Array) -> tuple[_Array, NDArray[np.bool_]]:
            coordinates, near = self._extend(part, threads)
            if out is not None:
                check_fits(coordinates, out)
            return coordinates, near

        with rows_progress(len(queries), self.verbose) as done:
            extended, supported = in_batches(mapped, queries, out=out, done=done)
        return extended, supported

    def _check_container(self, given: str) -> None:
        """scikit-learn would put the result into a data frame, in memory."""
        container = _get_output_config("transform", self)["dense"]
        if container != "default":
            raise ValueError(
                f"transform gives a {container} frame, by set_output or sklearn.set_config, which {given} does not go "
                "with; call set_output(transform='default')"
            )

    def _lazily(self, method: str, X: Any, **result: Any) -> Any:
        check_is_fitted(self)
        return lazily(self, method, X, **result)

    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Fit the map and return the coordinates of the rows of X.

        Parameters
        ----------
        X : array of shape (N, m)
            The points.
        y : array of shape (N,) or (N, n)
            Their features, or labels.

        Returns
        -------
        array of shape (N, M')
            The coordinates.

        """
        self.fit(X, y)
        return self.embedding_ if hasattr(self, "embedding_") else self.transform(X)

    def supported(self, X: ArrayLike) -> Any:
        """Which rows of X are near enough to the training data for `transform` to say something: (rows,).

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.

        Returns
        -------
        array of bool of shape (Q,)
            True where a row is near enough.

        """
        if is_dask(X):
            return self._lazily("supported", X, dtype=np.bool_)
        queries, threads = self._queries(X)
        return self._iterations[0].map.supported(queries, threads)

    def _queries(self, X: ArrayLike) -> tuple[Rows, int]:
        check_is_fitted(self)
        return estimator_queries(self, X), n_threads(self.n_jobs)

    @property
    def feature_map_(self) -> _Array:
        """The linear map H of section 4.2, computed when it is first read."""
        return self._section_4_2()[0]

    @property
    def feature_map_residual_(self) -> float:
        """What H leaves of the coordinates of y."""
        return self._section_4_2()[1]

    def _section_4_2(self) -> tuple[_Array, float]:
        check_is_fitted(self)
        if self._feature_map is None:
            embedding = self.iterations_[self.n_iter_ - 1].embedding
            self._feature_map = feature_map(embedding, self._placing, n_threads(self.n_jobs))
        return self._feature_map

    def _extend(self, queries: _Array, threads: int) -> tuple[_Array, NDArray[np.bool_]]:
        features = None if self._estimate is None else self._scale_ * self._estimate.at(queries, threads)
        new = _advanced(NewPoints(queries, features), self._iterations, threads)
        return new.coordinates, new.supported

    def _estimated(self, X: ArrayLike) -> _Array:
        """The features (rows, n) of new points."""
        queries, threads = self._queries(X)
        with rows_progress(len(queries), self.verbose) as done:
            estimated, supported = in_batches(lambda part: self._estimate_part(part, threads), queries, done=done)
        warn_unsupported(supported)
        return estimated

    def _estimate_part(self, queries: _Array, threads: int) -> tuple[_Array, NDArray[np.bool_]]:
        if self._regression is None:
            assert self._estimate is not None
            return self._estimate.at(queries, threads), self._iterations[0].map.supported(queries, threads)
        embedding, supported = self._extend(queries, threads)
        return self._regression.at(embedding), supported

    def _check_parameters(self) -> None:
        """Those that are needed late, before anything is computed."""
        self._stopping(held_out=False)
        self._given_scale()
        if not isinstance(self.store_embedding, bool | np.bool_):
            raise TypeError(f"store_embedding must be True or False, got {self.store_embedding!r}")
        if not isinstance(self.verbose, bool | np.bool_):
            as_integer(self.verbose, "verbose", low=0)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be a function of an IterationRecord or None, got {self.callback!r}")

    def _stopping(self, *, held_out: bool) -> Stopping:
        tol = _auto_or_real(self.tol, "tol", 0.0 if held_out else _TOLERANCE, low=0)
        return Stopping(
            max_iter=as_integer(self.max_iter, "max_iter", low=1),
            patience=as_integer(self.n_iter_no_change, "n_iter_no_change", low=1),
            least_gain=tol,
            least_change=tol if self.feature_change == "difference" else 0.0,
        )

    def _stops_early(self) -> bool:
        """Whether rows are held out to decide when to stop: "auto" is yes for derivatives, which do not converge."""
        if isinstance(self.early_stopping, bool | np.bool_):
            return bool(self.early_stopping)
        is_auto(self.early_stopping, "early_stopping", "'auto', True or False", bool)
        return self.feature_change == "derivative"

    def _scale(self, points: _Array, features: _Array, random_state: np.random.RandomState) -> float:
        given = self._given_scale()
        return feature_scale(points, features, random_state) if given is None else given

    def _given_scale(self) -> float | None:
        return _auto_or_real(self.feature_scale, "feature_scale", None, low=1e-100, high=1e100)

    def _settings(self, n_landmarks: int, rows: _Rows | None = None) -> Settings:
        """The parameters of an iteration, checked; `rows` are the landmarks."""
        diffusion_time = _auto_or_real(self.diffusion_time, "diffusion_time", None, low=0)
        if diffusion_time == 0 and self.rescaling != "isometric":
            raise ValueError(
                f"diffusion_time=0 makes all coordinates 0 with rescaling={self.rescaling!r}; raise it, or use "
                "'isometric'"
            )
        automatic = min(_MOST_NEIGHBORS, max(_LEAST_NEIGHBORS, round(_NEIGHBORS_SHARE * n_landmarks)))
        n_neighbors = min(n_landmarks, _auto_or_count(self.n_neighbors, "n_neighbors", automatic))
        tau = as_real(self.tau, "tau", low=0, high=1)
        return Settings(
            n_neighbors=n_neighbors,
            flow=Flow(
                tau=tau,
                mixing=as_choice(self.mixing, "mixing", MIXINGS),
                change=as_choice(self.feature_change, "feature_change", FEATURE_CHANGES),
            ),
            map=MapOptions(
                n_components=as_integer(self.n_components, "n_components", low=1),
                n_neighbors_bandwidth=_auto_or_count(
                    self.n_neighbors_bandwidth, "n_neighbors_bandwidth", max(2, n_neighbors // 4)
                ),
                diffusion_time=diffusion_time,
                rescaling=as_choice(self.rescaling, "rescaling", RESCALINGS),
                advice=Advice(what=f"the lengths of the flow (tau={tau:g})", rows=rows, remedies=self._remedies),
            ),
            bandwidth=as_choice(self.bandwidth, "bandwidth", TUNINGS),
            derivative=as_choice(self.derivative, "derivative", DERIVATIVE_METHODS),
            regularization=as_real(self.regularization, "regularization", low=0),
        )

    def _split(self, n: int, random_state: np.random.RandomState) -> tuple[_Rows, _Rows]:
        """Rows that are fitted and rows that are held out; none of these in less than ten."""
        fraction = as_real(self.validation_fraction, "validation_fraction", low=0.001, high=0.9)
        if not self._stops_early() or n < 10:
            return np.arange(n), np.arange(0)
        order = random_state.permutation(n)
        n_held_out = min(max(2, round(fraction * n)), n - 2)
        return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _auto_or_count(value: Any, name: str, automatic: int) -> int:
    automatically = is_auto(value, name, "'auto' or an integer >= 2", numbers.Integral)
    return automatic if automatically else as_integer(value, name, low=2)


def _auto_or_real(
    value: Any, name: str, automatic: _Automatic, *, low: float, high: float = np.inf
) -> float | _Automatic:
    bounds = f">= {low:g}" if np.isinf(high) else f"from {low:g} to {high:g}"
    automatically = is_auto(value, name, f"'auto' or a number {bounds}", numbers.Real)
    return automatic if automatically else as_real(value, name, low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class Regression:
    """(z - centre) A + constant."""

    centre: _Array  # (M',)
    A: _Array  # (M', n)
    constant: _Array  # (n,)

    def at(self, embedding: _Array) -> _Array:
        """The features (Q, n), each row's by itself, to the bit."""
        return linear_map(embedding - self.centre, self.A) + self.constant


def _regression(embedding: _Array, features: _Array) -> Regression:
    """Linear regression of the features on the coordinates, with a ridge that predicts left-out rows best."""
    with one_blas_thread():
        scaler = StandardScaler().fit(embedding)
        ridge = RidgeCV(np.logspace(-10, 2, 13)).fit(scaler.transform(embedding), features)
    slopes = np.atleast_2d(ridge.coef_).T
    return Regression(centre=scaler.mean_, A=slopes / scaler.scale_[:, np.newaxis], constant=ridge.intercept_)


def _relevance(first: Iteration, scale: float) -> _Array:
    """The mean of DH^T DH over the landmarks, from the derivatives of the first iteration."""
    derivatives = first.map.values.reshape(-1, first.map.index.points.shape[1]) / scale
    with one_blas_thread():
        relevance: _Array = derivatives.T @ derivatives / len(first.map.index)
    return relevance


def _advanced(new: NewPoints, iterations: list[Iteration], threads: int) -> NewPoints:
    for fitted in iterations:
        new.advance(fitted, threads)
    return new


def _all_coordinates(
    rows: _FitRows, embedding: _Array, iterations: list[Iteration], threads: int, done: Callable[[int], object]
) -> _Array:
    """The coordinates (S, M') of all rows, given those of the landmarks."""
    result = np.empty((len(rows.points), embedding.shape[1]))
    result[rows.landmarks] = embedding
    others = np.setdiff1d(np.arange(len(result)), rows.landmarks, assume_unique=True)
    for part in batches(len(others)):
        some = others[part]
        new = NewPoints(rows.points[some], rows.scale * rows.placing[some])
        result[some] = _advanced(new, iterations, threads).coordinates
        done(len(some))
    return result


def _held_out_score(rows: _FitRows, image: NeighborIndex, coordinates: _Array, threads: int) -> float | None:
    """R^2 of features predicted as the mean of many neighbours in the coordinates: what the map is for.

    A linear regression on all coordinates predicts as well before the irrelevant directions are gone.
    """
    if len(rows.held_out) == 0:
        return None
    k, features = max(1, len(image) // _SCORED_SHARE), rows.features[rows.landmarks]
    predicted = np.empty((len(rows.held_out), features.shape[1]))
    for part in batches(len(predicted), k * features.shape[1]):
        found = image.nearest(coordinates[part], k, threads)
        predicted[part] = features[found.indices].mean(axis=1)
    return float(r2_score(rows.features[rows.held_out], predicted))


def _record(fitted: Iteration, **figures: Any) -> IterationRecord:
    coordinates = fitted.map.coordinates
    return IterationRecord(
        epsilon=coordinates.epsilon,
        diffusion_time=coordinates.diffusion_time,
        eigenvalues=coordinates.eigenvalues,
        local_dimension=fitted.local_dimension,
        density=coordinates.density,
        n_coordinates=fitted.map.embedding.shape[1],
        solver=coordinates.solver,
        **figures,
    )
