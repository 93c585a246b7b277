"""The part of a block that is orthogonal to a basis."""

import numpy as np
import pytest

from idm import _core

pytestmark = pytest.mark.usefixtures("variant")


@pytest.mark.parametrize(
    ("n", "d", "b"), [(1, 1, 1), (50, 0, 3), (300, 20, 1), (1000, 100, 8), (1000, 100, 19), (20_000, 30, 5)]
)
def test_nothing_of_the_basis_is_left(rng, n, d, b):
    basis, _ = np.linalg.qr(rng.normal(size=(n, min(n, d + 2))))
    basis, block = np.ascontiguousarray(basis), rng.normal(size=(n, b))
    expected = block - basis[:, :d] @ (basis[:, :d].T @ block)
    _core.project_out(basis, d, block, 2)
    np.testing.assert_allclose(block, expected, rtol=0, atol=1e-14)


def test_every_thread_count_gives_the_same_bits(rng):
    basis, block = rng.normal(size=(3000, 40)), rng.normal(size=(3000, 8))
    blocks = [block.copy() for _ in range(3)]
    for n_threads, copy in zip((1, 2, 5), blocks, strict=True):
        _core.project_out(basis, 40, copy, n_threads)
    np.testing.assert_array_equal(blocks[0], blocks[1])
    np.testing.assert_array_equal(blocks[0], blocks[2])


def test_what_does_not_fit_is_refused(rng):
    for basis, d in ((np.ones((5, 3)), 2), (np.ones((4, 3)), 4)):
        with pytest.raises(ValueError, match=r"block must have shape|n_columns must be"):
            _core.project_out(basis, d, np.ones((4, 2)), 1)
