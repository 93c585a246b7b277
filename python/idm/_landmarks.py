"""Rows that carry the geometry; all others are extended to."""

import numbers
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._validation import as_integer, is_auto

_Array: TypeAlias = NDArray[np.float64]

_AUTO = 2000
# The farthest points are sought among so many random rows for each landmark.
_SAMPLED = 4


def n_landmarks_of(n_landmarks: Any, n_rows: int) -> int:
    """How many of `n_rows` rows are landmarks: "auto", a number, or None for all of them."""
    if n_landmarks is None:
        return n_rows
    if is_auto(n_landmarks, "n_landmarks", "None, 'auto' or an integer >= 2", numbers.Integral):
        return min(_AUTO, n_rows)
    return min(as_integer(n_landmarks, "n_landmarks", low=2), n_rows)


def choose_landmarks(points: _Array, n_landmarks: int, random_state: np.random.RandomState) -> NDArray[np.intp]:
    """Rows (sorted) that cover the data: half are random, so that they follow the density, and half fill the gaps.

    The second half are the farthest points among four times as many random rows.
    """
    n = len(points)
    if n_landmarks == n:
        return np.arange(n)
    sample = random_state.permutation(n)[: _SAMPLED * n_landmarks]
    chosen = _core.farthest_points(points[sample], max(1, n_landmarks // 2), n_landmarks)[:, 0]
    return np.sort(sample[chosen])
