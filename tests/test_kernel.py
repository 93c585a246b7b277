"""The local kernel as a sparse symmetric matrix."""

import numpy as np
import pytest
import scipy.sparse

import idm
from idm import _core
from idm._kernel import global_bandwidth, n_near_of
from idm._warnings import Advice
from idm.exceptions import CoincidentPointsError, OutlierWarning

pytestmark = pytest.mark.usefixtures("variant")


def kernel(neighbors, epsilon, exact=False, n_threads=2):
    return as_scipy(assemble(exact)(*neighbors, epsilon, n_threads))


def assemble(exact):
    return _core.nearest_kernel if exact else _core.symmetric_kernel


def as_scipy(matrix):
    assert matrix.row_start.dtype == np.int64
    return scipy.sparse.csr_matrix(
        (matrix.values, matrix.columns, matrix.row_start), shape=(matrix.n_rows, matrix.n_columns)
    )


def scipy_kernel(neighbors, epsilon):
    n, k = neighbors.indices.shape
    entries = np.exp(-(neighbors.distances.ravel() ** 2) / (2 * epsilon))
    J = scipy.sparse.csr_matrix((entries, neighbors.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return (J + J.T) / 2


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 3), (200, 1), (200, 7), (200, 200), (1000, 30)])
def test_agrees_with_scipy(rng, n, k, exact):
    neighbors = idm.nearest_neighbors(rng.normal(size=(n, 3)), k)
    found, expected = kernel(neighbors, 0.3, exact), scipy_kernel(neighbors, 0.3)
    assert found.nnz == expected.nnz
    assert abs(found - expected).max() < 1e-15
    assert abs(found - found.T).max() == 0


@pytest.mark.parametrize("k", [2, 5, 7, 40])
@pytest.mark.parametrize("points", ["grid", "copies"])
def test_ties_are_broken_as_by_the_search(rng, points, k):
    # Squares of a grid have neighbours at the same distance; copies have them at distance 0, more of them than k.
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    X = grid if points == "grid" else np.repeat(grid[:8], 9, axis=0)[rng.permutation(72)]
    neighbors = idm.nearest_neighbors(X, k)
    found, expected = kernel(neighbors, 0.7, exact=True), scipy_kernel(neighbors, 0.7)
    assert found.nnz == expected.nnz
    assert abs(found - expected).max() < 1e-15


def test_asymmetric_distances_are_averaged_by_their_kernels():
    indices = np.array([[0, 1], [1, 2], [2, 0]])
    distances = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    found = kernel(idm._neighbors.Neighbors(indices, distances), 0.5).toarray()
    off = np.exp([-1.0, -4.0, -9.0]) / 2  # between 0 and 1, 1 and 2, 2 and 0
    np.testing.assert_allclose(found, [[1, off[0], off[2]], [off[0], 1, off[1]], [off[2], off[1], 1]], rtol=1e-15)


@pytest.mark.parametrize("exact", [False, True])
def test_rows_have_their_neighbors_first_in_their_order(rng, exact):
    neighbors = idm.nearest_neighbors(rng.normal(size=(300, 2)), 10)
    found = assemble(exact)(*neighbors, 1.0, 1)
    for i in range(300):
        row = found.columns[found.row_start[i] : found.row_start[i + 1]]
        np.testing.assert_array_equal(row[:10], neighbors.indices[i])
        assert (np.diff(row[10:]) > 0).all()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("n_threads", [2, 7])
def test_every_thread_count_gives_the_same_bits(rng, n_threads, exact):
    neighbors = idm.nearest_neighbors(rng.normal(size=(1000, 3)), 40)
    one, many = (assemble(exact)(*neighbors, 0.1, n) for n in (1, n_threads))
    for name in ("row_start", "columns", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


def test_dimensions_are_the_slope_of_the_row_sums(rng):
    distances = idm.nearest_neighbors(rng.normal(size=(200, 3)), 50).distances
    sums = [np.exp(-(distances**2) / (2 * e)).sum(axis=1) for e in (0.3 * np.exp(-1e-5), 0.3 * np.exp(1e-5))]
    slope = 2 * (np.log(sums[1]) - np.log(sums[0])) / 2e-5
    np.testing.assert_allclose(_core.kernel_dimensions(distances, 0.3, 2)[:, 0], slope, rtol=1e-9)


def test_the_bandwidth_is_the_mean_of_squares_of_the_first_neighbors(rng):
    distances = idm.nearest_neighbors(rng.normal(size=(300, 2)), 100).distances
    assert global_bandwidth(distances, 20) == pytest.approx(np.mean(distances[:, :20] ** 2), rel=1e-14, abs=0)


def test_at_most_a_quarter_of_the_neighbors_decide_on_bandwidths():
    assert [n_near_of(*given) for given in ((20, 100), (25, 100), (90, 100), (32, 64), (32, 7), (32, 3))] == [
        20, 25, 25, 16, 2, 2,
    ]  # fmt: skip


def test_an_outlier_that_decides_on_the_bandwidth_is_told(rng):
    X = rng.normal(size=(300, 2))
    X[7] = 1e9
    advice = Advice(remedies={OutlierWarning: "remove it"}, rows=np.arange(100, 400))
    with pytest.warns(OutlierWarning, match="1 of 300 points, far .*row 107.*; remove it"):
        global_bandwidth(idm.nearest_neighbors(X, 100).distances, 20, advice=advice)


def test_a_point_that_is_far_by_scaled_distances_counts_as_one_that_is_just_far(rng):
    distances = idm.nearest_neighbors(rng.normal(size=(300, 2)), 100).distances
    squares = np.mean(distances[:, :20] ** 2, axis=1)
    assert squares.max() < 100 * np.median(squares)  # none is far
    assert global_bandwidth(distances, 20, scaled=True) == global_bandwidth(distances, 20)
    distances[7, 1:] += 1e6
    others = np.mean(np.delete(squares, 7))
    expected = (299 * others + 100 * np.median(squares)) / 300
    # The median is of all points, whose order one of them has left.
    assert global_bandwidth(distances, 20, scaled=True) == pytest.approx(expected, rel=0.01)
    assert global_bandwidth(distances, 20) > 1e9


def test_points_nearer_than_the_least_bandwidth_coincide(rng):
    distances = idm.nearest_neighbors(rng.normal(size=(300, 2)), 100).distances
    epsilon = global_bandwidth(distances, 20)
    assert global_bandwidth(distances, 20, least=0.99 * epsilon) == epsilon
    with pytest.raises(CoincidentPointsError, match=r"no two points apart in X .* among the first 20 neighbours"):
        global_bandwidth(distances, 20, least=epsilon)
