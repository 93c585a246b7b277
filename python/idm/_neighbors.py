"""Step 1: exact nearest neighbours."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm import _core
from idm._threads import n_threads
from idm._validation import as_integer, as_points

# Bandwidths are squares of distances, and sums of them must be finite.
LARGEST_DISTANCE = 1e145


class Neighbors(NamedTuple):
    """The k nearest points of each row, by increasing distance: both arrays are (rows, k)."""

    indices: NDArray[np.intp]
    distances: NDArray[np.float64]


def nearest_neighbors(
    X: ArrayLike, n_neighbors: int, *, queries: ArrayLike | None = None, n_jobs: int | None = None
) -> Neighbors:
    """The `n_neighbors` nearest points of each row, exactly, by Euclidean distance.

    Distances come from differences of coordinates, equal ones are ordered by index, and the result is the
    same to the bit for every number of threads.

    Parameters
    ----------
    X : array of shape (N, m)
        The points.
    n_neighbors : int
        k, from 1 to N. Without `queries` it counts the point itself, which comes first at distance 0.
    queries : array of shape (Q, m), optional
        Points whose neighbours among the rows of X are wanted, instead of the rows of X themselves.
    n_jobs : int, optional
        Threads; None follows OMP_NUM_THREADS and threadpoolctl, -1 means all processors.

    Returns
    -------
    Neighbors
        A named tuple of `indices` and `distances`, both (N, k) or (Q, k).

    Examples
    --------
    >>> import idm
    >>> idm.nearest_neighbors([[0.0], [1.0], [3.0]], 2).indices.tolist()
    [[0, 1], [1, 0], [2, 1]]

    """
    points = as_points(X, "X")
    k = _as_count(n_neighbors, len(points), low=1)
    others = None if queries is None else as_points(queries, "queries", n_columns=points.shape[1])
    return Neighbors(*_core.nearest_neighbors(points, others, k, n_threads(n_jobs)))


def _as_count(n_neighbors: int, n_rows: int, *, low: int) -> int:
    k = as_integer(n_neighbors, "n_neighbors", low=low)
    if k > n_rows:
        raise ValueError(f"n_neighbors={k} is more than the {n_rows} rows of X; lower n_neighbors or add rows")
    return k


def given_or_found(
    points: NDArray[np.float64], n_neighbors: int | None, neighbors: Neighbors | None, threads: int
) -> Neighbors:
    """The neighbours of all points for the steps that follow: at least two, whose squares are finite."""
    if neighbors is None:
        if n_neighbors is None:
            raise TypeError("n_neighbors must be given, or neighbors as nearest_neighbors returns them")
        k = _as_count(n_neighbors, len(points), low=2)
        found = Neighbors(*_core.nearest_neighbors(points, None, k, threads))
    else:
        found = _checked(neighbors, len(points))
    check_squares(found.distances, "X")
    return found


def _checked(neighbors: Neighbors, n_rows: int) -> Neighbors:
    """Neighbours that the caller brings, as the result of nearest_neighbors looks."""
    try:
        indices, distances = (np.asarray(array) for array in neighbors)
    except (TypeError, ValueError):
        raise TypeError("neighbors must be a pair of indices and distances, as nearest_neighbors returns") from None
    if indices.dtype.kind not in "iu" or distances.dtype.kind != "f":
        raise TypeError(
            f"neighbors must be integer indices and float distances, got {indices.dtype} and {distances.dtype}"
        )
    shape = indices.shape
    if len(shape) != 2 or shape[0] != n_rows or shape[1] < 2 or distances.shape != shape:
        raise ValueError(
            f"neighbors must be indices and distances of shape ({n_rows}, k) with k >= 2, got shapes "
            f"{shape} and {distances.shape}"
        )
    if (indices[:, 0] != np.arange(n_rows)).any() or distances[:, 0].any():
        raise ValueError("neighbors must be those of the rows of X, each point itself first at distance 0")
    return Neighbors(np.ascontiguousarray(indices, dtype=np.intp), np.ascontiguousarray(distances, dtype=np.float64))


def check_squares(distances: NDArray[np.float64], name: str) -> None:
    """Refuse distances (sorted rows) whose squares overflow; `name` is the argument that they come from."""
    farthest = distances[:, -1].max()
    if farthest > LARGEST_DISTANCE:
        raise ValueError(f"{name} has points {farthest:.3g} apart, whose squared distances overflow; rescale it")
