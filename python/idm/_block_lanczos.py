"""Thick-restart block Lanczos with full orthogonalisation, for the largest eigenvalues of a symmetric matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from idm import _core

_Array: TypeAlias = NDArray[np.float64]

BLOCK = 8
MOST_RESTARTS = 15
# Rounding errors of a block W = Q R are larger in Q, by 1 / R: where R is below, Q is made orthogonal once more.
SMALL_R = 1e-3


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How many pairs are wanted: at most so many, and none below a share of a reference, or else of the largest."""

    most: int
    share: float = 0.0
    reference: float | None = None

    def least(self, values: _Array) -> float:
        """The smallest of these eigenvalues (by decreasing size) that may be wanted."""
        if self.share == 0:
            return -np.inf
        return self.share * float(values[0] if self.reference is None else self.reference)

    def count(self, values: _Array) -> int:
        """How many of them are wanted."""
        return min(self.most, int(np.count_nonzero(values >= self.least(values))))


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A Chebyshev polynomial p = T_q: within [-1, 1] on [low, high], steep and increasing above (`_core.chebyshev`).

    The degree q is odd, so that what is below `low` comes last.
    """

    low: float
    high: float
    degree: int

    def undone(self, values: _Array, residuals: _Array) -> tuple[_Array, _Array]:
        """Eigenvalues of A, and bounds of their residuals, for those of p(A): `high` where p is not above 1.

        A slope of p between an eigenvalue x and any other is (p(x) - 1) / (x - low) or more.
        """
        above = np.cosh(np.arccosh(np.maximum(values, 1)) / self.degree)
        x = (self.low + self.high) / 2 + (self.high - self.low) / 2 * above
        with np.errstate(divide="ignore"):
            return x, np.where(values > 1, residuals * (x - self.low) / (values - 1), np.inf)


class NotConverged(Exception):
    """An eigensolver gave up; some pairs may have converged."""

    def __init__(self, n_converged: int) -> None:
        self.n_converged = n_converged


class BlockLanczos:
    """The Krylov space of a random block, outside of some vectors that are known.

    `product` takes a block X to A X, or to p(A) X if a filter p is chosen. The basis V = [outside, kept, blocks] and
    the projection T of that matrix on [kept, blocks] obey A V = V T + Q R, with Q the next block: the residual of a
    Ritz vector V y is \\|R y_last\\|, where y_last belongs to the last block.
    """

    def __init__(
        self,
        product: Callable[[_Array], _Array],
        outside: _Array,
        most_vectors: int,
        seed: int,
        threads: int,
        chosen: Filter | None = None,
    ) -> None:
        n, c = outside.shape
        most = min(most_vectors, n - c) // BLOCK * BLOCK
        self._product, self._threads, self._c, self._filter = product, threads, c, chosen
        self._V = np.empty((n, c + most))
        self._V[:, :c] = outside
        self._T = np.zeros((most, most))
        self.dimension = self.n_products = self.n_restarts = 0
        self._previous: _Array | None = None  # the block before Q, if Q R came from a product with it
        self._behind = False  # Q is orthogonal to the last two blocks, and to others but for small errors
        start = random_block(n, BLOCK, seed)
        _core.project_out(self._V, c, start, threads)
        self._Q, self._R = self._orthonormal(start)

    @property
    def full(self) -> bool:
        """Whether there is no room for another block."""
        return self.dimension + BLOCK > len(self._T)

    def step(self) -> None:
        """Extend the space by the block Q, and find the next.

        Every other block is made orthogonal to the blocks before it together with the one after it: to read the basis
        is what that costs. Rounding errors of the three-term recurrence have grown by 1 / R then.
        """
        d, n_columns, Q = self.dimension, self._c + self.dimension, self._Q
        W = self._product(Q)
        self.n_products += BLOCK * (1 if self._filter is None else self._filter.degree)
        if self._previous is not None:
            self._T[d : d + BLOCK, d - BLOCK : d] = self._R
            self._T[d - BLOCK : d, d : d + BLOCK] = self._R.T
            W -= self._previous @ self._R.T
        diagonal = Q.T @ W
        self._T[d : d + BLOCK, d : d + BLOCK] = (diagonal + diagonal.T) / 2
        W -= Q @ diagonal
        # After a restart Q is coupled to more than two blocks, and a filter makes errors grow more.
        may_wait = self._previous is not None and self._filter is None and not self._behind
        if self._behind:
            both = np.hstack([Q, W])
            _core.project_out(self._V, n_columns, both, self._threads)
            Q, W = np.ascontiguousarray(both[:, :BLOCK]), both[:, BLOCK:]
        self._V[:, n_columns : n_columns + BLOCK] = Q
        self.dimension += BLOCK
        if not self._behind:  # vectors outside are eigenvectors up to a tolerance, so that W has a part of them
            _core.project_out(self._V, self._c if may_wait else n_columns + BLOCK, W, self._threads)
        self._previous = Q
        self._Q, self._R = self._orthonormal(W)
        self._behind = may_wait and not _small(self._R)

    def ritz_pair(self, n: int) -> tuple[float, float]:
        """The n-th largest Ritz value (from 0), and its residual."""
        d = self.dimension
        value, y = scipy.linalg.eigh(self._T[:d, :d], check_finite=False, subset_by_index=[d - 1 - n, d - 1 - n])
        values, residuals = self._of_matrix(value, np.linalg.norm(self._R @ y[d - BLOCK :], axis=0))
        return float(values[0]), float(residuals[0])

    def converge(self, wanted: Wanted, tolerance: float, *, restarts: bool = True) -> tuple[_Array, _Array]:
        """The largest eigenvalues that are wanted, by decreasing size, and their vectors (N, n).

        Where the share decides, the next Ritz value has to be below it for sure.
        """
        check = wanted.most + wanted.most // 2 + 4 * BLOCK if wanted.share == 0 else 8 * BLOCK
        history: list[tuple[int, float]] = []  # dimension and largest residual, at the checks since the last restart
        while True:
            if not self.full:
                self.step()
            d = self.dimension
            if d < check and not self.full:
                continue
            if wanted.share == 0 and not self.full:  # the last is the slowest as a rule, and one costs less than all
                _, residual = self.ritz_pair(wanted.most - 1)
                if residual > tolerance:
                    history.append((d, _log(residual)))
                    check = _next_check(history, tolerance)
                    continue
            raw, Y, values, residuals = self._ritz()
            n = wanted.count(values)
            decided = n == wanted.most or (n < d and values[n] + residuals[n] < wanted.least(values))
            n_converged = int(np.count_nonzero(residuals[:n] <= tolerance))
            if n_converged == n and decided:
                return values[:n].copy(), self._V[:, self._c : self._c + d] @ Y[:, :n]
            history.append((d, _log(residuals[: n + 1].max())))
            check = _next_check(history, tolerance)
            if self.full:
                keep = n + 4 * BLOCK
                if not restarts or self.n_restarts == MOST_RESTARTS or keep + BLOCK > d:
                    raise NotConverged(n_converged)
                self._restart(raw[:keep], Y[:, :keep])
                history.clear()

    def _ritz(self) -> tuple[_Array, _Array, _Array, _Array]:
        """Ritz values of p(A) by decreasing size, their vectors in the basis, values of A, and residuals of these."""
        d = self.dimension
        raw, Y = scipy.linalg.eigh(self._T[:d, :d], check_finite=False, driver="evd")
        raw, Y = raw[::-1], Y[:, ::-1]
        residuals = np.linalg.norm(self._R @ Y[d - BLOCK :], axis=0)
        return raw, Y, *self._of_matrix(raw, residuals)

    def _of_matrix(self, values: _Array, residuals: _Array) -> tuple[_Array, _Array]:
        """Ritz values and residuals of A, for those of p(A)."""
        return (values, residuals) if self._filter is None else self._filter.undone(values, residuals)

    def steeper(self, n: int) -> Filter:
        """A filter that leaves out all but the n largest, as far as this space knows; 1 is the largest eigenvalue.

        Ritz values are below eigenvalues, so that none of the n is left out. Its largest value is 1e4: beyond, what is
        wanted would drown in rounding errors of the largest.
        """
        raw, _, values, _ = self._ritz()
        low = float(raw[-1]) - 0.05 * (1 - float(raw[-1])) if self._filter is None else self._filter.low
        high = min(float(values[min(n, len(values) - 1)]), 1 - 1e-9)
        top = np.arccosh((2 - low - high) / (high - low))
        degree = int(np.clip(np.arccosh(1e4) / top, 1, 999))
        return Filter(low=low, high=high, degree=degree - (degree % 2 == 0))

    def _restart(self, values: _Array, Y: _Array) -> None:
        """Keep these Ritz vectors, and go on from the block Q."""
        c, d, keep = self._c, self.dimension, len(values)
        if self._behind:
            _core.project_out(self._V, c + d, self._Q, self._threads)
            self._Q, again = _qr(self._Q)
            self._R, self._behind = again @ self._R, False
        self._V[:, c : c + keep] = self._V[:, c : c + d] @ Y
        self._T[:] = 0
        self._T[np.arange(keep), np.arange(keep)] = values
        self._T[keep : keep + BLOCK, :keep] = self._R @ Y[d - BLOCK :]
        self._T[:keep, keep : keep + BLOCK] = self._T[keep : keep + BLOCK, :keep].T
        self.dimension, self._previous = keep, None
        self.n_restarts += 1

    def _orthonormal(self, W: _Array) -> tuple[_Array, _Array]:
        """Q R = W for a block W that is orthogonal to the basis, with Q orthonormal and orthogonal to it too."""
        n_columns = self._c + self.dimension
        Q, R = _qr(W)
        lost = np.abs(np.diag(R)) < 1e-10
        if lost.any():  # these columns depend on others: go on with any vectors instead of them
            filled = W.copy()
            filled[:, lost] = random_block(len(W), int(np.count_nonzero(lost)), n_columns)
            Q, _ = _qr(filled)
            R = Q.T @ W
        for _ in range(3 if _small(R) else 0):
            _core.project_out(self._V, n_columns, Q, self._threads)
            Q, again = _qr(Q)
            R = again @ R
            if np.abs(np.diag(again)).min() > 0.5:
                break
        return Q, R


def _qr(W: _Array) -> tuple[_Array, _Array]:
    Q, R = scipy.linalg.qr(W, mode="economic", check_finite=False)
    return np.ascontiguousarray(Q), R


def _small(R: _Array) -> bool:
    return bool(np.abs(np.diag(R)).min() < SMALL_R)


def random_block(n: int, width: int, seed: int) -> _Array:
    """Where a Krylov space starts: a constant vector would be an eigenvector of regular graphs."""
    return np.random.default_rng(seed).normal(size=(n, width))


def _log(x: float) -> float:
    """The logarithm of a residual, or of a tolerance, that may be 0."""
    return float(np.log(max(x, 1e-300)))


def _next_check(history: list[tuple[int, float]], tolerance: float) -> int:
    """The dimension at which the residual will have reached the tolerance, if its logarithm goes on as it went."""
    d, r = history[-1]
    ahead = d // 4
    if len(history) > 1:
        d0, r0 = history[-2]
        if r < r0:
            ahead = min(ahead, int((r - _log(tolerance)) * (d - d0) / (r0 - r)))
    return d + max(BLOCK, ahead)
