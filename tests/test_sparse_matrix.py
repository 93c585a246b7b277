"""Compressed rows: products, parts and connected components."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph

import idm
from idm import _core

pytestmark = pytest.mark.usefixtures("variant")


def random_matrix(rng, n=500, m=400):
    """The same matrix as ours and as SciPy's; some rows are empty."""
    theirs = scipy.sparse.random(n, m, density=0.02, format="csr", random_state=rng)
    ours = _core.SparseMatrix(theirs.indptr.astype(np.int64), theirs.indices.astype(np.int32), theirs.data, m)
    return ours, theirs


@pytest.mark.parametrize("width", [0, 1, 3, 4, 8, 12, 31])
def test_products_agree_with_scipy(rng, width):
    ours, theirs = random_matrix(rng)
    x = rng.normal(size=(400, width))
    np.testing.assert_allclose(_core.multiply(ours, x, 2), theirs @ x, rtol=1e-12, atol=1e-13)
    with pytest.raises(ValueError, match="x must have shape"):
        _core.multiply(ours, x[:-1].copy(), 2)


@pytest.mark.parametrize("width", [0, 1, 8, 19])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_chebyshev_polynomials_agree_with_numpy(rng, width, degree):
    ours, theirs = random_matrix(rng, 200, 200)
    x = rng.normal(size=(200, width))
    t = (theirs - 0.25 * scipy.sparse.identity(200)) / 0.75  # [-0.5, 1] to [-1, 1]
    terms = [x, t @ x]
    for _ in range(degree - 1):
        terms.append(2 * (t @ terms[-1]) - terms[-2])
    results = [_core.chebyshev(ours, x, -0.5, 1.0, degree, n_threads) for n_threads in (1, 3)]
    np.testing.assert_allclose(results[0], terms[degree], rtol=1e-12, atol=1e-12 * np.abs(terms[degree]).max(initial=1))
    np.testing.assert_array_equal(*results)


def test_ctrl_c_stops_a_polynomial_of_many_short_products(rng, ctrl_c):
    matrix, _ = random_matrix(rng, 200, 200)
    ctrl_c.after(0.3)
    with ctrl_c.stops():
        _core.chebyshev(matrix, np.ones((200, 8)), -100.0, 100.0, 1_000_000, 2)


def test_what_is_no_chebyshev_polynomial_is_refused(rng):
    square, x = random_matrix(rng, 30, 30)[0], np.ones((30, 2))
    for low, high, degree, message in (
        (1.0, 1.0, 3, "low must be below high"),
        (0.0, np.nan, 3, "low must be below high"),
        (0.0, 1.0, 0, "degree must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.chebyshev(square, x, low, high, degree, 1)
    with pytest.raises(ValueError, match="the matrix must be square"):
        _core.chebyshev(random_matrix(rng)[0], np.ones((400, 2)), 0.0, 1.0, 3, 1)


@pytest.mark.parametrize("n_threads", [2, 7])
def test_every_thread_count_gives_the_same_bits(rng, n_threads):
    matrix, _ = random_matrix(rng)
    x = rng.normal(size=(400, 9))
    np.testing.assert_array_equal(_core.multiply(matrix, x, 1), _core.multiply(matrix, x, n_threads))


@pytest.mark.parametrize("n", [0, 1, 100, 400])
def test_parts_agree_with_scipy(rng, n):
    matrix = _core.nearest_kernel(*idm.nearest_neighbors(rng.normal(size=(400, 2)), 20), 1.0, 1)
    whole = scipy.sparse.csr_array((matrix.values, matrix.columns, matrix.row_start), shape=(400, 400))
    rows = rng.permutation(400)[:n]
    for n_threads in (1, 3):
        part = _core.submatrix(matrix, rows[:, np.newaxis], n_threads)
        found = scipy.sparse.csr_array((part.values, part.columns, part.row_start), shape=(n, n))
        np.testing.assert_array_equal(found.toarray(), whole.toarray()[np.ix_(rows, rows)])


@pytest.mark.parametrize("rows", [[0, 400], [-1], [3, 5, 3]])
def test_rows_of_a_part_that_are_not_there_or_twice_are_refused(rng, rows):
    matrix = _core.nearest_kernel(*idm.nearest_neighbors(rng.normal(size=(400, 2)), 20), 1.0, 1)
    with pytest.raises(ValueError, match="rows must be rows of the points, each at most once"):
        _core.submatrix(matrix, np.array(rows)[:, np.newaxis], 1)


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_components_agree_with_scipy(rng, k):
    matrix = _core.nearest_kernel(*idm.nearest_neighbors(rng.normal(size=(400, 2)), k), 1.0, 1)
    n, labels = _core.connected_components(matrix, 0.0)
    graph = scipy.sparse.csr_matrix((matrix.values, matrix.columns, matrix.row_start), shape=(400, 400))
    expected = scipy.sparse.csgraph.connected_components(graph, directed=False)
    assert n == expected[0]
    np.testing.assert_array_equal(labels[:, 0], expected[1])  # both number by first row


def test_small_entries_do_not_connect():
    neighbors = idm.nearest_neighbors(np.array([[0.0], [1.0], [9.0], [10.0]]), 3)
    matrix = _core.nearest_kernel(*neighbors, 0.5, 1)
    assert _core.connected_components(matrix, 0.0)[0] == 1
    assert _core.connected_components(matrix, 1e-14)[1].ravel().tolist() == [0, 0, 1, 1]


def test_arrays_stay_valid_and_cannot_be_written(rng):
    matrix, theirs = random_matrix(rng)
    values = matrix.values
    del matrix
    np.testing.assert_array_equal(values, theirs.data)
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1


@pytest.mark.parametrize(
    ("row_start", "columns"),
    [
        ([0, 1, 3], [0, 1]),
        ([0, 2, 1, 2], [0, 1]),
        ([1, 2, 2], [0, 1]),
        ([0, 1, 2], [0, 5]),
        ([0, 1, 2], [0, -1]),
        ([], []),
    ],
)
def test_arrays_that_are_no_matrix_are_refused(row_start, columns):
    with pytest.raises(ValueError, match="compressed rows"):
        _core.SparseMatrix(np.array(row_start, np.int64), np.array(columns, np.int32), np.ones(len(columns)), 5)
