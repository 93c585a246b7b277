"""The iterated diffusion map as an estimator (Algorithm 2, sections 4.1 to 4.3)."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from idm._coordinates import RESCALINGS, MapOptions, Rescaling
from idm._extension import batches, warn_unsupported
from idm._feature_estimate import FeatureEstimate, estimate_feature
from idm._feature_map import feature_map
from idm._iteration import Iteration, NewPoints, Settings, iterate
from idm._local_derivatives import DERIVATIVE_METHODS, DerivativeMethod
from idm._local_geometry import TUNINGS, Tuning, tuned_geometry
from idm._metric import FEATURE_CHANGES, MIXINGS, FeatureChange, Flow, Mixing
from idm._neighbors import NeighborIndex, Neighbors
from idm._progress import progress
from idm._spectrum import SolverInfo
from idm._threads import n_threads
from idm._validation import as_choice, as_integer, as_real, estimator_data, estimator_points
from idm._warnings import Advice, warn
from idm.exceptions import (
    CoincidentPointsError,
    ConstantFeatureWarning,
    DisconnectedGraphWarning,
    EigenpairError,
    EigenpairWarning,
    OutlierWarning,
)

_Array: TypeAlias = NDArray[np.float64]
StopReason: TypeAlias = Literal["no improvement", "max_iter", "callback", "coincident points", "eigenpairs"]

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


@dataclass(frozen=True, kw_only=True)
class IterationRecord:
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
    solver: SolverInfo  # what the eigensolver did: its name, products, restarts and residuals
    seconds: float


class _Stopping:
    """Which iteration is kept, and when and why the iterations end."""

    def __init__(self, max_iter: int, patience: int, tol: float) -> None:
        self._max_iter, self._patience, self._tol = max_iter, patience, tol
        self._best_score = -np.inf
        self.last = self.kept = 0  # iterations, from 1 on
        self.reason: StopReason | None = None

    def until_stopped(self, iterations: Iterator[Iteration]) -> Iterator[Iteration]:
        """The iterations until there is a reason to stop; an error in a later one is such a reason."""
        try:
            for fitted in iterations:
                self.last += 1
                yield fitted
                if self.reason is not None:
                    return
        except CoincidentPointsError:  # points of equal features coincide: there is nothing left to do
            if self.last == 0:
                raise
            self.reason = "coincident points"
        except EigenpairError as error:
            if self.last == 0:
                raise
            self.reason = "eigenpairs"
            warn(f"iteration {self.last + 1} is left out: {error}", EigenpairWarning)

    def update(self, score: float | None, called_off: bool) -> None:
        """Take the score of the last iteration (None: later is better), and whether the user wants no more."""
        if score is None or score > self._best_score + self._tol:
            self.kept, self._best_score = self.last, self._best_score if score is None else score
        if called_off:
            self.reason = "callback"
        elif self.last - self.kept >= self._patience:
            self.reason = "no improvement"
        elif self.last == self._max_iter:
            self.reason = "max_iter"


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
        k, the number of neighbours, including the point itself, chosen by the lengths of the flow out of 5 k / 3 that are nearest in
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
        Threads; None follows OMP_NUM_THREADS and threadpoolctl. On one machine the result is the same to the bit for
        every number of them.
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
    stop_reason_ : str
        Why there are no more: "no improvement" of the score, "max_iter", "callback" (it returned True), "coincident
        points" (the map has collapsed to points, but for rounding errors) or "eigenpairs" (those of the next iteration
        could not be computed, which an `EigenpairWarning` says too).
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
        feature_change: FeatureChange = "difference",
        bandwidth: Tuning = "d1",
        derivative: DerivativeMethod = "affine",
        regularization: float = 0.05,
        mixing: Mixing = "lengths",
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
        iterations with 250 coordinates, derivatives and s = 10 epsilon, as printed but for the errors that
        docs/mathematics.md lists, and with one dimension for all points: the printed d of each point destroys three of
        the six pictures.
        """
        chosen = as_choice(example, "example", tuple(_PAPER_TAU))
        return cls(
            250,
            tau=_PAPER_TAU[chosen],
            max_iter=4,
            feature_change="derivative",
            rescaling="global",
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
        train, held_out = self._split(len(points))
        settings, stopping, threads = self._settings(train), self._stopping(), n_threads(self.n_jobs)
        if not np.ptp(features, axis=0).any():
            warn(
                "y is constant: there is no feature to find, and the map is a plain diffusion map that shrinks",
                ConstantFeatureWarning,
            )
        iterations: list[Iteration] = []
        records: list[IterationRecord] = []
        with progress(self.max_iter, self.verbose) as shown:
            start = time.perf_counter()
            shown.stage("neighbours")
            index = NeighborIndex(points[train])
            pool = index.nearest(None, settings.pool_size(len(index)), threads)
            copies = index.first_copies(pool, threads)
            estimate = _feature_estimate(index, pool, features[train], settings, threads)
            new = _new_points(index, pool.indices.shape[1], estimate, points[held_out], threads)
            steps = iterate(index, pool, features[train], settings, threads, shown)
            for fitted in stopping.until_stopped(steps):
                embedding = np.empty((len(points), fitted.map.embedding.shape[1]))
                embedding[train] = fitted.map.embedding[copies]
                score = None
                if new is not None:
                    shown.stage("held-out rows")
                    new.advance(fitted, threads)
                    embedding[held_out] = new.coordinates
                    score = _held_out_score(fitted.image, features[train], new.coordinates, features[held_out], threads)
                record = _record(stopping.last, fitted, embedding, score, time.perf_counter() - start)
                iterations.append(fitted)
                records.append(record)
                shown.done(record)
                stopping.update(score, self.callback is not None and bool(self.callback(record)))
                start = time.perf_counter()
        embedding = records[stopping.kept - 1].embedding
        self._regression = _regression(embedding, features)
        self._estimate, self._iterations = estimate, iterations[: stopping.kept]
        self._features, self._one_feature = features, given.ndim == 1
        self._feature_map: tuple[_Array, float] | None = None
        self.iterations_, self.n_iter_, self.stop_reason_ = records, stopping.kept, stopping.reason
        self.embedding_, self._n_features_out = embedding, embedding.shape[1]
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
            self._feature_map = feature_map(self.embedding_, self._features, n_threads(self.n_jobs))
        return self._feature_map

    def _extend(self, X: ArrayLike) -> tuple[_Array, NDArray[np.bool_]]:
        check_is_fitted(self)
        queries = estimator_points(self, X, fit=False)
        threads = n_threads(self.n_jobs)
        first = self._iterations[0].map
        result = np.empty((len(queries), self.embedding_.shape[1]))
        supported = np.empty(len(queries), dtype=np.bool_)
        for rows in batches(len(queries), len(first.index)):
            new = _new_points(first.index, first.pool_size, self._estimate, queries[rows], threads)
            assert new is not None
            for fitted in self._iterations:
                new.advance(fitted, threads)
            result[rows], supported[rows] = new.coordinates, new.supported
        return result, supported

    def _stopping(self) -> _Stopping:
        return _Stopping(
            as_integer(self.max_iter, "max_iter", low=1),
            as_integer(self.n_iter_no_change, "n_iter_no_change", low=1),
            as_real(self.tol, "tol", low=0),
        )

    def _settings(self, rows: NDArray[np.intp] | None = None) -> Settings:
        """The parameters of an iteration, checked; `rows` are those that are not held out."""
        diffusion_time = None
        if isinstance(self.diffusion_time, str):
            as_choice(self.diffusion_time, "diffusion_time", ("auto",))
        else:
            diffusion_time = as_real(self.diffusion_time, "diffusion_time", low=0)
            if diffusion_time == 0 and self.rescaling != "isometric":
                raise ValueError(
                    f"diffusion_time=0 makes all coordinates 0 with rescaling={self.rescaling!r}; use 'isometric'"
                )
        tau = as_real(self.tau, "tau", low=0, high=1)
        remedies = {
            CoincidentPointsError: "most rows have copies in X, or in y if tau is 1: remove them, raise n_neighbors or "
            "lower tau",
            OutlierWarning: "remove those points from X and y, or lower n_neighbors_bandwidth",
            DisconnectedGraphWarning: "raise n_neighbors or n_neighbors_bandwidth, or fit the components one by one",
            EigenpairError: "raise n_neighbors_bandwidth, or lower n_components or max_iter",
        }
        return Settings(
            n_neighbors=as_integer(self.n_neighbors, "n_neighbors", low=2),
            flow=Flow(
                tau=tau,
                mixing=as_choice(self.mixing, "mixing", MIXINGS),
                change=as_choice(self.feature_change, "feature_change", FEATURE_CHANGES),
            ),
            map=MapOptions(
                n_components=as_integer(self.n_components, "n_components", low=1),
                n_neighbors_bandwidth=as_integer(self.n_neighbors_bandwidth, "n_neighbors_bandwidth", low=2),
                diffusion_time=diffusion_time,
                rescaling=as_choice(self.rescaling, "rescaling", RESCALINGS),
                advice=Advice(what=f"the lengths of the flow (tau={tau:g})", rows=rows, remedies=remedies),
            ),
            bandwidth=as_choice(self.bandwidth, "bandwidth", TUNINGS),
            derivative=as_choice(self.derivative, "derivative", DERIVATIVE_METHODS),
            regularization=as_real(self.regularization, "regularization", low=0),
        )

    def _split(self, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows that are fitted and rows that are held out; none of these in less than ten."""
        fraction = as_real(self.validation_fraction, "validation_fraction", low=0.001, high=0.9)
        if not self.early_stopping or n < 10:
            return np.arange(n), np.arange(0)
        order = check_random_state(self.random_state).permutation(n)
        n_held_out = min(max(2, round(fraction * n)), n - 2)
        return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _feature_estimate(
    index: NeighborIndex, pool: Neighbors, features: _Array, settings: Settings, threads: int
) -> FeatureEstimate | None:
    """The estimate of the feature at new points, if an iteration needs it."""
    if not settings.needs_features:
        return None
    near = pool.first(settings.n_neighbors)
    geometry = tuned_geometry(index.points, near, settings.bandwidth, settings.n_bandwidths, threads)
    return estimate_feature(index.points, features, near, geometry.bandwidth, settings.regularization, threads)


def _new_points(
    index: NeighborIndex, pool_size: int, estimate: FeatureEstimate | None, queries: _Array, threads: int
) -> NewPoints | None:
    """New points with their nearest data and their estimated features; None if there are none."""
    if len(queries) == 0:
        return None
    pool = index.nearest(queries, pool_size, threads)
    features = None if estimate is None else estimate.at(queries, pool, pool.twins(), threads)
    return NewPoints(queries, pool, features)


def _regression(embedding: _Array, features: _Array) -> Any:
    """Linear regression of the features on the coordinates, with a ridge that predicts left-out rows best."""
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-10, 2, 13))).fit(embedding, features)


def _held_out_score(image: NeighborIndex, features: _Array, new: _Array, new_features: _Array, threads: int) -> float:
    """R^2 of features predicted as the mean of many neighbours in the embedding: what the map is for.

    A linear regression on all coordinates predicts as well before the irrelevant directions are gone.
    """
    found = image.nearest(new, max(1, len(image) // _NEIGHBORS_SHARE), threads)
    return float(r2_score(new_features, features[found.indices].mean(axis=1)))


def _record(number: int, fitted: Iteration, embedding: _Array, score: float | None, seconds: float) -> IterationRecord:
    coordinates = fitted.map.coordinates
    return IterationRecord(
        iteration=number,
        epsilon=coordinates.epsilon,
        diffusion_time=coordinates.diffusion_time,
        eigenvalues=fitted.eigenvalues,
        local_dimension=fitted.local_dimension,
        density=coordinates.density,
        embedding=embedding,
        n_coordinates=embedding.shape[1],
        validation_score=score,
        solver=coordinates.solver,
        seconds=seconds,
    )
