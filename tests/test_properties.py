"""What holds for arbitrary small arrays: a finite result or a documented error, and results that move with the data."""

import contextlib
import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.base import clone

import idm
import reference
from idm import DiffusionMap, IteratedDiffusionMap, IteratedDiffusionMapClassifier, LocalKernelMap
from idm.exceptions import EigenpairError

OURS = [c for c in vars(idm.exceptions).values() if isinstance(c, type) and issubclass(c, Warning)]

MODELS = {
    "diffusion": DiffusionMap(5, n_neighbors=20),
    "difference": IteratedDiffusionMap(max_iter=2, random_state=0),
    "derivative": IteratedDiffusionMap(max_iter=2, feature_change="derivative", random_state=0),
    "labels": IteratedDiffusionMapClassifier(max_iter=2, random_state=0),
    "local": LocalKernelMap(5, n_neighbors=20),
}
each_model = pytest.mark.parametrize("name", list(MODELS))

# NaN, infinity, subnormal and huge numbers, and many ties.
anything = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9),
    elements=st.one_of(st.integers(-2, 2).map(float), st.floats(-1e3, 1e3), st.floats()),
)
# Finite, and no larger than squares can be; ties and copies are frequent.
points = arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(1, 4)),
    elements=st.one_of(st.integers(-2, 2).map(float), st.floats(-1e3, 1e3), st.floats(-1e100, 1e100)),
)
seeds = st.integers(0, 2**32 - 1)


@contextlib.contextmanager
def doubts_allowed():
    """Warnings of this library are right; any other is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in OURS:
            warnings.simplefilter("ignore", category)
        yield


def fitted(name, X, y=None):
    y = X[:, 0] if y is None else y
    return clone(MODELS[name]).fit(X, (y > np.median(y)) * 1 if name == "labels" else X if name == "local" else y)


def results(model, rows):
    return [getattr(model, method)(rows) for method in ("transform", "predict") if hasattr(model, method)]


FUNCTIONS = {
    "nearest_neighbors": lambda X, k: idm.nearest_neighbors(X, k),
    "local_geometry d1": lambda X, k: (lambda g: [*g, g.density])(idm.local_geometry(X, n_neighbors=k)),
    "local_geometry svd": lambda X, k: idm.local_geometry(X, n_neighbors=k, bandwidth="svd"),
    "tangent_spaces": lambda X, k: idm.tangent_spaces(X, n_neighbors=k),
    "local_derivatives": lambda X, k: [idm.local_derivatives(X, X[:, :1], n_neighbors=k)],
    "least squares": lambda X, k: [idm.local_derivatives(X, X[:, :1], n_neighbors=k, regularization=0)],
    "scaling_laws": lambda X, k: idm.scaling_laws(X, 0, np.geomspace(1e-3, 1e3, 5))[:5],  # M may be infinite
}


# --- a finite result, or a documented error


@contextlib.contextmanager
def refusals_allowed():
    """Errors that name the argument are right, too."""
    try:
        with doubts_allowed():
            yield
    except (ValueError, EigenpairError) as error:
        if not re.search(r"\b(X|y|n_neighbors|bandwidths|sample|feature)\b", str(error)):
            raise


@pytest.mark.parametrize("name", list(FUNCTIONS))
@settings(max_examples=100)
@given(X=anything | points, k=st.integers(2, 12))
def test_functions_have_finite_results_or_refuse(name, X, k):
    found = None
    with refusals_allowed():
        found = FUNCTIONS[name](X, k)
    assert found is None or all(np.isfinite(array).all() for array in [X, *found])


@each_model
@settings(max_examples=40)
@given(X=anything | points, data=st.data())
def test_estimators_have_finite_results_or_refuse(name, X, data):
    y = data.draw(arrays(np.float64, len(X), elements=st.integers(-2, 2).map(float) | st.floats(-1e3, 1e3)))
    found = None
    with refusals_allowed():
        found = results(clone(MODELS[name]).fit(X, np.round(y) if name == "labels" else y), X)
    assert found is None or all(np.isfinite(array).all() for array in [X, *found])


# --- what moves with the data


def cloud(seed, n=60, m=3):
    """Points, a feature, a rotation and an order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * np.geomspace(1, 0.3, m)
    rotation, _ = np.linalg.qr(rng.normal(size=(m, m)))
    return X, np.sin(X[:, :1]) + X[:, 1:2], rotation, rng.permutation(n)


factors = st.sampled_from([1e-60, 1e-3, 7.0, 1e50])


