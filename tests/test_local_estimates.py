"""Local affine regression for many bandwidths and ridges at once."""

import numpy as np
import pytest

import idm
import reference
from idm import _core

pytestmark = pytest.mark.usefixtures("variant")

FACTORS, GAMMAS = np.array([[0.01, 0.2, 3.0]]), np.array([[1e-6, 0.1, 10.0]])


@pytest.mark.parametrize(("m", "k"), [(1, 20), (3, 20), (19, 20), (20, 20), (21, 20), (60, 25), (5, 2), (3, 1)])
def test_agrees_with_numpy(rng, m, k):
    X, Y, bases = rng.normal(size=(80, m)), rng.normal(size=(80, 2)) + 100, rng.normal(size=(7, m))
    near = idm.nearest_neighbors(X, k, queries=bases)
    found = _core.local_estimates(X, Y, bases, *near, FACTORS, GAMMAS, 2)
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
    found = _core.local_estimates(X, Y, X, *near, FACTORS[:, 1:2].copy(), GAMMAS[:, 1:2].copy(), 2)
    eps = FACTORS[0, 1] * near.distances[:, 15:16] ** 2
    _, expected = _core.local_derivatives(X, Y, X, None, *near, eps, "affine", GAMMAS[0, 1], 2)
    np.testing.assert_allclose(found[:, 0, 0], expected, rtol=0, atol=2e-14)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_units_of_the_points_do_not_matter(rng, scale):
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 1))
    plain, scaled = (
        _core.local_estimates(Z, Y, Z, *idm.nearest_neighbors(Z, 20), FACTORS, GAMMAS, 1) for Z in (X, X * scale)
    )
    np.testing.assert_allclose(scaled, plain, rtol=0, atol=1e-14)


def test_points_that_coincide_have_the_mean():
    X, Y = np.ones((30, 2)), np.arange(30.0).reshape(-1, 1)
    found = _core.local_estimates(X, Y, X, *idm.nearest_neighbors(X, 10), FACTORS, GAMMAS, 1)
    np.testing.assert_allclose(found[15, ..., 0], np.mean([15, *range(9)]), rtol=1e-14)


def test_every_thread_count_and_every_row_alone_give_the_same_bits(rng):
    X, Y = rng.normal(size=(200, 5)), rng.normal(size=(200, 2))
    near = idm.nearest_neighbors(X, 30)
    one, many = (_core.local_estimates(X, Y, X, *near, FACTORS, GAMMAS, n) for n in (1, 3))
    np.testing.assert_array_equal(one, many)
    alone = _core.local_estimates(X, Y, X[7:8], near.indices[7:8], near.distances[7:8], FACTORS, GAMMAS, 1)
    np.testing.assert_array_equal(alone[0], one[7])
