"""The one place that shows progress: a bar if tqdm is installed, and else the log."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

_logger = logging.getLogger("idm")


class Progress:
    """Tells nothing: verbose=0."""

    def stage(self, name: str) -> None:
        """What the current iteration does now."""

    def done(self, record: Any) -> None:
        """What an iteration came to."""

    def after(self, name: str) -> None:
        """What is done after the iterations."""


class _Log(Progress):
    def __init__(self) -> None:
        self._iteration = 1

    def stage(self, name: str) -> None:
        _logger.info("iteration %d: %s", self._iteration, name)

    def done(self, record: Any) -> None:
        _logger.info("iteration %d: %s", record.iteration, summary(record))
        self._iteration = record.iteration + 1

    def after(self, name: str) -> None:
        _logger.info(name)


class _Bar(Progress):
    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._last = ""

    def stage(self, name: str) -> None:
        self._bar.set_postfix_str(f"{self._last}now {name}")

    def done(self, record: Any) -> None:
        self._last = f"{summary(record)}; "
        self._bar.set_postfix_str(summary(record), refresh=False)
        self._bar.update()

    def after(self, name: str) -> None:
        self.stage(name)


@contextlib.contextmanager
def progress(n_iterations: int, verbose: int) -> Iterator[Progress]:
    """A Progress for the iterations of a fit."""
    if not verbose:
        yield Progress()
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield _Log()
        return
    with tqdm(total=n_iterations, desc="IteratedDiffusionMap", unit="iteration") as bar:
        yield _Bar(bar)


def summary(record: Any) -> str:
    """What an iteration came to, on one line."""
    score = "" if record.validation_score is None else f", score {record.validation_score:.4f}"
    return (
        f"epsilon {record.epsilon:.3g}, {record.n_coordinates} coordinates, change {record.distance_change:.3f}{score}"
    )
