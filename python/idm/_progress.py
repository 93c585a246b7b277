"""The one place that shows progress: a bar if tqdm is installed, and else the log."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

_logger = logging.getLogger("idm")


@contextlib.contextmanager
def progress(n_iterations: int, verbose: int) -> Iterator[Callable[[Any], None]]:
    """A function to call with the record of each iteration."""
    if not verbose:
        yield lambda record: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda record: _logger.info("iteration %d: %s", record.iteration, _summary(record))
        return
    with tqdm(total=n_iterations, desc="IteratedDiffusionMap", unit="iteration") as bar:

        def tell(record: Any) -> None:
            bar.set_postfix_str(_summary(record), refresh=False)
            bar.update()

        yield tell


def _summary(record: Any) -> str:
    score = "" if record.validation_score is None else f", score {record.validation_score:.4f}"
    return f"epsilon {record.epsilon:.3g}, {record.n_coordinates} coordinates{score}"
