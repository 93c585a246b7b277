"""Section 2.2: a diffeomorphism as a linear map between eigenfunctions."""

import numpy as np
import pytest
from sklearn.base import clone

import idm
from idm import LocalKernelMap
from idm.exceptions import ExtrapolationWarning


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
    assert model.predict(x[7:8, np.newaxis] + 0.001)[0] == pytest.approx(found[7], rel=1e-14, abs=0)
    assert model.score(x[:, np.newaxis], np.exp(x)) > 0.9997


def test_far_points_are_told(fitted):
    with pytest.warns(ExtrapolationWarning, match="1 of 1 rows"):
        fitted.predict([[100.0, 0.0]])


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e20])
def test_units_of_the_features_do_not_matter(rng, scale):
    X = rng.normal(size=(300, 2))
    assert LocalKernelMap().fit(X, X * scale).score(X, X * scale) > 0.995


def test_wrong_parameters(ellipse):
    for name, value in (("n_components", 0), ("n_neighbors", 1), ("bandwidth", "other"), ("regularization", -1.0)):
        with pytest.raises(ValueError, match=name):
            clone(LocalKernelMap()).set_params(**{name: value}).fit(*ellipse)
