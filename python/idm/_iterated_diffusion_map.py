"""The iterated diffusion map as estimators, of features and of class labels (Algorithm 2, sections 4.1 to 4.3)."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from idm._iterated_map import IteratedMap
from idm._on_disk import is_dask
from idm._parameters import REMEDIES
from idm._validation import all_or_nothing, as_choice, estimator_data, estimator_labels
from idm.exceptions import DisconnectedGraphWarning

_Array: TypeAlias = NDArray[np.float64]

# Of section 4.3; the paper does not state the number of points.
_PAPER_TAU = {
    "annulus-radius": 0.65,
    "annulus-angle": 0.3,
    "torus-phi": 0.4,
    "torus-theta": 0.65,
    "sphere-x": 0.7,
    "sphere-twist": 0.6,
}


def _columns(y: Any) -> _Array:
    """Features, as (rows, n)."""
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1)


def _shares(classes: NDArray[Any], y: Any) -> _Array:
    """(rows, classes): 1 in the column of the label, else 0; NaN for labels that are none of these."""
    numbers = {label: number for number, label in enumerate(classes.tolist())}
    codes = [numbers.get(label, len(classes)) for label in np.asarray(y).ravel().tolist()]
    shares: _Array = np.vstack([np.eye(len(classes)), np.full(len(classes), np.nan)])[codes]
    return shares


class IteratedDiffusionMap(RegressorMixin, IteratedMap):  # type: ignore[misc]
    """Bend the geometry of data until points with equal features are neighbours, and map new points along.

    Each iteration measures lengths that mix those of the data with the change of the feature, makes a diffusion map
    with them, and goes on with its coordinates: directions that the feature does not depend on shrink by
    1 - tau. The iterations run on landmarks, with features that are estimated from all rows; every other row, of the
    fit or new, is mapped after them with its own estimate, which never saw its own y. Rows whose y is out of all
    proportion to the rest are mapped like new rows, and a `FeatureOutlierWarning` names them.

    Parameters
    ----------
    n_components : int
        M, the most coordinates of an iteration; one less than the landmarks, if that is less. Those with less than 1e-3
        of the weight of the first are not computed.
    tau : float
        The step of the flow, from 0 (nothing is bent: one plain diffusion map) to 1 (only the feature counts).
    max_iter : int
        The most iterations.
    n_landmarks : "auto", int or None
        Rows that carry the geometry, chosen to cover the data; all rows, if there are not more. "auto" is 2000, None
        all rows.
    n_neighbors : "auto" or int
        k, the number of neighbours among the landmarks, including the point itself, chosen by the lengths of the flow
        out of 5 k / 3 that are nearest in the coordinates. "auto" is 15 % of the landmarks, from 100 to 1000.
    n_neighbors_bandwidth : "auto" or int
        The neighbours that decide on the bandwidth of the kernel, the mean of their squared lengths. "auto" is a
        quarter of `n_neighbors`, and that is the most.
    feature_estimator : None or scikit-learn regressor
        What estimates the feature of every row. None is local affine regression, with bandwidth and ridge chosen by
        the error at left-out rows, after a linear map that shrinks what y does not depend on. A regressor is cloned,
        and cross-fitted for the rows of the fit; give it a random state of its own. Affine derivatives need neither.
    feature_scale : "auto" or float
        What y is multiplied by where |dy| is put beside |dx|. "auto" gives random pairs of landmarks the same median
        |dy| and |dx|, so that units of y do not matter; columns of y keep their relative sizes.
    feature_change : {"difference", "derivative"}
        How the change of the feature between two points is found: as the difference of their estimated features, which
        joins level sets of several parts and converges; or as DH dx with the estimated derivative DH of the feature
        map, as in the paper, which is local and keeps such parts separate.
    bandwidth : {"d1", "svd"}
        How the bandwidth of derivatives is tuned (see `local_geometry`).
    derivative : {"affine", "regression", "correlation"}
        How DH is estimated with feature_change="derivative" (see `local_derivatives`). At new points "regression" and
        "correlation" start from the estimate of the feature there.
    regularization : float
        gamma, the ridge of derivatives in units of the bandwidth.
    mixing : {"lengths", "metric"}
        (1 - tau) |dx| + tau |dy|, or the same with squares.
    rescaling : {"isometric", "global", "local"}
        How the coordinates are scaled (see `DiffusionMap`).
    diffusion_time : "auto" or float
        s in units of epsilon. "auto" is a quarter of the mean squared length of the k-th neighbour, so that the map is
        isometric over the neighbourhoods that the next iteration uses.
    early_stopping : "auto" or bool
        Hold out some rows, stop when the feature is predicted no better there, and keep the best iteration. "auto" does
        so for derivatives only; differences go on until distances no longer change.
    validation_fraction : float
        The share of the rows that is held out.
    n_iter_no_change : int
        Iterations without improvement after which the fit stops, if rows are held out.
    tol : "auto" or float
        If rows are held out, the least increase of the score (R^2) that counts as improvement; "auto" is 0. Else the
        relative change of the distances of 20,000 random pairs, but for a common factor, below which the map has
        converged; "auto" is 0.02. Derivatives without held-out rows go on to `max_iter`.
    subsample : int or None
        The most rows that are fitted; of more, so many random ones. The feature is estimated from these and, if y has
        noise, from means of all rows in cells around half of them. All other rows are mapped like new ones. None: all
        rows are fitted.
    store_embedding : bool
        Whether the coordinates of all rows are computed and kept as `embedding_`. If not, or if X is a Dask
        collection, `transform` computes them.
    callback : callable, optional
        Called with the `IterationRecord` of each iteration; the fit stops if it returns True.
    random_state : int, RandomState or None
        Decides on landmarks, left-out and held-out rows.
    n_jobs : int, optional
        Threads, at most one per processor; None follows OMP_NUM_THREADS and threadpoolctl. On one machine the result
        is the same to the bit for every number of them.
    verbose : int
        1 shows a progress bar if tqdm is installed, and else logs to the logger "idm".

    Attributes
    ----------
    embedding_ : array of shape (N, M')
        The coordinates of all rows of X, after the iteration that was kept; not there if `store_embedding` is False.
    n_iter_ : int
        The iteration that was kept.
    iterations_ : list of IterationRecord
        All iterations that were run, with arrays of the landmarks.
    stop_reason_ : str
        Why there are no more: "converged", "no improvement" of the score, "max_iter", "callback" (it returned True),
        "coincident points" (rows of equal y have become one point, and the rest is noise), "no flow" (`tau` is 0, or y
        is constant or cannot be predicted: the plain diffusion map of X) or "eigenpairs" (those of the next iteration
        could not be computed, which an `EigenpairWarning` says too).
    landmarks_ : array of int
        The rows of X that carry the geometry.
    relevance_ : array of shape (m, m), or None
        The mean of DH^T DH over up to 2000 rows: its diagonal tells which columns of X the feature depends on, its
        leading eigenvectors which directions. None with a `feature_estimator`, and with more than 300 columns.
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

    @classmethod
    def from_paper(cls, example: str) -> "IteratedDiffusionMap":
        """The settings of an example of section 4.3.

        Four iterations with 500 neighbours, 250 coordinates, derivatives and s = 10 epsilon, as printed but for the
        errors that docs/mathematics.md lists, and with one dimension for all points: the printed d of each point
        destroys three of the six pictures.

        Parameters
        ----------
        example : {"annulus-radius", "annulus-angle", "torus-phi", "torus-theta", "sphere-x", "sphere-twist"}
            Which of the six.

        Returns
        -------
        IteratedDiffusionMap
            An estimator that is not fitted yet.

        """
        chosen = as_choice(example, "example", tuple(_PAPER_TAU))
        return cls(
            250,
            tau=_PAPER_TAU[chosen],
            max_iter=4,
            n_landmarks=None,
            n_neighbors=500,
            n_neighbors_bandwidth=32,
            feature_scale=1.0,
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
        """Fit the map to points and their features.

        Both may be on a disk, and are then read in blocks (`np.memmap`, h5py, zarr), or Dask arrays or data frames.

        Parameters
        ----------
        X : array of shape (N, m)
            The points.
        y : array of shape (N,) or (N, n)
            Their features.

        Returns
        -------
        IteratedDiffusionMap
            The fitted estimator itself.

        """
        with all_or_nothing(self):
            sample, random_state = self._sampled(X, y)
            points, given = estimator_data(self, sample.X, sample.y)
            self._fit(X, replace(sample, y=given), points, _columns, random_state)
            self._one_feature = given.ndim == 1
        return self

    def predict(self, X: ArrayLike) -> Any:
        """The features of new points: the estimate that places them, which for rows of the fit did not see their y.

        With affine derivatives there is no such estimate, and it is a linear regression on the coordinates.

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.

        Returns
        -------
        array of shape (Q,) or (Q, n)
            The features, in the shape of the y of the fit.

        """
        check_is_fitted(self)
        if is_dask(X):
            names = None if self._one_feature else range(self._placing.shape[1])
            return self._lazily("predict", X, names=names)
        predicted = self._estimated(X)
        return predicted[:, 0] if self._one_feature else predicted


class IteratedDiffusionMapClassifier(ClassifierMixin, IteratedMap):  # type: ignore[misc]
    """The iterated map of class labels: points of one class become neighbours.

    The features are one column per class, 1 for rows of that class and else 0, so that their estimate at a point is
    the share of each class around it.

    Parameters
    ----------
    n_components, tau, max_iter, n_landmarks, n_neighbors, n_neighbors_bandwidth : see there
        As for `IteratedDiffusionMap`, as are all others.
    feature_estimator, feature_scale, feature_change : see there
        The feature is a column of 0 and 1 for each class.
    bandwidth, derivative, regularization, mixing, rescaling, diffusion_time : see there
        Lengths, kernel and coordinates.
    early_stopping, validation_fraction, n_iter_no_change, tol : see there
        When to stop.
    subsample, store_embedding : see there
        Which rows are fitted, and whose coordinates are kept. Labels that none of them has are not known.
    callback, random_state, n_jobs, verbose : see there
        How to run.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    embedding_, n_iter_, iterations_, stop_reason_, landmarks_, relevance_, feature_map_, n_features_in_
        As for `IteratedDiffusionMap`.

    Examples
    --------
    >>> import idm
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_wine(return_X_y=True)
    >>> model = idm.IteratedDiffusionMapClassifier(random_state=0).fit(scale(X)[::2], y[::2])
    >>> bool(model.score(scale(X)[1::2], y[1::2]) > 0.95)
    True

    """

    # A graph that falls apart into its classes is what one wants.
    _remedies: ClassVar = {c: text for c, text in REMEDIES.items() if c is not DisconnectedGraphWarning}

    def fit(self, X: ArrayLike, y: ArrayLike) -> "IteratedDiffusionMapClassifier":
        """Fit the map to points and their labels.

        Parameters
        ----------
        X : array of shape (N, m)
            The points.
        y : array of shape (N,)
            Their labels, of any type.

        Returns
        -------
        IteratedDiffusionMapClassifier
            The fitted estimator itself.

        """
        with all_or_nothing(self):
            sample, random_state = self._sampled(X, y)
            points, labels, classes = estimator_labels(self, sample.X, sample.y)
            self._fit(X, replace(sample, y=labels), points, partial(_shares, classes), random_state)
            self.classes_ = classes
        return self

    def predict_proba(self, X: ArrayLike) -> Any:
        """The estimated share of each class, cut to be probabilities.

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.

        Returns
        -------
        array of shape (Q, n_classes)
            Rows of probabilities, in the order of `classes_`.

        """
        check_is_fitted(self)
        if is_dask(X):
            return self._lazily("predict_proba", X, names=self.classes_)
        shares = np.maximum(self._estimated(X), 0)
        sums = shares.sum(axis=1, keepdims=True)
        return np.where(sums > 0, shares / np.where(sums > 0, sums, 1), 1 / shares.shape[1])

    def predict(self, X: ArrayLike) -> Any:
        """The label with the largest share.

        Parameters
        ----------
        X : array of shape (Q, m)
            The points, with the columns of the fit.

        Returns
        -------
        array of shape (Q,)
            The labels.

        """
        check_is_fitted(self)
        if is_dask(X):
            return self._lazily("predict", X, dtype=self.classes_.dtype)
        largest = np.argmax(self._estimated(X), axis=1)
        labels: NDArray[Any] = self.classes_[largest]
        return labels
