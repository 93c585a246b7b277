"""What decided on the iteration that was kept."""

from typing import TYPE_CHECKING, Any

from idm._iterated_map import IteratedMap
from idm.plot._axes import integer_ticks, matplotlib_module, plane_axes
from idm.plot._colours import BLUE, VERMILION
from idm.plot._model import check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def validation_curve(model: IteratedMap, *, ax: "Axes | None" = None) -> "Axes":
    """What decided on the iteration that was kept: the score at held-out rows, or the change of distances.

    Without rows that were held out (see `early_stopping`) it is the change of distances since the iteration before,
    with the tolerance below which the map has converged.

    Parameters
    ----------
    model : IteratedDiffusionMap or IteratedDiffusionMapClassifier
        Fitted.
    ax : Axes, optional
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    Axes
        Those that were drawn in.

    Examples
    --------
    >>> import idm
    >>> X, _, y = idm.datasets.make_annulus(500, feature="radius", random_state=0)
    >>> model = idm.IteratedDiffusionMap(early_stopping=True, random_state=0).fit(X, y)
    >>> ax = idm.plot.validation_curve(model)

    """
    check_model(model, IteratedMap)
    scores = [r.validation_score for r in model.iterations_ if r.validation_score is not None]
    values = scores or [r.distance_change for r in model.iterations_]
    least_change = model._stopping(held_out=False).least_change
    axes = plane_axes(ax)
    axes.plot([r.iteration for r in model.iterations_], values, "o-", color=BLUE)
    if scores:
        axes.set_ylabel("$R^2$ of y at held-out rows")
    else:
        axes.set_yscale("log")
        axes.set_ylabel("relative change of distances")
        _plain_ticks(axes.yaxis, min(values), max(values))
        if least_change > 0:
            axes.axhline(least_change, color="k", linestyle="--", linewidth=0.8, label=f"tol = {least_change:g}")
    kept = model.n_iter_
    label = f"kept: iteration {kept} ({model.stop_reason_})"
    axes.plot([kept], [values[kept - 1]], "*", color=VERMILION, markersize=14, linestyle="none", label=label)
    axes.set_xlabel("iteration")
    integer_ticks(axes.xaxis)
    axes.legend(fontsize="small")
    return axes


def _plain_ticks(axis: Any, low: float, high: float) -> None:
    """Labels such as 0.05 on a logarithmic axis, as dense as its range wants; powers of ten if it is long."""
    if low > 0 and high < 1e4 * low:
        ticker = matplotlib_module("ticker")
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high > 4 * low else (1, 1.5, 2, 3, 4, 5, 6, 8)))
        axis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axis.set_minor_locator(ticker.NullLocator())
