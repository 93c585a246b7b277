"""Step 3: the derivative of the feature map."""

import functools

import numpy as np
import pytest

import idm
import reference
from idm import datasets
from idm._core import _select

pytestmark = pytest.mark.usefixtures("variant")

METHODS = ["affine", "regression", "correlation"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gamma", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize(
    ("n", "m", "k", "features"), [(100, 1, 20, 1), (100, 3, 30, 2), (90, 17, 60, 3), (60, 50, 20, 2)]
)
def test_agrees_with_the_twin(rng, method, gamma, n, m, k, features):
    X, Y = rng.normal(size=(n, m)), rng.normal(size=(n, features))
    neighbors = idm.nearest_neighbors(X, k)
    bandwidth = idm.local_geometry(X, neighbors=neighbors).bandwidth
    found = idm.local_derivatives(X, Y, neighbors=neighbors, method=method, regularization=gamma)
    expected = reference.local_derivatives(X, Y, *neighbors, bandwidth, method, gamma)
    assert found.shape == (n, features, m)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-12 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["affine", "regression"])
def test_without_regularization_a_rank_deficient_neighborhood_gets_the_solution_of_least_norm(rng, method):
    # A plane in R^6, with duplicates: rank 2 of 6.
    X = np.repeat(rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)), 2, axis=0)
    Y = rng.normal(size=(120, 2))
    neighbors = idm.nearest_neighbors(X, 30)
    bandwidth = np.full(120, 0.5)
    found = idm.local_derivatives(X, Y, neighbors=neighbors, method=method, regularization=0, bandwidth=0.5)
    expected = reference.local_derivatives(X, Y, *neighbors, bandwidth, method, 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("m", [2, 9, 40])
def test_an_affine_map_is_recovered_exactly(rng, m):
    X, A = rng.normal(size=(200, m)), rng.normal(size=(3, m))
    found = idm.local_derivatives(X, X @ A.T + 5, n_neighbors=150, regularization=0)
    np.testing.assert_allclose(found, np.broadcast_to(A, found.shape), rtol=0, atol=5e-14)


@pytest.fixture(scope="module")
def torus():
    """The grid of section 3.2 with H = x y^2 + z: points, values, and the derivatives along both tangents."""
    return derivatives_on_torus(10_000)


def derivatives_on_torus(n):
    X, (theta, phi), _ = (lambda d: (d.X, d.coordinates.T, d.y))(datasets.make_torus(n, sampling="grid"))
    x, y, z = X.T
    gradient = np.column_stack([y**2, 2 * x * y, np.ones(n)])
    along_theta = np.column_stack([-np.sin(theta) * np.cos(phi), -np.sin(theta) * np.sin(phi), np.cos(theta)])
    along_phi = np.column_stack([-y, x, np.zeros(n)])
    tangents = np.stack([along_theta, along_phi])
    return X, x * y**2 + z, tangents, np.einsum("tic,ic->ti", tangents, gradient)


def relative_errors(DH, tangents, truth):
    error = np.einsum("tic,ic->ti", tangents, DH[:, 0]) - truth
    return np.sqrt((error**2).mean(axis=1) / (truth**2).mean(axis=1))


@pytest.mark.large
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"method": "regression", "regularization": 0}, [0.064, 0.068]),
        ({"method": "correlation"}, [0.070, 0.092]),
    ],
)
def test_the_errors_of_the_paper_s_example(torus, arguments, expected):
    X, H, tangents, truth = torus
    errors = relative_errors(idm.local_derivatives(X, H, n_neighbors=500, **arguments), tangents, truth)
    np.testing.assert_allclose(errors, expected, atol=0.004)


@pytest.mark.large
def test_a_smaller_bandwidth_has_the_smaller_error(torus):
    X, H, tangents, truth = torus
    eps = idm.local_geometry(X, n_neighbors=500).bandwidth / 10
    DH = idm.local_derivatives(X, H, n_neighbors=500, method="regression", regularization=0, bandwidth=eps)
    np.testing.assert_allclose(relative_errors(DH, tangents, truth), [0.0065, 0.0078], atol=3e-4)


