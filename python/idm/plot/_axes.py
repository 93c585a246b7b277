"""Where pictures are drawn: the only module that imports matplotlib by itself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def matplotlib_module(name: str) -> Any:
    """A module of matplotlib, which importing this package does not load."""
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        raise ImportError("idm.plot needs matplotlib: pip install 'iterated-diffusion-map[plot]'") from error


def plane_axes(ax: Any) -> "Axes":
    """The axes given, which must be 2-D, or those of a new figure."""
    axes: Axes = _axes(ax, "2-D for curves and bars; pass those of plt.subplots()", solid=False)
    return axes


def point_axes(ax: Any, name: str, n_columns: int) -> Any:
    """Axes for points: 3-D ones for three columns or more."""
    if n_columns > 2:
        remedy = f"make them with projection='3d', or pass {name}[:, :2]"
        return _axes(ax, f"3-D for the first three of {n_columns} columns of {name}; {remedy}", solid=True)
    remedy = "make them without projection='3d'"
    return _axes(ax, f"2-D for {name} with {n_columns} column{'s'[: n_columns - 1]}; {remedy}", solid=False)


def _axes(ax: Any, wanted: str, *, solid: bool) -> Any:
    axes_type = matplotlib_module("axes").Axes
    if ax is None:
        # pyplot, not a bare Figure: notebooks and plt.show() then show it.
        pyplot = matplotlib_module("pyplot")
        return pyplot.subplots(layout="constrained", subplot_kw={"projection": "3d"} if solid else {})[1]
    if not isinstance(ax, axes_type):
        raise TypeError(
            f"ax must be matplotlib Axes or None, got {type(ax).__name__}; pass one of the axes of plt.subplots()"
        )
    if (ax.name == "3d") != solid:
        what, remedy = wanted.split("; ")
        raise ValueError(f"ax must be {what}, got {'2-D' if solid else '3-D'} axes; {remedy}")
    return ax


def integer_ticks(axis: Any) -> None:
    """No ticks between integers."""
    axis.set_major_locator(matplotlib_module("ticker").MaxNLocator("auto", integer=True))
