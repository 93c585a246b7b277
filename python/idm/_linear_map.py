"""A linear map of rows whose bits do not depend on how many rows there are, nor on the threads of BLAS."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Array: TypeAlias = NDArray[np.float64]


def linear_map(rows: _Array, A: _Array) -> _Array:
    """(Q, m) times (m, n), each row summed over the columns in order."""
    result = np.zeros((len(rows), A.shape[1]))
    for column, weights in zip(rows.T, A, strict=True):
        result += column[:, np.newaxis] * weights
    return result
