"""The feature from means of all rows, however many: rows near each other are one point, whose noise is averaged.

A row belongs to the nearest of some centres, and each part of the data gives the number, the sum of the points and that
of the features of each cell. Sums of parts are added, wherever the parts are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._batches import in_batches
from idm._feature_estimate import GOOD_ENOUGH, LocalAffine, Straightened, power_of_two
from idm._local_estimates import Choice, WeightedPoints, local_estimates, tuned
from idm._neighbors import NeighborIndex

_Array: TypeAlias = NDArray[np.float64]
_Sums: TypeAlias = NDArray[np.int64]
# What adds up what a function makes of the points and features of every part of the data, on so many threads.
TotalOf: TypeAlias = Callable[[Callable[[_Array, _Array, int], _Sums]], _Sums]

# One in so many of the rows of a sample is a centre.
_SHARE = 2
# An estimate whose bandwidth is narrower than this wants points that are nearer to each other, not averages.
_LEAST_FACTOR = 2.0**-5
# Cells that are left out to choose a bandwidth, and rows at which both estimates are compared.
_MOST_LEFT_OUT, _MOST_COMPARED = 2000, 20_000
# Rows that are farther in a column from all centres, or from the middle of the features, than so many spreads of the
# sample are not used; a gap of a factor 10 makes an outlier, which is beyond that.
_FARTHEST = 4.0


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Which row belongs to which centre."""

    straight: Straightened
    centres: NeighborIndex  # (C, m), mapped

    def of(self, mapped: _Array, threads: int) -> NDArray[np.intp]:
        """The cells (Q,) of mapped points."""
        return self.centres.nearest(mapped, 1, threads).indices[:, 0]


@dataclass(frozen=True, kw_only=True)
class CellSums:
    """What the rows of a part add to the sums of their cells, as integers: the same in any order, to the bit."""

    cells: Cells
    middle: _Array  # (n,), of the features in their units
    farthest: _Array  # (n,), from the middle
    one: float  # the integer that 1 is; the sum of all rows stays in range

    def of(self, points: _Array, values: _Array, threads: int) -> _Sums:
        """(C, 1 + m + n): the number of the rows of each cell, and the sums of x - centre and of y - middle.

        Rows far from all of the sample, by x or by y, and those whose feature is missing are left out.
        """
        straight, centres = self.cells.straight, self.cells.centres.points
        with np.errstate(over="ignore", invalid="ignore"):
            mapped, features = straight.points(points), values / straight.units[1] - self.middle
            far = (mapped < centres.min(axis=0) - _FARTHEST) | (mapped > centres.max(axis=0) + _FARTHEST)
        used = np.isfinite(mapped).all(axis=1) & ~far.any(axis=1) & (np.abs(features) <= self.farthest).all(axis=1)
        total = np.zeros((len(centres), 1 + mapped.shape[1] + features.shape[1]), dtype=np.int64)
        if not used.any():
            return total
        mapped, features = mapped[used], features[used]
        cells = self.cells.of(mapped, threads)
        terms = np.ones((len(cells), total.shape[1]), dtype=np.int64)
        terms[:, 1:] = np.rint(self.one * np.hstack([mapped - centres[cells], features]))
        order = np.argsort(cells, kind="stable")
        found, starts = np.unique(cells[order], return_index=True)
        total[found] = np.add.reduceat(terms[order], starts, axis=0)
        return total

    def means(self, total: _Sums) -> tuple[Cells, WeightedPoints]:
        """The cells that have rows, and the means of these."""
        filled, cells = total[:, 0] > 0, self.cells
        if not filled.all():
            cells = Cells(straight=cells.straight, centres=NeighborIndex(cells.centres.points[filled]))
        centres, counts = cells.centres.points, total[filled, :1].astype(np.float64)
        means, m = total[filled, 1:] / (self.one * counts), centres.shape[1]
        data = WeightedPoints(
            index=NeighborIndex(centres + means[:, :m]), values=self.middle + means[:, m:], counts=counts
        )
        return cells, data


@dataclass(frozen=True, kw_only=True)
class CellMeans:
    """Local affine regression on means of cells of all rows, without the cell that a row belongs to.

    So no row sees its own y, and rows of the fit have the estimate of new rows in their place.
    """

    cells: Cells
    data: WeightedPoints
    choice: Choice
    relevance: _Array | None

    def at(self, queries: _Array, threads: int) -> _Array:
        """See FeatureEstimate. Each row's result depends on that row alone, to the bit."""
        mapped = self.cells.straight.points(queries)
        own = self.cells.of(mapped, threads)
        return self.cells.straight.units[1] * local_estimates(self.data, mapped, own, self.choice, threads)


def cell_means(
    rows: LocalAffine,
    features: _Array,
    total_of: TotalOf,
    n_rows: int,
    random_state: np.random.RandomState,
    threads: int,
) -> CellMeans | None:
    """The estimate by means of all `n_rows` rows, if that of a sample has noise to average, and if it is better then.

    Better: at rows of the sample, by the squared error of what did not see them. `features` are the measured ones of
    the sample, of which equal rows in `rows` have the mean.
    """
    n, values, left_out = len(rows.values), rows.units[1] * rows.values, rows.left_out
    spread = float(np.sum(np.var(rows.values, axis=0)))
    error = float(np.mean(np.sum((rows.values - left_out / rows.units[1]) ** 2, axis=1)))
    if rows.factor < _LEAST_FACTOR or error <= GOOD_ENOUGH**2 * spread:
        return None
    order, unit = random_state.permutation(n), power_of_two(features)
    centres = NeighborIndex(rows.index.points[np.sort(order[: max(2, n // _SHARE)])])
    straight = Straightened(units=(rows.units[0], unit), centre=rows.centre, A=rows.A)
    low, high = features.min(axis=0) / unit, features.max(axis=0) / unit
    reach = 2 * _FARTHEST + float(np.ptp(centres.points, axis=0).max())  # of x - centre, more than of y - middle
    sums = CellSums(
        cells=Cells(straight=straight, centres=centres),
        middle=low / 2 + high / 2,
        farthest=_FARTHEST * np.where(high > low, high - low, 1.0),
        one=2.0 ** (61 - n_rows.bit_length() - math.ceil(math.log2(reach))),
    )
    cells, data = sums.means(total_of(sums.of))
    if len(data.index) < 2:
        return None
    some = np.sort(random_state.permutation(len(data.index))[:_MOST_LEFT_OUT])
    bases, near = data.index.points[some], data.near(data.index.points[some], some, threads)
    choice, _ = tuned(data, bases, some, near, data.values[some], data.counts[some, 0], threads)
    compared = order[-_MOST_COMPARED:]  # few of them centres, which are in the middle of what they do not see

    def estimated(mapped: _Array) -> tuple[_Array]:
        return (unit * local_estimates(data, mapped, cells.of(mapped, threads), choice, threads),)

    (by_cells,) = in_batches(estimated, rows.index.points[compared])
    errors = [np.mean(np.sum(((a - values[compared]) / unit) ** 2, axis=1)) for a in (by_cells, left_out[compared])]
    if not errors[0] < errors[1]:
        return None
    return CellMeans(cells=cells, data=data, choice=choice, relevance=rows.relevance)
