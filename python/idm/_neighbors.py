"""Step 1: exact nearest neighbours."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from idm import _core
from idm._threads import n_threads
from idm._validation import LARGEST_DISTANCE, as_integer, as_points


class Neighbors(NamedTuple):
    """The k nearest points of each row, by increasing distance: both arrays are (rows, k)."""

    indices: NDArray[np.intp]
    distances: NDArray[np.float64]

    def first(self, k: int) -> "Neighbors":
        """The first k of them, or all if there are fewer."""
        return Neighbors(np.ascontiguousarray(self.indices[:, :k]), np.ascontiguousarray(self.distances[:, :k]))

    def twins(self) -> NDArray[np.intp]:
        """The point that each row coincides with, or -1: (rows,). Of copies it is the first."""
        return np.where(self.distances[:, 0] == 0, self.indices[:, 0], -1)


class NeighborIndex:
    """Points (N, m) that tell which are near: built once, immutable, shared by threads, pickled as its points."""

    def __init__(self, points: NDArray[np.float64]) -> None:
        self.points = points.view()
        self.points.flags.writeable = False
        self._tree = _core.NeighborIndex(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __reduce__(self) -> tuple[type["NeighborIndex"], tuple[NDArray[np.float64]]]:
        return NeighborIndex, (self.points,)

    def order(self) -> NDArray[np.intp]:
        """The points, in an order in which those that follow each other are near: searches of parts are faster so."""
        return self._tree.order()

    def nearest(self, queries: NDArray[np.float64] | None, k: int, threads: int, *, name: str = "X") -> Neighbors:
        """The k nearest points of each query, or of each point, itself first; their squares are finite.

        `name` is the argument that the queries come from.
        """
        found = Neighbors(*self._tree.nearest(queries, k, threads))
        check_squares(found.distances, name)
        return found

    def extend(self, **map_and_bases: Any) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
        """A map of the points at new ones; see `_extension.extend`."""
        return _core.extend(self._tree, **map_and_bases)

    def first_copies(self, own: Neighbors, threads: int) -> NDArray[np.intp] | slice:
        """The first copy of each point, given their own neighbours: what new points that coincide with them find."""
        if own.distances.shape[1] < 2 or own.distances[:, 1].all():
            return slice(None)
        return self.nearest(self.points, 1, threads).indices[:, 0]


def nearest_neighbors(
    X: ArrayLike, n_neighbors: int, *, queries: ArrayLike | None = None, n_jobs: int | None = None
) -> Neighbors:
    """The `n_neighbors` nearest points of each row, exactly, by Euclidean distance.

    Distances come from differences of coordinates, equal ones are ordered by index, and the result is the
    same to the bit for every number of threads on one machine.

    Parameters
    ----------
    X : array of shape (N, m)
        The points.
    n_neighbors : int
        From 1 to N. Without `queries` it counts the point itself, which comes first at distance 0.
    queries : array of shape (Q, m), optional
        Points whose neighbours among the rows of X are wanted, instead of the rows of X themselves.
    n_jobs : int, optional
        Threads, at most one per processor; None follows OMP_NUM_THREADS and threadpoolctl, -1 means all processors.

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
    return Neighbors(*_core.NeighborIndex(points).nearest(others, k, n_threads(n_jobs)))


def _as_count(n_neighbors: int, n_rows: int, *, low: int) -> int:
    k = as_integer(n_neighbors, "n_neighbors", low=low)
    if k > n_rows:
        raise ValueError(f"n_neighbors={k} is more than the {n_rows} rows of X; lower n_neighbors or add rows")
    return k


def given_or_found(
    points: NDArray[np.float64],
    n_neighbors: int | None,
    neighbors: Neighbors | None,
    threads: int,
    index: NeighborIndex | None = None,
) -> Neighbors:
    """The neighbours of all points for the steps that follow: at least two, whose squares are finite."""
    if neighbors is None:
        if n_neighbors is None:
            raise TypeError("n_neighbors must be given, or neighbors as nearest_neighbors returns them")
        k = _as_count(n_neighbors, len(points), low=2)
        return (index or NeighborIndex(points)).nearest(None, k, threads)
    found = as_neighbors(neighbors, "neighbors", len(points))
    check_squares(found.distances, "X")
    return found


