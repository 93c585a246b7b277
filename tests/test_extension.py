"""New points: the kernel rows of training, and sums with them."""

import numpy as np
import pytest

import idm
from idm import _core
from idm._neighbors import NeighborIndex, Reach

pytestmark = pytest.mark.usefixtures("variant")


def extend(X, k, queries, epsilon, weights, values, n_threads=2):
    found = idm.nearest_neighbors(X, k, queries=queries)
    twins = np.full((len(queries), 1), -1)
    reverse = NeighborIndex(X).reverse(queries, Reach.of(idm.nearest_neighbors(X, k)), twins, n_threads)
    return _core.extend(*found, reverse, epsilon, weights.reshape(-1, 1), values, n_threads)


def test_agrees_with_numpy(rng):
    X, queries, k, epsilon = rng.normal(size=(120, 2)), rng.normal(size=(9, 2)), 20, 0.05
    weights, values = rng.uniform(0.5, 2, 120), rng.normal(size=(120, 7))
    found, support = extend(X, k, queries, epsilon, weights, values)
    d = np.linalg.norm(queries[:, np.newaxis] - X, axis=2)
    mine = np.argsort(np.argsort(d, axis=1), axis=1) < k
    theirs = d < idm.nearest_neighbors(X, k).distances[:, -1]
    J = (mine + 1.0 * theirs) / 2 * np.exp(-(d**2) / (2 * epsilon))
    np.testing.assert_allclose(support[:, 0], J.sum(axis=1), rtol=3e-15)
    P = J * weights / (J * weights).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, P @ values, rtol=0, atol=1e-14)


def test_far_points_get_the_values_of_the_nearest_and_no_support(rng):
    X, values = rng.normal(size=(50, 2)), rng.normal(size=(50, 3))
    query = np.array([[1e6, 0.0]])
    found, support = extend(X, 10, query, 0.01, np.ones(50), values)
    assert support[0, 0] == 0
    np.testing.assert_allclose(found[0], values[X[:, 0].argmax()], rtol=1e-15)


def test_each_row_alone_to_the_bit(rng):
    X, queries, values = rng.normal(size=(300, 3)), rng.normal(size=(70, 3)), rng.normal(size=(300, 11))
    together, _ = extend(X, 25, queries, 0.3, np.ones(300), values)
    for i in range(70):
        alone, _ = extend(X, 25, queries[i : i + 1], 0.3, np.ones(300), values, n_threads=1)
        np.testing.assert_array_equal(alone[0], together[i])
