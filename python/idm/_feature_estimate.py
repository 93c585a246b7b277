"""The feature at every row, by an estimate that did not see the row's own y (section 10 of the method)."""

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags

from idm._batches import batches
from idm._linear_map import linear_map
from idm._local_estimates import (
    FACTORS,
    GAMMAS,
    N_NEIGHBORS,
    Choice,
    WeightedPoints,
    averaged_derivatives,
    first_neighbors,
    local_estimates,
    others,
    tuned,
)
from idm._neighbors import NeighborIndex, Neighbors
from idm._threads import one_blas_thread
from idm._warnings import warn
from idm.exceptions import FeatureOutlierWarning, UnpredictableFeatureWarning

_Array: TypeAlias = NDArray[np.float64]

# Rows that are left out to choose bandwidth and ridge, and the multiply-adds that these may cost.
_LEAST_LEFT_OUT, _MOST_LEFT_OUT, _MOST_WORK = 100, 2000, 2e10
_MOST_ROUNDS = 8
# Rows that the search for a linear map begins with, if there are more than twice as many.
_FIRST_PART = 10_000
# A round of structural adaptation ends the search unless the squared error falls by this share, and by m / N more: it
# chooses among m directions. Errors below this share of the spread need no further round.
_GAIN, GOOD_ENOUGH = 0.01, 0.003
# Features out of proportion: at most this share of the rows, beyond a gap of this factor in |y - median|, whose rows do
# not lie together. Columns with no more distinct values than this are classes, however rare.
_OUTLIER_SHARE, _OUTLIER_GAP, MOST_CLASSES = 0.05, 10.0, 20
# Random pairs that decide on the units of the feature.
_N_PAIRS = 20_000


class FeatureEstimate(Protocol):
    """The feature at rows of the fit, without their own y, and at new rows."""

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
        estimate: LocalAffine | CrossFitted | Mean = adapted_estimate(points, values, random_state, threads)
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
        if len(far) and len(np.unique(column)) > MOST_CLASSES and not _lie_together(points, far, threads):
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
    found = int(np.isin(others(near, rows).indices, rows).sum())
    return found > 3 + 3 * n_pairs * k / (len(points) - 1)


def _score(values: _Array, estimated: _Array) -> float:
    """R^2 of all columns together, with or without the 1 % largest errors, whichever is better."""
    unit = power_of_two(values)
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
    sums = np.sort(linear_map(points - points[0], np.random.RandomState(0).uniform(1, 2, (points.shape[1], 1)))[:, 0])
    if (np.diff(sums) != 0).all():
        return points, None
    distinct, of_rows = np.unique(points, axis=0, return_inverse=True)
    return distinct, of_rows.ravel()


def feature_scale(points: _Array, features: _Array, random_state: np.random.RandomState) -> float:
    """What makes the median |dy| of random pairs that of their |dx|; where most rows are equal, the 99 % quantile.

    Neither follows a few outliers. Where nearly all rows are equal, it is the range. 1, if all are: there is no map.
    """
    pairs = random_state.randint(len(points), size=(2, _N_PAIRS))
    length, change = (_typical_distance(values, *pairs) for values in (points, features))
    return length / change if length > 0 and change > 0 else 1.0


def _typical_distance(values: _Array, i: NDArray[np.intp], j: NDArray[np.intp]) -> float:
    unit = power_of_two(values)
    distances = np.linalg.norm((values / unit)[i] - (values / unit)[j], axis=1)
    middle, large = np.quantile(distances, [0.5, 0.99])
    typical = middle if middle >= 0.01 * large else large
    return unit * float(typical or np.linalg.norm(np.ptp(values / unit, axis=0)))


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
class Straightened:
    """The linear map x -> (x - centre) A, in units of the data, which shrinks what y does not depend on."""

    units: tuple[float, float]  # of points and values, powers of 2: squares of what is below stay in range
    centre: _Array  # (m,)
    A: _Array | None  # (m, m); None: the points as they are

    def points(self, points: _Array) -> _Array:
        """Of points (Q, m)."""
        points = points / self.units[0]
        return points if self.A is None else linear_map(points - self.centre, self.A)


@dataclass(frozen=True, kw_only=True)
class LocalAffine(Straightened):
    """Local affine regression on the rows of the fit, after the linear map."""

    index: NeighborIndex  # of the data, mapped
    values: _Array  # (N, n)
    factor: float  # bandwidth, in units of the median squared distance of the neighbours
    gamma: float  # ridge, in units of the bandwidth
    left_out: _Array
    relevance: _Array | None

    def at(self, queries: _Array, threads: int) -> _Array:
        """See FeatureEstimate. Each row's result depends on that row alone, to the bit."""
        data, choice = _rows_of(self.index, self.values), Choice(factor=self.factor, gamma=self.gamma)
        mapped = self.points(queries)
        near = first_neighbors(data, mapped, None, choice, threads)
        twins = near.twins()
        estimated, new = self.left_out[twins], np.flatnonzero(twins < 0)
        if len(new):
            some = near if len(new) == len(twins) else Neighbors(near.indices[new], near.distances[new])
            estimated[new] = self.units[1] * local_estimates(data, mapped[new], None, choice, threads, some)
        return estimated


def _rows_of(index: NeighborIndex, values: _Array) -> WeightedPoints:
    return WeightedPoints(index=index, values=values, counts=np.ones((len(values), 1)))


