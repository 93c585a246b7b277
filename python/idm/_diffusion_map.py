"""The diffusion map as an estimator: steps 1 and 4 to 11 without a feature (section 2.1)."""

import numbers
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from idm._batches import Rows, in_batches
from idm._coordinates import RESCALINGS, MapOptions, Rescaling, diffusion_coordinates
from idm._extension import PLAIN, FittedMap, extend_rows, support_radii, warn_unsupported
from idm._fit_size import FitSize
from idm._landmarks import choose_landmarks, n_landmarks_of
from idm._neighbors import NeighborIndex, as_neighbors, check_squares, refined
from idm._notebook import ShownInNotebooks
from idm._parts import warn_if_in_parts
from idm._spectrum import EIGEN_SOLVERS, EigenSolver
from idm._threads import n_threads
from idm._validation import (
    all_or_nothing,
    as_bandwidths,
    as_choice,
    as_integer,
    as_real,
    estimator_points,
    estimator_queries,
    is_auto,
)
from idm._variable_bandwidth import BANDWIDTHS, Bandwidth
from idm._warnings import Advice
from idm.exceptions import (
    CoincidentPointsError,
    DisconnectedGraphWarning,
    EigenpairError,
    KernelCutWarning,
    NarrowKernelWarning,
    OutlierWarning,
    SpectrumWarning,
    UnderflowWarning,
)

_ADVICE = Advice(
    remedies={
        CoincidentPointsError: "remove duplicates, raise n_neighbors, set epsilon, or rescale X",
        OutlierWarning: "remove those points, or set epsilon",
        KernelCutWarning: "raise n_neighbors, or lower n_neighbors_bandwidth or epsilon",
        NarrowKernelWarning: "raise n_neighbors (to 64 or more), n_neighbors_bandwidth or epsilon",
        UnderflowWarning: "lower diffusion_time, or use rescaling='isometric'",
        DisconnectedGraphWarning: "raise n_neighbors or epsilon, or fit the components one by one",
        EigenpairError: "raise epsilon, lower n_components, or use eigen_solver='dense'",
        SpectrumWarning: "lower n_components",
    }
)


