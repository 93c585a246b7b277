"""Block Lanczos on matrices whose eigenvalues are known."""

import numpy as np
import pytest

from idm._block_lanczos import BLOCK, BlockLanczos, Filter, NotConverged, Wanted


def matrix_of(values, rng):
    V, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    return (V * values) @ V.T, V


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
    block = chosen.apply(lambda x: A @ x, V[:, :7])
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
        space, spaces = BlockLanczos(lambda x: A @ x, np.empty((700, 0)), 136, 0, 1, chosen), spaces + 1
        try:
            found, vectors = space.converge(Wanted(most=10), 1e-10, restarts=False)
            break
        except NotConverged:
            chosen = space.steeper(18)
            assert chosen.high < values[17]
    assert 1 < spaces < 6
    np.testing.assert_allclose(found, values[:10], rtol=0, atol=1e-12)
    assert np.abs(A @ vectors - vectors * found).max() < 1e-9
