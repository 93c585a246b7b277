"""Lengths in the metric of the flow, and the neighbours that they choose."""

import numpy as np
import pytest

import idm
from idm import _core

pytestmark = pytest.mark.usefixtures("variant")


def lengths(dx, DH, tau, mixing):
    """Lengths dH of differences (..., m) with derivatives (..., n, m), in NumPy."""
    plain, mapped = np.linalg.norm(dx, axis=-1), np.linalg.norm(np.einsum("...nm,...m->...n", DH, dx), axis=-1)
    if mixing == "lengths":
        return (1 - tau) * plain + tau * mapped
    return np.sqrt((1 - tau) * plain**2 + tau * mapped**2)


@pytest.mark.parametrize("mixing", ["lengths", "metric"])
@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 2), (20, 5)])
def test_the_smallest_lengths_of_a_larger_pool_are_kept(rng, mixing, tau, m, n):
    X, DH = rng.normal(size=(150, m)), rng.normal(size=(150, n, m))
    pool = idm.nearest_neighbors(X, 60)
    indices, found = _core.metric_neighbors(X, None, DH.reshape(150, -1), *pool, tau, mixing, 20, 2)
    dH = lengths(X[pool.indices] - X[:, np.newaxis], DH[:, np.newaxis], tau, mixing)
    order = np.argsort(dH, axis=1, kind="stable")[:, :20]
    np.testing.assert_allclose(found, np.take_along_axis(dH, order, axis=1), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(indices[:, 0], np.arange(150))
    if tau < 1 or n >= m:  # else lengths may be 0 besides, in one dimension
        np.testing.assert_array_equal(indices, np.take_along_axis(pool.indices, order, axis=1))


def test_at_tau_0_nothing_changes(rng):
    X = rng.normal(size=(100, 3))
    pool = idm.nearest_neighbors(X, 30)
    for mixing in ("lengths", "metric"):
        indices, found = _core.metric_neighbors(X, None, np.ones((100, 3)), *pool, 0.0, mixing, 30, 1)
        np.testing.assert_array_equal(indices, pool.indices)
        np.testing.assert_allclose(found, pool.distances, rtol=1e-15)


def test_other_bases_use_their_own_derivative(rng):
    X, bases, DH = rng.normal(size=(80, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 2, 3))
    pool = idm.nearest_neighbors(X, 40, queries=bases)
    indices, found = _core.metric_neighbors(X, bases, DH.reshape(7, -1), *pool, 0.6, "lengths", 10, 2)
    expected = lengths(X[indices] - bases[:, np.newaxis], DH[:, np.newaxis], 0.6, "lengths")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (np.diff(found) >= 0).all()


def test_every_thread_count_gives_the_same_bits(rng):
    X, DH = rng.normal(size=(200, 5)), rng.normal(size=(200, 10))
    pool = idm.nearest_neighbors(X, 50)
    one, many = (_core.metric_neighbors(X, None, DH, *pool, 0.5, "metric", 20, n) for n in (1, 3))
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])


def test_what_does_not_fit_is_refused(rng):
    X = rng.normal(size=(50, 3))
    pool = idm.nearest_neighbors(X, 10)
    with pytest.raises(ValueError, match="sizes"):
        _core.metric_neighbors(X, None, np.ones((50, 4)), *pool, 0.5, "metric", 5, 1)
    with pytest.raises(ValueError, match="sizes"):
        _core.metric_neighbors(X, None, np.ones((50, 3)), *pool, 0.5, "metric", 11, 1)
    with pytest.raises(ValueError, match="'other'"):
        _core.metric_neighbors(X, None, np.ones((50, 3)), *pool, 0.5, "other", 5, 1)
