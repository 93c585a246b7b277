"""What an array argument may be, and what is said when it is not."""

import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier, is_regressor

import idm
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


ESTIMATORS = {
    "DiffusionMap": idm.DiffusionMap(2),
    "IteratedDiffusionMap": idm.IteratedDiffusionMap(2, max_iter=1),
    "IteratedDiffusionMapClassifier": idm.IteratedDiffusionMapClassifier(2, max_iter=1),
    "LocalKernelMap": idm.LocalKernelMap(2),
}


@pytest.fixture(params=list(ESTIMATORS))
def estimator(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture
def data(rng, estimator):
    X = rng.normal(size=(60, 2))
    return X, (X[:, 0] > 0).astype(int) if is_classifier(estimator) else X * [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["U32", "S32", "datetime64[s]", "timedelta64[s]"])
def test_estimators_refuse_strings_and_dates_as_functions_do(estimator, data, dtype):
    X, y = data
    other = np.round(X * 1000).astype(int).astype(dtype)
    words = re.escape(f"X must hold numbers, got dtype {other.dtype}; convert it with astype(float)")
    with pytest.raises(TypeError, match=words):
        idm.nearest_neighbors(other, 3)
    with pytest.raises(TypeError, match=words):
        estimator.fit(other, y)
    with pytest.raises(TypeError, match=words):
        estimator.fit(X, y).supported(other)
    if is_regressor(estimator):
        with pytest.raises(TypeError, match="y must hold numbers, got dtype"):
            estimator.fit(X, other[:, 0])


def test_estimators_name_scalars_and_sparse_features(estimator, data):
    X, y = data
    with pytest.raises(ValueError, match="Expected 2D array, got scalar array"):
        estimator.fit(3.0, y)
    if isinstance(estimator, idm.DiffusionMap):
        return
    with pytest.raises(ValueError, match=r"y must have shape|y should be a 1d array"):
        estimator.fit(X, 3.0)
    with pytest.raises(TypeError, match=r"y is a sparse matrix; .*pass y\.toarray\(\)"):
        estimator.fit(X, scipy.sparse.csr_matrix(y.reshape(60, -1)))


@pytest.mark.parametrize("labels", [["a", None], [None, "a"], [3, "a"]])
def test_labels_without_an_order_are_named(rng, labels):
    types = "str, NoneType|NoneType, str|int, str"
    with pytest.raises(ValueError, match=f"y mixes labels of the types ({types}), .*y.astype"):
        idm.IteratedDiffusionMapClassifier().fit(rng.normal(size=(60, 2)), np.array(labels * 30, dtype=object))


def test_a_failed_refit_with_other_columns_leaves_every_estimator_as_it_was(rng, estimator, data):
    X, y = data
    estimator.fit(X, y)
    method = estimator.transform if hasattr(estimator, "transform") else estimator.predict
    before, state = method(X + 0.01), set(vars(estimator))
    for wide in (np.ones((60, 5)), np.full((60, 5), np.nan)):  # refused after the number of columns is known
        with pytest.raises(ValueError, match=r"no two points apart|NaN"):
            estimator.fit(wide, y)
    with pytest.raises(ValueError, match="n_components must be at least 1"):
        estimator.set_params(n_components=0).fit(rng.normal(size=(60, 5)), y)
    assert estimator.n_features_in_ == 2
    assert set(vars(estimator)) == state
    np.testing.assert_array_equal(method(X + 0.01), before)
