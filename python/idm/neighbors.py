"""Step 1: exact nearest neighbours."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm import _core
from idm._threads import n_threads
from idm._validation import as_integer, as_points


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
    k = as_integer(n_neighbors, "n_neighbors", low=1)
    if k > len(points):
        raise ValueError(
            f"n_neighbors={k} is more than the {len(points)} rows of X; lower n_neighbors or add rows"
        )
    others = None if queries is None else as_points(queries, "queries", n_columns=points.shape[1])
    return Neighbors(*_core.nearest_neighbors(points, others, k, n_threads(n_jobs)))