class DiffusionMap(
    ShownInNotebooks,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """The rescaled diffusion map: coordinates from the eigenfunctions of the Laplacian of the data.

    A sparse kernel ``exp(-d^2 / (2 epsilon))`` over nearest neighbours, normalised for the sampling density,
    approximates the heat kernel of the manifold that the data lie on. Its eigenfunctions, weighted by
    ``exp(lambda s)`` and rescaled, are coordinates in which near points keep their distances.

    Parameters
    ----------
    n_components : int
        M, the number of coordinates; N - 1, if that is less. The constant eigenfunction is not counted.
    n_neighbors : int
        Number of neighbours, including the point itself; N, if that is less. The kernel is made to decay within them,
        so that less than 64 make it too narrow for the gaps of a random sample: a `NarrowKernelWarning` tells.
    epsilon : "auto" or float
        The bandwidth of the kernel, a squared length. "auto" is the mean of the squared distances of all points from
        their first `n_neighbors_bandwidth` neighbours.
    bandwidth : {"variable", "global"}
        "variable" divides distances by the root of a scale of each point, which is larger where data are thin: tails
        are not cut off, and coordinates are isometric to these lengths. "global" has one scale for all: `eigenvalues_`
        are those of the Laplacian of X itself, and a few rows in a tail may take the first coordinates.
    alpha : float
        1 removes the influence of the sampling density; 0 keeps it.
    diffusion_time : float
        s in units of epsilon: how fast the coordinates of small eigenvalues die.
    rescaling : {"isometric", "global", "local"}
        How the coordinates are scaled. "isometric": such that the distances of near neighbours are right in the median.
        "global": by the formula of section 2.1 with one dimension for all points. "local": with that of each point.
    n_neighbors_bandwidth : int
        The neighbours that decide on epsilon="auto", and the near ones of rescaling="isometric"; at most a quarter of
        `n_neighbors` are used for epsilon.
    eigen_solver : {"auto", "block", "arpack", "dense"}
        "block" is a block Lanczos method, "arpack" SciPy's `eigsh`, "dense" makes an N x N matrix. "auto" takes
        "dense" up to 500 points or twice the coordinates, and "block" beyond. For 10,000 points with
        500 neighbours, "block" is 2.4 (11 pairs) to 4 times (251 pairs) as fast as `eigsh`, and as fast with 64
        neighbours and 10 coordinates; "arpack" also looks for copies of eigenvalues that `eigsh` misses.
    precomputed_knn : pair of arrays or sparse matrix, optional
        The neighbours of the rows of X, instead of a search: indices and distances of shape (N, k), each point itself
        first, as `nearest_neighbors` returns them; or a sparse matrix of distances with k - 1 or k entries in every
        row, as scikit-learn's `kneighbors_graph(mode="distance")`. `n_neighbors` is then not used. `transform` needs
        Euclidean distances, and gives training points their own coordinates if the neighbours are exact.
    n_landmarks : None, int or "auto"
        Rows that carry the map, chosen to cover the data; the others are extended to, and `n_neighbors` counts
        landmarks. None is all rows, "auto" 2000, if there are more.
    random_state : int, RandomState or None
        Decides on the landmarks.
    n_jobs : int, optional
        Threads, at most one per processor; None follows OMP_NUM_THREADS and threadpoolctl. On one machine the result
        is the same to the bit for every number of them.

    Attributes
    ----------
    embedding_ : array of shape (N, M)
        The coordinates of the training points.
    eigenvalues_ : array of shape (M,)
        Of the Laplacian, by decreasing size, all <= 0; -inf where that of the kernel is not positive. With
        bandwidth="variable" that of the metric in which lengths are scaled (docs/mathematics.md, section 4).
    eigenvectors_ : array of shape (N, M)
        The eigenfunctions phi at the points (the landmarks), with mean of phi^2 / density equal to 1, for the density
        in that metric.
    density_ : array of shape (N,)
        The sampling density at the points (the landmarks), from the sums of the kernel.
    landmarks_ : array of int
        The rows of X that carry the map.
    dimension_ : float
        The dimension that the kernel sees, averaged over the points.
    epsilon_ : float
        The bandwidth.
    n_features_in_ : int
        m, the number of columns of X.

    Examples
    --------
    >>> import idm
    >>> X, angle, _ = idm.datasets.make_circle(1000, random_state=0)
    >>> diffusion_map = idm.DiffusionMap(n_components=4).fit(X)
    >>> diffusion_map.eigenvalues_.round()
    array([-1., -1., -4., -4.])

    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_neighbors: int = 256,
        epsilon: Literal["auto"] | float = "auto",
        bandwidth: Bandwidth = "variable",
        alpha: float = 1.0,
        diffusion_time: float = 10.0,
        rescaling: Rescaling = "isometric",
        n_neighbors_bandwidth: int = 32,
        eigen_solver: EigenSolver = "auto",
        precomputed_knn: Any = None,
        n_landmarks: Literal["auto"] | int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.diffusion_time = diffusion_time
        self.rescaling = rescaling
        self.n_neighbors_bandwidth = n_neighbors_bandwidth
        self.eigen_solver = eigen_solver
        self.precomputed_knn = precomputed_knn
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None) -> "DiffusionMap":
        """Compute the coordinates of the rows of X; y is ignored.

        Parameters
        ----------
        X : array of shape (N, m)
            The points.
        y : None
            Ignored.

        Returns
        -------
        DiffusionMap
            The fitted estimator itself.

        """
        with all_or_nothing(self):
            return self._fit(estimator_points(self, X))

    def _fit(self, points: NDArray[np.float64]) -> "DiffusionMap":
        n, threads = len(points), n_threads(self.n_jobs)
        n_landmarks = n_landmarks_of(self.n_landmarks, n)
        self._fit_size(n, points.shape[1], 0).check()
        landmarks = choose_landmarks(points, n_landmarks, check_random_state(self.random_state))
        options = self._options(landmarks)
        k = min(as_integer(self.n_neighbors, "n_neighbors", low=2), n_landmarks)
        index, euclidean = NeighborIndex(points[landmarks]), True
        if self.precomputed_knn is None:
            neighbors = index.nearest(None, k, threads)
        else:
            if n_landmarks < n:
                raise ValueError(
                    f"n_landmarks={self.n_landmarks!r} needs neighbours among the landmarks; leave out precomputed_knn "
                    "or n_landmarks"
                )
            neighbors = as_neighbors(self.precomputed_knn, "precomputed_knn", n)
            check_squares(neighbors.distances, "precomputed_knn")
            neighbors, euclidean = refined(points, neighbors, threads)
        k, radii = neighbors.indices.shape[1], neighbors.distances[:, -1:].copy()
        support = support_radii(neighbors, options.n_neighbors_bandwidth)
        copies = index.first_copies(neighbors, threads)
        given = [neighbors]
        del neighbors  # the eigenpairs need their memory
        coordinates = diffusion_coordinates(
            given.pop(),
            options,
            threads,
            exact=self.precomputed_knn is None,
            order=index.order(),
        )
        warn_if_in_parts(coordinates.parts, options.advice, "the first coordinates only tell them apart")
        fitted = FittedMap(
            index=index,
            flow=PLAIN,
            values=np.empty((n_landmarks, 0)),
            pool_size=k,
            n_neighbors=k,
            pool_radii=radii,
            radii=radii,
            support=support,
            coordinates=coordinates,
            embedding=coordinates.embedding[copies],
        )
        embedding = fitted.embedding.copy()  # what a user may write to is not what `transform` uses
        if n_landmarks < n:
            embedding, _ = in_batches(lambda part: extend_rows(fitted, part, threads), points)
        self._map, self._euclidean = fitted, euclidean
        self.embedding_, self.landmarks_ = embedding, landmarks
        self.eigenvalues_ = coordinates.eigenvalues
        self.eigenvectors_ = coordinates.functions.copy()
        self.density_ = coordinates.density_of_points
        self.dimension_ = float(np.mean(coordinates.dimension))
        self.epsilon_ = coordinates.epsilon
        self._n_features_out = embedding.shape[1]
        return self

    def _fit_size(self, n_samples: int, n_features: int, n_targets: int) -> FitSize:
        n_landmarks = n_landmarks_of(self.n_landmarks, n_samples)
        k = min(as_integer(self.n_neighbors, "n_neighbors", low=2), n_landmarks)
        return FitSize(
            n_samples=n_samples,
            n_fitted=n_samples,
            n_stored=n_samples,
            n_features=n_features,
            n_targets=0,
            n_landmarks=n_landmarks,
            n_neighbors=k,
            pool_size=0,
            n_components=min(as_integer(self.n_components, "n_components", low=1), n_landmarks),
            estimated=False,
        )

    def _options(self, landmarks: NDArray[np.intp]) -> MapOptions:
        """The parameters, checked."""
        epsilon = None
        if not is_auto(self.epsilon, "epsilon", "'auto' or a positive number", numbers.Real):
            epsilon = float(as_bandwidths(self.epsilon, "epsilon", n_rows=1)[0])
        time = as_real(self.diffusion_time, "diffusion_time", low=0)
        if time == 0 and self.rescaling != "isometric":
            raise ValueError(
                f"diffusion_time=0 makes all coordinates 0 with rescaling={self.rescaling!r}; raise it, or use "
                "'isometric'"
            )
        return MapOptions(
            n_components=as_integer(self.n_components, "n_components", low=1),
            n_neighbors_bandwidth=as_integer(self.n_neighbors_bandwidth, "n_neighbors_bandwidth", low=2),
            bandwidth=as_choice(self.bandwidth, "bandwidth", BANDWIDTHS),
            epsilon=epsilon,
            alpha=as_real(self.alpha, "alpha", low=-2, high=2),
            diffusion_time=time,
            rescaling=as_choice(self.rescaling, "rescaling", RESCALINGS),
            eigen_solver=as_choice(self.eigen_solver, "eigen_solver", EIGEN_SOLVERS),
            advice=replace(_ADVICE, rows=landmarks),
        )

    def fit_transform(self, X: ArrayLike, y: Any = None) -> NDArray[np.float64]:
        """Compute the coordinates of the rows of X and return them; y is ignored.

        Parameters
        ----------
        X : array of shape (N, m)
            The points.
        y : None
            Ignored.

        Returns
        -------
        array of shape (N, M)
            The coordinates.

        """
        return self.fit(X).embedding_

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """The coordinates of new points; those of a training point are its row of `embedding_`.

        Copies of a point have the coordinates of the first of them. Each row's result depends on that row alone, to the
        bit. Rows far from all training data get the coordinates of the nearest data and an `ExtrapolationWarning`;
        `supported` tells which they are.

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.

        Returns
        -------
        array of shape (Q, M)
            The coordinates.

        """
        queries, threads = self._queries(X)
        extended, supported = in_batches(lambda part: extend_rows(self._map, part, threads), queries)
        warn_unsupported(supported)
        return extended

    def supported(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which rows of X are near enough to the training data for `transform` to say something: (rows,).

        Those at most as far from the nearest of the data as its own `n_neighbors_bandwidth`-th neighbour.

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.

        Returns
        -------
        array of bool of shape (Q,)
            True where a row is near enough.

        """
        return self._map.supported(*self._queries(X))

    def _queries(self, X: ArrayLike) -> tuple[Rows, int]:
        check_is_fitted(self)
        if not self._euclidean:
            raise ValueError(
                "precomputed_knn were not the Euclidean distances of the rows of X, so that neighbours of new points "
                "cannot be found; use embedding_, or fit without precomputed_knn"
            )
        return estimator_queries(self, X), n_threads(self.n_jobs)

    def diffusion_distances(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        """Rescaled diffusion distances between the rows of X and of Y (or of X): for near points, geodesic ones.

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.
        Y : array of shape (P, m), optional
            Others; by default those of X.

        Returns
        -------
        array of shape (Q, P) or (Q, Q)
            The distances.

        """
        first = self.transform(X)
        distances: NDArray[np.float64] = cdist(first, first if Y is None else self.transform(Y))
        return distances

    def heat_spectrum(self, diffusion_time: float | None = None) -> NDArray[np.float64]:
        """The weights exp(lambda s) of the coordinates, with s in units of epsilon; by default that of the fit.

        Parameters
        ----------
        diffusion_time : float, optional
            Another s, in units of epsilon.

        Returns
        -------
        array of shape (M,)
            The weights, from 0 to 1.

        """
        check_is_fitted(self)
        fitted = self._map.coordinates
        time = fitted.diffusion_time if diffusion_time is None else as_real(diffusion_time, "diffusion_time", low=0)
        weights: NDArray[np.float64] = np.exp(fitted.eigenvalues * (time * fitted.epsilon))
        return weights
