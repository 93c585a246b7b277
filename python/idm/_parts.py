"""Where the graph of neighbours falls into connected parts: what is said of it, and where the parts lie."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._linear_map import linear_map
from idm._threads import one_blas_thread
from idm._warnings import Advice
from idm.exceptions import DisconnectedGraphWarning

_Array: TypeAlias = NDArray[np.float64]
_Parts: TypeAlias = NDArray[np.intp]  # (N,), that of each point, numbered by decreasing size

# Directions of places in which they vary less than this share of the first do not count.
_LEAST_DIRECTION = 1e-3


def warn_if_in_parts(parts: _Parts, advice: Advice, meaning: str) -> None:
    """Say that the graph falls into parts, and what that means."""
    sizes = np.bincount(parts)
    c = len(sizes)
    if c > 1:
        shown = ", ".join(map(str, sizes[:5])) + (", ..." if c > 5 else "")
        rows = np.flatnonzero(parts == c - 1)
        named = ", ".join(str(advice.row(row)) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
        advice.warn(
            DisconnectedGraphWarning,
            f"the graph of neighbours has {c} connected components, of {shown} points (the last: rows {named}), by "
            f"{advice.what}; {meaning}",
        )


def placed(parts: _Parts, coordinates: _Array, places: _Array, masses: _Array, most: int) -> tuple[_Array, _Array]:
    """Where each part lies, (N, q), and the axes (M, M') of the coordinates (N, M), each of which belongs to a part.

    The sum of both, where the first are the mean `places` (N, p) of parts along their q principal axes, has each part
    turned such that the places of its points are as they should be: its first q axes fit them best (Procrustes), and
    the others are shared by all parts. Nothing changes within a part, but that there are at most `most` axes.
    """
    sums = np.bincount(parts, weights=masses)
    means = np.stack([np.bincount(parts, weights=masses * column) / sums for column in places.T], axis=1)
    with one_blas_thread():
        sizes, V = np.linalg.eigh(np.atleast_2d(np.cov(places, rowvar=False)))
        q = int(np.count_nonzero(sizes > _LEAST_DIRECTION**2 * sizes[-1]))
        V = V[:, ::-1][:, : min(most, max(1, q))]
        q = V.shape[1]
        where = linear_map(means - places.mean(axis=0), V)
        within = linear_map(places - means[parts], V) * masses[:, np.newaxis]
        turned: list[tuple[NDArray[np.intp], _Array]] = []
        for part in range(len(sums)):
            rows = np.flatnonzero(parts == part)
            own = np.flatnonzero((coordinates[rows] != 0).any(axis=0))
            U, _, Bt = np.linalg.svd(coordinates[np.ix_(rows, own)].T @ within[rows])
            k = min(U.shape[0], q)
            turned.append((own, np.hstack([U[:, :k] @ Bt[:k], U[:, k:]])))
    axes = np.zeros((coordinates.shape[1], max([q, *(R.shape[1] for _, R in turned)])))
    for own, R in turned:
        axes[own, : R.shape[1]] = R
    return where[parts], axes[:, :most]
