"""Section 2.2: a diffeomorphism as a linear map between eigenfunctions."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import idm
from idm import LocalKernelMap
from idm.exceptions import CoincidentPointsError, ExtrapolationWarning, SpectraDifferWarning


@pytest.fixture(scope="module")
def ellipse():
    t = np.arange(2000) * 2 * np.pi / 2000
    t = t + 0.3 * np.sin(t)
    y = np.column_stack([np.cos(t), np.sin(t)])
    return y * [3.0, 1.0], y


@pytest.fixture(scope="module")
def fitted(ellipse):
    return LocalKernelMap(10).fit(*ellipse)


def test_both_sides_have_the_eigenvalues_of_the_circle(fitted):
    exact = -(np.repeat(np.arange(1, 6), 2) ** 2.0)
    np.testing.assert_allclose(fitted.eigenvalues_, [exact, exact], rtol=0.005)


def test_eigenfunctions_are_related_by_an_orthogonal_map(fitted):
    assert fitted.feature_map_residual_ < 0.005
    gram = fitted.feature_map_.T @ fitted.feature_map_
    np.testing.assert_allclose(gram / np.mean(np.diag(gram)), np.eye(10), rtol=0, atol=0.005)


def test_new_points(fitted, rng):
    t = rng.uniform(0, 2 * np.pi, 300)
    y = np.column_stack([np.cos(t), np.sin(t)])
    np.testing.assert_allclose(fitted.predict(y * [3.0, 1.0]), y, atol=0.005)


def curve(n, seed):
    t = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    y = np.column_stack([np.cos(t), np.sin(t)])
    return y * [3.0, 1.0], y


def plane(n, seed):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, np.column_stack([X[:, 0] + 0.3 * X[:, 1] ** 2, X[:, 1] * (1 + 0.3 * X[:, 0])])


@pytest.mark.parametrize(
    ("pairs", "n", "most"),
    [
        (curve, 200, 0.06),
        (curve, 500, 0.03),
        (curve, 1000, 0.02),
        (plane, 100, 0.06),
        (plane, 200, 0.05),
        (plane, 500, 0.06),
        pytest.param(curve, 5000, 0.02, marks=pytest.mark.large),
        pytest.param(plane, 5000, 0.06, marks=pytest.mark.large),
    ],
)
def test_the_defaults_serve_few_and_many_random_pairs(pairs, n, most):
    new, y_new = pairs(300, 1)
    model = LocalKernelMap().fit(*pairs(n, 0))
    near = model.supported(new)
    assert near.mean() > 0.95
    assert np.sqrt(np.mean((model.predict(new[near]) - y_new[near]) ** 2) / y_new.var()) < most


def test_fewer_neighbors_are_tried_until_the_spectra_agree():
    few, many = (LocalKernelMap().fit(*curve(n, 0)) for n in (700, 2000))
    assert few.eigenvalues_.shape == (2, 20)
    np.testing.assert_allclose(few.eigenvalues_[0, :4], few.eigenvalues_[1, :4], rtol=0.25)
    given = LocalKernelMap(n_neighbors=70).fit(*curve(700, 0))
    np.testing.assert_array_equal(few.eigenvalues_, given.eigenvalues_)
    given = LocalKernelMap(n_neighbors=200).fit(*curve(2000, 0))
    np.testing.assert_array_equal(many.eigenvalues_, given.eigenvalues_)


def test_neighborhoods_across_the_curve_are_told():
    X, y = curve(500, 0)
    with pytest.warns(SpectraDifferWarning, match=r"differ by \d+%: the map says little. Lower n_neighbors"):
        model = LocalKernelMap(n_neighbors=200).fit(X, y)
    assert np.abs(model.predict(X) - y).max() > 0.3


@pytest.mark.large
def test_a_nonlinear_map_of_a_surface():
    X, _, _ = idm.datasets.make_torus(3000, random_state=0)
    y = X * (1 + 0.2 * X[:, 2:])  # bends the torus
    model = LocalKernelMap(30).fit(X[:2500], y[:2500])
    np.testing.assert_allclose(model.eigenvalues_[0, :8], model.eigenvalues_[1, :8], rtol=0.15)
    assert model.score(X[2500:], y[2500:]) > 0.99


def test_one_feature_and_each_row_alone():
    x = np.linspace(0, 3, 500)
    model = LocalKernelMap(8, n_neighbors=60).fit(x[:, np.newaxis], np.exp(x))
    found = model.predict(x[:50, np.newaxis] + 0.001)
    assert found.shape == (50,)
    for i in (0, 7, 49):
        assert model.predict(x[i : i + 1, np.newaxis] + 0.001)[0] == found[i]
    assert model.score(x[:, np.newaxis], np.exp(x)) > 0.9997


def test_each_row_is_predicted_alone(fitted, rng):
    t = rng.uniform(0, 2 * np.pi, 500)
    X = np.column_stack([3 * np.cos(t), np.sin(t)])
    together = fitted.predict(X)
    for part in (slice(0, 1), slice(7, 8), slice(100, 103), slice(250, 500)):
        np.testing.assert_array_equal(fitted.predict(X[part]), together[part])


def test_threads_of_blas_do_not_change_a_bit(ellipse, rng):
    new = rng.normal(size=(50, 2))
    new *= [3, 1] / np.linalg.norm(new, axis=1, keepdims=True)
    found = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            model = LocalKernelMap(40, n_jobs=n).fit(*ellipse)
            found.append((model.feature_map_, model.feature_map_residual_, model.predict(new)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_writing_to_the_feature_map_does_not_change_predictions(ellipse):
    model = LocalKernelMap(10).fit(*ellipse)
    before = model.predict(ellipse[0][:5])
    model.feature_map_[:] = 0
    np.testing.assert_array_equal(model.predict(ellipse[0][:5]), before)


def test_far_points_are_told(fitted):
    with pytest.warns(ExtrapolationWarning, match="1 of 1 rows"):
        fitted.predict([[100.0, 0.0]])


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e20])
def test_units_of_the_features_do_not_matter(rng, scale):
    X = rng.normal(size=(300, 2))
    assert LocalKernelMap().fit(X, X * scale).score(X, X * scale) > 0.995


@pytest.mark.parametrize("values", [1, 2, 5])
def test_a_y_that_many_rows_share_is_named(rng, values):
    X, y = rng.normal(size=(600, 2)), np.arange(600) % values
    with pytest.raises(CoincidentPointsError, match=r"no two points apart in y .*use IteratedDiffusionMap"):
        LocalKernelMap(3).fit(X, y)


def test_wrong_parameters(ellipse):
    with pytest.raises(ValueError, match="n_neighbors must be 'auto' or an integer >= 2, got 'x'"):
        LocalKernelMap(n_neighbors="x").fit(*ellipse)
    for name, value in (("n_components", 0), ("n_neighbors", 1), ("bandwidth", "other"), ("regularization", -1.0)):
        with pytest.raises(ValueError, match=name):
            clone(LocalKernelMap()).set_params(**{name: value}).fit(*ellipse)
