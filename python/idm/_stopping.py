"""Which iteration is kept, and when and why the iterations end."""

from collections.abc import Iterator
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from idm._warnings import warn
from idm.exceptions import CoincidentPointsError, EigenpairError, EigenpairWarning, NotConvergedWarning

StopReason: TypeAlias = Literal[
    "converged", "no improvement", "max_iter", "callback", "coincident points", "no flow", "eigenpairs"
]
_Array: TypeAlias = NDArray[np.float64]
_Item = TypeVar("_Item")

_N_PAIRS = 20_000
# Changes of distances below this are no cycle.
_ROUNDING = 1e-6


class DistanceChange:
    """How the distances of fixed random pairs change from map to map, but for a common factor."""

    def __init__(self, points: _Array, random_state: np.random.RandomState) -> None:
        self._i, self._j = random_state.randint(len(points), size=(2, _N_PAIRS))
        self._before = [self._distances(points)]  # of the last two maps
        self.last = np.inf
        self.turns_back = False  # whether the last but one is nearer than the last: the maps begin to cycle

    def update(self, points: _Array) -> float:
        """The change since the last map."""
        now = self._distances(points)
        changes = [_change(now, before) for before in self._before]
        self._before = [now, self._before[0]]
        self.last = changes[0]
        self.turns_back = changes[-1] < self.last > _ROUNDING
        return self.last

    def _distances(self, points: _Array) -> _Array:
        """In units of the largest, so that squares stay in range."""
        distances: _Array = np.linalg.norm(points[self._i] - points[self._j], axis=1)
        return distances / max(float(distances.max()), np.finfo(float).tiny)


def _change(now: _Array, before: _Array) -> float:
    """\\|u - c v\\| / \\|u\\| for the distances u now and v before, with the factor c that fits best."""
    tiny = np.finfo(float).tiny
    factor = np.sum(now * before) / max(float(np.sum(before**2)), tiny)  # not BLAS, whose bits follow its threads
    return float(np.sqrt(np.sum((now - factor * before) ** 2) / max(float(np.sum(now**2)), tiny)))


class Stopping:
    """Stops by a score at rows that are held out, or when distances no longer change, or at `max_iter`."""

    def __init__(
        self, *, max_iter: int, patience: int, least_gain: float, least_change: float, flows: bool = True
    ) -> None:
        self._max_iter, self._patience, self._flows = max_iter, patience, flows
        self._least_gain, self.least_change = least_gain, least_change
        self._best_score = -np.inf
        self.last = self.kept = 0  # iterations, from 1 on
        self.reason: StopReason | None = None

    def until_stopped(self, iterations: Iterator[_Item]) -> Iterator[_Item]:
        """The iterations until there is a reason to stop; an error in a later one is such a reason."""
        try:
            for fitted in iterations:
                self.last += 1
                yield fitted
                if self.reason is not None:
                    return
        except CoincidentPointsError:  # points of equal features coincide: there is nothing left to do
            if self.last == 0:
                raise
            self.reason = "coincident points"
        except EigenpairError as error:
            if self.last == 0:
                raise
            self.reason = "eigenpairs"
            warn(f"iteration {self.last + 1} is left out: {error}", EigenpairWarning)

    def update(self, score: float | None, change: float, called_off: bool) -> None:
        """Take the score of the last iteration (None: later is better), the change of its distances, and a wish."""
        if score is None or score > self._best_score + self._least_gain:
            self.kept, self._best_score = self.last, self._best_score if score is None else score
        if called_off:
            self.reason = "callback"
        elif not self._flows:  # nothing is bent, and a second map would be one of a map
            self.reason = "no flow"
        elif score is None and change < self.least_change:
            self.reason = "converged"
        elif self.last - self.kept >= self._patience:
            self.reason = "no improvement"
        elif self.last == self._max_iter:
            self.reason = "max_iter"
            if score is None and self.least_change > 0:
                warn(
                    f"the iterations end with max_iter={self._max_iter} while distances still change by {change:.2g} "
                    f"of their size (tol is {self.least_change:.2g}); raise max_iter, or tol if that is little enough",
                    NotConvergedWarning,
                )
