"""The feature at a point by affine regression on the points near it, and the bandwidth and ridge that predict best."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._batches import batches
from idm._neighbors import NeighborIndex, Neighbors
from idm._threads import one_blas_thread

_Array: TypeAlias = NDArray[np.float64]
_Rows: TypeAlias = NDArray[np.intp]

N_NEIGHBORS = 300
# Bandwidths, in units of the median squared distance of the neighbours, and ridges, in units of the bandwidth.
FACTORS = 2.0 ** np.arange(-8, 3)
GAMMAS = np.array([1e-6, 1e-3, 1e-1, 1.0, 10.0])
# Weights below exp(-this) do not count; cpp/include/idm/weights.hpp leaves them out a little earlier.
_NO_WEIGHT = 40.0


@dataclass(frozen=True, kw_only=True)
class WeightedPoints:
    """Points with features; one that is the mean of several rows weighs as many."""

    index: NeighborIndex  # (N, m)
    values: _Array  # (N, n)
    counts: _Array  # (N, 1)

    def n_neighbors(self, own: _Rows | None) -> int:
        """How many of them an estimate uses, if `own` are left out."""
        return min(N_NEIGHBORS, len(self.index) - _n_own(own))

    def near(self, bases: _Array, own: _Rows | None, threads: int) -> Neighbors:
        """So many, with `own`."""
        return self.index.nearest(bases, self.n_neighbors(own) + _n_own(own), threads)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A bandwidth and a ridge, in the units above."""

    factor: float
    gamma: float


def _n_own(own: _Rows | None) -> int:
    return 0 if own is None else 1


def _estimates(
    data: WeightedPoints, bases: _Array, own: _Rows | None, near: Neighbors, factors: Any, gammas: Any, threads: int
) -> _Array:
    """(Q, F, G, n), for each bandwidth and ridge, without the point `own` of each base."""
    f, g = (np.asarray(numbers, dtype=np.float64).reshape(1, -1) for numbers in (factors, gammas))
    unit = _unit(near, data.n_neighbors(own) // 2 + _n_own(own))
    left_out = None if own is None else np.ascontiguousarray(own).reshape(-1, 1)
    return _core.local_estimates(
        data.index.points, data.values, data.counts, bases, *near, unit, left_out, f, g, threads
    )


def _unit(near: Neighbors, column: int) -> _Array:
    """The squared distances (Q, 1) of a neighbour, or of the last where that coincides, or 1."""
    unit, last = near.distances[:, column : column + 1] ** 2, near.distances[:, -1:] ** 2
    return np.where(unit > 0, unit, np.where(last > 0, last, 1.0))


def first_neighbors(data: WeightedPoints, bases: _Array, own: _Rows | None, choice: Choice, threads: int) -> Neighbors:
    """Those of the bases, or the first half of them, which is enough where all others have no weight."""
    k = data.n_neighbors(own)
    return data.index.nearest(bases, _n_own(own) + (k if _narrow(choice) >= 1 else k // 2 + 1), threads)


def _narrow(choice: Choice) -> float:
    """Beyond this share of the squared distance of the middle neighbour nothing has weight."""
    return 2 * _NO_WEIGHT * choice.factor


def local_estimates(
    data: WeightedPoints,
    bases: _Array,
    own: _Rows | None,
    choice: Choice,
    threads: int,
    near: Neighbors | None = None,
) -> _Array:
    """The estimates (Q, n) without the point `own` of each base; `near` are all or the first neighbours, if known."""
    k, n_own, narrow = data.n_neighbors(own), _n_own(own), _narrow(choice)
    if near is None:
        near = first_neighbors(data, bases, own, choice, threads)
    fitted = _estimates(data, bases, own, near, choice.factor, choice.gamma, threads)[:, 0, 0]
    if near.indices.shape[1] < k + n_own:
        first, last = near.distances[:, min(n_own, near.indices.shape[1] - 1)] ** 2, near.distances[:, -1] ** 2
        short = np.flatnonzero(last - first <= narrow * last)
        if len(short):
            some = None if own is None else own[short]
            more = data.near(bases[short], some, threads)
            fitted[short] = _estimates(data, bases[short], some, more, choice.factor, choice.gamma, threads)[:, 0, 0]
    return fitted


def tuned(
    data: WeightedPoints, bases: _Array, own: _Rows, near: Neighbors, targets: _Array, weights: _Array, threads: int
) -> tuple[Choice, float]:
    """What predicts the targets (Q, n) at the bases best, which weigh so much, and its mean squared error.

    Each base is estimated without its own point.
    """

    def errors(factors: Any, gammas: Any) -> _Array:
        total = np.zeros((len(factors), len(gammas)))
        for part in batches(len(bases), total.size * targets.shape[1]):
            some = Neighbors(near.indices[part], near.distances[part])
            fitted = _estimates(data, bases[part], own[part], some, factors, gammas, threads)
            squares = np.sum((fitted - targets[part, np.newaxis, np.newaxis]) ** 2, axis=3)
            total += np.einsum("q,qfg->fg", weights[part], squares)
        mean: _Array = total / weights.sum()
        return mean

    coarse = errors(FACTORS, GAMMAS)
    f, g = np.unravel_index(np.argmin(coarse), coarse.shape)
    factors = FACTORS[f] * 2.0 ** np.array([0.0, -0.5, 0.5])
    found = np.array([coarse[f, g], *errors(factors[1:], GAMMAS[g : g + 1])[:, 0]])
    best = int(np.argmin(found))
    return Choice(factor=float(factors[best]), gamma=float(GAMMAS[g])), float(found[best])


def others(near: Neighbors, own: _Rows) -> Neighbors:
    """The neighbours of some points without themselves; where they are not among them, without the last."""
    k = near.indices.shape[1] - 1
    left_out = near.indices == own[:, np.newaxis]
    left_out[~left_out.any(axis=1), -1] = True
    return Neighbors(near.indices[~left_out].reshape(-1, k), near.distances[~left_out].reshape(-1, k))


def averaged_derivatives(
    data: WeightedPoints, bases: _Array, own: _Rows, near: Neighbors, choice: Choice, threads: int
) -> _Array:
    """The mean (m, m) of DH^T DH over the bases, each without its own point."""
    near = others(near, own)
    bandwidth = choice.factor * _unit(near, near.distances.shape[1] // 2)
    m = bases.shape[1]
    total = np.zeros((m, m))
    with one_blas_thread():
        for part in batches(len(bases), m * data.values.shape[1]):
            derivatives, _ = _core.local_derivatives(
                data.index.points, data.values, bases[part], None, near.indices[part], near.distances[part],
                bandwidth[part], "affine", choice.gamma, threads,
            )  # fmt: skip
            by_column = derivatives.reshape(-1, m)
            total += by_column.T @ by_column
    return total / len(bases)
