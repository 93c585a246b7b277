"""A diffeomorphism given by pairs, represented by a linear map between eigenfunctions (section 2.2)."""

import numbers
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from idm._batches import Rows, in_batches
from idm._coordinates import Coordinates, MapOptions, diffusion_coordinates
from idm._extension import warn_unsupported
from idm._fit_size import FitSize
from idm._iteration import Iteration, NewPoints, Settings, fit_iteration
from idm._linear_map import linear_map
from idm._local_geometry import TUNINGS, Tuning
from idm._metric import Flow
from idm._neighbors import NeighborIndex
from idm._notebook import ShownInNotebooks
from idm._parts import warn_if_in_parts
from idm._progress import Progress
from idm._threads import n_threads, one_blas_thread
from idm._validation import all_or_nothing, as_choice, as_integer, as_real, estimator_data, estimator_queries, is_auto
from idm._warnings import Advice, warn
from idm.exceptions import (
    CoincidentPointsError,
    DisconnectedGraphWarning,
    EigenpairError,
    OutlierWarning,
    SpectraDifferWarning,
)

_Array: TypeAlias = NDArray[np.float64]

# n_neighbors="auto": the fewest and the most.
_NEIGHBORS = (20, 200)
# So many eigenvalues of both sides are compared. Where the map is good they are 25 % apart or less.
_N_COMPARED, _AGREE, _DIFFER = 4, 0.25, 1 / 3

_REMEDIES = {
    CoincidentPointsError: "an invertible map needs a y that differs wherever X does: remove copies of rows; for a y "
    "that many rows share, use IteratedDiffusionMap",
    OutlierWarning: "remove those pairs, or lower n_neighbors_bandwidth",
    DisconnectedGraphWarning: "raise n_neighbors or n_neighbors_bandwidth, or fit the components one by one",
    EigenpairError: "raise n_neighbors_bandwidth, or lower n_components",
}


