"""Scaling laws at one point, with the bandwidth that they choose."""

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm._neighbors import nearest_neighbors
from idm._scaling_laws import ScalingLaws, base_point
from idm._scaling_laws import scaling_laws as laws_of
from idm._validation import as_bandwidths, as_choice, as_points
from idm.plot._axes import plane_axes
from idm.plot._colours import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Law: TypeAlias = Literal["dimension", "exponents", "singular_values"]
_LAWS: tuple[Law, ...] = get_args(Law)
_Array: TypeAlias = NDArray[np.float64]

_N_BANDWIDTHS = 200
# What the picture of exponents shows; those of directions with hardly any points go far beyond.
_EXPONENTS = (-0.1, 1.6)


def scaling_laws(
    X: ArrayLike,
    point: ArrayLike,
    bandwidths: ArrayLike | None = None,
    *,
    show: Law = "dimension",
    ax: "Axes | None" = None,
) -> "Axes":
    """What `idm.scaling_laws` finds at one point against the bandwidth, with dots at the bandwidth that it chooses.

    Parameters
    ----------
    X : array of shape (N, m)
        The points.
    point : int or array of shape (m,)
        The base point: a row of X, or its coordinates.
    bandwidths : array, optional
        The values of eps; by default 200, from where a few neighbours count to where all points do.
    show : {"dimension", "exponents", "singular_values"}
        The dimensions d1 and d2 with their disagreement M; or the exponents dlog sigma / dlog eps, which are 1/2 for
        tangent directions and 1 for normal ones; or the singular values sigma themselves. As many directions as the
        dimension at the chosen bandwidth, rounded, are called tangent.
    ax : Axes, optional
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    Axes
        Those that were drawn in.

    Examples
    --------
    >>> import idm
    >>> X, *_ = idm.datasets.make_torus(2500, sampling="grid")
    >>> ax = idm.plot.scaling_laws(X, 7, show="exponents")

    """
    chosen = as_choice(show, "show", _LAWS)
    points = as_points(X, "X")
    eps = _bandwidths(points, point) if bandwidths is None else np.sort(as_bandwidths(bandwidths, "bandwidths"))
    laws = laws_of(points, point, eps)
    best = int(np.searchsorted(eps, laws.best))
    axes = plane_axes(ax)
    axes.set_xscale("log")
    if chosen == "dimension":
        dots = _dimensions(axes, eps, laws, best)
    else:
        values = laws.exponents if chosen == "exponents" else laws.singular_values
        dots = _directions(axes, eps, np.where(laws.singular_values > 0, values, np.nan), laws.d_ave, best)
    if chosen == "exponents":
        for exponent in (0.5, 1.0):
            axes.axhline(exponent, color="0.6", linewidth=0.8, zorder=0)
        axes.set_ylim(*_EXPONENTS)
        axes.set_ylabel(r"exponent $d \log \sigma\, /\, d \log \epsilon$")
    if chosen == "singular_values":
        axes.set_yscale("log")
        axes.set_ylabel(r"singular value $\sigma$ (length)")
    axes.axvline(laws.best, color="0.6", linewidth=0.8, zorder=0)
    axes.plot(np.full(len(dots), laws.best), dots, "ko", markersize=4, label=rf"chosen $\epsilon$ = {laws.best:.3g}")
    axes.set_xlabel(r"bandwidth $\epsilon$ (squared length)")
    axes.legend(fontsize="small", ncols=2 if chosen == "dimension" else 1)
    return axes


def _dimensions(axes: "Axes", eps: _Array, laws: ScalingLaws, best: int) -> _Array:
    """Curves of both dimensions and their disagreement; returns what is worth a dot."""
    axes.plot(eps, laws.d1, color=BLUE, label="$d_1$, weights")
    axes.plot(eps, laws.d2, color=ORANGE, linestyle="--", label="$d_2$, singular values")
    axes.plot(eps, laws.disagreement, "k:", label="$M$, disagreement")
    top = 1.45 * max(laws.d1.max(), laws.d2.max())  # room for the legend; a disagreement beyond says nothing
    axes.set_ylim(-0.04 * top, top)
    axes.set_ylabel("dimension")
    return np.array([laws.d_ave[best], laws.disagreement[best]])


def _directions(axes: "Axes", eps: _Array, values: _Array, dimension: _Array, best: int) -> _Array:
    """A curve for each singular value, tangent ones first; returns their values at the chosen bandwidth."""
    n_tangent = min(max(1, round(dimension[best])), values.shape[1])
    for number, curve in enumerate(values.T):
        tangent = number < n_tangent
        axes.plot(
            eps,
            curve,
            color=BLUE if tangent else ORANGE,
            linestyle="-" if tangent else "--",
            linewidth=1.5 if tangent else 1,
            label={0: f"tangent ({n_tangent})", n_tangent: f"normal ({values.shape[1] - n_tangent})"}.get(number),
        )
    at_best: _Array = values[best]
    return at_best


def _bandwidths(points: _Array, point: ArrayLike) -> _Array:
    """From where a few neighbours count to where all points do."""
    distances = nearest_neighbors(points, len(points), queries=base_point(points, point)).distances[0]
    apart = distances[distances > 0]
    if len(apart) == 0:
        raise ValueError(f"the points around {point!r} coincide with it; choose another point, or remove copies from X")
    few = apart[min(5, len(apart) - 1)]
    return np.geomspace(few**2 / 16, apart[-1] ** 2, _N_BANDWIDTHS)
