"""A diffeomorphism given by pairs, represented by a linear map between eigenfunctions (section 2.2)."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from idm._coordinates import MapOptions, diffusion_coordinates
from idm._extension import warn_unsupported
from idm._iteration import NewPoints, Settings, fit_iteration
from idm._local_geometry import TUNINGS, Tuning
from idm._metric import Flow
from idm._neighbors import NeighborIndex
from idm._progress import Progress
from idm._threads import n_threads
from idm._validation import all_or_nothing, as_choice, as_integer, as_real, estimator_data, estimator_points
from idm._warnings import Advice
from idm.exceptions import CoincidentPointsError, DisconnectedGraphWarning, EigenpairError, OutlierWarning

_Array: TypeAlias = NDArray[np.float64]

_REMEDIES = {
    CoincidentPointsError: "remove duplicates, or raise n_neighbors",
    OutlierWarning: "remove those pairs, or lower n_neighbors_bandwidth",
    DisconnectedGraphWarning: "raise n_neighbors or n_neighbors_bandwidth, or fit the components one by one",
    EigenpairError: "raise n_neighbors_bandwidth, or lower n_components",
}


class LocalKernelMap(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Represent a smooth, invertible map y = H(x) by a linear map between eigenfunctions.

    The kernel exp(-|DH dx|^2 / (2 eps)) on X sees the geometry of Y (Theorem 2.1), so that its eigenvalues are those
    of a plain diffusion map of Y, and its eigenfunctions agree with those of Y up to an orthogonal map.

    Parameters
    ----------
    n_components : int
        The eigenfunctions on both sides; N - 1, if that is less.
    n_neighbors : int
        Number of neighbours, including the point itself; N, if that is less.
    n_neighbors_bandwidth : int
        The neighbours that decide on the bandwidth of the kernels.
    bandwidth, regularization
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
        n_neighbors: int = 200,
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
        """Fit the map to pairs of rows of X (N, m) and y, (N,) or (N, n)."""
        with all_or_nothing(self):
            return self._fit(*estimator_data(self, X, y))

    def _fit(self, points: _Array, given: _Array) -> "LocalKernelMap":
        features = given.reshape(len(points), -1)
        of_x, of_y = (
            MapOptions(
                n_components=as_integer(self.n_components, "n_components", low=1),
                n_neighbors_bandwidth=as_integer(self.n_neighbors_bandwidth, "n_neighbors_bandwidth", low=2),
                diffusion_time=0.0,  # plain eigenfunctions
                advice=Advice(what=what, remedies=_REMEDIES),
            )
            for what in ("X in the metric of y", "y")
        )
        settings = Settings(
            n_neighbors=as_integer(self.n_neighbors, "n_neighbors", low=2),
            flow=Flow(tau=1.0, mixing="metric", change="derivative"),
            map=of_x,
            bandwidth=as_choice(self.bandwidth, "bandwidth", TUNINGS),
            derivative="affine",
            regularization=as_real(self.regularization, "regularization", low=0),
        )
        threads = n_threads(self.n_jobs)
        index = NeighborIndex(points)
        pool = index.nearest(None, settings.pool_size(len(points)), threads)
        iteration = fit_iteration(index, pool, features, settings, threads, Progress())
        neighbors = NeighborIndex(features).nearest(None, min(settings.n_neighbors, len(points)), threads, name="y")
        map_of_y = diffusion_coordinates(neighbors, of_y, threads, exact=True)
        # Columns of mean square 1, whatever the units of X and y.
        embedding = iteration.map.embedding
        self._norms = np.sqrt(np.mean(embedding**2, axis=0))
        functions = embedding / self._norms
        target = map_of_y.functions / np.sqrt(np.mean(map_of_y.functions**2, axis=0))
        self.feature_map_, *_ = np.linalg.lstsq(functions, target, rcond=None)
        residual = functions @ self.feature_map_ - target
        self.feature_map_residual_ = float(np.linalg.norm(residual) / np.linalg.norm(target))
        # y in terms of its own eigenfunctions, the constant one first, to come back from them.
        self._from_functions, *_ = np.linalg.lstsq(_with_constant(target), features, rcond=None)
        self._one_feature = given.ndim == 1
        self._iteration = iteration
        self.eigenvalues_ = np.stack([iteration.eigenvalues, map_of_y.eigenvalues])
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "eigenvalues_")

    def predict(self, X: ArrayLike) -> _Array:
        """H at new points: eigenfunctions on X, mapped to those on Y, and from there to y."""
        predicted, supported = self._extend(X)
        warn_unsupported(supported)
        return predicted[:, 0] if self._one_feature else predicted

    def supported(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which rows of X are near enough to the training data for `predict` to say something: (rows,)."""
        return self._extend(X)[1]

    def _extend(self, X: ArrayLike) -> tuple[_Array, NDArray[np.bool_]]:
        check_is_fitted(self)
        queries = estimator_points(self, X, fit=False)
        threads = n_threads(self.n_jobs)
        new = NewPoints(queries, None)
        new.advance(self._iteration, threads)
        functions = new.coordinates / self._norms
        return _with_constant(functions @ self.feature_map_) @ self._from_functions, new.supported


def _with_constant(functions: _Array) -> _Array:
    return np.column_stack([np.ones(len(functions)), functions])
