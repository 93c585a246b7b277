"""The one place that knows Dask: rows of a fit out of chunks, and methods that stay lazy, chunk by chunk."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idm._on_disk import is_dask
from idm._validation import check_block, check_dense, check_masks

_ChooseRows = Callable[[int], NDArray[np.intp]]
# Sums that are added in one task.
_SUMMED = 8


def _dask() -> Any:
    """Dask with its arrays, for a collection that somebody gave."""
    try:
        import dask
        import dask.array
    except ImportError as error:
        raise ImportError(
            "X or y is a Dask collection, and Dask cannot be imported; install it with "
            "pip install 'iterated-diffusion-map[dask]', or pass arrays (X.compute())"
        ) from error
    return dask


def dask_sample(X: Any, y: Any, choose: _ChooseRows, *, labels: bool) -> dict[str, Any]:
    """X and y of the rows that `choose` wants of so many, and their numbers; each chunk looks at its own rows."""
    dask = _dask()
    if _is_frame(X):
        chunks = X.to_delayed()
        lengths = dask.compute(*map(dask.delayed(len), chunks))
    else:
        X = _by_rows(X)
        lengths, chunks = X.chunks[0], X.to_delayed(optimize_graph=False)[:, 0]  # one graph with y: one pass
    n = sum(lengths)
    y = _like_rows(dask, y, lengths)
    rows, starts = choose(n), np.cumsum([0, *lengths])
    places = np.searchsorted(rows, starts)
    take = dask.delayed(_take)
    taken = dask.compute(
        *(
            take(points, features, rows[first:last] - start, start, labels)
            for points, features, start, first, last in zip(chunks, y, starts, places, places[1:], strict=False)
        )
    )
    points, values = zip(*taken, strict=True)
    sample = {"X": _joined(points), "y": np.concatenate(values), "n_rows": n}
    if len(rows) == n:
        return sample | {"rows": None}
    filled = [(points, features) for points, features, length in zip(chunks, y, lengths, strict=True) if length]
    return sample | {"rows": rows, "total": lambda of_part: _total(dask, of_part, filled)}


def _total(dask: Any, of_part: Any, chunks: Sequence[tuple[Any, Any]]) -> Any:
    """The sum of what a function makes of each chunk, where it is; sums of sums come to the client."""
    shared, call = dask.delayed(of_part, pure=True, traverse=False), dask.delayed(_call, pure=True)
    parts = [call(shared, points, features) for points, features in chunks]  # one node: each worker gets it once
    while len(parts) > 1:
        parts = [dask.delayed(sum)(parts[i : i + _SUMMED]) for i in range(0, len(parts), _SUMMED)]
    return parts[0].compute()


def _call(of_part: Any, points: Any, features: Any) -> Any:
    return of_part(points, features)


def _is_frame(X: Any) -> bool:
    return hasattr(type(X), "map_partitions") and hasattr(type(X), "to_dask_array")


def _by_rows(X: Any) -> Any:
    """A Dask array whose chunks have all columns and a known number of rows."""
    _check_array(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, got a Dask array of shape {X.shape}")
    if any(np.isnan(length) for length in X.chunks[0]):
        X = X.compute_chunk_sizes()
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def _check_array(value: Any, name: str) -> None:
    if not hasattr(type(value), "map_blocks"):
        raise TypeError(f"{name} must be a Dask array or data frame, got {type(value).__name__}")
    if name == "X" and value.dtype.kind not in "biufO":
        raise TypeError(f"X must hold numbers, got dtype {value.dtype}; convert it with astype(float)")


def _like_rows(dask: Any, y: Any, lengths: Sequence[int]) -> Any:
    """The chunks of y, with as many rows as those of X."""
    if _is_frame(y):
        y = y.to_dask_array(lengths=True)
    elif not is_dask(y):
        if y is None:
            raise ValueError("y must be given: the features of the rows of X")
        check_masks(y, "y")
        check_dense(y, "y")
        y = dask.array.from_array(np.asarray(y), chunks=-1)
    else:
        _check_array(y, "y")
    if any(np.isnan(length) for length in y.chunks[0]):
        y = y.compute_chunk_sizes()
    if y.ndim not in (1, 2) or len(y) != sum(lengths):
        raise ValueError(f"y must have a row for each of the {sum(lengths)} rows of X, got shape {y.shape}")
    y = y.rechunk((tuple(lengths), *((-1,) * (y.ndim - 1))))
    return y.to_delayed(optimize_graph=False).ravel()


def _take(points: Any, features: Any, rows: NDArray[np.intp], first_row: int, labels: bool) -> tuple[Any, NDArray[Any]]:
    """In a task: some rows of a chunk, after a check of all."""
    array = check_block(points, "X", int(first_row))
    values = check_block(features, "y", int(first_row), labels=labels)
    return points.iloc[rows] if hasattr(points, "iloc") else array[rows], values[rows]


def _joined(points: Sequence[Any]) -> Any:
    if not hasattr(points[0], "iloc"):
        return np.concatenate(points)
    import pandas

    return pandas.concat(points)


def lazily(
    model: Any, method: str, X: Any, *, names: Sequence[Any] | None = None, dtype: Any = np.float64, out: Any = None
) -> Any:
    """A method of a fitted model for a Dask collection: another, whose columns have these names, or of one dimension.

    The model is one node of the graph, which each worker gets once, and which is there again if a worker dies. A task
    runs on one thread: workers have as many threads as they have processors.
    """
    dask = _dask()
    if out is not None:
        raise TypeError("out cannot be given with a Dask X; store the result, with to_zarr or to_parquet for example")
    sent = copy.copy(model).set_params(n_jobs=1, verbose=0, callback=None)
    vars(sent).pop("embedding_", None)
    shared = dask.delayed(sent, traverse=False)
    if not _is_frame(X):
        X = _by_rows(X)
        empty = np.empty((0,) if names is None else (0, len(names)), dtype=dtype)
        shape = {"drop_axis": 1} if names is None else {"chunks": (X.chunks[0], (len(names),))}
        return X.map_blocks(_of_block, shared, method, empty, dtype=dtype, meta=empty, **shape)
    import pandas

    empty = pandas.Series(dtype=dtype) if names is None else pandas.DataFrame(columns=names, dtype=dtype)
    return X.map_partitions(_of_partition, shared, method, empty, meta=empty)


def _of_block(block: Any, model: Any, method: str, empty: Any, block_info: Any = None) -> Any:
    """In a task: the method's result for a chunk, which may have no rows."""
    if not len(block):
        return empty
    return getattr(model, method)(check_block(block, "X", block_info[0]["array-location"][0][0]))


def _of_partition(block: Any, model: Any, method: str, empty: Any) -> Any:
    import pandas

    if not len(block):
        return empty
    try:
        check_block(block, "X", 0)
    except ValueError as error:
        raise ValueError(f"{error} (of the partition that begins with index {block.index[0]!r})") from None
    values = getattr(model, method)(block)
    if empty.ndim == 1:
        return pandas.Series(values, index=block.index)
    return pandas.DataFrame(np.asarray(values), index=block.index, columns=empty.columns)
