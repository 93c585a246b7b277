"""How singular values and dimensions scale with the bandwidth at one point."""

import numpy as np
import pytest

import idm
import reference
from idm import datasets

pytestmark = pytest.mark.usefixtures("variant")

GRID = 2.0 ** (-13 + np.arange(1, 231) / 10)


@pytest.fixture(scope="module")
def torus():
    return datasets.make_torus(10_000, sampling="grid")


@pytest.fixture(scope="module")
def base_row():
    return 25 * 100 + 1  # theta = pi / 2, phi = 2 pi / 100: the base point of section 3.1


def test_the_torus_of_the_paper(torus, base_row):
    np.testing.assert_allclose(torus.X[base_row], [1.996, 0.126, 1.0], atol=1e-3)
    laws = idm.scaling_laws(torus.X, base_row, GRID)
    best = np.flatnonzero(laws.best == GRID)[0]
    assert laws.best == pytest.approx(0.01105, rel=1e-3)
    assert laws.d1[best] == pytest.approx(2.0055, abs=1e-4)
    assert laws.d2[best] == pytest.approx(2.0091, abs=1e-4)
    assert laws.d_ave[best] == pytest.approx((2.0055 + 2.0091) / 2, abs=1e-4)
    np.testing.assert_allclose(laws.exponents[best], [0.500, 0.499, 1.003], atol=5e-4)
    largest = laws.d1.argmax()
    assert GRID[largest] == pytest.approx(0.660, abs=1e-3)
    assert laws.d1[largest] == pytest.approx(2.320, abs=1e-3)


def test_a_row_and_its_coordinates_are_the_same_point(torus, base_row):
    by_row, by_point = (idm.scaling_laws(torus.X, p, GRID[60:70]) for p in (base_row, torus.X[base_row]))
    for a, b in zip(by_row, by_point, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("n", "m"), [(200, 1), (200, 2), (200, 4), (200, 5), (100, 30), (40, 60)])