@pytest.mark.large
@pytest.mark.parametrize("method", ["affine", "regression"])
def test_tuning_by_singular_values_brings_the_errors_below_two_percent(torus, method):
    X, H, tangents, truth = torus
    DH = idm.local_derivatives(X, H, n_neighbors=500, method=method, regularization=0, bandwidth="svd")
    assert (relative_errors(DH, tangents, truth) < 0.02).all()


@pytest.mark.large
def test_the_ridge_shrinks_tangent_derivatives_by_its_share(torus):
    X, H, tangents, _ = torus
    eps = 0.02
    plain, ridge = (
        idm.local_derivatives(X, H, n_neighbors=500, regularization=gamma, bandwidth=eps) for gamma in (0, 0.05)
    )
    along = [np.einsum("tic,ic->ti", tangents, DH[:, 0]) for DH in (plain, ridge)]
    ratio = (along[0] * along[1]).sum(axis=1) / (along[0] ** 2).sum(axis=1)
    np.testing.assert_allclose(ratio, 1 / 1.05, rtol=0.002)


@functools.cache
def dense_torus():
    X, *rest = derivatives_on_torus(40_000)
    return X, *rest, idm.nearest_neighbors(X, 900)


@pytest.mark.large
@pytest.mark.parametrize("variant", _select.runnable_variants()[-1:], indirect=True)  # long
@pytest.mark.parametrize("method", METHODS)
def test_errors_fall_linearly_with_the_bandwidth(method):
    # Theorem 3.1: DH + O(eps), on a grid dense enough for the sums to be integrals.
    X, H, tangents, truth, neighbors = dense_torus()
    errors = np.array(
        [
            relative_errors(
                idm.local_derivatives(X, H, neighbors=neighbors, method=method, regularization=0, bandwidth=eps),
                tangents,
                truth,
            )
            for eps in (0.016, 0.012, 0.008)
        ]
    )
    np.testing.assert_allclose(errors[:-1] / errors[1:], [[4 / 3] * 2, [3 / 2] * 2], rtol=0.006)


def test_at_the_points_themselves_queries_get_the_same_derivatives(rng):
    X, y = rng.normal(size=(300, 4)), rng.normal(size=(300, 2))
    at_rows = idm.local_derivatives(X, y, n_neighbors=40)
    at_queries = idm.local_derivatives(X, y, n_neighbors=40, queries=X)
    np.testing.assert_array_equal(at_queries, at_rows)


def test_between_the_points_the_derivative_is_that_of_the_map(rng):
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    queries = rng.uniform(-0.8, 0.8, size=(200, 2))
    truth = np.column_stack([np.cos(queries[:, 0]), 2 * queries[:, 1]])
    found = idm.local_derivatives(X, y, n_neighbors=60, queries=queries, regularization=0)[:, 0]
    assert np.abs(found - truth).max() < 0.05
    alone = idm.local_derivatives(X, y, n_neighbors=60, queries=queries[5:6], regularization=0)[:, 0]
    np.testing.assert_array_equal(alone[0], found[5])


def test_a_query_far_from_all_points_is_reported(rng):
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    for gamma in (0, 0.05):
        for far in (100.0, 1e6, 1e140):
            with pytest.warns(idm.exceptions.ExtrapolationWarning, match=r"1 of 2 queries \(the first: row 1\)"):
                found = idm.local_derivatives(
                    X, y, n_neighbors=20, queries=[[0, 0, 0], [far, 0, 0]], regularization=gamma
                )
            assert np.isfinite(found).all()
            assert found[0].any()
    with pytest.raises(ValueError, match="queries has points 1e\\+160 apart"):
        idm.local_derivatives(X, y, n_neighbors=20, queries=[[1e160, 0, 0]])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gamma", [0, 0.05])
@pytest.mark.parametrize(("c", "b"), [(1e-100, 1e-300), (1e-140, 1e5), (1e-3, 1e5), (1e130, 1e5), (1e140, 1e200)])
def test_scaling_data_and_features(rng, method, gamma, c, b):
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    one = idm.local_derivatives(X, y, n_neighbors=40, method=method, regularization=gamma)
    other = idm.local_derivatives(c * X, b * y, n_neighbors=40, method=method, regularization=gamma)
    np.testing.assert_allclose(other, b / c * one, rtol=1e-9)


def test_a_derivative_beyond_float64_is_an_error(rng):
    with pytest.raises(ValueError, match="derivative overflows"):
        idm.local_derivatives(rng.normal(size=(50, 2)) * 1e-140, rng.normal(size=50) * 1e200, n_neighbors=20)


