"""Lengths in the metric of the flow, and the neighbours that they choose."""

import numpy as np
import pytest

import idm
from idm._metric import Flow, metric_neighbors

pytestmark = pytest.mark.usefixtures("variant")


def nearest(X, values, pool, k, tau, mixing="lengths", change="derivative", n_threads=2):
    """Of each point, by the lengths of the flow."""
    return metric_neighbors(X, values, pool, Flow(tau=tau, mixing=mixing, change=change), k, n_threads)


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
    indices, found = nearest(X, DH.reshape(150, -1), pool, 20, tau, mixing)
    dH = lengths(X[pool.indices] - X[:, np.newaxis], DH[:, np.newaxis], tau, mixing)
    order = np.argsort(dH, axis=1, kind="stable")[:, :20]
    np.testing.assert_allclose(found, np.take_along_axis(dH, order, axis=1), rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(indices[:, 0], np.arange(150))
    if tau < 1 or n >= m:  # else lengths may be 0 besides, in one dimension
        np.testing.assert_array_equal(indices, np.take_along_axis(pool.indices, order, axis=1))


def test_at_tau_0_nothing_changes(rng):
    X = rng.normal(size=(100, 3))
    pool = idm.nearest_neighbors(X, 30)
    for mixing in ("lengths", "metric"):
        indices, found = nearest(X, np.ones((100, 3)), pool, 30, 0.0, mixing)
        np.testing.assert_array_equal(indices, pool.indices)
        np.testing.assert_allclose(found, pool.distances, rtol=1e-15)


def test_every_thread_count_gives_the_same_bits(rng):
    X, DH = rng.normal(size=(200, 5)), rng.normal(size=(200, 10))
    pool = idm.nearest_neighbors(X, 50)
    one, many = (nearest(X, DH, pool, 20, 0.5, "metric", n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])


@pytest.mark.parametrize("mixing", ["lengths", "metric"])
def test_differences_of_features_take_the_place_of_derivatives(rng, mixing):
    X, Y = rng.normal(size=(150, 4)), rng.normal(size=(150, 2))
    pool = idm.nearest_neighbors(X, 60)
    indices, found = nearest(X, Y, pool, 20, 0.7, mixing, "difference")
    dx = np.linalg.norm(X[pool.indices] - X[:, np.newaxis], axis=2)
    dy = np.linalg.norm(Y[pool.indices] - Y[:, np.newaxis], axis=2)
    dH = 0.3 * dx + 0.7 * dy if mixing == "lengths" else np.sqrt(0.3 * dx**2 + 0.7 * dy**2)
    order = np.argsort(dH, axis=1, kind="stable")[:, :20]
    np.testing.assert_allclose(found, np.take_along_axis(dH, order, axis=1), rtol=2e-15)
    np.testing.assert_array_equal(indices, np.take_along_axis(pool.indices, order, axis=1))


@pytest.mark.parametrize("wrong", [1e160, np.inf, np.nan])
@pytest.mark.parametrize("change", ["derivative", "difference"])
def test_lengths_that_overflow_are_refused(rng, change, wrong):
    X = rng.normal(size=(50, 3))
    with pytest.raises(ValueError, match="overflow"):
        nearest(X, X * wrong, idm.nearest_neighbors(X, 10), 5, 0.5, "metric", change)
