"""Step 2: bandwidth, dimension and density at every point."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

import idm
import reference
from idm import datasets
from idm._core import _select
from idm.exceptions import DegenerateNeighborhoodWarning

pytestmark = pytest.mark.usefixtures("variant")


def noisy_plane(rng, n, m):
    """Points near a plane in R^m: tangent and normal directions of different size."""
    return rng.normal(size=(n, m)) * np.geomspace(1, 0.05, m)


@pytest.mark.parametrize(
    ("n", "m", "k", "tuning"),
    [
        (150, 2, 40, "d1"),
        (150, 30, 20, "d1"),
        (80, 1, 30, "svd"),
        (80, 2, 30, "svd"),
        (80, 3, 50, "svd"),
        (80, 5, 40, "svd"),
        (60, 12, 60, "svd"),
        (60, 25, 30, "svd"),  # here some bandwidths give fewer points weight than there are coordinates
    ],
)
def test_agrees_with_the_twin(rng, n, m, k, tuning):
    X = noisy_plane(rng, n, m)
    neighbors = idm.nearest_neighbors(X, k)
    found = idm.local_geometry(X, neighbors=neighbors, bandwidth=tuning, n_bandwidths=37)
    bandwidth, dimension, log_density = reference.local_geometry(X, *neighbors, tuning, 37)
    np.testing.assert_allclose(found.bandwidth, bandwidth, rtol=1e-14)
    np.testing.assert_allclose(found.dimension, dimension, rtol=5e-14)
    np.testing.assert_allclose(found.log_density, log_density, rtol=3e-12)
    np.testing.assert_allclose(found.density, np.exp(log_density), rtol=1e-13)


def test_duplicates_do_not_disturb_the_sweep(rng):
    X = np.repeat(rng.normal(size=(60, 3)), 2, axis=0)
    neighbors = idm.nearest_neighbors(X, 30)
    found = idm.local_geometry(X, neighbors=neighbors, n_bandwidths=50)
    expected = reference.local_geometry(X, *neighbors, "d1", 50)
    np.testing.assert_allclose(found.bandwidth, expected[0], rtol=1e-14)
    np.testing.assert_allclose(found.dimension, expected[1], rtol=1e-14)


def test_distances_of_very_different_size_are_swept_in_full(rng):
    # Neighbours at 1e-25 of the others: more than single precision can hold in one sweep.
    X = np.concatenate([rng.normal(size=(50, 2)), [[3.0, 0.0], [3.0, 1e-25]], [[0.0, 0.0], [0.0, 1e-22]]])
    neighbors = idm.nearest_neighbors(X, 20)
    found = idm.local_geometry(X, neighbors=neighbors, n_bandwidths=60)
    expected = reference.local_geometry(X, *neighbors, "d1", 60)
    np.testing.assert_allclose(found.bandwidth, expected[0], rtol=5e-14)
    np.testing.assert_allclose(found.dimension, expected[1], rtol=5e-14)
    svd = idm.local_geometry(X, neighbors=neighbors, n_bandwidths=60, bandwidth="svd")
    assert np.isfinite(svd.log_density).all()


@pytest.mark.parametrize("scale", [1e-12, 1e-19, 1e-30, 1e-60])
def test_a_cluster_beside_far_points_keeps_its_dimension(rng, scale):
    X = np.concatenate([rng.uniform(-1, 1, size=(100, 2)) * scale, [[1.0, 0.0], [0.0, 1.3]]])
    neighbors = idm.nearest_neighbors(X, 101)
    for tuning in ("d1", "svd"):
        found = idm.local_geometry(X, neighbors=neighbors, n_bandwidths=200, bandwidth=tuning)
        expected = reference.local_geometry(X[:20], *(a[:20] for a in neighbors), tuning, 200, X=X)
        np.testing.assert_allclose(found.bandwidth[:20], expected[0], rtol=2e-13)
        np.testing.assert_allclose(found.dimension[:20], expected[1], rtol=1e-13)


MANIFOLDS = {
    "circle": (1, lambda n: datasets.make_circle(n, sampling="random", random_state=0).X),
    "sphere": (2, lambda n: datasets.make_sphere(n, random_state=0).X),
    "torus": (2, lambda n: datasets.make_torus(n, random_state=0).X),
    "plane": (2, lambda n: np.random.default_rng(0).uniform(size=(n, 3)) * [1, 1, 0]),
    "swiss roll": (2, lambda n: make_swiss_roll(n, random_state=0)[0]),
}


@pytest.mark.large
@pytest.mark.parametrize("name", MANIFOLDS)
def test_the_dimension_of_known_manifolds(name):
    dimension, make = MANIFOLDS[name]
    X = make(10_000)
    neighbors = idm.nearest_neighbors(X, 500)
    svd = idm.local_geometry(X, neighbors=neighbors, bandwidth="svd")
    assert abs(np.median(svd.dimension) - dimension) < 0.1
    # d1 comes as it comes: too high by curvature, most for the circle, where 500 neighbours are a long arc.
    d1 = idm.local_geometry(X, neighbors=neighbors)
    assert 0 < np.median(d1.dimension) - dimension < 0.2


@pytest.mark.large
@pytest.mark.parametrize("variant", _select.runnable_variants()[-1:], indirect=True)  # long
def test_a_five_dimensional_sphere_is_underestimated_as_documented():
    X = datasets.make_sphere(10_000, n_dimensions=5, random_state=0).X
    neighbors = idm.nearest_neighbors(X, 500)
    for tuning in ("d1", "svd"):
        median = np.median(idm.local_geometry(X, neighbors=neighbors, bandwidth=tuning).dimension)
        assert 4.0 < median < 4.7


@pytest.mark.large
def test_the_density_of_a_uniform_sphere():
    X = datasets.make_sphere(10_000, random_state=0).X
    density = idm.local_geometry(X, n_neighbors=500, bandwidth="svd").density
    assert np.median(density) == pytest.approx(1 / (4 * np.pi), rel=0.05)


def test_the_density_of_points_on_the_circle_is_exact_on_a_grid():
    X = datasets.make_circle(2000).X
    density = idm.local_geometry(X, n_neighbors=300, bandwidth="svd").density
    np.testing.assert_allclose(density, 1 / (2 * np.pi), rtol=5e-4)


@pytest.mark.parametrize("tuning", ["d1", "svd"])
@pytest.mark.parametrize("c", [1e-100, 3e-7, 1e5, 1e130])
def test_scaling_the_data_scales_the_bandwidth_and_leaves_the_dimension(rng, tuning, c):
    X = rng.normal(size=(300, 3)) * [1, 1, 0.1]
    one = idm.local_geometry(X, n_neighbors=80, bandwidth=tuning)
    other = idm.local_geometry(c * X, n_neighbors=80, bandwidth=tuning)
    np.testing.assert_allclose(other.bandwidth, c**2 * one.bandwidth, rtol=1e-12)
    np.testing.assert_allclose(other.dimension, one.dimension, rtol=1e-12)
    np.testing.assert_allclose(other.log_density, one.log_density - one.dimension * np.log(c), rtol=1e-12)


@pytest.mark.parametrize("tuning", ["d1", "svd"])
def test_rotations_and_permutations_change_nothing_but_rounding(rng, tuning):
    X = datasets.make_torus(1000, random_state=3).X
    rotation, order = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.permutation(len(X))
    one = idm.local_geometry(X, n_neighbors=100, bandwidth=tuning)
    for Z, expected in ((X @ rotation, one), (X[order], idm._local_geometry.LocalGeometry(*(a[order] for a in one)))):
        other = idm.local_geometry(Z, n_neighbors=100, bandwidth=tuning)
        np.testing.assert_allclose(other.bandwidth, expected.bandwidth, rtol=2e-13)
        np.testing.assert_allclose(other.dimension, expected.dimension, rtol=1e-13)


@pytest.mark.parametrize("tuning", ["d1", "svd"])
def test_every_thread_count_gives_the_same_bits(rng, tuning):
    X = rng.normal(size=(500, 6))
    one, *others = (idm.local_geometry(X, n_neighbors=60, bandwidth=tuning, n_jobs=n) for n in (1, 2, 7))
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_neighborhood_of_zero_radius_borrows_a_bandwidth_and_warns(rng):
    X = np.concatenate([np.repeat(rng.normal(size=(3, 2)), 60, axis=0), rng.normal(size=(120, 2))])
    for tuning in ("d1", "svd"):
        with pytest.warns(DegenerateNeighborhoodWarning, match="180 of 300 points") as caught:
            found = idm.local_geometry(X, n_neighbors=40, bandwidth=tuning)
        assert caught[0].filename == __file__
        own = found.bandwidth[180:]
        np.testing.assert_array_equal(found.bandwidth[:180], np.sort(own)[60])
        np.testing.assert_array_equal(found.dimension[:180], 0)
        assert all(np.isfinite(array).all() for array in found)


def test_all_points_equal_is_an_error():
    with pytest.raises(ValueError, match=r"no two points apart .* remove duplicates"):
        idm.local_geometry(np.ones((50, 3)), n_neighbors=10)


@pytest.mark.parametrize(("scale", "words"), [(1e200, "squared distances overflow"), (1e-200, "rescale")])
def test_squares_beyond_float64_are_an_error_that_says_so(rng, scale, words):
    with pytest.raises(ValueError, match=words):
        idm.local_geometry(rng.normal(size=(50, 3)) * scale, n_neighbors=10)


def test_a_density_beyond_float64_is_finite_and_its_logarithm_right(rng):
    X = rng.normal(size=(200, 150)) * 1e-100
    found = idm.local_geometry(X, n_neighbors=100)
    assert (found.log_density > 710).all()
    assert np.isfinite(found.density).all()


def test_constant_columns_and_an_outlier_are_no_obstacle(rng):
    X = np.column_stack([datasets.make_torus(600, random_state=0).X, np.full(600, 7.0)])
    X[0] = 1e9
    for tuning in ("d1", "svd"):
        found = idm.local_geometry(X, n_neighbors=100, bandwidth=tuning)
        assert all(np.isfinite(array).all() for array in found)
        assert 1.7 < np.median(found.dimension) < 2.4


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_points_give_finite_results(rng, n):
    for tuning in ("d1", "svd"):
        found = idm.local_geometry(rng.normal(size=(n, 3)), n_neighbors=n, bandwidth=tuning)
        assert all(np.isfinite(array).all() for array in found)


def pairs(index, distance):
    """Neighbours of 30 points: each itself, then `index` at `distance`."""
    indices = np.column_stack([np.arange(30), np.full(30, index)])
    return indices, np.column_stack([np.zeros(30), np.full(30, distance)])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({}, TypeError, "n_neighbors must be given"),
        ({"n_neighbors": 1}, ValueError, "n_neighbors must be at least 2, got 1"),
        ({"n_neighbors": 31}, ValueError, "n_neighbors=31 is more than the 30 rows"),
        ({"n_neighbors": 5, "bandwidth": "d2"}, ValueError, "bandwidth must be one of 'd1', 'svd', got 'd2'"),
        ({"n_neighbors": 5, "n_bandwidths": 1}, ValueError, "n_bandwidths must be between 2 and 100000, got 1"),
        ({"neighbors": (np.zeros((30, 4), int), np.zeros((30, 3)))}, ValueError, r"\(30, 4\) and \(30, 3\)"),
        ({"neighbors": pairs(30, 1.0)}, ValueError, "must be rows of the points"),
        ({"neighbors": pairs(1, -1.0)}, ValueError, "sorted along each row"),
        ({"neighbors": pairs(1, np.nan)}, ValueError, "sorted along each row"),
        ({"neighbors": (np.zeros((30, 2), int), np.zeros((30, 2)))}, ValueError, "each point itself first"),
        ({"neighbors": (np.zeros((30, 2)), np.zeros((30, 2)))}, TypeError, "integer indices"),
        ({"neighbors": 5}, TypeError, "neighbors must be a pair"),
        ({"n_neighbors": 5, "n_bandwidths": 2**70}, ValueError, "n_bandwidths must be between 2 and 100000"),
    ],
)
def test_bad_arguments_are_named(rng, arguments, error, words):
    with pytest.raises(error, match=words):
        idm.local_geometry(rng.normal(size=(30, 2)), **arguments)
