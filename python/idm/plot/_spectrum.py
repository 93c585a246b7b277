"""The eigenvalues of a map, or of each of its iterations."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from idm._diffusion_map import DiffusionMap
from idm._iterated_map import IteratedMap
from idm._local_kernel_map import LocalKernelMap
from idm.plot._axes import integer_ticks, matplotlib_module, plane_axes
from idm.plot._colours import BLUE, VERMILION
from idm.plot._model import check_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# At most so many iterations are named in the legend.
_MOST_NAMED = 6


def spectrum(model: DiffusionMap | IteratedMap | LocalKernelMap, *, ax: "Axes | None" = None) -> "Axes":
    """The eigenvalues of the Laplacian, with their sign reversed: of an iterated map, those of each iteration.

    On a manifold of dimension d they grow as the power 2 / d of their number: those of a surface along a line, those
    of a curve along a parabola. Eigenvalues that are -inf are left out.

    Parameters
    ----------
    model : DiffusionMap, IteratedDiffusionMap, IteratedDiffusionMapClassifier or LocalKernelMap
        Fitted. Of the latter, both sides are drawn.
    ax : Axes, optional
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    Axes
        Those that were drawn in.

    Examples
    --------
    >>> import idm
    >>> X, *_ = idm.datasets.make_circle(500)
    >>> ax = idm.plot.spectrum(idm.DiffusionMap(n_components=8).fit(X))

    """
    check_model(model, DiffusionMap, IteratedMap, LocalKernelMap)
    axes = plane_axes(ax)
    if isinstance(model, IteratedMap):
        _iterated_spectra(axes, model)
    elif isinstance(model, LocalKernelMap):
        of_x, of_y = model.eigenvalues_
        _draw_spectrum(axes, of_x, "o-", color=VERMILION, markersize=8, label="of X, lengths of y")
        _draw_spectrum(axes, of_y, "s--", color=BLUE, label="of y")
    else:
        _draw_spectrum(axes, model.eigenvalues_, "o-", color=BLUE)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    axes.set_xlabel("number of the eigenvalue")
    axes.set_ylabel(r"$-\lambda$ (1 / squared length)")
    integer_ticks(axes.xaxis)
    return axes


def _iterated_spectra(axes: Any, model: IteratedMap) -> None:
    """Later iterations lighter, the one that was kept in another colour."""
    n = len(model.iterations_)
    colours = matplotlib_module("cm").viridis(np.linspace(0, 0.8, n))
    named = {*np.linspace(1, n, min(n, _MOST_NAMED)).round().astype(int), model.n_iter_}
    for record, colour in zip(model.iterations_, colours, strict=True):
        kept = record.iteration == model.n_iter_
        label = f"iteration {record.iteration}{' (kept)' if kept else ''}"
        _draw_spectrum(
            axes,
            record.eigenvalues,
            "*-" if kept else "o-",
            color=VERMILION if kept else colour,
            zorder=3 if kept else 2,
            label=label if record.iteration in named else None,
        )


def _draw_spectrum(axes: Any, eigenvalues: NDArray[np.float64], style: str, **options: Any) -> None:
    numbers = np.flatnonzero(np.isfinite(eigenvalues))
    options = {"markersize": 8 if "*" in style else 4, "linewidth": 1, **options}
    axes.plot(numbers + 1, -eigenvalues[numbers], style, **options)
