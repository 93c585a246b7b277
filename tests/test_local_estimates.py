"""Local affine regression for many bandwidths and ridges at once."""

import numpy as np
import pytest

import idm
import reference
from idm import _core

pytestmark = pytest.mark.usefixtures("variant")

FACTORS, GAMMAS = np.array([[0.01, 0.2, 3.0]]), np.array([[1e-6, 0.1, 10.0]])


def estimates(X, Y, bases, near, factors, gammas, n_threads, *, counts=None, left_out=None):
    """With bandwidths that are the squared distance of the middle one of the neighbours."""
    k = near.indices.shape[1]
    unit = near.distances[:, k // 2 : k // 2 + 1] ** 2
    counts = np.ones((len(X), 1)) if counts is None else counts
    bandwidths = np.where(unit > 0, unit, 1.0)
    return _core.local_estimates(X, Y, counts, bases, *near, bandwidths, left_out, factors, gammas, n_threads)


@pytest.mark.parametrize(("m", "k"), [(1, 20), (3, 20), (19, 20), (20, 20), (21, 20), (60, 25), (5, 2), (3, 1)])
def test_agrees_with_numpy(rng, m, k):
    X, Y, bases = rng.normal(size=(80, m)), rng.normal(size=(80, 2)) + 100, rng.normal(size=(7, m))
    near = idm.nearest_neighbors(X, k, queries=bases)
    found = estimates(X, Y, bases, near, FACTORS, GAMMAS, 2)
    assert found.shape == (7, 3, 3, 2)
    for i, base in enumerate(bases):
        unit = near.distances[i, k // 2] ** 2
        for f, factor in enumerate(FACTORS[0]):
            for g, gamma in enumerate(GAMMAS[0]):
                _, expected = reference.affine_regression(
                    X, Y, base, near.indices[i], near.distances[i], factor * unit, gamma
                )
                np.testing.assert_allclose(found[i, f, g], expected, rtol=3e-10)


@pytest.mark.parametrize("m", [3, 60])
def test_agrees_with_the_value_of_the_derivatives(rng, m):
    X, Y = rng.normal(size=(100, m)), rng.normal(size=(100, 2))
    near = idm.nearest_neighbors(X, 30)
    found = estimates(X, Y, X, near, FACTORS[:, 1:2].copy(), GAMMAS[:, 1:2].copy(), 2)
    eps = FACTORS[0, 1] * near.distances[:, 15:16] ** 2
    _, expected = _core.local_derivatives(X, Y, X, None, *near, eps, "affine", GAMMAS[0, 1], 2)
    np.testing.assert_allclose(found[:, 0, 0], expected, rtol=0, atol=2e-14)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_units_of_the_points_do_not_matter(rng, scale):
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 1))
    plain, scaled = (estimates(Z, Y, Z, idm.nearest_neighbors(Z, 20), FACTORS, GAMMAS, 1) for Z in (X, X * scale))
    np.testing.assert_allclose(scaled, plain, rtol=0, atol=1e-14)


def test_points_that_coincide_have_the_mean():
    X, Y = np.ones((30, 2)), np.arange(30.0).reshape(-1, 1)
    found = estimates(X, Y, X, idm.nearest_neighbors(X, 10), FACTORS, GAMMAS, 1)
    np.testing.assert_allclose(found[15, ..., 0], np.mean([15, *range(9)]), rtol=1e-14)


def test_every_thread_count_and_every_row_alone_give_the_same_bits(rng):
    X, Y = rng.normal(size=(200, 5)), rng.normal(size=(200, 2))
    near = idm.nearest_neighbors(X, 30)
    one, many = (estimates(X, Y, X, near, FACTORS, GAMMAS, n) for n in (1, 3))
    np.testing.assert_array_equal(one, many)
    alone = estimates(X, Y, X[7:8], idm.nearest_neighbors(X, 30, queries=X[7:8]), FACTORS, GAMMAS, 1)
    np.testing.assert_array_equal(alone[0], one[7])


@pytest.mark.parametrize("m", [3, 60])
def test_a_point_that_is_left_out_has_no_influence(rng, m):
    X, Y = rng.normal(size=(100, m)), rng.normal(size=(100, 2))
    near = idm.nearest_neighbors(X, 30)
    left_out = near.indices[:, 4:5].copy()
    left_out[3] = np.setdiff1d(np.arange(100), near.indices[3])[0]  # not among them: the last is
    kept = near.indices != left_out
    kept[3, -1] = False
    others = (array[kept].reshape(100, 29) for array in near)
    unit = near.distances[:, 15:16] ** 2
    expected = _core.local_estimates(X, Y, np.ones((100, 1)), X, *others, unit, None, FACTORS, GAMMAS, 1)
    np.testing.assert_array_equal(estimates(X, Y, X, near, FACTORS, GAMMAS, 2, left_out=left_out), expected)


@pytest.mark.parametrize("m", [3, 60])
def test_a_point_that_counts_twice_is_two(rng, m):
    X, Y, bases = rng.normal(size=(40, m)), rng.normal(size=(40, 2)), rng.normal(size=(5, m))
    counts = rng.integers(1, 4, size=(40, 1))
    near = idm.nearest_neighbors(X, 20, queries=bases)
    unit, factors = near.distances[:, 10:11] ** 2, FACTORS[:, 1:].copy()  # the first leaves one point with weight
    found = estimates(X, Y, bases, near, factors, GAMMAS, 2, counts=counts.astype(float))
    for i in range(5):
        each = np.repeat(np.arange(20), counts[near.indices[i], 0])
        row = [np.ascontiguousarray(array[i : i + 1, each]) for array in near]
        expected = _core.local_estimates(
            X, Y, np.ones((40, 1)), bases[i : i + 1], *row, unit[i : i + 1], None, factors, GAMMAS, 1
        )
        np.testing.assert_allclose(found[i : i + 1], expected, rtol=1e-11)
