"""Rows that are not in memory: arrays that are read in blocks (np.memmap, h5py, zarr), and Dask collections."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

_BLOCK_BYTES = 32_000_000


def is_dask(value: Any) -> bool:
    """Whether this is a Dask collection."""
    cls = type(value)
    return hasattr(cls, "__dask_graph__") and cls.__module__.partition(".")[0] in ("dask", "dask_expr")


def is_on_disk(value: Any) -> bool:
    """Whether this has a shape, a dtype of NumPy and slices, but is no array of NumPy nor a column of a data frame."""
    if isinstance(value, np.ndarray) or is_dask(value):
        return isinstance(value, np.memmap)
    has_slices = isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "__getitem__")
    has_slices = has_slices and not hasattr(value, "iloc")
    is_array = isinstance(getattr(value, "dtype", None), np.dtype) and not isinstance(value, np.generic)
    return has_slices and is_array and not scipy.sparse.issparse(value)


class OnDisk:
    """An array whose blocks are checked as they are read: `check(block, first_row)` returns what to use.

    A block may be a masked array, as netCDF4 has them.
    """

    def __init__(self, array: Any, check: Callable[[Any, int], NDArray[Any]]) -> None:
        self._array, self._check = array, check

    def __len__(self) -> int:
        return int(self._array.shape[0])

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """The first row of each block, and its rows: whole chunks, if the array has them, so that each is read once."""
        n, shape = len(self), self._array.shape
        row_bytes = max(1, int(np.prod(shape[1:])) * np.dtype(self._array.dtype).itemsize)
        chunk = int(np.max((getattr(self._array, "chunks", None) or (1,))[0]))  # a number, or those of all chunks
        size = max(1, _BLOCK_BYTES // row_bytes // chunk) * chunk
        for start in range(0, n, size):
            yield start, self._check(self._array[start : start + size], start)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return self._check(self._array[rows], rows.start)

    def take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Some rows, by increasing numbers, after a check of all."""
        taken = []
        for start, block in self.blocks():
            first, last = np.searchsorted(rows, [start, start + len(block)])
            taken.append(block[rows[first:last] - start])
        return np.concatenate(taken)
