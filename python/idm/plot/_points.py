"""Points, coloured: by a feature, as neighbours of one of them, by their local dimension."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm._local_geometry import Tuning, local_geometry
from idm._neighbors import nearest_neighbors
from idm._validation import as_integer, as_points
from idm.plot._axes import matplotlib_module, point_axes
from idm.plot._colours import BLUE, GREY, VERMILION, Colours, colours_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_NEAREST = 200
_ZOOM = 0.8


def embedding(Z: ArrayLike, y: ArrayLike | None = None, *, label: str = "y", ax: "Axes | None" = None) -> "Axes":
    """Points by their first three columns (two, one, if there are no more), coloured by a feature or label.

    Lengths are the same along all axes: distances are what a map is about.

    Parameters
    ----------
    Z : array of shape (N, M)
        The points: data, the `embedding_` of a model, or that of one of its `iterations_`.
    y : array of shape (N,) or (N, n), optional
        What colours them. Strings, bools, and integers of which at most ten differ are labels. Other numbers have a
        scale; two columns are coloured by their angle around the mean, of more the first counts.
    label : str
        The name of y at the colour bar.
    ax : Axes, optional
        Where to draw, with projection="3d" for three columns or more; by default the axes of a new figure.

    Returns
    -------
    Axes
        Those that were drawn in.

    Examples
    --------
    >>> import idm
    >>> X, _, y = idm.datasets.make_annulus(500, feature="radius", random_state=0)
    >>> ax = idm.plot.embedding(X, y, label="radius")

    """
    points = as_points(Z, "Z")
    colours = None if y is None else colours_of(y, label, n_rows=len(points))
    return _coloured(point_axes(ax, "Z", points.shape[1]), points, "Z", colours)


def neighbors(
    X: ArrayLike,
    row: int,
    *,
    coordinates: ArrayLike | None = None,
    n_neighbors: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The data, and among them those that are nearest to one point in a map's coordinates.

    Parameters
    ----------
    X : array of shape (N, m)
        The points that are drawn, by their first three columns.
    row : int
        The point, a row of X, which gets a star.
    coordinates : array of shape (N, M), optional
        Of the same rows, where the nearest are sought: the `embedding_` of a model, for example. By default X.
    n_neighbors : int, optional
        How many, including the point itself; N, if that is less. By default 200, or a fifth of N.
    ax : Axes, optional
        Where to draw, with projection="3d" for three columns or more; by default the axes of a new figure.

    Returns
    -------
    Axes
        Those that were drawn in.

    Examples
    --------
    >>> import idm
    >>> X, _, y = idm.datasets.make_annulus(500, feature="radius", random_state=0)
    >>> model = idm.IteratedDiffusionMap(random_state=0).fit(X, y)
    >>> ax = idm.plot.neighbors(X, 7, coordinates=model.embedding_, n_neighbors=50)

    """
    points = as_points(X, "X")
    mapped = _mapped(points, coordinates)
    chosen = as_integer(row, "row", low=0, high=len(points) - 1)
    n_nearest = None if n_neighbors is None else min(as_integer(n_neighbors, "n_neighbors", low=1), len(points))
    axes = point_axes(ax, "X", points.shape[1])
    draw_neighbors(axes, points, mapped, chosen, n_nearest=n_nearest, zoom=_ZOOM)
    _name_columns(axes, points, "X")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False, handletextpad=0.2)
    return axes  # type: ignore[no-any-return]


def local_dimension(
    X: ArrayLike,
    *,
    coordinates: ArrayLike | None = None,
    n_neighbors: int = 100,
    bandwidth: Tuning = "d1",
    ax: "Axes | None" = None,
) -> "Axes":
    """A map of the local dimension: the data, coloured by the dimension that `local_geometry` finds around each point.

    The scale leaves out the lowest and the highest hundredth, which are drawn in its end colours.

    Parameters
    ----------
    X : array of shape (N, m)
        The points that are drawn, by their first three columns.
    coordinates : array of shape (N, M), optional
        Of the same rows, whose dimension is shown: the `embedding_` of a model, for example. By default X.
    n_neighbors : int
        Number of neighbours, including the point itself; N, if that is less.
    bandwidth : {"d1", "svd"}
        How the bandwidth is tuned (see `local_geometry`).
    ax : Axes, optional
        Where to draw, with projection="3d" for three columns or more; by default the axes of a new figure.

    Returns
    -------
    Axes
        Those that were drawn in.

    Examples
    --------
    >>> import idm
    >>> X, *_ = idm.datasets.make_torus(500, random_state=0)
    >>> ax = idm.plot.local_dimension(X)

    """
    points = as_points(X, "X")
    mapped = _mapped(points, coordinates)
    k = min(as_integer(n_neighbors, "n_neighbors", low=2), len(points))
    dimension = local_geometry(mapped, n_neighbors=k, bandwidth=bandwidth).dimension
    low, high = np.quantile(dimension, [0.01, 0.99])
    colours = Colours(values=dimension, label="local dimension", limits=(float(low), float(high)))
    return _coloured(point_axes(ax, "X", points.shape[1]), points, "X", colours)


