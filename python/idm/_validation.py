"""The one place that checks and converts arguments. Everything below it gets C-ordered float64."""

import contextlib
import numbers
from collections.abc import Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from idm._on_disk import OnDisk, is_on_disk
from idm.exceptions import CoincidentPointsError

_Array: TypeAlias = NDArray[np.float64]
_Choice = TypeVar("_Choice", bound=str)

# Beyond this, differences and distances could exceed the largest float64.
_LARGEST = 1e300
# Of features, whose squared differences are added to those of points.
_LARGEST_SPREAD = 1e140
# Bandwidths are squares of distances, and sums of them must be finite.
LARGEST_DISTANCE = 1e145
SMALLEST_BANDWIDTH = 1e-290
_BANDWIDTHS = (SMALLEST_BANDWIDTH, 1e290)


def as_points(value: ArrayLike, name: str, *, n_columns: int | None = None) -> NDArray[np.float64]:
    """`value` as a finite (rows, columns) array, converted at most once; `n_columns` is what it must have."""
    array = as_float(value, name)
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be two-dimensional with a row per point, got shape {array.shape}; for points with "
            f"one coordinate use {name}.reshape(-1, 1), for one point {name}.reshape(1, -1)"
        )
    if array.size == 0:
        raise ValueError(f"{name} must have at least one row and one column, got shape {array.shape}")
    if n_columns is not None and array.shape[1] != n_columns:
        raise ValueError(
            f"{name} must have {n_columns} columns, as X has, got shape {array.shape}; pass the same columns"
        )
    _check_range(array, name)
    return array


@contextlib.contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was, the number of its columns included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def estimator_points(estimator: BaseEstimator, X: ArrayLike) -> NDArray[np.float64]:
    """The X of an estimator's fit: scikit-learn's checks and words, then our range; never the caller's own array."""
    _check_kind(X, "X")
    array: NDArray[np.float64] = validate_data(estimator, X, dtype=np.float64, order="C", ensure_min_samples=2)
    _check_range(array, "X")
    return _own(array, X)


def _own(array: _Array, given: ArrayLike) -> _Array:
    """The array, or a copy if it is the caller's, who may change that later."""
    return array.copy() if np.may_share_memory(array, np.asarray(given)) else array


def estimator_queries(
    estimator: BaseEstimator, X: ArrayLike, *, reset: bool = False
) -> NDArray[np.floating[Any]] | OnDisk:
    """The X of an estimator's other methods, which may stay float32: `in_batches` converts it, a part at a time.

    On a disk, it is read and checked a part at a time, too. `reset`: it decides on the number of columns, as in fit.
    """
    if is_on_disk(X):
        return _points_on_disk(estimator, X, reset=reset)
    _check_kind(X, "X")
    array: NDArray[np.floating[Any]] = validate_data(estimator, X, reset=reset, dtype=[np.float64, np.float32])
    _check_range(array, "X")
    return array


def _points_on_disk(estimator: BaseEstimator, X: Any, *, reset: bool) -> OnDisk:
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and columns, got shape {tuple(X.shape)}")
    # One row tells whether columns and kind fit; scikit-learn's words, once.
    validate_data(estimator, _check_kind(np.asarray(X[:1]), "X"), reset=reset, ensure_all_finite=False)

    def checked(block: Any, first_row: int) -> NDArray[Any]:
        check_masks(block, "X")
        array: NDArray[Any] = check_array(np.asarray(block), dtype=[np.float64, np.float32], ensure_all_finite=False)
        _check_range(array, "X", first_row)
        return array

    return OnDisk(X, checked)


def check_block(value: Any, name: str, first_row: int, *, labels: bool = False) -> NDArray[Any]:
    """Some rows of X or y as an array, of which none is masked or missing, and numbers are in range."""
    check_masks(value, name)
    array = np.asarray(value) if labels else _check_kind(value, name)
    if labels and array.dtype.kind == "O":
        missing = [_is_missing(label) for label in array.ravel()]
        if any(missing):
            raise ValueError(f"{name} has no label in row {first_row + missing.index(True)}; drop the rows without one")
    elif array.dtype.kind in "fO":
        _check_range(as_float(array, name), name, first_row)
    return array


