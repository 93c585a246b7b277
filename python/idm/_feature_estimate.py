"""The feature at every row, by an estimate that did not see the row's own y (section 10 of the method)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

from idm import _core
from idm._extension import batches
from idm._neighbors import NeighborIndex, Neighbors
from idm._threads import one_blas_thread

_Array: TypeAlias = NDArray[np.float64]

_N_NEIGHBORS = 300
# Bandwidths, in units of the mean squared distance of the neighbours, and ridges, in units of the bandwidth.
_FACTORS = 2.0 ** np.arange(-8, 3)
_GAMMAS = np.array([1e-6, 1e-3, 1e-1, 1.0, 10.0])
# Rows that are left out to choose among them: fewer where there are more columns than neighbours, and each costs more.
_MOST_LEFT_OUT, _MOST_LEFT_OUT_WIDE = 2000, 150
_MOST_ROUNDS = 8
# A round of structural adaptation ends the search unless the squared error falls by this share, and by m / N more: it
# chooses among m directions. Errors below this share of the spread need no further round.
_GAIN, _GOOD_ENOUGH = 0.01, 0.003
# Random pairs that decide on the units of the feature.
_N_PAIRS = 20_000


class FeatureEstimate(Protocol):
    """The feature at rows of the fit, without their own y, and at new rows."""

    @property
    def left_out(self) -> _Array:
        """(N, n); copies of a row have that of the first."""

    @property
    def relevance(self) -> _Array | None:
        """(m, m), the mean of DH^T DH, if the estimate has derivatives."""

    def at(self, queries: _Array, threads: int) -> _Array:
        """The estimate (Q, n) at new rows; at rows of the fit, the one without their own y."""


def fit_estimate(
    estimator: Any, points: _Array, values: _Array, random_state: np.random.RandomState, threads: int
) -> FeatureEstimate:
    """Our own estimate, or that of a scikit-learn regressor."""
    if estimator is None:
        return adapted_estimate(points, values, random_state, threads)
    return CrossFitted(estimator, points, values, random_state, threads)


def feature_scale(points: _Array, features: _Array, random_state: np.random.RandomState) -> float:
    """What makes the median |dy| of random pairs that of their |dx|; where most features are equal, the 99 % quantile.

    Neither follows a few outliers.
    """
    i, j = random_state.randint(len(points), size=(2, _N_PAIRS))
    dx, dy = (np.linalg.norm(values[i] - values[j], axis=1) for values in (points, features))
    length, (change, large) = np.median(dx), np.quantile(dy, [0.5, 0.99])
    if change < 0.01 * large:
        change = large
    return float(length / change) if length > 0 and change > 0 else 1.0


class CrossFitted:
    """A regressor of the user's: out of fold at the rows of the fit."""

    relevance: _Array | None = None

    def __init__(
        self, estimator: Any, points: _Array, values: _Array, random_state: np.random.RandomState, threads: int
    ) -> None:
        target = values[:, 0] if values.shape[1] == 1 else values
        folds = KFold(min(5, len(points)), shuffle=True, random_state=random_state)
        left_out = cross_val_predict(clone(estimator), points, target, cv=folds).reshape(values.shape)
        self._index = NeighborIndex(points)
        self._model = clone(estimator).fit(points, target)
        self.left_out = _of_first_copies(self._index, left_out, threads)

    def at(self, queries: _Array, threads: int) -> _Array:
        """See FeatureEstimate."""
        twins = self._index.nearest(queries, 1, threads).twins()
        predicted = np.asarray(self._model.predict(queries), dtype=np.float64).reshape(len(queries), -1)
        return np.where(twins >= 0, self.left_out[twins[:, 0]], predicted)


@dataclass(frozen=True, kw_only=True)
class LocalAffine:
    """Local affine regression after the linear map x -> (x - centre) A, which shrinks what y does not depend on."""

    centre: _Array  # (m,)
    A: _Array | None  # (m, m); None: the points as they are
    index: NeighborIndex  # of the data, mapped
    values: _Array  # (N, n)
    factor: float  # bandwidth, in units of the mean squared distance of the neighbours
    gamma: float  # ridge, in units of the bandwidth
    left_out: _Array
    relevance: _Array

    def at(self, queries: _Array, threads: int) -> _Array:
        """See FeatureEstimate. Each row's result depends on that row alone, to the bit."""
        mapped = _linear_map(queries, self.centre, self.A)
        result = np.empty((len(queries), self.values.shape[1]))
        for rows in batches(len(queries), len(self.index)):
            near = self.index.nearest(mapped[rows], min(_N_NEIGHBORS, len(self.index)), threads)
            fitted = _estimates(self.index, self.values, mapped[rows], near, [self.factor], [self.gamma], threads)
            twins = near.twins()
            result[rows] = np.where(twins >= 0, self.left_out[twins[:, 0]], fitted[:, 0, 0])
        return result


