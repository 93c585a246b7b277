"""Pictures of maps and their iterations. Needs matplotlib: ``pip install 'iterated-diffusion-map[plot]'``."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from idm._iterated_diffusion_map import IteratedDiffusionMap
from idm._neighbors import nearest_neighbors
from idm._validation import as_features, as_integer, as_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_N_NEAREST = 200


def iterations(model: IteratedDiffusionMap, X: ArrayLike, y: ArrayLike, *, point: int | None = None) -> "Figure":
    """The data and each iteration up to the one that was kept, like the paper's first figure.

    Above, the first three coordinates coloured by the feature. Below, the data with the 200 points that are nearest to
    one of them (a star) in the coordinates above. All points are landmarks, which carry the map.

    Parameters
    ----------
    model : IteratedDiffusionMap
        Fitted to X and y.
    X, y : arrays
        The data of the fit and their features. Two features are coloured by their angle.
    point : int, optional
        The row of X, a landmark, whose neighbours are shown; by default the one whose feature is nearest to the median.

    """
    check_is_fitted(model)
    points = as_points(X, "X")
    features = as_features(y, "y", n_rows=len(points))
    if len(points) != len(model.embedding_):
        raise ValueError(f"X must be the {len(model.embedding_)} rows that the model was fitted to, got {len(points)}")
    points, features = points[model.landmarks_], features[model.landmarks_]
    colour, cmap = _colour(features)
    chosen = int(np.argmin(np.abs(colour - np.median(colour))))
    if point is not None:
        row = as_integer(point, "point", low=0, high=len(model.embedding_) - 1)
        chosen = int(np.searchsorted(model.landmarks_, row))
        if row not in model.landmarks_:
            near = model.landmarks_[min(chosen, len(model.landmarks_) - 1)]
            raise ValueError(f"point must be one of landmarks_, got {row}; one near it is {near}")
    panels = [("data", points)]
    panels += [(f"iteration {r.iteration}", r.embedding) for r in model.iterations_[: model.n_iter_]]
    figure = _figure(figsize=(2.9 * len(panels), 6), layout="constrained")
    for column, (title, coordinates) in enumerate(panels):
        above = _scatter(figure, (2, len(panels), column + 1), coordinates, colour, cmap)
        above.set_title(title)
        nearest = nearest_neighbors(
            coordinates, min(_N_NEAREST, len(points)), queries=coordinates[chosen : chosen + 1]
        ).indices[0]
        below = _scatter(figure, (2, len(panels), len(panels) + column + 1), points, "0.82", None)
        _draw(below, points[nearest], c="tab:red", s=6, zorder=2)
        _draw(below, points[chosen : chosen + 1], c="tab:blue", s=90, marker="*", zorder=3)
    return figure


def _figure(**options: Any) -> "Figure":
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("idm.plot needs matplotlib: pip install 'iterated-diffusion-map[plot]'") from error
    return Figure(**options)


def _colour(features: NDArray[np.float64]) -> tuple[NDArray[np.float64], str]:
    """A number for each point: its feature, or the angle of two of them, or the first of more."""
    if features.shape[1] == 2:
        centred = features - features.mean(axis=0)
        return np.arctan2(centred[:, 0], centred[:, 1]), "twilight"
    return features[:, 0], "viridis"


def _scatter(figure: "Figure", place: tuple[int, int, int], X: NDArray[np.float64], colour: Any, cmap: Any) -> Any:
    axes: Any = figure.add_subplot(*place, projection="3d" if X.shape[1] > 2 else None)
    _draw(axes, X, c=colour, cmap=cmap, s=3)
    axes.set_xticks([])
    axes.set_yticks([])
    if X.shape[1] > 2:
        axes.set_zticks([])
        axes.computed_zorder = False  # what is drawn later is on top, however far away
        axes.set_box_aspect(np.maximum(np.ptp(X[:, :3], axis=0), 1e-3 * np.ptp(X[:, :3])))
    else:
        axes.set_aspect("equal", adjustable="datalim")
    return axes


def _draw(axes: Any, X: NDArray[np.float64], **style: Any) -> None:
    columns = X[:, :3].T if X.shape[1] > 1 else (X[:, 0], np.zeros(len(X)))
    depth = {"depthshade": False} if len(columns) == 3 else {}
    axes.scatter(*columns, linewidths=0, **depth, **style)