def _is_missing(label: Any) -> bool:
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def check_output(out: Any, shape: tuple[int, int]) -> None:
    """That rows of coordinates can be written into `out`."""
    given, dtype = getattr(out, "shape", None), getattr(out, "dtype", None)
    if given != shape or getattr(dtype, "kind", "") != "f":
        got = f"{out!r:.60}" if dtype is None else f"shape {given} and dtype {dtype}"
        raise ValueError(f"out must be an array of floating-point numbers of shape {shape}, got {got}")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out is read-only; open it for writing, with mode='r+' for example")


def check_fits(values: _Array, out: Any) -> None:
    """That values are not too large for the dtype of `out`, which would hold infinite ones."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > float(np.finfo(out.dtype).max):
        raise ValueError(f"out has dtype {out.dtype}, too small for coordinates of {largest:.3g}; give one of float64")


def features_on_disk(y: Any, *, labels: bool) -> OnDisk:
    """Features or labels that are read in blocks."""
    return OnDisk(y, lambda block, first_row: check_block(block, "y", first_row, labels=labels))


def estimator_data(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike) -> tuple[_Array, _Array]:
    """The X and y of an estimator's fit, neither of them the caller's own arrays; y is (rows,) or (rows, features)."""
    _check_kind(X, "X")
    check_dense(y, "y")
    if _check_kind(y, "y").ndim == 0 and y is not None:
        raise ValueError(f"y must have shape (rows,) or (rows, features), got {y!r}; pass a value for each row of X")
    points, features = validate_data(
        estimator, X, y, multi_output=True, y_numeric=True, dtype=np.float64, order="C", ensure_min_samples=2
    )
    features = np.array(features, dtype=np.float64)
    _check_range(points, "X")
    _check_range(features, "y")
    spread = np.ptp(features, axis=0).max()
    if spread > _LARGEST_SPREAD:
        raise ValueError(f"y has values {spread:.3g} apart, whose squares overflow; rescale it")
    _check_apart(points)
    return _own(points, X), features


def estimator_labels(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike) -> tuple[_Array, NDArray[Any], NDArray[Any]]:
    """The X of a classifier's fit (not the caller's own), the label of each row, and the classes."""
    _check_kind(X, "X")
    check_dense(y, "y")
    check_masks(y, "y")
    points, labels = validate_data(estimator, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    _check_range(points, "X")
    _check_apart(points)
    try:
        classes = np.unique(labels)
    except TypeError as error:
        types = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(
            f"y mixes labels of the types {types}, which have no order; drop the rows without a label (None), and give "
            "all others one type, with y.astype(str) for example"
        ) from error
    check_classification_targets(labels)
    return _own(points, X), labels, classes


def as_features(value: ArrayLike, name: str, *, n_rows: int) -> NDArray[np.float64]:
    """Feature values as a finite (n_rows, n) array; a one-dimensional array is one column."""
    array = as_float(value, name)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (rows,) or (rows, features), got shape {array.shape}")
    if len(array) != n_rows:
        raise ValueError(f"{name} must have a row for each of the {n_rows} rows of X, got {len(array)} rows")
    _check_range(array, name)
    return array


def as_bandwidths(value: ArrayLike, name: str, *, n_rows: int | None = None) -> NDArray[np.float64]:
    """Positive finite bandwidths as a vector; with `n_rows`, one each, or one number for all of them."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be a number or an array of numbers, got {value!r}")
    array = as_float(value, name)
    if n_rows is not None and array.ndim == 0:
        array = np.full(n_rows, array)
    if array.ndim != 1 or array.size == 0 or (n_rows is not None and len(array) != n_rows):
        wanted = "a list of numbers" if n_rows is None else f"a number, or {n_rows} of them, one per row of X"
        raise ValueError(f"{name} must be {wanted}, got shape {array.shape}")
    wrong = ~((array >= _BANDWIDTHS[0]) & (array <= _BANDWIDTHS[1]))
    if wrong.any():
        raise ValueError(
            f"{name} must be positive, between {_BANDWIDTHS[0]:.0e} and {_BANDWIDTHS[1]:.0e}, got {array[wrong][0]} at "
            f"position {wrong.argmax()}"
        )
    return array


