"""The colours of points by a feature or label, such that a colour-blind reader can tell them apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm._validation import as_features, check_masks
from idm.plot._axes import matplotlib_module

# Okabe and Ito's colours, those that are hard to see on white last.
BLUE, ORANGE, GREEN, PURPLE, VERMILION = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00"
_OKABE_ITO = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, "#56B4E9", "#000000", "#F0E442")
# Petroff's ten (2021), for the digits.
_PETROFF = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
GREY = "0.82"


@dataclass(frozen=True, kw_only=True)
class Colours:
    """A number for each point, and what it means."""

    values: NDArray[np.float64]  # (N,), of labels their numbers
    label: str  # of the colour bar
    cmap: str = "viridis"
    limits: tuple[float, float] | None = None  # of the scale; None: those of the values
    ticks: tuple[list[float], list[str]] | None = None
    classes: NDArray[Any] | None = None

    def at(self, rows: NDArray[np.intp]) -> "Colours":
        """Those of some rows, by the same scale if it is of labels or angles."""
        return Colours(**{**vars(self), "values": self.values[rows]})

    def style(self) -> dict[str, Any]:
        """What `scatter` takes."""
        if self.classes is None:
            low, high = self.limits or (None, None)
            return {"c": self.values, "cmap": self.cmap, "vmin": low, "vmax": high}
        colours, n = matplotlib_module("colors"), len(self.classes)
        cmap = colours.ListedColormap((_OKABE_ITO if n <= len(_OKABE_ITO) else _PETROFF)[:n])
        return {"c": self.values, "cmap": cmap, "norm": colours.BoundaryNorm(np.arange(n + 1) - 0.5, n)}

    def bar(self, drawn: Any, axes: Any) -> None:
        """Add the colour bar of what was drawn, taking its place from the axes (one, or those of a row)."""
        low, high = self.limits or (-np.inf, np.inf)
        below, above = bool(self.values.min() < low), bool(self.values.max() > high)
        extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
        one = not isinstance(axes, list)
        # In shares of the axes; 3-D ones have their labels outside.
        pad = 0.01 if not one else 0.12 if axes.name == "3d" else 0.03
        figure = axes.figure if one else axes[0].figure
        bar = figure.colorbar(drawn, ax=axes, label=self.label, extend=extend[below, above], pad=pad)
        if self.ticks is not None:
            bar.set_ticks(self.ticks[0], labels=self.ticks[1])
        if self.classes is not None:
            bar.set_ticks(range(len(self.classes)), labels=[str(c) for c in self.classes])
            bar.ax.tick_params(length=0, which="both")


def colours_of(y: ArrayLike, label: str, *, n_rows: int) -> Colours:
    """Labels if y holds strings or bools, or integers of which few differ; else its feature.

    Of two columns that is their angle around the mean, of more the first.
    """
    check_masks(y, "y")
    given = np.asarray(y)
    if given.dtype == object:
        given = np.asarray(given.tolist())  # numbers, if all are
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim == 1 and given.dtype.kind in "biuUSO" and len(given) == n_rows:
        labels = _labels(given, label)
        if labels is not None:
            return labels
    features = as_features(given, "y", n_rows=n_rows)
    if features.shape[1] != 2:
        return Colours(values=features[:, 0], label=label)
    centred = features - features.mean(axis=0)
    return Colours(
        values=np.arctan2(centred[:, 0], centred[:, 1]),
        label=f"angle of {label}",
        cmap="twilight",
        limits=(-np.pi, np.pi),
        ticks=([-np.pi, -np.pi / 2, 0.0, np.pi / 2, np.pi], ["$-\\pi$", "$-\\pi/2$", "0", "$\\pi/2$", "$\\pi$"]),
    )


def _labels(given: NDArray[Any], label: str) -> Colours | None:
    """The colours of labels; None for integers of which many differ."""
    try:
        classes, codes = np.unique(given, return_inverse=True)
    except TypeError as error:
        types = ", ".join(sorted({type(value).__name__ for value in given}))
        raise ValueError(f"y mixes labels of the types {types}; give all one type, or drop rows without one") from error
    if len(classes) > len(_PETROFF):
        if given.dtype.kind in "iu":
            return None
        raise ValueError(
            f"y has {len(classes)} labels, and colours of at most {len(_PETROFF)} can be told apart; join some, or "
            "pass numbers, which have a scale"
        )
    return Colours(values=codes.astype(np.float64), label=label, classes=classes)
