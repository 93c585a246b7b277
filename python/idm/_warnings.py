"""The one place that warns: at the user's line, with advice in the parameters of the estimator that was called."""

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_NOT_THE_USER = ("idm", "sklearn", "joblib")
# A path of the repository, until the documentation has an address; each class has a heading there.
PAGE = "docs/warnings.md"


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame outside this package and scikit-learn, whatever the depth, with where to read more."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_USER:
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{message}; see {PAGE}#{category.__name__.lower()}", category, stacklevel=level)


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What a step's words to the user depend on, and the step does not know."""

    what: str = "X"  # the argument, or whatever the distances are of
    rows: NDArray[np.intp] | None = None  # the numbers by which the user knows the points, if they are not all
    remedies: Mapping[type[Exception], str] = field(default_factory=dict)  # warnings that are not here are not given

    def warn(self, category: type[Warning], message: str) -> None:
        """Give the warning with its remedy, if it has one."""
        if category in self.remedies:
            warn(f"{message}; {self.remedies[category]}", category)

    def with_remedy(self, category: type[Exception], message: str) -> str:
        """The message of an error, with its remedy if there is one."""
        remedy = self.remedies.get(category)
        return message if remedy is None else f"{message}; {remedy}"

    def row(self, number: int) -> int:
        """The user's number of a point."""
        return int(number if self.rows is None else self.rows[number])


SILENT = Advice()  # for steps that nobody waits for