class LocalKernelMap(ShownInNotebooks, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Represent a smooth, invertible map y = H(x) by a linear map between eigenfunctions.

    The kernel exp(-|DH dx|^2 / (2 eps)) on X sees the geometry of Y (Theorem 2.1), so that its eigenvalues are those
    of a plain diffusion map of Y, and its eigenfunctions agree with those of Y up to an orthogonal map.

    Parameters
    ----------
    n_components : int
        The eigenfunctions on both sides; N - 1, if that is less.
    n_neighbors : "auto" or int
        Number of neighbours, including the point itself; N, if that is less. "auto" is the first of 200, a fifth and a
        tenth of the rows (at least 20) with which the first eigenvalues of both sides agree within 25 %: neighbourhoods
        that reach across a curve destroy the map, and on surfaces few neighbours make it rough.
    n_neighbors_bandwidth : int
        The neighbours that decide on the bandwidth of the kernels.
    bandwidth, regularization : as there
        How DH is estimated by affine regression (see `local_derivatives`).
    n_jobs : int, optional
        Threads, at most one per processor; None follows OMP_NUM_THREADS and threadpoolctl.

    Attributes
    ----------
    eigenvalues_ : array of shape (2, M)
        Of the Laplacians: first on X in the metric that H pulls back, then on Y.
    feature_map_ : array of shape (M, M)
        The linear map from the eigenfunctions on X to those on Y, by least squares.
    feature_map_residual_ : float
        What it leaves of the latter: root mean square, relative.
    n_features_in_ : int
        The number of columns of X.

    Examples
    --------
    >>> import idm, numpy as np
    >>> X, _, y = idm.datasets.make_circle(1000)
    >>> model = idm.LocalKernelMap(n_components=6, regularization=1e-6).fit(X * [2, 1], y)
    >>> model.eigenvalues_.round()
    array([[-1., -1., -4., -4., -9., -9.],
           [-1., -1., -4., -4., -9., -9.]])

    """

    def __init__(
        self,
        n_components: int = 20,
        *,
        n_neighbors: Literal["auto"] | int = "auto",
        n_neighbors_bandwidth: int = 32,
        bandwidth: Tuning = "d1",
        regularization: float = 0.001,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_neighbors_bandwidth = n_neighbors_bandwidth
        self.bandwidth = bandwidth
        self.regularization = regularization
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> "LocalKernelMap":
        """Fit the map to pairs of rows.

        Parameters
        ----------
        X : array of shape (N, m)
            The points.
        y : array of shape (N,) or (N, n)
            What they are mapped to.

        Returns
        -------
        LocalKernelMap
            The fitted estimator itself.

        """
        with all_or_nothing(self):
            return self._fit(*estimator_data(self, X, y))

    def _fit(self, points: _Array, given: _Array) -> "LocalKernelMap":
        features = given.reshape(len(points), -1)
        self._fit_size(len(points), points.shape[1], features.shape[1]).check()
        of_x, of_y = (
            MapOptions(
                n_components=as_integer(self.n_components, "n_components", low=1),
                n_neighbors_bandwidth=as_integer(self.n_neighbors_bandwidth, "n_neighbors_bandwidth", low=2),
                bandwidth="global",  # local scales differ on both sides, and so would the eigenvalues
                diffusion_time=0.0,  # plain eigenfunctions
                advice=Advice(what=what, remedies=_REMEDIES),
            )
            for what in ("y along X", "y")
        )
        settings = Settings(
            n_neighbors=2,  # until they are chosen
            flow=Flow(tau=1.0, mixing="metric", change="derivative"),
            map=of_x,
            bandwidth=as_choice(self.bandwidth, "bandwidth", TUNINGS),
            derivative="affine",
            regularization=as_real(self.regularization, "regularization", low=0),
        )
        iteration, map_of_y = self._sides(points, features, settings, of_y, n_threads(self.n_jobs))
        # Columns of mean square 1, whatever the units of X and y.
        embedding = iteration.map.embedding
        norms = np.sqrt(np.mean(embedding**2, axis=0))
        self._norms = np.where(norms > 0, norms, 1.0)  # where xi is not positive, the function is 0
        functions = embedding / self._norms
        target = map_of_y.functions / np.sqrt(np.mean(map_of_y.functions**2, axis=0))
        with one_blas_thread():
            self._H, *_ = np.linalg.lstsq(functions, target, rcond=None)
            residual = functions @ self._H - target
            self.feature_map_residual_ = float(np.linalg.norm(residual) / np.linalg.norm(target))
            # y in terms of its own eigenfunctions, the constant one first, to come back from them.
            back, *_ = np.linalg.lstsq(_with_constant(target), features, rcond=None)
            self._from_functions = np.asarray(back, dtype=np.float64)
        self.feature_map_ = self._H.copy()
        self._one_feature = given.ndim == 1
        self._iteration = iteration
        self.eigenvalues_ = np.stack([iteration.map.coordinates.eigenvalues, map_of_y.eigenvalues])
        return self

    def _sides(
        self, points: _Array, features: _Array, settings: Settings, of_y: MapOptions, threads: int
    ) -> tuple[Iteration, Coordinates]:
        """The maps of X in the metric of y and of y, at the first number of neighbours at which their spectra agree."""
        of_x, n, candidates = NeighborIndex(points), len(points), self._candidates(len(points))
        most = replace(settings, n_neighbors=candidates[0])
        pool = of_x.nearest(None, most.pool_size(n), threads)
        near_y = NeighborIndex(features).nearest(None, min(candidates[0], n), threads, name="y")
        best: tuple[Iteration, Coordinates] | None = None
        difference = np.inf
        for k in candidates:
            settings = replace(settings, n_neighbors=k)
            try:
                iteration = fit_iteration(
                    of_x, pool.first(settings.pool_size(n)), features, settings, threads, Progress()
                )
                map_of_y = diffusion_coordinates(near_y.first(k), of_y, threads, exact=True)
            except (CoincidentPointsError, EigenpairError):
                if best is None:
                    raise
                break
            found = _difference(iteration.map.coordinates.eigenvalues, map_of_y.eigenvalues)
            if best is None or found < difference:
                best, difference = (iteration, map_of_y), found
            if difference <= _AGREE:
                break
        if difference > _DIFFER:
            warn(
                f"the eigenvalues on X, in the metric of y, and on y differ by {difference:.0%}: the map says little. "
                "Lower n_neighbors (neighbourhoods must not reach across a curve), or raise it where rows are few",
                SpectraDifferWarning,
            )
        assert best is not None
        for parts, advice in ((best[0].map.coordinates.parts, settings.map.advice), (best[1].parts, of_y.advice)):
            warn_if_in_parts(parts, advice, "the first functions only tell them apart")
        return best

    def _candidates(self, n_rows: int) -> list[int]:
        """Numbers of neighbours, by decreasing size, of which the first that does is taken."""
        if is_auto(self.n_neighbors, "n_neighbors", "'auto' or an integer >= 2", numbers.Integral):
            fewer = [int(np.clip(n_rows // part, *_NEIGHBORS)) for part in (5, 10)]
            return sorted({_NEIGHBORS[1], *fewer}, reverse=True)
        return [as_integer(self.n_neighbors, "n_neighbors", low=2)]

    def _fit_size(self, n_samples: int, n_features: int, n_targets: int) -> FitSize:
        k = min(max(self._candidates(n_samples)), n_samples)
        return FitSize(
            n_samples=n_samples,
            n_fitted=n_samples,
            n_stored=n_samples,
            n_features=n_features,
            n_targets=n_targets * (1 + n_features),  # and their derivatives
            n_landmarks=n_samples,
            n_neighbors=k,
            pool_size=min(n_samples, 2 * k),
            n_components=min(as_integer(self.n_components, "n_components", low=1), n_samples),
            estimated=False,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "eigenvalues_")

    def predict(self, X: ArrayLike) -> _Array:
        """H at new points: eigenfunctions on X, mapped to those on Y, and from there to y.

        Each row's result depends on that row alone, to the bit.

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.

        Returns
        -------
        array of shape (Q,) or (Q, n)
            H at the points, in the shape of the y of the fit.

        """
        queries, threads = self._queries(X)
        predicted, supported = in_batches(lambda part: self._predict(part, threads), queries)
        warn_unsupported(supported)
        return predicted[:, 0] if self._one_feature else predicted

    def _predict(self, queries: _Array, threads: int) -> tuple[_Array, NDArray[np.bool_]]:
        new = NewPoints(queries, None)
        new.advance(self._iteration, threads)
        functions = linear_map(new.coordinates / self._norms, self._H)
        return linear_map(_with_constant(functions), self._from_functions), new.supported

    def supported(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which rows of X are near enough to the training data for `predict` to say something: (rows,).

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.

        Returns
        -------
        array of bool of shape (Q,)
            True where a row is near enough.

        """
        return self._iteration.map.supported(*self._queries(X))

    def _queries(self, X: ArrayLike) -> tuple[Rows, int]:
        check_is_fitted(self)
        return estimator_queries(self, X), n_threads(self.n_jobs)


def _difference(of_x: _Array, of_y: _Array) -> float:
    """The largest relative difference, from 0 to 1, of the first eigenvalues, which Theorem 2.1 says are equal."""
    a, b = (np.maximum(eigenvalues[:_N_COMPARED], -1e300) for eigenvalues in (of_x, of_y))
    larger = np.maximum(np.abs(a), np.abs(b))
    return float(np.max(np.divide(np.abs(a - b), larger, out=np.zeros_like(a), where=larger > 0)))


def _with_constant(functions: _Array) -> _Array:
    return np.column_stack([np.ones(len(functions)), functions])
