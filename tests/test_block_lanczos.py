"""Block Lanczos on matrices whose eigenvalues are known."""

import numpy as np
import pytest

from idm import _core
from idm._block_lanczos import BLOCK, SMALL_R, BlockLanczos, Filter, NotConverged, Wanted, random_block


def matrix_of(values, rng):
    V, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    return (V * values) @ V.T, V


def filtered(A, chosen):
    """The product with p(A)."""
    n = len(A)
    matrix = _core.SparseMatrix(np.arange(0, n * n + 1, n), np.tile(np.arange(n, dtype=np.int32), n), A.ravel(), n)
    return lambda x: _core.chebyshev(matrix, np.ascontiguousarray(x), chosen.low, chosen.high, chosen.degree, 2)


@pytest.mark.parametrize(
    "values",
    [
        np.exp(-np.arange(400) / 60),
        0.8 ** np.arange(400),
        np.linspace(1, -1, 400),
        np.repeat([1.0, 0.5, 0.0], 140),
        np.repeat([1.0, 0.5, 0.0, -0.5], [140, 140, 140, 4]),  # of the last, four columns of a block are left
    ],
)
@pytest.mark.parametrize("most", [80, 88, 240])
def test_the_basis_stays_orthonormal_and_its_projection_true(rng, values, most):
    A, _ = matrix_of(values, rng)
    space = BlockLanczos(lambda x: A @ x, np.empty((len(A), 0)), most, 0, 1)
    for restarts in range(3):
        while not space.full:
            space.step()
            V, T = space._V[:, : space.dimension], space._T[: space.dimension, : space.dimension]
            assert np.abs(V.T @ V - np.eye(space.dimension)).max() < np.finfo(float).eps / SMALL_R
            error = A @ V - V @ T
            error[:, -BLOCK:] -= space._Q @ space._R
            assert np.abs(error).max() < 1e-10 * (restarts + 1)  # directions below that are lost on purpose
        ritz, Y, *_ = space._ritz()
        space._restart(ritz[:20], Y[:, :20])


def test_finds_the_largest_and_counts_its_products(rng):
    values = 0.95 ** np.arange(400)
    A, V = matrix_of(values, rng)
    space = BlockLanczos(lambda x: A @ x, np.empty((400, 0)), 300, 0, 1)
    found, vectors = space.converge(Wanted(most=10), 1e-10)
    np.testing.assert_allclose(found, values[:10], rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.abs(np.sum(vectors * V[:, :10], axis=0)), 1, rtol=0, atol=2e-14)
    assert space.n_products == space.dimension
    assert space.n_restarts == 0


def test_goes_on_after_a_restart(rng):
    values = np.linspace(1, -1, 600) ** 3
    A, _ = matrix_of(values, rng)
    space = BlockLanczos(lambda x: A @ x, np.empty((600, 0)), 80, 0, 1)
    found, vectors = space.converge(Wanted(most=10), 1e-9)
    assert space.n_restarts > 0
    np.testing.assert_allclose(found, values[:10], rtol=0, atol=5e-14)
    assert np.abs(vectors.T @ vectors - np.eye(10)).max() < 5e-14


def test_stays_outside_of_what_is_known(rng):
    values = np.linspace(1, -1, 300)
    A, V = matrix_of(values, rng)
    space = BlockLanczos(lambda x: A @ x, np.ascontiguousarray(V[:, :5]), 200, 0, 1)
    found, vectors = space.converge(Wanted(most=4), 1e-10)
    np.testing.assert_allclose(found, values[5:9], rtol=0, atol=1e-14)
    assert np.abs(V[:, :5].T @ vectors).max() < 5e-15


def test_vectors_outside_need_not_be_exact(rng):
    values = np.r_[np.linspace(1, 0.5, 20), rng.uniform(-3e-3, 3e-3, 580)]
    A, V = matrix_of(values, rng)
    outside, _ = np.linalg.qr(V[:, :20] + 1e-8 * rng.normal(size=(600, 20)) / np.sqrt(600))
    space = BlockLanczos(lambda x: A @ x, np.ascontiguousarray(outside), 400, 0, 1)
    _, vectors = space.converge(Wanted(most=10), 1e-12)
    assert np.abs(vectors.T @ vectors - np.eye(10)).max() < 1e-13
    assert np.abs(outside.T @ vectors).max() < 1e-13