def draw_points(axes: Any, X: NDArray[np.float64], *, zoom: float = 1.0, **style: Any) -> Any:
    """Points by their first columns, with equal lengths along all axes; returns what was drawn.

    A `zoom` below 1 leaves room for labels around 3-D axes, which layouts do not see.
    """
    drawn = _scatter(axes, X, **{"s": float(np.clip(6000 / len(X), 3, 16)), **style})
    if X.shape[1] > 2:
        axes.computed_zorder = False  # what is drawn later is on top, however far away
        axes.set_box_aspect(_ranges(X), zoom=zoom)
    else:
        shared = all(
            len(siblings.get_siblings(axes)) > 1 for siblings in (axes.get_shared_x_axes(), axes.get_shared_y_axes())
        )
        axes.set_aspect("equal", adjustable="box" if shared else "datalim")
    return drawn


def draw_neighbors(
    axes: Any,
    points: NDArray[np.float64],
    mapped: NDArray[np.float64],
    row: int,
    *,
    n_nearest: int | None = None,
    zoom: float = 1.0,
) -> None:
    """The points in grey, those nearest to a row in the coordinates in colour, and a star."""
    if n_nearest is None:
        n_nearest = min(_N_NEAREST, max(1, len(points) // 5))
    nearest = nearest_neighbors(mapped, n_nearest, queries=mapped[row : row + 1]).indices[0]
    draw_points(axes, points, zoom=zoom, c=GREY)
    size = float(np.clip(9000 / len(points), 6, 20))
    _scatter(axes, points[nearest], c=VERMILION, s=size, zorder=2, label=f"{n_nearest} nearest")
    _scatter(axes, points[row : row + 1], c=BLUE, s=90, marker="*", zorder=3, label=f"row {row}")


def _coloured(axes: Any, points: NDArray[np.float64], name: str, colours: Colours | None) -> "Axes":
    drawn = draw_points(axes, points, zoom=_ZOOM, **({"c": BLUE} if colours is None else colours.style()))
    _name_columns(axes, points, name)
    if colours is not None:
        colours.bar(drawn, axes)
    return axes  # type: ignore[no-any-return]


def _mapped(points: NDArray[np.float64], coordinates: ArrayLike | None) -> NDArray[np.float64]:
    if coordinates is None:
        return points
    mapped = as_points(coordinates, "coordinates")
    if len(mapped) != len(points):
        raise ValueError(
            f"coordinates must have a row for each of the {len(points)} rows of X, got {len(mapped)}; those of a "
            "record of iterations_ belong to X[record.landmarks]"
        )
    return mapped


def _name_columns(axes: Any, points: NDArray[np.float64], name: str) -> None:
    axes.set_xlabel(f"{name}[:, 0]")
    if points.shape[1] == 1:
        axes.set_yticks([])
        return
    axes.set_ylabel(f"{name}[:, 1]")
    if points.shape[1] > 2:
        axes.set_zlabel(f"{name}[:, 2]")
        # Ticks in proportion, so that those of short axes do not overlap.
        ticker = matplotlib_module("ticker")
        axes.tick_params(labelsize="small", pad=0)
        axes.tick_params(axis="z", pad=2)
        for axis, length in zip((axes.xaxis, axes.yaxis, axes.zaxis), _ranges(points), strict=True):
            axis.labelpad = 4 if axis is axes.zaxis else 3
            n_ticks = round(4 * length)
            axis.set_major_locator(ticker.MaxNLocator(n_ticks) if n_ticks > 0 else ticker.NullLocator())


def _ranges(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the three columns that are drawn, in units of the largest, none of them 0."""
    ranges = np.ptp(X[:, :3], axis=0)
    largest = ranges.max()
    return np.maximum(ranges / largest, 1e-3) if largest > 0 else np.ones(3)


def _scatter(axes: Any, X: NDArray[np.float64], **style: Any) -> Any:
    columns = X[:, :3].T if X.shape[1] > 1 else (X[:, 0], np.zeros(len(X)))
    depth = {"depthshade": False} if len(columns) == 3 else {}
    return axes.scatter(*columns, linewidths=0, **depth, **style)
