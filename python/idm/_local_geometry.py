"""Step 2: bandwidth, dimension and density at every point (Algorithm 1)."""

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm import _core
from idm._neighbors import Neighbors, given_or_found
from idm._threads import n_threads
from idm._validation import as_choice, as_integer, as_points
from idm._warnings import warn
from idm.exceptions import CoincidentPointsError, DegenerateNeighborhoodWarning

Tuning: TypeAlias = Literal["d1", "svd"]
TUNINGS: tuple[Tuning, ...] = get_args(Tuning)


class LocalGeometry(NamedTuple):
    """What Algorithm 1 knows of each point; all arrays are (N,)."""

    bandwidth: NDArray[np.float64]
    dimension: NDArray[np.float64]
    density: NDArray[np.float64]
    log_density: NDArray[np.float64]


def local_geometry(
    X: ArrayLike,
    *,
    n_neighbors: int | None = None,
    bandwidth: Tuning = "d1",
    n_bandwidths: int = 100,
    neighbors: Neighbors | None = None,
    n_jobs: int | None = None,
) -> LocalGeometry:
    """Bandwidth, non-integer dimension and sampling density at every point.

    For each point, kernels ``exp(-r^2 / (2 eps))`` over its neighbours are compared at `n_bandwidths` values
    of eps, evenly spaced in log eps from ``r_min^2 / 72`` (r_min: the smallest distance that is not 0) to
    ``10 r_k^2``. The density is ``D / N (2 pi eps)^(-d/2)`` with D the sum of the kernel and d the dimension.

    Parameters
    ----------
    X : array of shape (N, m)
        The points.
    n_neighbors : int
        Number of neighbours, including the point itself, from 2 to N. Not needed with `neighbors`.
    bandwidth : {"d1", "svd"}
        How eps is chosen. "d1" maximises ``d1 = 2 dlog D / dlog eps``, which is the dimension, too. "svd"
        minimises the disagreement of d1 with d2, the dimension that the scaling of the singular values shows
        (see `scaling_laws`), among the bandwidths at which the neighbours weigh at least 12 (k / 2, if that is less);
        the dimension is their mean. It costs about three times as much for m = 3, more for
        larger m, and is the better choice for curved or noisy data.
    n_bandwidths : int
        How many bandwidths are compared.
    neighbors : Neighbors, optional
        The result of ``nearest_neighbors(X, k)``, if it is known.
    n_jobs : int, optional
        Threads, at most one per processor; None follows OMP_NUM_THREADS and threadpoolctl.

    Returns
    -------
    LocalGeometry
        A named tuple of `bandwidth`, `dimension`, `density` and `log_density`, each (N,). Where the density
        exceeds the range of float64 it is the nearest finite number; `log_density` is always right.

    Warns
    -----
    DegenerateNeighborhoodWarning
        If all neighbours of some points coincide with them. These get dimension 0 and the median bandwidth.

    Notes
    -----
    Both dimensions are too low where the neighbourhood is too large for its density, which in more than about
    four dimensions it is for any N that fits in memory: 10,000 points of a 5-dimensional sphere give 4.4 (d1)
    and 4.2 (svd). Near boundaries they are too low as well. Trust the number if it stays when N grows.

    """
    points = as_points(X, "X")
    threads = n_threads(n_jobs)
    found = given_or_found(points, n_neighbors, neighbors, threads)
    return tuned_geometry(points, found, bandwidth, n_bandwidths, threads)


def tuned_geometry(
    points: NDArray[np.float64], neighbors: Neighbors, bandwidth: str, n_bandwidths: int, threads: int
) -> LocalGeometry:
    """`local_geometry` of checked points and neighbours."""
    tuning = as_choice(bandwidth, "bandwidth", TUNINGS)
    n_bandwidths = as_integer(n_bandwidths, "n_bandwidths", low=2, high=100_000)
    geometry, n_missing = _core.local_geometry(
        points, neighbors.indices, neighbors.distances, tuning, n_bandwidths, threads
    )
    k = neighbors.indices.shape[1]
    if n_missing == len(points):
        raise CoincidentPointsError(
            f"X has no two points apart (by 1e-145 or more) among {k} neighbours; remove duplicates, raise "
            "n_neighbors, or rescale X"
        )
    if n_missing:
        warn(
            f"all {k} neighbours of {n_missing} of {len(points)} points coincide with them; they get dimension 0 "
            "and the median bandwidth. Remove duplicates or raise n_neighbors",
            DegenerateNeighborhoodWarning,
        )
    eps, dimension, log_density = np.ascontiguousarray(geometry.T)
    limits = np.finfo(np.float64)
    density = np.exp(np.clip(log_density, np.log(limits.tiny), np.log(limits.max)))
    return LocalGeometry(eps, dimension, density, log_density)
