"""The feature at every row, by an estimate that did not see the row's own y (section 10 of the method)."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags

from idm import _core
from idm._batches import batches
from idm._linear_map import linear_map
from idm._neighbors import NeighborIndex, Neighbors
from idm._threads import one_blas_thread
from idm._warnings import warn
from idm.exceptions import FeatureOutlierWarning, UnpredictableFeatureWarning

_Array: TypeAlias = NDArray[np.float64]

_N_NEIGHBORS = 300
# Weights below exp(-this) do not count; cpp/include/idm/weights.hpp leaves them out a little earlier.
_NO_WEIGHT = 40.0
# Bandwidths, in units of the median squared distance of the neighbours, and ridges, in units of the bandwidth.
_FACTORS = 2.0 ** np.arange(-8, 3)
_GAMMAS = np.array([1e-6, 1e-3, 1e-1, 1.0, 10.0])
# Rows that are left out to choose among them, and the multiply-adds that these may cost.
_LEAST_LEFT_OUT, _MOST_LEFT_OUT, _MOST_WORK = 100, 2000, 2e10
_MOST_ROUNDS = 8
# A round of structural adaptation ends the search unless the squared error falls by this share, and by m / N more: it
# chooses among m directions. Errors below this share of the spread need no further round.
_GAIN, _GOOD_ENOUGH = 0.01, 0.003
# Features out of proportion: at most this share of the rows, beyond a gap of this factor in |y - median|, whose rows do
# not lie together. Columns with no more distinct values than this are classes, however rare.
_OUTLIER_SHARE, _OUTLIER_GAP, _MOST_CLASSES = 0.05, 10.0, 20
# Random pairs that decide on the units of the feature.
_N_PAIRS = 20_000


class FeatureEstimate(Protocol):
    """The feature at rows of the fit, without their own y, and at new rows."""

    @property
    def left_out(self) -> _Array:
        """(N, n), without the row's own y."""

    @property
    def relevance(self) -> _Array | None:
        """(m, m), the mean of DH^T DH, if the estimate has derivatives."""

    def at(self, queries: _Array, threads: int) -> _Array:
        """The estimate (Q, n) at new rows, not too many at once; at rows of the fit, the one without their own y."""


def fit_estimate(
    estimator: Any, points: _Array, values: _Array, random_state: np.random.RandomState, threads: int
) -> tuple[FeatureEstimate, _Array]:
    """Our own estimate, or that of a scikit-learn regressor, and its values (N, n) without each row's own y.

    Copies of a row are one row with the mean of their values: else they would tell each other's y.
    """
    distinct, of_rows = _distinct_rows(points)
    if of_rows is not None:
        counts = np.bincount(of_rows)[:, np.newaxis]
        columns = [np.bincount(of_rows, weights=column) for column in values.T]
        points, values = distinct, np.stack(columns, axis=1) / counts
    if estimator is None:
        estimate: FeatureEstimate = adapted_estimate(points, values, random_state, threads)
    else:
        estimate = CrossFitted(estimator, points, values, random_state)
    score = _score(values, estimate.left_out)
    if not score > min(0.05, 10 / len(values)):  # what noise may have by chance
        warn(
            f"y cannot be predicted from X: at left-out rows that is no better than the mean (R^2 {score:.1g}). "
            "All rows get the same feature, and the map is that of X alone; check that the rows of X and y belong "
            "together, scale the columns of X, or pass another feature_estimator",
            UnpredictableFeatureWarning,
        )
        estimate = Mean(mean=values.mean(axis=0), n_rows=len(values), n_columns=points.shape[1])
    return estimate, estimate.left_out if of_rows is None else estimate.left_out[of_rows]


