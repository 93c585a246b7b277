"""The feature at new points."""

import numpy as np
import pytest

import idm
from idm._feature_estimate import estimate_feature


def error(X, y, new, y_new, regularization=0.05):
    neighbors = idm.nearest_neighbors(X, 100)
    bandwidth = idm.local_geometry(X, neighbors=neighbors).bandwidth
    estimate = estimate_feature(X, y, neighbors, bandwidth, regularization, 2)
    found = idm.nearest_neighbors(X, 100, queries=new)
    fitted = estimate.at(new, found, np.full((len(new), 1), -1), 2)
    return np.sqrt(np.mean((fitted - y_new) ** 2)), (estimate.bandwidth / bandwidth)[0]


def test_the_bandwidth_follows_the_noise(rng):
    X, new = rng.uniform(-2, 2, (1500, 2)), rng.uniform(-1.5, 1.5, (200, 2))

    def feature(Z):
        return np.sin(3 * Z[:, :1])

    exact, small = error(X, feature(X), new, feature(new))
    noisy, large = error(X, feature(X) + 0.3 * rng.normal(size=(1500, 1)), new, feature(new))
    assert small < large
    assert exact < 0.02
    assert noisy < 0.12  # the noise is averaged


def test_affine_features_are_exact(rng):
    X, new = rng.normal(size=(300, 3)), rng.normal(size=(20, 3)) * 0.5
    y = X @ np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]) + 5
    assert error(X, y, new, new @ np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]) + 5, 1e-9)[0] < 1e-6


def test_twins_get_the_feature_of_the_data(rng):
    X, y = rng.normal(size=(200, 2)), rng.normal(size=(200, 1))
    neighbors = idm.nearest_neighbors(X, 50)
    estimate = estimate_feature(X, y, neighbors, idm.local_geometry(X, neighbors=neighbors).bandwidth, 0.05, 1)
    found = idm.nearest_neighbors(X, 50, queries=X[:9].copy())
    twins = np.arange(9).reshape(-1, 1)
    np.testing.assert_array_equal(estimate.at(X[:9].copy(), found, twins, 1), y[:9])
    assert not np.allclose(estimate.at(X[:9].copy(), found, np.full_like(twins, -1), 1), y[:9])


@pytest.mark.parametrize("n_threads", [2, 5])
def test_every_thread_count_gives_the_same_bits(rng, n_threads):
    X, y = rng.normal(size=(300, 3)), rng.normal(size=(300, 1))
    neighbors = idm.nearest_neighbors(X, 40)
    bandwidth = idm.local_geometry(X, neighbors=neighbors).bandwidth
    one, many = (estimate_feature(X, y, neighbors, bandwidth, 0.05, n) for n in (1, n_threads))
    np.testing.assert_array_equal(one.bandwidth, many.bandwidth)
