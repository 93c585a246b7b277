"""What the estimators of the iterated map share: rows, iterations, result, new points."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from idm._batches import Rows, batches, in_batches
from idm._cells import TotalOf, cell_means
from idm._dask import lazily
from idm._extension import warn_unsupported
from idm._feature_estimate import (
    MOST_CLASSES,
    FeatureEstimate,
    LocalAffine,
    Mean,
    feature_scale,
    fit_estimate,
    outlying_rows,
)
from idm._feature_map import feature_map
from idm._fit_rows import FitRows, all_coordinates, held_out_score
from idm._iteration import Iteration, NewPoints, iterate
from idm._iteration_record import IterationRecord, record_of
from idm._landmarks import choose_landmarks, n_landmarks_of
from idm._neighbors import NeighborIndex
from idm._notebook import ShownInNotebooks
from idm._on_disk import is_dask
from idm._parameters import Parameters
from idm._parts import warn_if_in_parts
from idm._progress import Progress, progress, rows_progress
from idm._regression import Regression, fit_regression
from idm._sample import Sample, sampled
from idm._stopping import DistanceChange, Stopping, StopReason
from idm._threads import n_threads, one_blas_thread
from idm._validation import check_fits, check_output, estimator_queries
from idm._warnings import warn
from idm.exceptions import ConstantFeatureWarning

_Array: TypeAlias = NDArray[np.float64]
_Rows: TypeAlias = NDArray[np.intp]
_Self = TypeVar("_Self", bound="IteratedMap")
_Encode: TypeAlias = Callable[[Any], _Array]


class IteratedMap(
    ShownInNotebooks,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    Parameters,
):
    """What the estimators share: everything but the kind of y."""

    __metadata_request__transform: ClassVar = {"out": UNUSED}
    embedding_: _Array  # (N, M'), if it is stored

    def _sampled(self, X: Any, y: Any) -> tuple[Sample, np.random.RandomState]:
        """The rows that are fitted, and the random numbers that go on from there; parameters are checked before."""
        self._check_parameters()
        random_state = check_random_state(self.random_state)
        return sampled(self, X, y, self.subsample, random_state), random_state

    def _fit(
        self: _Self, X: Any, sample: Sample, points: _Array, encode: _Encode, random_state: np.random.RandomState
    ) -> _Self:
        """Fit the map to the points (S, m) of a sample of X, which may be all of it; `encode` makes features of y."""
        features = encode(sample.y)
        threads, rows = n_threads(self.n_jobs), sample.rows
        if not np.ptp(features, axis=0).any():
            warn(
                "y is constant: there is no feature to find, and the map is the plain diffusion map of X; check what y "
                "is, or use DiffusionMap",
                ConstantFeatureWarning,
            )
        store = self.store_embedding and not is_dask(X)
        self._fit_size(sample.n_rows, points.shape[1], features.shape[1], store=store).check()
        with progress(self.max_iter, self.verbose) as shown:
            shown.stage("features")
            total_of = _total_of(sample, encode, *((1, 0) if is_dask(X) else (threads, self.verbose)))
            fitted = self._rows(points, features, sample, total_of, random_state, threads)
            stopping = self._stopping(held_out=len(fitted.held_out) > 0, flows=fitted.settings.flow.tau > 0)
            iterations, records = self._iterate(fitted, stopping, random_state, threads, shown)
            shown.stopped(f"{stopping.reason}")
        kept, embedding = iterations[: stopping.kept], records[stopping.kept - 1].embedding
        coordinates = kept[-1].map.coordinates
        if coordinates.axes is None:
            meaning = "the first coordinates only tell them apart"
            warn_if_in_parts(coordinates.parts, fitted.settings.map.advice, meaning)
        elif len(np.unique(features, axis=0)) > MOST_CLASSES:  # else parts are its values, which is what one wants
            meaning = "they lie where the mean y of their rows says"
            warn_if_in_parts(coordinates.parts, fitted.settings.map.advice, meaning)
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
                embedding = all_coordinates(fitted, embedding, kept, threads, done)
        if fitted.estimate is None:
            known = np.setdiff1d(np.arange(len(points)), fitted.outlying, assume_unique=True)
            self._regression = fit_regression(embedding[known], features[known])
        if hasattr(self, "embedding_"):
            del self.embedding_  # of a fit before
        if store:
            if rows is not None:
                embedding, supported = self._mapped(estimator_queries(self, X), threads)
                warn_unsupported(supported)
            self.embedding_ = embedding
        return self

    def _rows(
        self,
        points: _Array,
        features: _Array,
        sample: Sample,
        total_of: TotalOf | None,
        random_state: np.random.RandomState,
        threads: int,
    ) -> FitRows:
        """Which rows carry the geometry, and the feature that places each: an estimate that did not see its y."""
        rows = sample.rows
        outlying = outlying_rows(points, features, threads, rows)
        train, held_out = (
            np.setdiff1d(part, outlying, assume_unique=True) for part in self._split(len(points), random_state)
        )
        n_landmarks = n_landmarks_of(self.n_landmarks, len(train))
        landmarks = train[choose_landmarks(points[train], n_landmarks, random_state)]
        settings = self._settings(n_landmarks, landmarks if rows is None else rows[landmarks])
        estimate: FeatureEstimate | None = None
        placing = features
        if settings.needs_features:
            placing = np.empty_like(features)
            every = slice(None) if len(train) == len(points) else train  # no copy, if it is all of them
            estimate, placing[train] = fit_estimate(
                self.feature_estimator, points[every], features[every], random_state, threads
            )
            others = np.setdiff1d(np.arange(len(points)), train, assume_unique=True)
            if total_of is not None and isinstance(estimate, LocalAffine):
                total_of = _without(total_of, points[held_out], features[held_out], threads)
                averaged = cell_means(estimate, features[train], total_of, sample.n_rows, random_state, threads)
                if averaged is not None:  # of a sample, no other rows are placed here
                    estimate, others = averaged, np.union1d(landmarks, held_out)
            at = estimate.at
            if len(others):
                (placing[others],) = in_batches(lambda part: (at(part, threads),), points[others])
        constant = not np.ptp(features, axis=0).any() or (
            estimate is not None and not np.ptp(placing[landmarks], axis=0).any()
        )
        if isinstance(estimate, Mean) or constant:  # lengths are those of X, but for rounding
            advice = replace(settings.map.advice, what="X")
            settings = replace(settings, flow=replace(settings.flow, tau=0.0), map=replace(settings.map, advice=advice))
        return FitRows(
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
        self, rows: FitRows, stopping: Stopping, random_state: np.random.RandomState, threads: int, shown: Progress
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
        iterations_from = iterate(index, pool, carried, settings, change, threads, shown)
        for fitted in stopping.until_stopped(iterations_from):
            held_out.advance(fitted, threads)
            record = record_of(
                fitted,
                iteration=stopping.last,
                landmarks=rows.numbers(landmarks),
                embedding=fitted.map.embedding[copies],
                distance_change=change.last,
                validation_score=held_out_score(rows, fitted.image, held_out.coordinates, threads),
                seconds=time.perf_counter() - start,
            )
            iterations.append(fitted)
            records.append(record)
            shown.done(record)
            called_off = self.callback is not None and bool(self.callback(record))
            stopping.update(record.validation_score, record.distance_change, called_off)
            start = time.perf_counter()
        return iterations, records

    def _scale(self, points: _Array, features: _Array, random_state: np.random.RandomState) -> float:
        given = self._given_scale()
        return feature_scale(points, features, random_state) if given is None else given

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
        new = NewPoints(queries, features).through(self._iterations, threads)
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


def _total_of(sample: Sample, encode: _Encode, threads: int, verbose: int) -> TotalOf | None:
    """Sums over all rows of X, if there are more than those of the sample."""
    total = sample.total
    if total is None:
        return None

    def total_of(sums: Any) -> NDArray[np.int64]:
        with rows_progress(sample.n_rows, verbose, "rows summed") as done:
            return total(partial(_of_part, sums, encode, threads, done))

    return total_of


def _of_part(
    sums: Any, encode: _Encode, threads: int, done: Callable[[int], object], points: Any, y: Any
) -> NDArray[np.int64]:
    total: Any = 0
    points, y = np.asarray(points), np.asarray(y)
    for part in batches(len(points)):
        total = total + sums(np.ascontiguousarray(points[part], dtype=np.float64), encode(y[part]), threads)
        done(part.stop - part.start)
    return total  # type: ignore[no-any-return]


def _without(total_of: TotalOf, points: _Array, features: _Array, threads: int) -> TotalOf:
    """The same sums without some rows: integers can be taken back."""
    return lambda sums: total_of(sums) - sums(points, features, threads)


def _relevance(first: Iteration, scale: float) -> _Array:
    """The mean of DH^T DH over the landmarks, from the derivatives of the first iteration."""
    derivatives = first.map.values.reshape(-1, first.map.index.points.shape[1]) / scale
    with one_blas_thread():
        relevance: _Array = derivatives.T @ derivatives / len(first.map.index)
    return relevance