@dataclass(frozen=True, kw_only=True)
class _Round:
    """A round of structural adaptation: a linear map, and what it came to."""

    straight: Straightened
    shrink: float  # lambda of the map that follows
    data: WeightedPoints
    rows: NDArray[np.intp]  # that are left out, each by itself
    near: Neighbors  # of these
    choice: Choice
    error: float
    A2: _Array | None


def adapted_estimate(points: _Array, values: _Array, random_state: np.random.RandomState, threads: int) -> LocalAffine:
    """The local affine estimate after rounds of structural adaptation.

    Of many rows, a part goes first: its neighbourhoods are wider, so that noise hides fewer directions, and it is fast.
    """
    n, units = len(points), (power_of_two(points), power_of_two(values))
    straight = Straightened(units=units, centre=(points / units[0]).mean(axis=0), A=None)
    values, shrink = values / units[1], 0.5
    if n > 2 * _FIRST_PART:
        some = np.sort(random_state.permutation(n)[:_FIRST_PART])
        first = _adapted(points[some], values[some], straight, shrink, random_state, threads)
        straight, shrink = first.straight, first.shrink
    best = _adapted(points, values, straight, shrink, random_state, threads)
    data, rows, choice, A2 = best.data, best.rows, best.choice, best.A2
    index, left_out = data.index, np.empty_like(values)
    left_out[rows] = local_estimates(data, index.points[rows], rows, choice, threads, best.near)
    order = np.setdiff1d(index.order(), rows, assume_unique=True)
    for some in (order[part] for part in batches(len(order), N_NEIGHBORS)):
        left_out[some] = local_estimates(data, index.points[some], some, choice, threads)
    with np.errstate(over="ignore"):
        relevance = None if A2 is None else A2 * (units[1] / units[0]) * (units[1] / units[0])
    return LocalAffine(
        units=units,
        centre=best.straight.centre,
        A=best.straight.A,
        index=index,
        values=values,
        factor=choice.factor,
        gamma=choice.gamma,
        left_out=units[1] * left_out,
        relevance=relevance,
    )


def _adapted(
    points: _Array,
    values: _Array,
    straight: Straightened,
    shrink: float,
    random_state: np.random.RandomState,
    threads: int,
) -> _Round:
    """Rounds of structural adaptation: A from averaged derivatives, as long as the error at left-out rows falls.

    A2 = mean_i DH_i^T DH_i over these rows (m x m: too few numbers to hold the noise), A = (A2 / max eig + lambda^2 /
    5)^(1/2) with lambda = 1/2, 1/8, 1/32, ...; the bandwidth and the ridge of each round have the least error. With
    more columns than neighbours there is no round and no A2, which would have more numbers than the rows determine.
    """
    n, m = points.shape
    k = min(N_NEIGHBORS, n - 1)
    rows = np.sort(random_state.permutation(n)[: _n_left_out(m, k)])
    spread = float(np.sum(np.var(values, axis=0)))
    best: _Round | None = None
    for _ in range(_MOST_ROUNDS + 1):
        data = _rows_of(NeighborIndex(straight.points(points)), values)
        bases = data.index.points[rows]
        near = data.near(bases, rows, threads)
        choice, error = tuned(data, bases, rows, near, values[rows], np.ones(len(rows)), threads)
        gain = 1.0 if best is None else 1 - error / best.error if best.error > 0 else 0.0
        if best is None or gain > m / n:
            A2 = None if m > k else averaged_derivatives(data, bases, rows, near, choice, threads)
            if A2 is not None and straight.A is not None:  # by the columns that A maps from
                with one_blas_thread():
                    A2 = straight.A @ A2 @ straight.A.T
            best = _Round(
                straight=straight, shrink=shrink, data=data, rows=rows, near=near, choice=choice, error=error, A2=A2
            )
        good = m == 1 or error <= GOOD_ENOUGH**2 * spread
        if good or gain < _GAIN + m / n or best.A2 is None or not best.A2.any():
            break
        straight, shrink = replace(straight, A=_next_map(best.A2, shrink)), shrink / 4
    assert best is not None
    return best


def power_of_two(values: _Array) -> float:
    """Near the spread of the values; if they are all equal, near these."""
    spread = float(np.ptp(values, axis=0).max()) or float(np.abs(values).max())
    return float(2.0 ** np.round(np.log2(max(spread, 1e-300))))


def _n_left_out(m: int, k: int) -> int:
    """How many rows are left out: each has a matrix per bandwidth, and a factorisation per bandwidth and ridge."""
    size = min(m, k)
    products = k * k * m if m > k else len(FACTORS) * k * m * m
    work = products + len(FACTORS) * len(GAMMAS) * size**3 / 3
    return int(np.clip(_MOST_WORK / work, _LEAST_LEFT_OUT, _MOST_LEFT_OUT))


def _next_map(A2: _Array, shrink: float) -> _Array:
    """(A2 / max eig + lambda^2 / 5)^(1/2)."""
    with one_blas_thread():
        eigenvalues, V = np.linalg.eigh(A2)
        roots = np.sqrt(np.maximum(eigenvalues, 0) / eigenvalues[-1] + shrink**2 / 5)
        A: _Array = (V * roots) @ V.T
    return A
