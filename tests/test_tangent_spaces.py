"""Singular vectors of neighbourhoods: tangent and normal directions."""

import numpy as np
import pytest

import idm
from idm import datasets

pytestmark = pytest.mark.usefixtures("variant")


@pytest.mark.parametrize(("n", "m", "k"), [(100, 2, 30), (100, 3, 30), (100, 7, 50), (60, 40, 20)])
def test_they_are_the_singular_vectors_of_the_weighted_differences(rng, n, m, k):
    X = rng.normal(size=(n, m)) * np.geomspace(1, 0.2, m)
    neighbors = idm.nearest_neighbors(X, k)
    found = idm.tangent_spaces(X, neighbors=neighbors, bandwidth="d1")
    bandwidth = idm.local_geometry(X, neighbors=neighbors).bandwidth
    assert found.vectors.shape == (n, m, min(m, k))
    for i in range(0, n, 7):
        w = np.exp(-(neighbors.distances[i] ** 2) / (2 * bandwidth[i]))
        A = np.sqrt(w / w.sum())[:, None] * (X[neighbors.indices[i]] - X[i])
        _, sigma, V = np.linalg.svd(A, full_matrices=False)
        rank = min(m, k - 1)
        np.testing.assert_allclose(found.singular_values[i, :rank], sigma[:rank], rtol=5e-13)
        overlap = np.abs((V[:rank] * found.vectors[i].T[:rank]).sum(axis=1))
        np.testing.assert_allclose(overlap, 1, rtol=5e-13)
        np.testing.assert_allclose(
            found.vectors[i].T[:rank] @ found.vectors[i][:, :rank], np.eye(rank), rtol=0, atol=5e-13
        )


def test_the_tangent_planes_of_a_sphere_are_orthogonal_to_its_radius():
    X = datasets.make_sphere(5000, random_state=0).X
    found = idm.tangent_spaces(X, n_neighbors=200)
    normal = found.vectors[:, :, 2]
    assert np.median(np.abs((normal * X).sum(axis=1))) > 0.9997  # within 2 degrees
    assert np.median(found.dimension) == pytest.approx(2, abs=0.1)
    tangent = found.singular_values[:, :2]
    assert np.median(tangent[:, 1]) > 5 * np.median(found.singular_values[:, 2])


def test_the_largest_component_is_positive_and_fewer_components_are_the_first(rng):
    X = rng.normal(size=(80, 5))
    every = idm.tangent_spaces(X, n_neighbors=40)
    two = idm.tangent_spaces(X, n_neighbors=40, n_components=2)
    np.testing.assert_array_equal(two.vectors, every.vectors[:, :, :2])
    np.testing.assert_array_equal(two.singular_values, every.singular_values[:, :2])
    largest = np.take_along_axis(every.vectors, np.abs(every.vectors).argmax(axis=1)[:, None], axis=1)
    assert (largest > 0).all()


def test_every_thread_count_gives_the_same_bits(rng):
    X = rng.normal(size=(200, 6))
    one, *others = (idm.tangent_spaces(X, n_neighbors=30, n_jobs=n) for n in (1, 2, 7))
    for other in others:
        np.testing.assert_array_equal(one.vectors, other.vectors)


def test_bad_arguments_are_named(rng):
    X = rng.normal(size=(30, 3))
    with pytest.raises(ValueError, match="n_components must be between 1 and 3, got 4"):
        idm.tangent_spaces(X, n_neighbors=10, n_components=4)
    with pytest.raises(ValueError, match="bandwidth must be one of"):
        idm.tangent_spaces(X, n_neighbors=10, bandwidth="auto")
