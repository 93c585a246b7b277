"""Lengths in the metric of the flow, and the neighbours that they choose."""

import numpy as np
import pytest

import idm
from idm import _core
from idm._extension import Reach
from idm._neighbors import Neighbors

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
    indices, found = _core.metric_neighbors(X, DH.reshape(150, -1), None, None, None, None, *pool, tau, mixing, 20, 2)
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
        indices, found = _core.metric_neighbors(X, np.ones((100, 3)), None, None, None, None, *pool, 0.0, mixing, 30, 1)
        np.testing.assert_array_equal(indices, pool.indices)
        np.testing.assert_allclose(found, pool.distances, rtol=1e-15)


def test_other_bases_use_their_own_derivative(rng):
    X, bases, DH = rng.normal(size=(80, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 2, 3))
    pool = idm.nearest_neighbors(X, 40, queries=bases)
    indices, found = _core.metric_neighbors(
        X, np.zeros((80, 6)), None, bases, DH.reshape(7, -1), None, *pool, 0.6, "lengths", 10, 2
    )
    expected = lengths(X[indices] - bases[:, np.newaxis], DH[:, np.newaxis], 0.6, "lengths")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (np.diff(found) >= 0).all()


def test_every_thread_count_gives_the_same_bits(rng):
    X, DH = rng.normal(size=(200, 5)), rng.normal(size=(200, 10))
    pool = idm.nearest_neighbors(X, 50)
    one, many = (_core.metric_neighbors(X, DH, None, None, None, None, *pool, 0.5, "metric", 20, n) for n in (1, 3))
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])


@pytest.mark.parametrize("mixing", ["lengths", "metric"])
def test_differences_of_features_take_the_place_of_derivatives(rng, mixing):
    X, Y = rng.normal(size=(150, 4)), rng.normal(size=(150, 2))
    pool = idm.nearest_neighbors(X, 60)
    indices, found = _core.metric_neighbors(X, None, Y, None, None, None, *pool, 0.7, mixing, 20, 2)
    dx = np.linalg.norm(X[pool.indices] - X[:, np.newaxis], axis=2)
    dy = np.linalg.norm(Y[pool.indices] - Y[:, np.newaxis], axis=2)
    dH = 0.3 * dx + 0.7 * dy if mixing == "lengths" else np.sqrt(0.3 * dx**2 + 0.7 * dy**2)
    order = np.argsort(dH, axis=1, kind="stable")[:, :20]
    np.testing.assert_allclose(found, np.take_along_axis(dH, order, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(indices, np.take_along_axis(pool.indices, order, axis=1))


@pytest.mark.parametrize("by", ["derivatives", "features"])
def test_reverse_neighbors_of_data_are_those_of_training(rng, by):
    n = 300
    X, DH, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 6)), rng.normal(size=(n, 2))
    extra = (DH, None) if by == "derivatives" else (None, Y)
    pool = idm.nearest_neighbors(X, 50)
    neighbors = Neighbors(*_core.metric_neighbors(X, *extra, None, None, None, *pool, 0.6, "lengths", 25, 2))
    expected = [{} for _ in range(n)]
    for i, (row, lengths_of_row) in enumerate(zip(*neighbors, strict=True)):
        for j, length in zip(row, lengths_of_row, strict=True):
            expected[j][i] = length
    twins = np.arange(n).reshape(-1, 1)
    row_start, columns, found = _core.reverse_metric_neighbors(
        X, *extra, *Reach.of(pool), *Reach.of(neighbors), X, *extra, twins, 0.6, "lengths", 2
    )
    for j in range(n):
        row = slice(row_start[j], row_start[j + 1])
        assert dict(zip(columns[row].tolist(), found[row].tolist(), strict=True)) == expected[j]


def test_what_does_not_fit_is_refused(rng):
    X = rng.normal(size=(50, 3))
    pool = idm.nearest_neighbors(X, 10)

    def call(derivatives, features, tau=0.5, mixing="metric", k=5):
        _core.metric_neighbors(X, derivatives, features, None, None, None, *pool, tau, mixing, k, 1)

    with pytest.raises(ValueError, match="sizes"):
        call(np.ones((50, 4)), None)
    with pytest.raises(ValueError, match="sizes"):
        call(None, np.ones((49, 1)))
    with pytest.raises(ValueError, match="between 1 and the number"):
        call(np.ones((50, 3)), None, k=11)
    with pytest.raises(ValueError, match="'other'"):
        call(np.ones((50, 3)), None, mixing="other")
    for wrong in (1e160, np.inf, np.nan):
        with pytest.raises(ValueError, match="overflow"):
            call(np.full((50, 3), wrong), None)
        with pytest.raises(ValueError, match="overflow"):
            call(None, X[:, :1] * wrong)