def test_waits_for_a_pair_that_the_start_hardly_has(rng):
    # The sixth of seven lags behind the seventh.
    start, _ = np.linalg.qr(random_block(300, BLOCK, 0))
    late = rng.normal(size=300)
    late -= (1 - 1e-5) * start @ (start.T @ late)
    V, _ = np.linalg.qr(np.column_stack([late, rng.normal(size=(300, 299))]))
    A = (V * np.r_[0.52, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.1 * rng.random(293)]) @ V.T
    space = BlockLanczos(lambda x: A @ x, np.empty((300, 0)), 200, 0, 1)
    found, vectors = space.converge(Wanted(most=7), 1e-8)
    np.testing.assert_allclose(found, [1, 0.9, 0.8, 0.7, 0.6, 0.52, 0.5], rtol=0, atol=1e-13)
    assert np.linalg.norm(A @ vectors - vectors * found, axis=0).max() < 1.1e-8


def test_a_full_space_and_a_tolerance_of_nothing(rng):
    A, _ = matrix_of(0.5 ** np.arange(100.0), rng)
    space = BlockLanczos(lambda x: A @ x, np.empty((100, 0)), 6 * BLOCK, 0, 1)
    while not space.full:
        space.step()
    found, _ = space.converge(Wanted(most=2), 1e-8)
    np.testing.assert_allclose(found, [1, 0.5], rtol=0, atol=1e-14)
    A, _ = matrix_of(np.linspace(1, -1, 100), rng)
    with pytest.raises(NotConverged):
        BlockLanczos(lambda x: A @ x, np.empty((100, 0)), 6 * BLOCK, 0, 1).converge(Wanted(most=2), 0.0)


def test_gives_up_and_says_how_many_converged(rng):
    A, _ = matrix_of(np.r_[2.0, 1.9, 1 - 1e-9 * np.arange(398)], rng)
    space = BlockLanczos(lambda x: A @ x, np.empty((400, 0)), 8 * BLOCK, 0, 1)
    with pytest.raises(NotConverged) as failure:
        space.converge(Wanted(most=12), 1e-13)
    assert 2 <= failure.value.n_converged < 12


@pytest.mark.parametrize("degree", [1, 3, 9])
def test_a_filter_is_a_chebyshev_polynomial_and_can_be_undone(rng, degree):
    values = np.linspace(1, -1, 60)
    A, V = matrix_of(values, rng)
    chosen = Filter(low=-1.1, high=0.5, degree=degree)
    expected = np.polynomial.chebyshev.Chebyshev.basis(degree, domain=[-1.1, 0.5])(values)
    block = filtered(A, chosen)(V[:, :7])
    np.testing.assert_allclose(block, V[:, :7] * expected[:7], rtol=0, atol=1e-13 * expected.max())
    above = values > 0.5
    undone, residuals = chosen.undone(expected[above], np.ones(np.count_nonzero(above)))
    np.testing.assert_allclose(undone, values[above], rtol=0, atol=1e-13)
    # Never less than what a residual of p(A) says of one of A: |x - y| <= |p(x) - p(y)| bound.
    for x, p, bound in zip(values[above], expected[above], residuals, strict=True):
        assert (np.abs(x - values) <= np.abs(p - expected) * bound * (1 + 1e-9)).all()


def test_steeper_filters_find_what_is_close_together(rng):
    # Eigenvalues 1 - (j / 1000)^2: in a space of 136 vectors, plain Lanczos sees nothing of them.
    values = 1 - (np.arange(700) / 1000) ** 2
    A, _ = matrix_of(values, rng)
    chosen, spaces = None, 0
    while spaces < 6:
        product = filtered(A, chosen) if chosen else lambda x: A @ x
        space, spaces = BlockLanczos(product, np.empty((700, 0)), 136, 0, 1, chosen), spaces + 1
        try:
            found, vectors = space.converge(Wanted(most=10), 1e-10, restarts=False)
            break
        except NotConverged:
            chosen = space.steeper(18)
            assert chosen.high < values[17]
    assert 1 < spaces < 6
    np.testing.assert_allclose(found, values[:10], rtol=0, atol=1e-12)
    assert np.abs(A @ vectors - vectors * found).max() < 1e-9
