"""Both normalisations of the kernel."""

import numpy as np
import pytest
import scipy.sparse

import idm
from idm import _core

pytestmark = pytest.mark.usefixtures("variant")


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, -1.0])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (50, 50), (800, 20)])
def test_agrees_with_scipy(rng, alpha, n, k):
    neighbors = idm.nearest_neighbors(rng.normal(size=(n, 2)), k)
    matrix = _core.nearest_kernel(*neighbors, 0.2, 2)
    J = scipy.sparse.csr_matrix((matrix.values.copy(), matrix.columns, matrix.row_start), shape=(n, n))
    sums = _core.normalize(matrix, alpha, 2)

    D = np.asarray(J.sum(axis=1)).ravel()
    K = scipy.sparse.diags(D**-alpha) @ J @ scipy.sparse.diags(D**-alpha)
    Dh = np.sqrt(np.asarray(K.sum(axis=1)).ravel())
    expected = scipy.sparse.diags(1 / Dh) @ K @ scipy.sparse.diags(1 / Dh)
    np.testing.assert_allclose(sums, np.column_stack([D, Dh]), rtol=1e-14)
    found = scipy.sparse.csr_matrix((matrix.values, matrix.columns, matrix.row_start), shape=(n, n))
    assert abs(found - expected).max() < 5e-15
    # Dh is the eigenvector of eigenvalue 1.
    np.testing.assert_allclose(found @ sums[:, 1], sums[:, 1], rtol=1e-14)


@pytest.mark.parametrize("n_threads", [2, 7])
def test_every_thread_count_gives_the_same_bits(rng, n_threads):
    neighbors = idm.nearest_neighbors(rng.normal(size=(900, 3)), 25)
    results = []
    for n in (1, n_threads):
        matrix = _core.nearest_kernel(*neighbors, 0.1, 1)
        results.append((_core.normalize(matrix, 1.0, n), matrix.values))
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
