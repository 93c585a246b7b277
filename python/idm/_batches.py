"""Rows in parts, to bound the memory of what is done with them."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._on_disk import OnDisk

Rows: TypeAlias = NDArray[np.floating[Any]] | OnDisk

_MOST_ROWS = 8192
_MOST_NUMBERS = 20_000_000


def batches(n_rows: int, numbers_per_row: int = 1) -> Iterator[slice]:
    """Slices of all rows, of so many that a part has at most 20 million numbers (or eight rows)."""
    size = max(8, min(_MOST_ROWS, _MOST_NUMBERS // numbers_per_row))
    for start in range(0, n_rows, size):
        yield slice(start, min(n_rows, start + size))


def in_batches(
    function: Callable[[NDArray[np.float64]], tuple[NDArray[Any], ...]],
    rows: Rows,
    *,
    out: Any = None,
    done: Callable[[int], object] = int,
) -> tuple[NDArray[Any], ...]:
    """The arrays that the function returns, with a row for each of the rows, which it gets in parts, as float64.

    The first of them goes into `out`, if that is given. `done` hears of the number of rows of each part.
    """
    results: list[Any] = [] if out is None else [out]
    for part, some in _parts(rows):
        found = function(np.ascontiguousarray(some, dtype=np.float64))
        for array in found[len(results) :]:
            results.append(np.empty((len(rows), *array.shape[1:]), dtype=array.dtype))
        for whole, array in zip(results, found, strict=True):
            whole[part] = array
        done(len(some))
    return tuple(results)


def _parts(rows: Rows) -> Iterator[tuple[slice, NDArray[np.floating[Any]]]]:
    """The rows, in batches, of blocks as they are read if they are on a disk."""
    for start, block in rows.blocks() if isinstance(rows, OnDisk) else [(0, rows)]:
        for part in batches(len(block)):
            yield slice(start + part.start, start + part.stop), block[part]
