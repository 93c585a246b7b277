"""The columns that the feature depends on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from idm._iterated_map import IteratedMap
from idm.plot._axes import plane_axes
from idm.plot._colours import BLUE
from idm.plot._model import check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 15


def relevance(model: IteratedMap, *, names: Sequence[str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """How much the feature depends on each column of X: the diagonal of `relevance_`, the 15 largest first.

    It is the mean of the squared derivative, in squared units of y per unit of the column: comparable between columns
    that are.

    Parameters
    ----------
    model : IteratedDiffusionMap or IteratedDiffusionMapClassifier
        Fitted.
    names : sequence of str, optional
        Of the columns; by default `feature_names_in_`, which a model has that was fitted to a data frame.
    ax : Axes, optional
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    Axes
        Those that were drawn in.

    Examples
    --------
    >>> import idm, numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 4))
    >>> model = idm.IteratedDiffusionMap(random_state=0).fit(X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2)
    >>> ax = idm.plot.relevance(model, names=["a", "b", "c", "d"])

    """
    check_model(model, IteratedMap)
    m = model.n_features_in_
    if model.relevance_ is None:
        why = f"X has {m} columns, more than 300" if model.feature_estimator is None else "of its feature_estimator"
        raise ValueError(f"model has no relevance_, because {why}; fit one to fewer columns and without an estimator")
    names = getattr(model, "feature_names_in_", [f"X[:, {j}]" for j in range(m)]) if names is None else list(names)
    if len(names) != m:
        raise ValueError(f"names must have one for each of the {m} columns of X, got {len(names)}")
    values = np.diagonal(model.relevance_)
    largest = np.argsort(-values, kind="stable")[:_MOST_BARS]
    axes = plane_axes(ax)
    axes.barh(range(len(largest)), values[largest], color=BLUE)
    axes.set_yticks(range(len(largest)), labels=[str(names[j]) for j in largest], fontsize="small")
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=4)
    axes.ticklabel_format(axis="x", scilimits=(-2, 4))
    axes.set_xlabel(r"mean $(\partial y\, /\, \partial x)^2$")
    if len(largest) < m:
        axes.set_title(f"{len(largest)} of {m} columns")
    return axes
