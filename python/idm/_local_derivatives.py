"""Step 3: the derivative of the feature map at every point (section 3.2)."""

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm import _core
from idm._local_geometry import Tuning, tuned_geometry
from idm._neighbors import NeighborIndex, Neighbors, given_or_found
from idm._threads import n_threads
from idm._validation import as_bandwidths, as_choice, as_features, as_points, as_real
from idm._warnings import warn
from idm.exceptions import ExtrapolationWarning

DerivativeMethod: TypeAlias = Literal["affine", "regression", "correlation"]
DERIVATIVE_METHODS: tuple[DerivativeMethod, ...] = get_args(DerivativeMethod)


def local_derivatives(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_neighbors: int | None = None,
    method: DerivativeMethod = "affine",
    bandwidth: Tuning | ArrayLike = "d1",
    regularization: float = 0.05,
    queries: ArrayLike | None = None,
    n_bandwidths: int = 100,
    neighbors: Neighbors | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """The derivative DH of a feature map y = H(x), estimated at every point from its neighbours.

    With weights ``w_j = exp(-r_j^2 / (2 eps)) / D`` and differences dx, dy, the derivative is
    ``sum_j w_j dy_j dx_j^T (sum_j w_j dx_j dx_j^T + gamma eps I)^-1``. Along the manifold, where the inverted
    matrix is about eps, the ridge gamma eps shrinks it by a factor of 1 / (1 + gamma); across the manifold, where
    the data determine nothing, it keeps the derivative small.

    Parameters
    ----------
    X : array of shape (N, m)
        The points.
    y : array of shape (N,) or (N, n)
        The values of n features at the points.
    n_neighbors : int
        Number of neighbours, including the point itself, from 2 to N. Not needed with `neighbors`.
    method : {"affine", "regression", "correlation"}
        "affine" takes differences from the weighted means and needs no value of y at the point itself;
        "regression" takes them from the point; "correlation" is ``sum_j w_j dy_j dx_j^T / eps``, without
        any inverse.
    bandwidth : {"d1", "svd"}, float or array of shape (N,)
        How eps is tuned (see `local_geometry`), or its value at each point.
    regularization : float
        gamma, in units of eps; a ridge below 1e-12 of the matrix is raised to that. 0 means the least-squares
        solution of least norm, by a rank-revealing factorisation.
    queries : array of shape (Q, m), optional
        Points at which the derivative is wanted instead of the rows of X; "affine" only. Each takes the
        bandwidth of the row of X nearest to it.
    n_bandwidths, neighbors, n_jobs : as there
        As for `local_geometry`.

    Returns
    -------
    array of shape (N, n, m) or (Q, n, m)
        DH at each point.

    Warns
    -----
    ExtrapolationWarning
        If queries are so far from all points that the nearest one has all the weight.

    """
    points = as_points(X, "X")
    values = as_features(y, "y", n_rows=len(points))
    chosen = as_choice(method, "method", DERIVATIVE_METHODS)
    gamma = as_real(regularization, "regularization", low=0)
    threads = n_threads(n_jobs)
    index = None if queries is None else NeighborIndex(points)
    found = given_or_found(points, n_neighbors, neighbors, threads, index)
    if isinstance(bandwidth, str):
        eps = tuned_geometry(points, found, bandwidth, n_bandwidths, threads).bandwidth
    else:
        eps = as_bandwidths(bandwidth, "bandwidth", n_rows=len(points))
    bases: NDArray[np.float64] = points
    base_values: NDArray[np.float64] | None = values
    if queries is not None and index is not None:
        if chosen != "affine":
            raise ValueError(f"method={method!r} needs the value of y at each query; use method='affine'")
        bases, base_values = as_points(queries, "queries", n_columns=points.shape[1]), None
        found = index.nearest(bases, found.indices.shape[1], threads, name="queries")
        eps = eps[found.indices[:, 0]]
        _warn_far(found.distances[:, 0], eps)
    result, _ = _core.local_derivatives(
        points, values, bases, base_values, *found, eps.reshape(-1, 1), chosen, gamma, threads
    )
    if not np.isfinite(result).all():
        raise ValueError("y changes so fast along X that its derivative overflows; rescale y or X")
    return result


def _warn_far(nearest: NDArray[np.float64], eps: NDArray[np.float64]) -> None:
    """Say which queries get a kernel of less than 1e-16 from all points."""
    far = nearest**2 > 2 * eps * -np.log(1e-16)
    if far.any():
        warn(
            f"{np.count_nonzero(far)} of {len(far)} queries (the first: row {far.argmax()}) are farther from all rows "
            "of X than the local bandwidth reaches; derivatives there say little and may be 0: leave these "
            "queries out, or raise n_neighbors",
            ExtrapolationWarning,
        )