def as_choice(value: Any, name: str, choices: tuple[_Choice, ...]) -> _Choice:
    """`value` if it is one of `choices`, the names of a Literal."""
    for choice in choices:
        if isinstance(value, str) and value == choice:
            return choice
    raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def is_auto(value: Any, name: str, wanted: str, kind: type) -> bool:
    """Whether `value` is "auto"; what is neither that nor a `kind` (no bool) is refused as not being `wanted`."""
    if isinstance(value, str) and value == "auto":
        return True
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} must be {wanted}, got {value!r}")
    return False


def as_real(value: Any, name: str, *, low: float = -np.inf, high: float = np.inf) -> float:
    """`value` as a finite float between `low` and `high`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    result = float(value)
    if not (low <= result <= high and np.isfinite(result)):
        bounds = f"at least {low}" if np.isinf(high) else f"between {low} and {high}"
        raise ValueError(f"{name} must be finite and {bounds}, got {result}")
    return result


def as_integer(value: Any, name: str, *, low: int | None = None, high: int | None = None) -> int:
    """`value` as an int between `low` and `high`, which say what they stand for in the error."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}")
    result = int(value)
    if (low is not None and result < low) or (high is not None and result > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be {bounds}, got {result}")
    return result


def as_float(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """`value` as float64 in C order, of any shape; what does not hold numbers is refused."""
    check_dense(value, name)
    array = _check_kind(value, name)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is complex ({array.dtype}); pass its real and imaginary parts as columns")
    try:
        with np.errstate(over="ignore"):  # a longdouble may become inf, which _check_range reports
            return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} has dtype {array.dtype} and is not numeric: {error}; leave out what is not a number, or encode it"
        ) from error


def check_dense(value: ArrayLike, name: str) -> None:
    """That `value` is no sparse matrix."""
    if scipy.sparse.issparse(value):
        raise TypeError(f"{name} is a sparse matrix; distances need a dense one: pass {name}.toarray()")


def _check_kind(value: ArrayLike, name: str) -> NDArray[Any]:
    """`value` as an array that holds numbers (complex ones too) or objects: no strings, dates or masked values."""
    check_masks(value, name)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not a rectangular array: {error}; give all rows the same length") from error
    if array.dtype.kind not in "biufcO":
        raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}; convert it with astype(float)")
    return array


def check_masks(value: ArrayLike, name: str) -> None:
    """That no value is masked."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} has masked values; drop those rows or fill them with {name}.filled(...)")


def _check_apart(points: _Array) -> None:
    spread = np.ptp(points, axis=0).max()
    if spread > LARGEST_DISTANCE:
        raise ValueError(f"X has points {spread:.3g} apart, whose squared distances overflow; rescale it")
    if not spread > np.sqrt(SMALLEST_BANDWIDTH):
        raise CoincidentPointsError(
            "X has no two points apart (by 1e-145 or more); pass rows that differ, or rescale X"
        )


def _check_range(array: NDArray[np.floating[Any]], name: str, first_row: int = 0) -> None:
    largest = max(-float(array.min()), float(array.max())) if array.size else 0.0
    if largest <= _LARGEST:  # not if any is NaN
        return
    by_row = array.reshape(len(array), -1)
    wrong = ~np.isfinite(by_row)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"{name} must be finite, got {np.count_nonzero(wrong)} NaN or infinite values as float64, the "
            f"first ({by_row[row, column]}) in row {first_row + row}, column {column}; remove or impute them"
        )
    raise ValueError(
        f"{name} has values up to {largest:.3g}; differences of values beyond {_LARGEST:.0e} may overflow: rescale it"
    )
