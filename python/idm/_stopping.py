"""Which iteration is kept, and when and why the iterations end."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._iteration import Iteration
from idm._warnings import warn
from idm.exceptions import CoincidentPointsError, EigenpairError, EigenpairWarning

StopReason: TypeAlias = Literal[
    "converged", "no improvement", "max_iter", "callback", "coincident points", "eigenpairs"
]
_Array: TypeAlias = NDArray[np.float64]

_N_PAIRS = 20_000


class DistanceChange:
    """How the distances of fixed random pairs change from map to map, but for a common factor."""

    def __init__(self, points: _Array, random_state: np.random.RandomState) -> None:
        self._i, self._j = random_state.randint(len(points), size=(2, _N_PAIRS))
        self._before = self._distances(points)

    def update(self, points: _Array) -> float:
        """\\|u - c v\\| / \\|u\\| for the distances u now and v before, with the factor c that fits best."""
        now, before = self._distances(points), self._before
        self._before = now
        tiny = np.finfo(float).tiny
        factor = np.sum(now * before) / max(float(np.sum(before**2)), tiny)  # not BLAS, whose bits follow its threads
        return float(np.sqrt(np.sum((now - factor * before) ** 2) / max(float(np.sum(now**2)), tiny)))

    def _distances(self, points: _Array) -> _Array:
        """In units of the largest, so that squares stay in range."""
        distances: _Array = np.linalg.norm(points[self._i] - points[self._j], axis=1)
        return distances / max(float(distances.max()), np.finfo(float).tiny)


class Stopping:
    """Stops by a score at rows that are held out, or when distances no longer change, or at `max_iter`."""

    def __init__(self, *, max_iter: int, patience: int, least_gain: float, least_change: float) -> None:
        self._max_iter, self._patience = max_iter, patience
        self._least_gain, self.least_change = least_gain, least_change
        self._best_score = -np.inf
        self.last = self.kept = 0  # iterations, from 1 on
        self.reason: StopReason | None = None

    def until_stopped(self, iterations: Iterator[Iteration]) -> Iterator[Iteration]:
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
        elif score is None and change < self.least_change:
            self.reason = "converged"
        elif self.last - self.kept >= self._patience:
            self.reason = "no improvement"
        elif self.last == self._max_iter:
            self.reason = "max_iter"