@given(seed=seeds, c=factors)
def test_neighbors_follow_the_points(seed, c):
    X, _, rotation, order = cloud(seed)
    plain = idm.nearest_neighbors(X, 15)
    moved = idm.nearest_neighbors(c * (X @ rotation + 3)[order], 15)
    np.testing.assert_array_equal(order[moved.indices], plain.indices[order])
    np.testing.assert_allclose(moved.distances / c, plain.distances[order], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(idm.nearest_neighbors(X[order], 15).distances, plain.distances[order])


@pytest.mark.parametrize("tuning", ["d1", "svd"])
@given(seed=seeds, c=factors)
def test_local_geometry_follows_the_points(tuning, seed, c):
    X, _, rotation, order = cloud(seed)
    plain = idm.local_geometry(X, n_neighbors=30, bandwidth=tuning)
    moved = idm.local_geometry(c * (X @ rotation + 3)[order], n_neighbors=30, bandwidth=tuning)
    np.testing.assert_allclose(moved.bandwidth / c**2, plain.bandwidth[order], rtol=5e-13)
    np.testing.assert_allclose(moved.dimension, plain.dimension[order], rtol=5e-13)
    np.testing.assert_allclose(
        moved.log_density + moved.dimension * np.log(c), plain.log_density[order], rtol=0, atol=1e-12
    )


@given(seed=seeds, c=factors)
def test_tangent_spaces_follow_the_points(seed, c):
    # The matrix V diag(s^2) V^T, since single vectors are no functions of the data where singular values agree.
    X, _, rotation, order = cloud(seed)
    plain, moved = (idm.tangent_spaces(Z, n_neighbors=30) for Z in (X, c * (X @ rotation + 3)[order]))
    C, moved_C = (np.einsum("iab,ib,icb->iac", t.vectors, t.singular_values**2, t.vectors) for t in (plain, moved))
    np.testing.assert_allclose(moved_C / c**2, rotation.T @ C[order] @ rotation, rtol=0, atol=2e-13)


@pytest.mark.parametrize("gamma", [0, 0.05])
@given(seed=seeds, c=factors)
def test_derivatives_follow_the_points(gamma, seed, c):
    X, y, rotation, order = cloud(seed)
    plain = idm.local_derivatives(X, y, n_neighbors=30, regularization=gamma)
    moved = idm.local_derivatives(c * (X @ rotation + 3)[order], y[order], n_neighbors=30, regularization=gamma)
    np.testing.assert_allclose(c * moved, plain[order] @ rotation, rtol=0, atol=2e-13)


@pytest.mark.parametrize(("name", "error"), [("diffusion", 3e-13), ("difference", 1e-9), ("derivative", 1e-9)])
@settings(max_examples=10)
@given(seed=seeds, c=factors)
def test_maps_follow_the_points(name, error, seed, c):
    # All coordinates: of two equal eigenvalues, none is cut off. feature_scale="auto" depends on the order of rows.
    X, y, rotation, order = cloud(seed, n=100)
    model = clone(MODELS[name]).set_params(n_components=99, n_neighbors=50)
    if name != "diffusion":
        model.set_params(feature_scale=1.0, early_stopping=False)
    with doubts_allowed():
        plain = clone(model).fit(X, y).embedding_[order]
        moved = clone(model).fit(c * (X @ rotation + 3)[order], c * y[order]).embedding_ / c
    a, b = (reference.pairwise_distances(Z, Z) for Z in (plain, moved))
    np.testing.assert_allclose(b, a, rtol=0, atol=error * a.max())


# --- rows and copies of the model


@each_model
@settings(max_examples=8)
@given(seed=seeds)
def test_each_row_alone_gets_what_it_gets_among_others(name, seed):
    X, y, _, order = cloud(seed, n=80)
    with doubts_allowed():
        model = fitted(name, X[:60], y[:60, 0])
        rows = np.vstack([X[60:] * 0.9, X[order[:5]]])
        alone = [results(model, row[np.newaxis]) for row in rows]
        together = results(model, rows)
    for a, b in zip(zip(*alone, strict=True), together, strict=True):
        np.testing.assert_array_equal(np.concatenate(a), b)


@each_model
@settings(max_examples=5)
@given(seed=seeds)
def test_a_pickled_model_is_the_same(name, seed):
    X, y, _, _ = cloud(seed, n=80)
    with doubts_allowed():
        model = fitted(name, X[:60], y[:60, 0])
        again = pickle.loads(pickle.dumps(model))
        assert again.get_params() == model.get_params()
        for a, b in zip(results(model, X), results(again, X), strict=True):
            np.testing.assert_array_equal(a, b)
    assert pickle.loads(pickle.dumps(MODELS[name])).get_params() == MODELS[name].get_params()