def adapted_estimate(points: _Array, values: _Array, random_state: np.random.RandomState, threads: int) -> LocalAffine:
    """Rounds of structural adaptation: A from the derivatives averaged over all rows, as long as the error falls.

    A2 = mean_i DH_i^T DH_i (m x m: too few numbers to hold the noise), A = (A2 / max eig + lambda^2 / 5)^(1/2) with
    lambda = 1/2, 1/8, 1/32, ...; the bandwidth and the ridge of each round have the least left-out error. With more
    columns than neighbours there is no round: A2 would have more numbers than the rows determine.
    """
    n, m = points.shape
    k = min(_N_NEIGHBORS, n - 1)
    wide = m > k
    most = _MOST_LEFT_OUT_WIDE if wide else _MOST_LEFT_OUT
    rows = np.sort(random_state.permutation(n)[:most])
    centre, shrink = points.mean(axis=0), 0.5
    A: _Array | None = None
    spread = float(np.sum(np.var(values, axis=0)))
    best_error = np.inf
    for _ in range(_MOST_ROUNDS + 1):
        index = NeighborIndex(_linear_map(points, centre, A))
        near = _others(index, rows, k, threads)
        error, factor, gamma = _tuned(index, values, rows, near, threads)
        gain = 1 - error / best_error if best_error > 0 else 0.0
        if not np.isfinite(best_error) or gain > m / n:
            A2 = _averaged_derivatives(index, values, rows, near, factor, gamma, threads)
            A2 = A2 if A is None else A @ A2 @ A.T
            best_error, best = error, (A, index, factor, gamma, A2)
        if gain < _GAIN + m / n or m == 1 or wide or error <= _GOOD_ENOUGH**2 * spread or not A2.any():
            break
        eigenvalues, V = np.linalg.eigh(A2)
        roots = np.sqrt(np.maximum(eigenvalues, 0) / eigenvalues[-1] + shrink**2 / 5)
        A, shrink = (V * roots) @ V.T, shrink / 4
    A, index, factor, gamma, A2 = best
    left_out = np.empty_like(values)
    for part in batches(n, n):
        near = _others(index, np.arange(n)[part], k, threads)
        left_out[part] = _estimates(index, values, index.points[part], near, [factor], [gamma], threads)[:, 0, 0]
    return LocalAffine(
        centre=centre,
        A=A,
        index=index,
        values=values,
        factor=factor,
        gamma=gamma,
        left_out=_of_first_copies(index, left_out, threads),
        relevance=A2,
    )


def _linear_map(points: _Array, centre: _Array, A: _Array | None) -> _Array:
    """(x - centre) A, summed in an order that does not depend on the number of rows, as a product of BLAS would."""
    if A is None:
        return points
    result = np.zeros((len(points), A.shape[1]))
    for column, row in enumerate(A):
        result += (points[:, column] - centre[column])[:, np.newaxis] * row
    return result


def _others(index: NeighborIndex, rows: NDArray[np.intp], k: int, threads: int) -> Neighbors:
    """The k nearest points of some of the points without themselves; of more than k copies, the last is left out."""
    found = index.nearest(index.points[rows], k + 1, threads)
    own = found.indices == rows[:, np.newaxis]
    own[~own.any(axis=1), -1] = True
    return Neighbors(found.indices[~own].reshape(-1, k), found.distances[~own].reshape(-1, k))


def _estimates(
    index: NeighborIndex, values: _Array, bases: _Array, near: Neighbors, factors: Any, gammas: Any, threads: int
) -> _Array:
    """(Q, F, G, n), for each bandwidth and each ridge."""
    f, g = (np.asarray(numbers, dtype=np.float64).reshape(1, -1) for numbers in (factors, gammas))
    return _core.local_estimates(index.points, values, bases, *near, f, g, threads)


def _tuned(
    index: NeighborIndex, values: _Array, rows: NDArray[np.intp], near: Neighbors, threads: int
) -> tuple[float, float, float]:
    """The least mean squared error at the rows, and the bandwidth and the ridge that have it."""

    def errors(factors: Any, gammas: Any) -> _Array:
        total = np.zeros((len(factors), len(gammas)))
        for part in _parts(len(rows), total.size * values.shape[1]):
            some = Neighbors(near.indices[part], near.distances[part])
            fitted = _estimates(index, values, index.points[rows[part]], some, factors, gammas, threads)
            total += np.sum((fitted - values[rows[part], np.newaxis, np.newaxis]) ** 2, axis=(0, 3))
        return total / len(rows)

    coarse = errors(_FACTORS, _GAMMAS)
    f, g = np.unravel_index(np.argmin(coarse), coarse.shape)
    factors = _FACTORS[f] * 2.0 ** np.array([0.0, -0.5, 0.5])
    fine = errors(factors[1:], _GAMMAS[g : g + 1])[:, 0]
    candidates = np.array([coarse[f, g], *fine])
    best = int(np.argmin(candidates))
    return float(candidates[best]), float(factors[best]), float(_GAMMAS[g])


def _averaged_derivatives(
    index: NeighborIndex,
    values: _Array,
    rows: NDArray[np.intp],
    near: Neighbors,
    factor: float,
    gamma: float,
    threads: int,
) -> _Array:
    """The mean of DH^T DH over the rows, by the columns of the points."""
    m = index.points.shape[1]
    unit = np.mean(near.distances**2, axis=1, keepdims=True)
    bandwidth = factor * np.where(unit > 0, unit, 1.0)
    total = np.zeros((m, m))
    with one_blas_thread():
        for part in _parts(len(rows), m * values.shape[1]):
            derivatives, _ = _core.local_derivatives(
                index.points, values, index.points[rows[part]], None, near.indices[part], near.distances[part],
                bandwidth[part], "affine", gamma, threads,
            )  # fmt: skip
            by_column = derivatives.reshape(-1, m)
            total += by_column.T @ by_column
    return total / len(rows)


def _parts(n_rows: int, numbers_per_row: int) -> Iterator[slice]:
    """Slices of the rows that bound the memory of what each has."""
    size = max(8, 20_000_000 // numbers_per_row)
    return (slice(start, min(n_rows, start + size)) for start in range(0, n_rows, size))


def _of_first_copies(index: NeighborIndex, values: _Array, threads: int) -> _Array:
    """A new row cannot tell which of several copies it is."""
    first = [index.nearest(index.points[rows], 1, threads).indices[:, 0] for rows in batches(len(index), len(index))]
    return np.ascontiguousarray(values[np.concatenate(first)])
