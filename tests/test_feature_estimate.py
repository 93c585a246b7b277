"""The feature at rows of the fit, without their own y, and at new rows."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from idm._feature_estimate import adapted_estimate, feature_scale, fit_estimate, outlying_rows
from idm.exceptions import FeatureOutlierWarning, UnpredictableFeatureWarning


def fitted(X, y, seed=0, threads=2):
    return adapted_estimate(X, y, np.random.RandomState(seed), threads)


def error(estimate, new, y_new):
    return np.sqrt(np.mean((estimate.at(new, 2) - y_new) ** 2) / y_new.var())


def feature(Z):
    return np.sin(3 * Z[:, :1])


def test_the_bandwidth_follows_the_noise(rng):
    X, new = rng.uniform(-2, 2, (1500, 2)), rng.uniform(-1.5, 1.5, (200, 2))
    exact = fitted(X, feature(X))
    noisy = fitted(X, feature(X) + 0.3 * rng.normal(size=(1500, 1)))
    assert error(exact, new, feature(new)) < 0.0025
    assert error(noisy, new, feature(new)) < 0.07
    assert exact.factor * np.prod(np.linalg.svd(_map(exact))[1]) < noisy.factor


def _map(estimate):
    return np.eye(estimate.index.points.shape[1]) if estimate.A is None else estimate.A


def test_affine_features_are_exact(rng):
    X, new = rng.normal(size=(300, 3)), rng.normal(size=(20, 3)) * 0.5
    H = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]])
    estimate = fitted(X, X @ H + 5)
    np.testing.assert_allclose(estimate.at(new, 2), new @ H + 5, rtol=0, atol=4e-6)
    np.testing.assert_allclose(estimate.relevance, H @ H.T, rtol=0, atol=6e-5)


def test_no_row_sees_its_own_value(rng):
    X, y = rng.normal(size=(300, 2)), rng.normal(size=(300, 1))
    before = fitted(X, y)
    y[7] += 1e-3  # so little that the choices stay
    after = fitted(X, y)
    assert (after.factor, after.gamma) == (before.factor, before.gamma)
    assert after.left_out[7] == pytest.approx(before.left_out[7], abs=1e-12)
    assert np.abs(after.left_out - before.left_out).max() > 1e-6
    np.testing.assert_array_equal(after.at(X, 2), after.left_out)


def test_what_does_not_matter_is_shrunk(rng):
    X, new = rng.uniform(-1, 1, (2000, 10)), rng.uniform(-1, 1, (300, 10))
    estimate = fitted(X, feature(X))
    assert error(estimate, new, feature(new)) < 0.003
    lengths = np.linalg.norm(estimate.A, axis=1)
    assert lengths[1:].max() < 0.03 * lengths[0]


@pytest.mark.large
def test_a_part_of_many_rows_finds_the_map_first(rng, monkeypatch):
    X, new = rng.uniform(-1, 1, (21_000, 4)), rng.uniform(-1, 1, (1000, 4))
    y, y_new = (feature(Z) + Z[:, 1:2] ** 2 / 2 for Z in (X, new))
    found = error(fitted(X, y), new, y_new)
    assert found < 0.0011
    monkeypatch.setattr("idm._feature_estimate._FIRST_PART", len(X))
    assert found < 0.5 * error(fitted(X, y), new, y_new)


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_copies_are_left_out_together(rng, estimator):
    X, noise = np.repeat(rng.normal(size=(300, 2)), 2, axis=0), np.repeat(rng.normal(size=(300, 1)), 2, axis=0)
    values = X[:, :1] + noise
    estimate, left_out = fit_estimate(estimator, X, values, np.random.RandomState(0), 2)
    np.testing.assert_array_equal(left_out[::2], left_out[1::2])
    np.testing.assert_array_equal(estimate.at(X, 2), left_out)
    assert abs(np.corrcoef((left_out - X[:, :1])[:, 0], noise[:, 0])[0, 1]) < 0.2  # else they tell each other's value


@pytest.mark.parametrize("estimator", [None, DummyRegressor(), Ridge(1e9)])
def test_noise_is_told_and_has_no_estimate(rng, estimator):
    X, y = rng.normal(size=(300, 3)), rng.normal(size=(300, 1))
    with pytest.warns(UnpredictableFeatureWarning, match="y cannot be predicted from X"):
        estimate, left_out = fit_estimate(estimator, X, y, np.random.RandomState(0), 2)
    assert np.ptp(left_out) == 0
    np.testing.assert_allclose(estimate.at(X[:3], 1), y.mean(), rtol=1e-14)


def test_more_columns_than_neighbors(rng):
    H = rng.normal(size=(5, 400))
    latent, new = rng.normal(size=(500, 5)), rng.normal(size=(50, 5))
    assert error(fitted(latent @ H, latent[:, :1].copy()), new @ H, new[:, :1]) < 2e-6


@pytest.mark.parametrize("n", [2, 3, 5, 20])
@pytest.mark.parametrize("m", [1, 4])
def test_few_rows(rng, n, m):
    X, y = rng.normal(size=(n, m)), rng.normal(size=(n, 1))
    estimate = fitted(X, y)
    assert np.isfinite(estimate.left_out).all()
    assert np.isfinite(estimate.at(rng.normal(size=(4, m)), 1)).all()


def test_constant_features_and_columns(rng):
    X = np.column_stack([rng.normal(size=(100, 2)), np.full(100, 3.0)])
    np.testing.assert_allclose(fitted(X, np.full((100, 1), 7.0)).at(X[:5] + 0.1, 1), 7, rtol=1e-14)
    assert fitted(X, X[:, :1].copy()).relevance[2, 2] == 0


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e3, 1e100])
def test_units_do_not_matter(rng, scale):
    X, y = rng.normal(size=(400, 3)), rng.normal(size=(400, 1)) + 1
    new = rng.normal(size=(20, 3))
    plain = fitted(X, y).at(new, 1)
    np.testing.assert_allclose(fitted(scale * X, y).at(scale * new, 1), plain, rtol=2e-14)
    np.testing.assert_allclose(fitted(X, scale * y).at(new, 1), scale * plain, rtol=2e-14)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_every_thread_count_and_every_row_alone_give_the_same_bits(rng, n_threads):
    X, y, new = rng.normal(size=(400, 6)), rng.normal(size=(400, 1)), rng.normal(size=(40, 6))
    y += np.sin(3 * X[:, :1])
    one, many = (fitted(X, y, threads=n) for n in (1, n_threads))
    assert one.A is not None
    np.testing.assert_array_equal(one.left_out, many.left_out)
    together = one.at(new, 1)
    np.testing.assert_array_equal(many.at(new, n_threads), together)
    np.testing.assert_array_equal(one.at(new[3:4], 1)[0], together[3])


def test_a_regressor_is_cross_fitted(rng):
    X = rng.normal(size=(100, 2))
    y = X + 0.1 * rng.normal(size=(100, 2))
    estimate, _ = fit_estimate(Ridge(), X, y, np.random.RandomState(0), 1)
    np.testing.assert_allclose(estimate.at(X[:9] + 0.1, 1), Ridge().fit(X, y).predict(X[:9] + 0.1), rtol=1e-14)
    np.testing.assert_array_equal(estimate.at(X, 1), estimate.left_out)
    y[5] += 1
    again, _ = fit_estimate(Ridge(), X, y, np.random.RandomState(0), 1)
    np.testing.assert_allclose(again.left_out[5], estimate.left_out[5], rtol=1e-14)


def test_a_regressor_of_one_column_is_used_for_each(rng):
    X = rng.normal(size=(100, 2))
    y = X + 0.1 * rng.normal(size=(100, 2))
    estimate, _ = fit_estimate(SVR(), X, y, np.random.RandomState(0), 1)
    expected = np.column_stack([SVR().fit(X, column).predict(X[:9] + 0.1) for column in y.T])
    np.testing.assert_allclose(estimate.at(X[:9] + 0.1, 1), expected, rtol=1e-14)


def test_the_scale_makes_random_pairs_comparable(rng):
    X, y = rng.normal(size=(500, 2)), 1e-4 * rng.normal(size=(500, 1))
    scale = feature_scale(X, y, np.random.RandomState(0))
    assert feature_scale(X, y * 1e3, np.random.RandomState(0)) == pytest.approx(scale / 1e3, rel=1e-14, abs=0)
    i, j = rng.integers(500, size=(2, 2000))
    ratio = np.median(np.abs(scale * (y[i] - y[j]))) / np.median(np.linalg.norm(X[i] - X[j], axis=1))
    assert ratio == pytest.approx(1, abs=0.1)
    y[3] = 1e6  # one row does not decide
    assert feature_scale(X, y, np.random.RandomState(0)) == pytest.approx(scale, rel=0.015)
    assert feature_scale(X, np.ones((500, 1)), np.random.RandomState(0)) == 1
    rare = (np.arange(500) < 5) * 1.0  # most are equal: the median is 0
    assert 1 < feature_scale(X, rare[:, np.newaxis], np.random.RandomState(0)) < 1000


@pytest.mark.parametrize("size", [100, 1e4])
@pytest.mark.parametrize("n_bad", [1, 5, 10])
def test_features_out_of_proportion_are_found(rng, size, n_bad):
    X = rng.normal(size=(1000, 3))
    y = np.column_stack([X[:, 0], np.sin(X[:, 1])]) + 0.3 * rng.normal(size=(1000, 2))
    bad = np.sort(rng.permutation(1000)[:n_bad])
    y[bad, 1] += size * rng.choice([-1, 1], size=n_bad)
    with pytest.warns(FeatureOutlierWarning, match=rf"in {n_bad} of 1000 rows: {', '.join(map(str, bad))} \("):
        np.testing.assert_array_equal(outlying_rows(X, y, 1), bad)


@pytest.mark.parametrize("scale", [1e-250, 1e130])
def test_features_out_of_proportion_are_found_at_any_scale(rng, scale):
    X = rng.normal(size=(300, 2))
    y = scale * X[:, :1]
    assert len(outlying_rows(X, y, 1)) == 0
    y[7] = 1e139
    with pytest.warns(FeatureOutlierWarning, match=r"in 1 of 300 rows: 7 \("):
        np.testing.assert_array_equal(outlying_rows(X, y, 1), [7])


@pytest.mark.parametrize(
    "feature",
    [
        lambda X, rng: np.exp(3 * X[:, 0]),
        lambda X, rng: np.exp(3 * rng.normal(size=len(X))),
        lambda X, rng: X[:, 0] + 0.1 * rng.standard_cauchy(len(X)),
        lambda X, rng: (rng.uniform(size=len(X)) < 0.01) * 1.0,
        lambda X, rng: rng.choice([0.0, 1.0, 2.0, 1000.0], p=[0.4, 0.3, 0.29, 0.01], size=len(X)),
        lambda X, rng: (X[:, 0] > 2.3) + 0.005 * rng.normal(size=len(X)),
        lambda X, rng: np.sin(X[:, 0]) + 1000 * np.exp(-50 * np.sum((X - 0.5) ** 2, axis=1)),
        lambda X, rng: np.where(X[:, 1] < 1, 0.0, np.exp(5 * X[:, 0])),
        lambda X, rng: np.ones(len(X)),
    ],
    ids=["exp 3x", "lognormal", "cauchy", "rare class", "rare number", "rare region", "spike", "zeros", "constant"],
)
def test_heavy_tails_and_rare_values_are_none(feature):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 2))
        assert len(outlying_rows(X, feature(X, rng).reshape(-1, 1), 1)) == 0
