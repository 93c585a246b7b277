"""The rows of a fit: all of them, or a random part of many, read where they are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.random import sample_without_replacement

from idm._batches import Rows
from idm._dask import dask_sample
from idm._on_disk import OnDisk, is_dask, is_on_disk
from idm._validation import as_integer, check_block, check_dense, estimator_queries, features_on_disk

# What a function makes of X and y of some rows.
OfPart: TypeAlias = Callable[[Any, Any], NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """X and y of the rows that are fitted, as the caller gave them but in memory, and their numbers."""

    X: Any
    y: Any
    n_rows: int  # that there are
    rows: NDArray[np.intp] | None  # increasing; None: all rows
    total: Callable[[OfPart], NDArray[np.int64]] | None = None  # its sum over all rows; None: these are all


def sampled(
    estimator: BaseEstimator, X: Any, y: Any, subsample: int | None, random_state: np.random.RandomState
) -> Sample:
    """At most `subsample` rows, after a check of all; the same whether they are in memory, on a disk or in chunks."""
    most = None if subsample is None else as_integer(subsample, "subsample", low=2)
    labels = is_classifier(estimator)
    if is_dask(X):
        return Sample(**dask_sample(X, y, lambda n: _chosen(n, most, random_state), labels=labels))
    y = y.compute() if is_dask(y) else y
    n = _n_rows(X)
    rows = _chosen(n, most, random_state)
    if (len(rows) == n and not is_on_disk(X)) or y is None or (not is_on_disk(y) and np.ndim(y) == 0):
        return Sample(X=X, y=y, n_rows=n, rows=None)  # as they are: who fits them says what is wrong
    check_dense(y, "y")
    check_consistent_length(X, y)
    points = estimator_queries(estimator, X, reset=True)
    if is_on_disk(y):
        features: Any = features_on_disk(y, labels=labels)
        values = features.take(rows)
    else:
        features = check_block(y, "y", 0, labels=labels)
        values = _safe_indexing(y, rows)
    chosen = _safe_indexing(X, rows) if isinstance(points, np.ndarray) else points.take(rows)
    if len(rows) == n:
        return Sample(X=chosen, y=values, n_rows=n, rows=None)
    return Sample(X=chosen, y=values, n_rows=n, rows=rows, total=lambda of_part: _total(of_part, points, features))


def _total(of_part: OfPart, points: Rows, features: Any) -> NDArray[np.int64]:
    """Part by part, if one of both is on a disk."""
    total: Any = 0
    if isinstance(points, OnDisk):
        for start, block in points.blocks():
            total = total + of_part(block, features[start : start + len(block)])
    elif isinstance(features, OnDisk):
        for start, block in features.blocks():
            total = total + of_part(points[start : start + len(block)], block)
    else:
        total = of_part(points, features)
    result: NDArray[np.int64] = total
    return result


def _n_rows(X: Any) -> int:
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple):
        return int(shape[0]) if shape else 0
    return len(X) if hasattr(X, "__len__") else 0


def _chosen(n: int, most: int | None, random_state: np.random.RandomState) -> NDArray[np.intp]:
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(sample_without_replacement(n, most, random_state=random_state)).astype(np.intp)
