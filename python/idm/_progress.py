"""The one place that shows progress: a bar if tqdm is installed, and else the log."""

import contextlib
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

_logger = logging.getLogger("idm")
_FORMAT = "{desc} {n_fmt}/{total_fmt} |{bar}| {elapsed}{postfix}"
_SECONDS = 10.0  # between lines of the log that count rows


class Progress:
    """Tells nothing: verbose=0."""

    def stage(self, name: str) -> None:
        """What the current iteration does now."""

    def done(self, record: Any) -> None:
        """What an iteration came to."""

    def stopped(self, reason: str) -> None:
        """Why there are no more iterations, when all is done."""


class _Log(Progress):
    def __init__(self) -> None:
        self._iteration = 1

    def stage(self, name: str) -> None:
        _logger.info("iteration %d: %s", self._iteration, name)

    def done(self, record: Any) -> None:
        _logger.info("iteration %d: %s", record.iteration, summary(record))
        self._iteration = record.iteration + 1

    def stopped(self, reason: str) -> None:
        _logger.info("stopped: %s", reason)


class _Bar(Progress):
    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._last = ""

    def stage(self, name: str) -> None:
        self._bar.set_postfix_str(f"{self._last}now {name}")

    def done(self, record: Any) -> None:
        self._last = f"{_figures(record)}; "
        self._bar.set_postfix_str(_figures(record), refresh=False)
        self._bar.update()

    def stopped(self, reason: str) -> None:
        bar, n = self._bar, self._bar.n
        if bar.disable:  # by TQDM_DISABLE
            return
        bar.set_postfix_str(f"{self._last}{reason}", refresh=False)
        bar.total = n  # else it would end as one that failed, in red in a notebook
        if bar.gui:  # a widget has its own total, which only this changes
            start = bar.start_t
            bar.reset(total=n)
            bar.start_t = start
            bar.update(n)


@contextlib.contextmanager
def progress(n_iterations: int, verbose: int) -> Iterator[Progress]:
    """A Progress for the iterations of a fit."""
    if not verbose:
        yield Progress()
        return
    tqdm = _tqdm()
    if tqdm is None:
        yield _Log()
        return
    # No time that is left: most fits converge before the last iteration.
    with tqdm(total=n_iterations, desc="iteration", bar_format=_FORMAT) as bar:
        yield _Bar(bar)


@contextlib.contextmanager
def rows_progress(n_rows: int, verbose: int, name: str = "rows") -> Iterator[Callable[[int], object]]:
    """What to call with the number of rows that are done: shows how many there are a second, and the time left."""
    if not verbose or n_rows == 0:
        yield int
        return
    tqdm = _tqdm()
    if tqdm is None:
        _logger.info(name)
        yield _RowsLog(n_rows).update
        return
    with tqdm(total=n_rows, desc=name, unit=" rows", unit_scale=True, leave=None) as bar:  # gone, if below another
        yield bar.update


def _tqdm() -> Any:
    """The bar of tqdm, if it is installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in a notebook without ipywidgets, where the bar is text
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


class _RowsLog:
    def __init__(self, n_rows: int) -> None:
        self._n_rows, self._n_done = n_rows, 0
        self._start = self._last = time.monotonic()

    def update(self, n_more: int) -> None:
        self._n_done += n_more
        now = time.monotonic()
        if self._n_done < self._n_rows and now - self._last < _SECONDS:
            return
        self._last = now
        rate = self._n_done / max(now - self._start, 1e-9)
        left = (self._n_rows - self._n_done) / rate
        _logger.info("%d of %d rows, %.0f a second, %.0f s left", self._n_done, self._n_rows, rate, left)


def summary(record: Any) -> str:
    """What an iteration came to, on one line."""
    score = "" if record.validation_score is None else f", score {record.validation_score:.4f}"
    return (
        f"epsilon {record.epsilon:.3g}, {record.n_coordinates} coordinates, change {record.distance_change:.3f}{score}"
    )


def _figures(record: Any) -> str:
    """What decides when to stop, short enough for a bar in 80 columns."""
    change, score = record.distance_change, record.validation_score
    return f"{record.n_coordinates} coordinates, " + (f"change {change:.3f}" if score is None else f"score {score:.4f}")
