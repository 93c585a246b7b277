"""Eigenpairs of a dense matrix, in steps, against SciPy's."""

import numpy as np
import pytest
import scipy.linalg

from idm._dense_eigenpairs import dense_eigenpairs


def symmetric(rng, n):
    matrix = rng.normal(size=(n, n))
    return (matrix + matrix.T) / np.sqrt(8 * n)  # eigenvalues from -1 to 1


def check(matrix, n_largest):
    before = matrix.copy()
    values, vectors = dense_eigenpairs(matrix, n_largest)
    np.testing.assert_array_equal(matrix, before)
    expected = scipy.linalg.eigvalsh(matrix)[::-1][:n_largest]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13)
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-13
    assert np.abs(vectors.T @ vectors - np.eye(n_largest)).max() < 1e-11
    assert vectors.flags.c_contiguous


# One panel begins beyond 256 rows; the last panels have 256 rows or less left.
@pytest.mark.parametrize(
    ("n", "n_largest"), [(1, 1), (2, 1), (2, 2), (3, 2), (256, 7), (257, 257), (289, 40), (700, 33)]
)
def test_as_scipy(rng, n, n_largest):
    check(symmetric(rng, n), n_largest)


def test_eigenvalues_of_many_copies(rng):
    check(np.eye(300), 100)
    check(np.kron(np.eye(20), symmetric(rng, 20)), 100)


@pytest.mark.large
def test_ctrl_c_stops_it_within_half_a_second(rng, ctrl_c):
    matrix = symmetric(rng, 3000)  # seconds of work
    ctrl_c.after(0.4)
    with ctrl_c.stops():
        dense_eigenpairs(matrix, 30)
