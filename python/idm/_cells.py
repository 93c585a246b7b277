"""The feature from means of all rows, however many: rows near each other are one point, whose noise is averaged.

A row belongs to the nearest of some centres, and each part of the data gives the number, the sum of the points and that
of the features of each cell. Sums of parts are added, wherever the parts are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._batches import in_batches
from idm._feature_estimate import GOOD_ENOUGH, LocalAffine, Straightened
from idm._local_estimates import Choice, WeightedPoints, local_estimates, tuned
from idm._neighbors import NeighborIndex

_Array: TypeAlias = NDArray[np.float64]
_Sums: TypeAlias = NDArray[np.int64]
# What adds up what a function makes of the points and features of every part of the data.
TotalOf: TypeAlias = Callable[[Callable[[_Array, _Array], _Sums]], _Sums]

# One in so many of the rows of a sample is a centre.
_SHARE = 4
# An estimate whose bandwidth is narrower than this wants points that are nearer to each other, not averages.
_LEAST_FACTOR = 2.0**-5
# Cells that are left out to choose a bandwidth, and rows at which both estimates are compared.
_MOST_LEFT_OUT, _MOST_COMPARED = 2000, 20_000
# Sums are of integers, in units of 2^-44 of the spread: they are the same in any order, to the bit. 2^18 rows of a cell
# fit into 63 bits.
_ONE = 2.0**44


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Which row belongs to which centre, and what the rows of a part add to the sums."""

    straight: Straightened
    centres: NeighborIndex  # (C, m), mapped
    middle: _Array  # (n,), of the features in their units; those that are farther from it than 1 are not used

    def of(self, mapped: _Array, threads: int) -> tuple[NDArray[np.intp], _Array]:
        """The cells (Q,) of points, and how far (Q,) these are from the centres."""
        nearest = self.centres.nearest(mapped, 1, threads)
        return nearest.indices[:, 0], nearest.distances[:, 0]

    def sums(self, points: _Array, values: _Array, threads: int = 1) -> _Sums:
        """(C, 1 + m + n): the number of the rows of each cell, and the sums of x - centre and y - middle, as integers.

        Rows that are farther from all centres than the data are wide, and those whose feature is far from all of the
        sample or missing, are left out.
        """
        mapped, changes = self.straight.points(points), values / self.straight.units[1] - self.middle
        cells, distances = self.of(mapped, threads)
        used = (distances <= 1) & (np.abs(changes) <= 1).all(axis=1)
        cells, mapped, changes = cells[used], mapped[used], changes[used]
        terms = np.empty((len(cells), 1 + mapped.shape[1] + changes.shape[1]), dtype=np.int64)
        terms[:, 0] = 1
        terms[:, 1:] = np.rint(_ONE * np.hstack([mapped - self.centres.points[cells], changes]))
        total = np.zeros((len(self.centres), terms.shape[1]), dtype=np.int64)
        order = np.argsort(cells, kind="stable")
        found, starts = np.unique(cells[order], return_index=True)
        if len(found):
            total[found] = np.add.reduceat(terms[order], starts, axis=0)
        return total

    def means(self, total: _Sums) -> tuple["Cells", WeightedPoints]:
        """The cells that have rows, and the means of these."""
        filled = total[:, 0] > 0
        centres, total = self.centres.points[filled], total[filled]
        counts = total[:, :1].astype(np.float64)
        means = total[:, 1:] / (_ONE * counts)
        m = centres.shape[1]
        index = NeighborIndex(centres + means[:, :m])
        data = WeightedPoints(index=index, values=self.middle + means[:, m:], counts=counts)
        return Cells(straight=self.straight, centres=NeighborIndex(centres), middle=self.middle), data


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
        own, _ = self.cells.of(mapped, threads)
        return self.cells.straight.units[1] * local_estimates(self.data, mapped, own, self.choice, threads)[0]


def cell_means(
    rows: LocalAffine, total_of: TotalOf, random_state: np.random.RandomState, threads: int
) -> CellMeans | None:
    """The estimate by means of all rows, if that of a sample of them has noise to average, and if it is better then.

    Better: at rows of the sample, by the squared error of what did not see them.
    """
    n, values, left_out = len(rows.values), rows.values, rows.left_out / rows.units[1]
    spread = float(np.sum(np.var(values, axis=0)))
    error = float(np.mean(np.sum((values - left_out) ** 2, axis=1)))
    if rows.factor < _LEAST_FACTOR or error <= GOOD_ENOUGH**2 * spread:
        return None
    order = random_state.permutation(n)
    low, high = values.min(axis=0), values.max(axis=0)
    centres = NeighborIndex(rows.index.points[np.sort(order[: max(2, n // _SHARE)])])
    cells = Cells(
        straight=Straightened(units=rows.units, centre=rows.centre, A=rows.A), centres=centres, middle=(low + high) / 2
    )
    cells, data = cells.means(total_of(cells.sums))
    some = np.sort(random_state.permutation(len(data.index))[:_MOST_LEFT_OUT])
    bases, near = data.index.points[some], data.near(data.index.points[some], some, threads)
    choice, _ = tuned(data, bases, some, near, data.values[some], data.counts[some, 0], threads)
    compared = order[:_MOST_COMPARED]

    def estimated(mapped: _Array) -> tuple[_Array]:
        return (local_estimates(data, mapped, cells.of(mapped, threads)[0], choice, threads)[0],)

    (by_cells,) = in_batches(estimated, rows.index.points[compared])
    errors = [np.mean(np.sum((a - values[compared]) ** 2, axis=1)) for a in (by_cells, left_out[compared])]
    if not errors[0] < errors[1]:
        return None
    return CellMeans(cells=cells, data=data, choice=choice, relevance=rows.relevance)