def as_neighbors(value: Any, name: str, n_rows: int) -> Neighbors:
    """Neighbours that the caller brings, as the result of nearest_neighbors looks; or a sparse matrix of distances."""
    if scipy.sparse.issparse(value):
        value = _from_graph(value, name)
    try:
        indices, distances = (np.asarray(array) for array in value)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be a pair of indices and distances, as nearest_neighbors returns, got {type(value).__name__}"
        ) from None
    if indices.dtype.kind not in "iu" or distances.dtype.kind != "f":
        raise TypeError(
            f"{name} must be integer indices and float distances, got {indices.dtype} and {distances.dtype}"
        )
    shape = indices.shape
    if len(shape) != 2 or shape[0] != n_rows or shape[1] < 2 or distances.shape != shape:
        raise ValueError(
            f"{name} must be indices and distances of shape ({n_rows}, k) with k >= 2, got shapes "
            f"{shape} and {distances.shape}"
        )
    others_first = (indices[:, 0] != np.arange(n_rows)) | (distances[:, 0] != 0)
    if others_first.any():
        row = int(others_first.argmax())
        raise ValueError(
            f"{name} must have each point itself first, at distance 0; row {row} starts with point {indices[row, 0]} "
            f"at distance {distances[row, 0]:.3g}. Search all rows of X among all rows of X, in their order"
        )
    unsorted = ~(np.diff(distances, axis=1) >= 0).all(axis=1)
    if unsorted.any():
        raise ValueError(
            f"{name} must have distances that are sorted along each row, without NaN; those of row "
            f"{unsorted.argmax()} are not. Sort indices and distances together"
        )
    if indices.min() < 0 or indices.max() >= n_rows:
        raise ValueError(
            f"{name}: indices from {indices.min()} to {indices.max()} must be rows of the points, which are {n_rows}"
        )
    twice = (np.diff(np.sort(indices, axis=1), axis=1) == 0).any(axis=1)
    if twice.any():
        raise ValueError(
            f"{name} must have each point once in a row; in row {twice.argmax()} one occurs twice. Remove it"
        )
    return Neighbors(np.ascontiguousarray(indices, dtype=np.intp), np.ascontiguousarray(distances, dtype=np.float64))


def refined(points: NDArray[np.float64], neighbors: Neighbors, threads: int) -> tuple[Neighbors, bool]:
    """Neighbours with the distances and the order that nearest_neighbors gives, and True; or as they are, and False.

    Other libraries round differently, and new points are compared with these distances. False if they differ by more
    than single precision explains, because they are not Euclidean.
    """
    distances = _core.pair_distances(points, neighbors.indices, threads)
    if not (np.abs(distances - neighbors.distances) <= 1e-3 * distances + 1e-4 * distances[:, -1:]).all():
        return neighbors, False
    distances[:, 0] = -1  # the point itself stays first
    order = np.lexsort((neighbors.indices, distances), axis=1)
    distances[:, 0] = 0
    indices = np.take_along_axis(neighbors.indices, order, axis=1)
    return Neighbors(indices, np.take_along_axis(distances, order, axis=1)), True


def _from_graph(graph: Any, name: str) -> Neighbors:
    """The rows of a sparse matrix of distances as neighbours, each point itself put first."""
    rows = graph.tocoo()
    apart = rows.row != rows.col
    row, column, distance = rows.row[apart], rows.col[apart], rows.data[apart].astype(np.float64)
    counts = np.bincount(row, minlength=graph.shape[0])
    if counts.min() != counts.max():
        raise ValueError(
            f"{name} must have the same number of neighbours in every row, got from {counts.min()} to {counts.max()} "
            "besides the point itself; search for a number of neighbours, not within a radius"
        )
    order = np.lexsort((column, distance, row))
    shape = (graph.shape[0], counts[0])
    selves = np.arange(graph.shape[0])[:, np.newaxis]
    return Neighbors(
        np.hstack([selves, column[order].reshape(shape)]),
        np.hstack([np.zeros(selves.shape), distance[order].reshape(shape)]),
    )


def check_squares(distances: NDArray[np.float64], name: str) -> None:
    """Refuse distances (sorted rows) whose squares overflow; `name` is the argument that they come from."""
    farthest = distances[:, -1].max(initial=0)
    if farthest > LARGEST_DISTANCE:
        raise ValueError(f"{name} has points {farthest:.3g} apart, whose squared distances overflow; rescale it")
