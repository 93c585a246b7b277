"""The local kernel as a sparse symmetric matrix, and products with it."""

import numpy as np
import pytest
import scipy.sparse

import idm
from idm import _core

pytestmark = pytest.mark.usefixtures("variant")


def kernel(neighbors, epsilon, n_threads=2):
    row_start, columns, values = _core.symmetric_kernel(*neighbors, epsilon, n_threads)
    assert row_start.dtype == np.int64
    n = len(row_start) - 1
    return scipy.sparse.csr_matrix((values, columns, row_start), shape=(n, n))


def scipy_kernel(neighbors, epsilon):
    n, k = neighbors.indices.shape
    entries = np.exp(-(neighbors.distances.ravel() ** 2) / (2 * epsilon))
    J = scipy.sparse.csr_matrix((entries, neighbors.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return (J + J.T) / 2


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 3), (200, 1), (200, 7), (200, 200), (1000, 30)])
def test_agrees_with_scipy(rng, n, k):
    neighbors = idm.nearest_neighbors(rng.normal(size=(n, 3)), k)
    found, expected = kernel(neighbors, 0.3), scipy_kernel(neighbors, 0.3)
    assert found.nnz == expected.nnz
    assert abs(found - expected).max() < 1e-15
    assert abs(found - found.T).max() == 0


def test_asymmetric_distances_are_averaged_by_their_kernels():
    indices = np.array([[0, 1], [1, 2], [2, 0]])
    distances = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    found = kernel(idm._neighbors.Neighbors(indices, distances), 0.5).toarray()
    off = np.exp([-1.0, -4.0, -9.0]) / 2  # between 0 and 1, 1 and 2, 2 and 0
    np.testing.assert_allclose(found, [[1, off[0], off[2]], [off[0], 1, off[1]], [off[2], off[1], 1]], rtol=1e-15)


def test_rows_have_their_neighbors_first_in_their_order(rng):
    neighbors = idm.nearest_neighbors(rng.normal(size=(300, 2)), 10)
    row_start, columns, _ = _core.symmetric_kernel(*neighbors, 1.0, 1)
    for i in range(300):
        row = columns[row_start[i] : row_start[i + 1]]
        np.testing.assert_array_equal(row[:10], neighbors.indices[i])
        assert (np.diff(row[10:]) > 0).all()


@pytest.mark.parametrize("n_threads", [2, 7])
def test_every_thread_count_gives_the_same_bits(rng, n_threads):
    neighbors = idm.nearest_neighbors(rng.normal(size=(1000, 3)), 40)
    one, many = (_core.symmetric_kernel(*neighbors, 0.1, n) for n in (1, n_threads))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)
    x, products = rng.normal(size=1000), []
    for n in (1, n_threads):
        products.append(np.empty(1000))
        _core.multiply(*one, x, products[-1], n)
    np.testing.assert_array_equal(*products)


def test_products_agree_with_scipy(rng):
    neighbors = idm.nearest_neighbors(rng.normal(size=(500, 3)), 33)
    matrix, x, y = kernel(neighbors, 0.2), rng.normal(size=500), np.empty(500)
    _core.multiply(*_core.symmetric_kernel(*neighbors, 0.2, 1), x, y, 2)
    np.testing.assert_allclose(y, matrix @ x, rtol=1e-12, atol=1e-13)
    with pytest.raises(ValueError, match="sizes"):
        _core.multiply(*_core.symmetric_kernel(*neighbors, 0.2, 1), x[:-1].copy(), y, 2)
