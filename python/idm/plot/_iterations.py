"""The data and every iteration of a model in one figure."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from idm._iterated_map import IteratedMap
from idm._validation import as_integer, as_points
from idm.plot._axes import matplotlib_module
from idm.plot._colours import colours_of
from idm.plot._model import check_model
from idm.plot._points import draw_neighbors, draw_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def iterations(model: IteratedMap, X: ArrayLike, y: ArrayLike, *, point: int | None = None) -> "Figure":
    """The data and each iteration up to the one that was kept, like the paper's first figure.

    Above, the first three coordinates coloured by the feature. Below, the data with the 200 points (a fifth of them, if
    that is less) that are nearest to one of them (a star) in the coordinates above. All points are landmarks, which
    carry the map.

    Parameters
    ----------
    model : IteratedDiffusionMap or IteratedDiffusionMapClassifier
        Fitted to X and y.
    X, y : arrays
        The data of the fit and their features or labels. Two features are coloured by their angle.
    point : int, optional
        The row of X, a landmark, whose neighbours are shown; by default the one whose feature is nearest to the median.

    Returns
    -------
    Figure
        Not one of pyplot's: save it with `savefig`, or let a notebook show it as the result of a cell.

    """
    check_model(model, IteratedMap)
    points = as_points(X, "X")
    colours = colours_of(y, "y", n_rows=len(points))
    n_rows = len(model.embedding_) if hasattr(model, "embedding_") else max(len(points), int(model.landmarks_[-1]) + 1)
    if len(points) != n_rows:
        raise ValueError(f"X must be the {n_rows} rows that the model was fitted to, got {len(points)}")
    points, colours = points[model.landmarks_], colours.at(model.landmarks_)
    chosen = int(np.argmin(np.abs(colours.values - np.median(colours.values))))
    if point is not None:
        row = as_integer(point, "point", low=0, high=n_rows - 1)
        chosen = int(np.searchsorted(model.landmarks_, row))
        if row not in model.landmarks_:
            near = model.landmarks_[min(chosen, len(model.landmarks_) - 1)]
            raise ValueError(f"point must be one of landmarks_, got {row}; one near it is {near}")
    panels = [("data", points)]
    panels += [(f"iteration {r.iteration}", r.embedding) for r in model.iterations_[: model.n_iter_]]
    figure = matplotlib_module("figure").Figure(figsize=(2.9 * len(panels) + 0.8, 6), layout="constrained")
    upper = []
    for column, (title, coordinates) in enumerate(panels):
        above = panel(figure, (2, len(panels), column + 1), coordinates.shape[1])
        drawn = draw_points(above, coordinates, **colours.style(), s=3)
        above.set_title(title)
        upper.append(above)
        below = panel(figure, (2, len(panels), len(panels) + column + 1), points.shape[1])
        draw_neighbors(below, points, coordinates, chosen)
    colours.bar(drawn, upper)
    return figure  # type: ignore[no-any-return]


def panel(figure: Any, place: tuple[int, int, int], n_columns: int) -> Any:
    """Axes without ticks."""
    axes: Any = figure.add_subplot(*place, projection="3d" if n_columns > 2 else None)
    axes.set_xticks([])
    axes.set_yticks([])
    if n_columns > 2:
        axes.set_zticks([])
    return axes