def outlying_rows(
    points: _Array, values: _Array, threads: int, numbers: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """The rows whose features are out of all proportion, which a `FeatureOutlierWarning` names by their numbers.

    In each column, a = |y - median|, sorted: those beyond a gap, a' / a >= 10, that is wider than the whole upper half
    of what is below it, a / median(a), as no heavy tail has. If their rows lie together, y goes there, and all stay.
    """
    outlying = np.zeros(values.shape, dtype=np.bool_)
    for c, column in enumerate(values.T):
        far = np.flatnonzero(_beyond_a_gap(np.abs(column - np.median(column))))
        if len(far) and len(np.unique(column)) > _MOST_CLASSES and not _lie_together(points, far, threads):
            outlying[far, c] = True
    rows = np.flatnonzero(outlying.any(axis=1))
    if len(rows):
        i, c = np.argwhere(outlying)[0]
        rest = values[~outlying[:, c], c]
        told = np.arange(len(values)) if numbers is None else numbers
        named = ", ".join(map(str, told[rows[:10]])) + (", ..." if len(rows) > 10 else "")
        warn(
            f"y is out of all proportion in {len(rows)} of {len(values)} rows: {named} (row {told[i]} has "
            f"{values[i, c]:.3g} in column {c}, all others are from {rest.min():.3g} to {rest.max():.3g}). These rows "
            "are mapped by X alone, as new rows are; correct or remove them",
            FeatureOutlierWarning,
        )
    return rows


def _beyond_a_gap(deviations: _Array) -> NDArray[np.bool_]:
    """The few that a gap sets apart from all others; none, if more than half of the deviations are 0."""
    n, typical = len(deviations), float(np.median(deviations))
    upper = np.sort(deviations)[n - 1 - int(_OUTLIER_SHARE * n) :]
    if typical == 0:
        return np.zeros(n, dtype=np.bool_)
    logarithms = np.log(upper)  # whose ratios could overflow
    gaps = np.flatnonzero(np.diff(logarithms) >= np.maximum(np.log(_OUTLIER_GAP), logarithms[:-1] - np.log(typical)))
    return deviations >= (upper[1:][gaps[0]] if len(gaps) else np.inf)


def _lie_together(points: _Array, rows: NDArray[np.intp], threads: int) -> bool:
    """Whether the nearest of these rows are such rows far more often than by chance."""
    k, n_pairs = min(10, len(points) - 1), len(rows) * (len(rows) - 1)
    near = NeighborIndex(points).nearest(points[rows], k + 1, threads)
    found = int(np.isin(_others(near, rows).indices, rows).sum())
    return found > 3 + 3 * n_pairs * k / (len(points) - 1)


def _score(values: _Array, estimated: _Array) -> float:
    """R^2 of all columns together, with or without the 1 % largest errors, whichever is better."""
    unit = _power_of_two(values)
    errors, spreads = (np.sum((a / unit) ** 2, axis=1) for a in (values - estimated, values - values.mean(axis=0)))
    most = np.argsort(errors + spreads)[: math.ceil(0.99 * len(errors))]
    sums = [(float(errors[rows].sum()), float(spreads[rows].sum())) for rows in (slice(None), most)]
    return max(1 - error / spread if spread > 0 else 1.0 for error, spread in sums)


@dataclass(frozen=True, kw_only=True)
class Mean:
    """The same for all rows. (A mean that leaves out one's own value would tell it.)"""

    mean: _Array  # (n,)
    n_rows: int
    n_columns: int  # of X

    @property
    def left_out(self) -> _Array:
        """See FeatureEstimate."""
        return np.tile(self.mean, (self.n_rows, 1))

    @property
    def relevance(self) -> _Array | None:
        """See FeatureEstimate."""
        return np.zeros((self.n_columns, self.n_columns))

    def at(self, queries: _Array, threads: int) -> _Array:
        """See FeatureEstimate."""
        return np.tile(self.mean, (len(queries), 1))


def _distinct_rows(points: _Array) -> tuple[_Array, NDArray[np.intp] | None]:
    """The distinct rows and the number of that of each row; None if all differ, which one sum of each row tells."""
    sums = np.sort(_mapped(points, points[0], np.random.RandomState(0).uniform(1, 2, (points.shape[1], 1)))[:, 0])
    if (np.diff(sums) != 0).all():
        return points, None
    distinct, of_rows = np.unique(points, axis=0, return_inverse=True)
    return distinct, of_rows.ravel()


def feature_scale(points: _Array, features: _Array, random_state: np.random.RandomState) -> float:
    """What makes the median |dy| of random pairs that of their |dx|; where most features are equal, the 99 % quantile.

    Neither follows a few outliers.
    """
    i, j = random_state.randint(len(points), size=(2, _N_PAIRS))
    unit = _power_of_two(features)
    dx, dy = (np.linalg.norm(values[i] - values[j], axis=1) for values in (points, features / unit))
    length, (change, large) = np.median(dx), np.quantile(dy, [0.5, 0.99])
    if change < 0.01 * large:
        change = large
    return float(length / change / unit) if length > 0 and change > 0 else 1.0


class CrossFitted:
    """A regressor of the user's: out of fold at the rows of the fit."""

    relevance: _Array | None = None

    def __init__(self, estimator: Any, points: _Array, values: _Array, random_state: np.random.RandomState) -> None:
        one = values.shape[1] == 1
        if not one and not get_tags(estimator).target_tags.multi_output:
            estimator = MultiOutputRegressor(estimator)
        target = values[:, 0] if one else values
        folds = KFold(min(5, len(points)), shuffle=True, random_state=random_state)
        self.left_out = _finite(cross_val_predict(clone(estimator), points, target, cv=folds), values.shape)
        self._index = NeighborIndex(points)
        self._model = clone(estimator).fit(points, target)

    def at(self, queries: _Array, threads: int) -> _Array:
        """See FeatureEstimate. Rows may depend on each other's number, in the last bits, as the regressor has it."""
        twins = self._index.nearest(queries, 1, threads).twins()
        predicted = _finite(self._model.predict(queries), (len(queries), self.left_out.shape[1]))
        return np.where(twins[:, np.newaxis] >= 0, self.left_out[twins], predicted)


def _finite(predicted: Any, shape: tuple[int, ...]) -> _Array:
    array = np.asarray(predicted, dtype=np.float64).reshape(shape)
    if not np.isfinite(array).all():
        raise ValueError("feature_estimator predicts NaN or infinite values; use one that does not for these X and y")
    return array


@dataclass(frozen=True, kw_only=True)
class LocalAffine:
    """Local affine regression after the linear map x -> (x - centre) A, which shrinks what y does not depend on."""

    units: tuple[float, float]  # of points and values, powers of 2: squares of what is below stay in range
    centre: _Array  # (m,)
    A: _Array | None  # (m, m); None: the points as they are
    index: NeighborIndex  # of the data, mapped
    values: _Array  # (N, n)
    factor: float  # bandwidth, in units of the median squared distance of the neighbours
    gamma: float  # ridge, in units of the bandwidth
    left_out: _Array
    relevance: _Array | None

    def at(self, queries: _Array, threads: int) -> _Array:
        """See FeatureEstimate. Each row's result depends on that row alone, to the bit."""
        mapped = _mapped(queries / self.units[0], self.centre, self.A)
        k = min(_N_NEIGHBORS, len(self.index))
        fitted, near = _fitted(self.index, self.values, mapped, None, k, self.factor, self.gamma, threads)
        twins = near.twins()
        return np.where(twins[:, np.newaxis] >= 0, self.left_out[twins], self.units[1] * fitted)


def adapted_estimate(points: _Array, values: _Array, random_state: np.random.RandomState, threads: int) -> LocalAffine:
    """Rounds of structural adaptation: A from averaged derivatives, as long as the error at left-out rows falls.

    A2 = mean_i DH_i^T DH_i over these rows (m x m: too few numbers to hold the noise), A = (A2 / max eig + lambda^2 /
    5)^(1/2) with lambda = 1/2, 1/8, 1/32, ...; the bandwidth and the ridge of each round have the least error. With
    more columns than neighbours there is no round and no A2, which would have more numbers than the rows determine.
    """
    n, m = points.shape
    units = _power_of_two(points), _power_of_two(values)
    points, values = points / units[0], values / units[1]
    k = min(_N_NEIGHBORS, n - 1)
    wide = m > k
    rows = np.sort(random_state.permutation(n)[: _n_left_out(m, k)])
    centre, shrink = points.mean(axis=0), 0.5
    A: _Array | None = None
    A2: _Array | None = None
    spread = float(np.sum(np.var(values, axis=0)))
    best_error = np.inf
    for _ in range(_MOST_ROUNDS + 1):
        index = NeighborIndex(_mapped(points, centre, A))
        near = index.nearest(index.points[rows], k + 1, threads)
        error, factor, gamma = _tuned(index, values, rows, near, threads)
        gain = 1 - error / best_error if best_error > 0 else 0.0
        if not np.isfinite(best_error) or gain > m / n:
            A2 = None if wide else _averaged_derivatives(index, values, rows, near, factor, gamma, A, threads)
            best_error, best = error, (A, index, near, factor, gamma, A2)
        good = m == 1 or error <= _GOOD_ENOUGH**2 * spread
        if good or gain < _GAIN + m / n or A2 is None or not A2.any():
            break
        A, shrink = _next_map(A2, shrink), shrink / 4
    A, index, near, factor, gamma, A2 = best
    left_out = np.empty_like(values)
    order = np.setdiff1d(index.order(), rows, assume_unique=True)
    left_out[rows] = _estimates(index, values, index.points[rows], rows, near, [factor], [gamma], threads)[:, 0, 0]
    for some in (order[part] for part in batches(len(order), k)):
        left_out[some], _ = _fitted(index, values, index.points[some], some, k, factor, gamma, threads)
    with np.errstate(over="ignore"):
        relevance = None if A2 is None else A2 * (units[1] / units[0]) * (units[1] / units[0])
    return LocalAffine(
        units=units,
        centre=centre,
        A=A,
        index=index,
        values=values,
        factor=factor,
        gamma=gamma,
        left_out=units[1] * left_out,
        relevance=relevance,
    )


def _power_of_two(values: _Array) -> float:
    """Near the spread of the values."""
    return float(2.0 ** np.round(np.log2(max(float(np.ptp(values, axis=0).max()), 1e-300))))


def _n_left_out(m: int, k: int) -> int:
    """How many rows are left out: each has a matrix per bandwidth, and a factorisation per bandwidth and ridge."""
    size = min(m, k)
    products = k * k * m if m > k else len(_FACTORS) * k * m * m
    work = products + len(_FACTORS) * len(_GAMMAS) * size**3 / 3
    return int(np.clip(_MOST_WORK / work, _LEAST_LEFT_OUT, _MOST_LEFT_OUT))


def _next_map(A2: _Array, shrink: float) -> _Array:
    """(A2 / max eig + lambda^2 / 5)^(1/2)."""
    with one_blas_thread():
        eigenvalues, V = np.linalg.eigh(A2)
        roots = np.sqrt(np.maximum(eigenvalues, 0) / eigenvalues[-1] + shrink**2 / 5)
        A: _Array = (V * roots) @ V.T
    return A


def _mapped(points: _Array, centre: _Array, A: _Array | None) -> _Array:
    """(x - centre) A."""
    return points if A is None else linear_map(points - centre, A)


def _others(near: Neighbors, rows: NDArray[np.intp]) -> Neighbors:
    """The neighbours of some points without themselves; where they are not among them, without the last."""
    k = near.indices.shape[1] - 1
    own = near.indices == rows[:, np.newaxis]
    own[~own.any(axis=1), -1] = True
    return Neighbors(near.indices[~own].reshape(-1, k), near.distances[~own].reshape(-1, k))


def _estimates(
    index: NeighborIndex,
    values: _Array,
    bases: _Array,
    own: NDArray[np.intp] | None,
    near: Neighbors,
    factors: Any,
    gammas: Any,
    threads: int,
    middle: int | None = None,
) -> _Array:
    """(Q, F, G, n), for each bandwidth and each ridge, without the point `own` of each base."""
    middle = (near.indices.shape[1] - _n_own(own)) // 2 if middle is None else middle
    f, g = (np.asarray(numbers, dtype=np.float64).reshape(1, -1) for numbers in (factors, gammas))
    return _core.local_estimates(
        index.points, values, np.ones((len(values), 1)), bases, *near, _unit(near, middle + _n_own(own)),
        None if own is None else own.reshape(-1, 1), f, g, threads,
    )  # fmt: skip


def _n_own(own: NDArray[np.intp] | None) -> int:
    return 0 if own is None else 1


def _unit(near: Neighbors, column: int) -> _Array:
    """The squared distances (Q, 1) of a neighbour, or of the last where that coincides, or 1."""
    unit, last = near.distances[:, column : column + 1] ** 2, near.distances[:, -1:] ** 2
    return np.where(unit > 0, unit, np.where(last > 0, last, 1.0))


def _fitted(
    index: NeighborIndex,
    values: _Array,
    bases: _Array,
    own: NDArray[np.intp] | None,
    k: int,
    factor: float,
    gamma: float,
    threads: int,
) -> tuple[_Array, Neighbors]:
    """The estimates (Q, n) by the k nearest points but for `own`, and the neighbours that they come from.

    Of these the first half is enough where all others have no weight.
    """
    half, n_own = k // 2 + 1, _n_own(own)
    narrow = 2 * _NO_WEIGHT * factor < 1
    near = index.nearest(bases, (half if narrow else k) + n_own, threads)
    fitted = _estimates(index, values, bases, own, near, [factor], [gamma], threads, k // 2)[:, 0, 0]
    if narrow:
        squares = near.distances[:, [n_own, -1]] ** 2
        short = np.flatnonzero(squares[:, 1] - squares[:, 0] <= 2 * _NO_WEIGHT * factor * squares[:, 1])
        if len(short):
            more = index.nearest(bases[short], k + n_own, threads)
            own = None if own is None else own[short]
            fitted[short] = _estimates(index, values, bases[short], own, more, [factor], [gamma], threads)[:, 0, 0]
    return fitted, near


def _tuned(
    index: NeighborIndex, values: _Array, rows: NDArray[np.intp], near: Neighbors, threads: int
) -> tuple[float, float, float]:
    """The least mean squared error at the rows, and the bandwidth and the ridge that have it."""

    def errors(factors: Any, gammas: Any) -> _Array:
        total = np.zeros((len(factors), len(gammas)))
        for part in batches(len(rows), total.size * values.shape[1]):
            some = Neighbors(near.indices[part], near.distances[part])
            own = rows[part]
            fitted = _estimates(index, values, index.points[own], own, some, factors, gammas, threads)
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
    A: _Array | None,
    threads: int,
) -> _Array:
    """The mean of DH^T DH over the rows, by the columns that A maps from."""
    m = index.points.shape[1]
    near = _others(near, rows)
    bandwidth = factor * _unit(near, near.distances.shape[1] // 2)
    total = np.zeros((m, m))
    with one_blas_thread():
        for part in batches(len(rows), m * values.shape[1]):
            derivatives, _ = _core.local_derivatives(
                index.points, values, index.points[rows[part]], None, near.indices[part], near.distances[part],
                bandwidth[part], "affine", gamma, threads,
            )  # fmt: skip
            by_column = derivatives.reshape(-1, m)
            total += by_column.T @ by_column
        total = total if A is None else A @ total @ A.T
    return total / len(rows)
