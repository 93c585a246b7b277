"""What an array argument may be, and what is said when it is not."""

import numpy as np
import pytest
import scipy.sparse

from idm._validation import as_points

nan_at = np.zeros((4, 3))
nan_at[2, 1] = np.nan
inf_at = np.zeros((4, 3))
inf_at[0, 2] = -np.inf


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (nan_at, ValueError, ["NaN", "nan", "row 2, column 1", "impute"]),
        (inf_at, ValueError, ["infinite", "-inf", "row 0, column 2"]),
        (np.full((2, 2), 1e301), ValueError, ["1e+301", "rescale"]),
        (np.arange(3.0), ValueError, ["two-dimensional", "(3,)", "reshape"]),
        (np.float64(2), ValueError, ["two-dimensional", "()"]),
        (np.zeros((2, 2, 2)), ValueError, ["(2, 2, 2)"]),
        (np.zeros((0, 3)), ValueError, ["(0, 3)", "at least one row"]),
        (np.zeros((3, 0)), ValueError, ["(3, 0)", "one column"]),
        ([[1.0, 2.0], [3.0]], ValueError, ["rectangular"]),
        (np.zeros((2, 2), complex), TypeError, ["complex", "real and imaginary"]),
        (np.array([["1", "2"]]), TypeError, ["<U1", "astype"]),
        (np.array([[{}, 1]], dtype=object), TypeError, ["object", "not numeric"]),
        (np.array([["a", 1]], dtype=object), TypeError, ["object", "not numeric"]),
        ([[10**400, 1]], TypeError, ["object", "not numeric"]),
        (np.zeros((2, 2), "datetime64[s]"), TypeError, ["datetime64"]),
        (scipy.sparse.csr_matrix((3, 3)), TypeError, ["sparse", "toarray"]),
        (np.ma.masked_equal(np.arange(4.0).reshape(2, 2), 1), ValueError, ["masked", "filled"]),
        (None, TypeError, ["object"]),
    ],
)
def test_what_is_no_point_set_is_refused_by_name(value, error, words):
    with pytest.raises((error, ValueError) if value is None else error) as caught:
        as_points(value, "the_data")
    for word in ["the_data", *words][: 1 if value is None else None]:
        assert word in str(caught.value)


def test_longdouble_beyond_float64_is_refused():
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        return  # longdouble is float64 on this platform: there is nothing beyond it
    with pytest.raises(ValueError, match="infinite values as float64"):
        as_points(np.array([[np.finfo(np.longdouble).max]]), "X")


def test_float64_in_c_order_is_not_copied():
    X = np.ones((5, 2))
    assert as_points(X, "X") is X or np.shares_memory(as_points(X, "X"), X)
    assert as_points(np.ones((5, 2), bool), "X").dtype == np.float64
