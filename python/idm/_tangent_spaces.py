"""Singular vectors of each neighbourhood: tangent and normal directions (section 3.1)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm import _core
from idm._local_geometry import Tuning, tuned_geometry
from idm._neighbors import Neighbors, given_or_found
from idm._threads import n_threads
from idm._validation import as_integer, as_points


class TangentSpaces(NamedTuple):
    """Singular vectors (N, m, r), singular values (N, r) and dimensions (N,)."""

    vectors: NDArray[np.float64]
    singular_values: NDArray[np.float64]
    dimension: NDArray[np.float64]


def tangent_spaces(
    X: ArrayLike,
    *,
    n_neighbors: int | None = None,
    n_components: int | None = None,
    bandwidth: Tuning = "svd",
    n_bandwidths: int = 100,
    neighbors: Neighbors | None = None,
    n_jobs: int | None = None,
) -> TangentSpaces:
    """Orthonormal directions of each neighbourhood, the tangent ones first, and the dimension.

    They are the left singular vectors of the differences ``sqrt(w_j / D) (x_j - x)`` at the tuned bandwidth eps.
    Tangent directions have singular values near ``sqrt(eps)``, normal ones of order eps: the first
    ``round(dimension)`` vectors span the tangent space.

    Parameters
    ----------
    X : array of shape (N, m)
        The points.
    n_neighbors : int
        Number of neighbours, including the point itself, from 2 to N. Not needed with `neighbors`.
    n_components : int, optional
        r, how many directions; by default min(m, k).
    bandwidth, n_bandwidths, neighbors, n_jobs : as there
        As for `local_geometry`.

    Returns
    -------
    TangentSpaces
        A named tuple of `vectors` (N, m, r), `singular_values` (N, r), largest first, and `dimension` (N,). The
        largest component of each vector is positive. If m exceeds the rank of a neighbourhood, the
        directions that it does not determine may be 0, and those with singular values near 1e-7 of the largest
        are orthogonal to the others only roughly.

    """
    points = as_points(X, "X")
    threads = n_threads(n_jobs)
    found = given_or_found(points, n_neighbors, neighbors, threads)
    most = min(points.shape[1], found.indices.shape[1])
    r = most if n_components is None else as_integer(n_components, "n_components", low=1, high=most)
    geometry = tuned_geometry(points, found, bandwidth, n_bandwidths, threads)
    vectors, singular_values = _core.tangent_spaces(points, *found, geometry.bandwidth.reshape(-1, 1), r, threads)
    return TangentSpaces(vectors, singular_values, geometry.dimension)