@pytest.mark.parametrize("gamma", [1e-8, 1e-12, 1e-16, 1e-300, 5e-324])
def test_a_tiny_ridge_is_hardly_worse_than_none(rng, gamma):
    # A plane: across it the derivative is 0, and stays so.
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    X = (rng.uniform(size=(300, 3)) * [1, 1, 0]) @ rotation
    found = idm.local_derivatives(X, np.sin(X[:, 0]), n_neighbors=30, regularization=gamma)[:, 0]
    assert np.abs(found @ rotation[2]).max() < 1e-3
    plain = idm.local_derivatives(X, np.sin(X[:, 0]), n_neighbors=30, regularization=0)[:, 0]
    np.testing.assert_allclose(found, plain, atol=1e-3)


def test_permuting_and_rotating(rng):
    X, y = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    rotation, order = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.permutation(200)
    one = idm.local_derivatives(X, y, n_neighbors=40)
    np.testing.assert_array_equal(idm.local_derivatives(X[order], y[order], n_neighbors=40), one[order])
    turned = idm.local_derivatives(X @ rotation, y, n_neighbors=40)
    np.testing.assert_allclose(turned, one @ rotation, rtol=0, atol=1e-13)


@pytest.mark.parametrize("gamma", [0, 0.05])
def test_constant_features_columns_and_duplicates_have_finite_derivatives(rng, gamma):
    X = np.column_stack([rng.normal(size=(100, 2)), np.full(100, 3.0)])
    assert not idm.local_derivatives(X, np.full(100, 2.5), n_neighbors=20, regularization=gamma).any()
    found = idm.local_derivatives(X, X[:, 0], n_neighbors=20, regularization=gamma)
    assert np.isfinite(found).all()
    assert not found[:, 0, 2].any()
    copies = np.concatenate([np.zeros((30, 2)), rng.normal(size=(70, 2))])
    with pytest.warns(idm.exceptions.DegenerateNeighborhoodWarning):
        found = idm.local_derivatives(copies, copies[:, 0], n_neighbors=20, regularization=gamma)
    assert np.isfinite(found).all()
    assert not found[:30].any()


@pytest.mark.parametrize("gamma", [0, 0.05])
def test_every_thread_count_gives_the_same_bits(rng, gamma):
    X, y = rng.normal(size=(300, 6)), rng.normal(size=(300, 2))
    one, *others = (idm.local_derivatives(X, y, n_neighbors=40, regularization=gamma, n_jobs=n) for n in (1, 2, 7))
    for other in others:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"y": np.zeros(29)}, ValueError, "y must have a row for each of the 30 rows of X, got 29"),
        ({"y": np.zeros((30, 2, 2))}, ValueError, r"y must have shape .* got shape \(30, 2, 2\)"),
        ({"y": np.full(30, np.nan)}, ValueError, "y must be finite"),
        ({"y": ["a"] * 30}, TypeError, "y must hold numbers"),
        ({"method": "ridge"}, ValueError, "method must be one of 'affine'"),
        ({"regularization": -1}, ValueError, "regularization must be finite and at least 0, got -1"),
        ({"regularization": np.nan}, ValueError, "regularization must be finite"),
        ({"regularization": "none"}, TypeError, "regularization must be a number, got 'none'"),
        ({"bandwidth": np.ones(3)}, ValueError, "bandwidth must be a number, or 30 of them"),
        ({"bandwidth": 0.0}, ValueError, "bandwidth must be positive"),
        ({"bandwidth": 1e-310}, ValueError, "bandwidth must be positive, between 1e-290"),
        ({"bandwidth": True}, TypeError, "bandwidth must be a number"),
        ({"queries": np.zeros((2, 3))}, ValueError, "queries must have 2 columns"),
        ({"queries": np.zeros((2, 2)), "method": "regression"}, ValueError, "use method='affine'"),
    ],
)
def test_bad_arguments_are_named(rng, arguments, error, words):
    given = {"X": rng.normal(size=(30, 2)), "y": np.zeros(30), "n_neighbors": 10, **arguments}
    with pytest.raises(error, match=words):
        idm.local_derivatives(given.pop("X"), given.pop("y"), **given)
