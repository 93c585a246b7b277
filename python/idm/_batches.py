"""Rows in parts, to bound the memory of what is done with them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_ROWS = 8192
_MOST_NUMBERS = 20_000_000


def batches(n_rows: int, numbers_per_row: int = 1) -> Iterator[slice]:
    """Slices of all rows, of so many that a part has at most 20 million numbers (or eight rows)."""
    size = max(8, min(_MOST_ROWS, _MOST_NUMBERS // numbers_per_row))
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))


def in_batches(
    function: Callable[[NDArray[np.float64]], tuple[NDArray[Any], ...]], rows: NDArray[np.floating[Any]]
) -> tuple[NDArray[Any], ...]:
    """The arrays that the function returns, with a row for each of the rows, which it gets in parts, as float64."""
    results: tuple[NDArray[Any], ...] = ()
    for part in batches(len(rows)):
        found = function(np.ascontiguousarray(rows[part], dtype=np.float64))
        results = results or tuple(np.empty((len(rows), *array.shape[1:]), dtype=array.dtype) for array in found)
        for whole, array in zip(results, found, strict=True):
            whole[part] = array
    return results