def test_agrees_with_the_twin(rng, n, m):
    X = rng.normal(size=(n, m)) * np.geomspace(1, 0.1, m)
    r = np.sort(np.linalg.norm(X - X[3], axis=1))
    bandwidths = np.geomspace(r[12] ** 2, 5 * r[-1] ** 2, 9)
    laws = idm.scaling_laws(X, 3, bandwidths)
    for i, eps in enumerate(bandwidths):
        sigma, alpha, D, d1, d2, M = reference.laws_at(X - X[3], eps)
        rank = min(n - 1, m)
        np.testing.assert_allclose(laws.singular_values[i, :rank], sigma[:rank], rtol=2e-12)
        np.testing.assert_allclose(laws.exponents[i, :rank], alpha[:rank], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose([laws.weight[i], laws.d1[i], laws.d2[i]], [D, d1, d2], rtol=5e-13)
        if m <= n:  # otherwise the twin divides by eigenvalues that are 0
            np.testing.assert_allclose(laws.disagreement[i], M, rtol=2e-11)


def test_more_coordinates_than_points_give_the_laws_of_the_space_they_span(rng):
    # The Gram matrix is solved instead of C; rotated into their span, the points have fewer coordinates.
    X = rng.normal(size=(40, 60)) * np.geomspace(1, 0.1, 60)
    X -= X[3]
    span = np.linalg.svd(X, full_matrices=False)[2][:39]
    bandwidths = np.geomspace(10, 100, 6)
    laws = idm.scaling_laws(X, 3, bandwidths)
    for i, eps in enumerate(bandwidths):
        sigma, alpha, _, _, d2, M = reference.laws_at(X @ span.T, eps)
        np.testing.assert_allclose(laws.singular_values[i, :39], sigma, rtol=2e-12)
        np.testing.assert_allclose(laws.exponents[i, :39], alpha, rtol=3e-10)
        np.testing.assert_allclose([laws.d2[i], laws.disagreement[i]], [d2, M], rtol=2e-13)


def test_a_cluster_beside_far_points_keeps_its_laws(rng):
    cluster = rng.uniform(-1, 1, size=(500, 4))
    cluster[0] = 0
    alone = idm.scaling_laws(cluster, 0, [0.02, 0.05, 0.1])
    for scale in (1e-40, 1e-80, 1e-100):
        X = np.concatenate([cluster * scale, [[1.0, 0, 0, 0], [0, 1.3, 0, 0]]])
        laws = idm.scaling_laws(X, 0, np.array([0.02, 0.05, 0.1]) * scale**2)
        np.testing.assert_allclose(laws.disagreement, alone.disagreement, rtol=5e-13)
        assert laws.best == pytest.approx(alone.best * scale**2, rel=1e-14, abs=0)


def test_exponents_and_slopes_are_the_derivatives_they_claim_to_be(rng):
    X = datasets.make_torus(2000, random_state=1).X
    eps, h = np.geomspace(0.02, 1, 7), 1e-4
    laws = idm.scaling_laws(X, 0, eps)
    up, down = (idm.scaling_laws(X, 0, eps * np.exp(s)) for s in (h, -h))
    slope = (np.log(up.singular_values) - np.log(down.singular_values)) / (2 * h)
    np.testing.assert_allclose(laws.exponents, slope, rtol=2e-8)
    np.testing.assert_allclose(laws.d1, (np.log(up.weight) - np.log(down.weight)) / h, rtol=5e-9)
    slopes = [abs(np.log(getattr(up, d)) - np.log(getattr(down, d))) / (2 * h) for d in ("d1", "d2")]
    M = abs(laws.d1 - laws.d2) / laws.d_ave + sum(slopes)
    np.testing.assert_allclose(laws.disagreement, M, rtol=5e-8)


@pytest.mark.large
def test_tangent_singular_values_scale_as_the_root_and_normal_ones_linearly():
    # Corollary 3.2 on a dense grid: C / eps tends to the projection on the tangent space with an error of order eps.
    X = datasets.make_torus(160_000, sampling="grid").X
    eps = np.array([0.02, 0.01, 0.005, 0.0025])
    laws = idm.scaling_laws(X, 0, eps)
    np.testing.assert_allclose(laws.exponents[:, :2], 0.5, atol=0.01)
    np.testing.assert_allclose(laws.exponents[:, 2], 1.0, atol=0.015)
    error = np.abs(laws.singular_values[:, :2] ** 2 / eps[:, None] - 1).max(axis=1)
    np.testing.assert_allclose(error[:-1] / error[1:], 2, rtol=0.015)  # halves with eps
    normal = laws.singular_values[:, 2] ** 2 / eps**2
    np.testing.assert_allclose(normal[:-1] / normal[1:], 1, rtol=0.015)


def test_vanishing_singular_values_have_the_exponent_of_normal_directions(rng):
    X = rng.uniform(size=(500, 3)) * [1, 1, 0]
    laws = idm.scaling_laws(X, [0.5, 0.5, 0.0], [0.01, 0.02])
    np.testing.assert_array_equal(laws.singular_values[:, 2], 0)
    np.testing.assert_array_equal(laws.exponents[:, 2], 1)
    assert all(np.isfinite(array).all() for array in laws)


def test_a_bandwidth_where_only_the_point_has_weight_is_never_chosen(torus, base_row):
    laws = idm.scaling_laws(torus.X, base_row, [1e-9, 0.01, 1e-12])
    assert laws.best == 0.01
    np.testing.assert_array_equal(laws.d1[[0, 2]], 0)
    np.testing.assert_array_equal(laws.disagreement[[0, 2]], np.inf)


@pytest.mark.parametrize(
    ("point", "bandwidths", "error", "words"),
    [
        (0, [1e-9], ValueError, "weight of 1 only.*larger bandwidths"),
        (0, [], ValueError, "bandwidths must be a list"),
        (0, 1.0, ValueError, "bandwidths must be a list"),
        (0, [0.1, -1.0], ValueError, "positive, .* got -1.0 at position 1"),
        (0, [np.nan], ValueError, "positive, .* got nan"),
        (True, [0.1], TypeError, "point must be a row of X or an array"),
        ([1e200, 0, 0], [0.1], ValueError, "point has points 1e\\+200 apart"),
        (100, [0.1], ValueError, "point must be a row of X, from 0 to 99, .* got 100"),
        (0.5, [0.1], TypeError, "point must be a row of X or an array"),
        ([0.0, 0.0], [0.1], ValueError, "point must have 3 columns"),
        ([0.0, np.inf, 0.0], [0.1], ValueError, "point must be finite"),
        ([[0.0, 0.0, 0.0]] * 2, [0.1], ValueError, "point must be one point"),
    ],
)
def test_bad_arguments_are_named(rng, point, bandwidths, error, words):
    with pytest.raises(error, match=words):
        idm.scaling_laws(rng.normal(size=(100, 3)), point, bandwidths)


def test_points_that_coincide_have_no_laws():
    with pytest.raises(ValueError, match="they coincide with it"):
        idm.scaling_laws(np.ones((20, 2)), 0, [0.1, 1.0])
