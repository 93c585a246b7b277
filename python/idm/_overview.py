"""A picture of what a model file tells by itself, without the data."""

from typing import TYPE_CHECKING, Any

from idm._diffusion_map import DiffusionMap
from idm._iterated_diffusion_map import IteratedDiffusionMapClassifier
from idm._iterated_map import IteratedMap
from idm._model_rules import Model
from idm.plot import embedding, spectrum, validation_curve
from idm.plot._axes import matplotlib_module
from idm.plot._colours import colours_of
from idm.plot._iterations import panel
from idm.plot._points import draw_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def overview(model: Model) -> "Figure":
    """Above, the landmarks in the coordinates of each iteration that was kept; below, how it went, and the spectrum."""
    if isinstance(model, IteratedMap):
        return _of_iterations(model)
    shows_points = isinstance(model, DiffusionMap)
    figure: Figure = matplotlib_module("figure").Figure(figsize=(9 if shows_points else 5, 4), layout="constrained")
    if isinstance(model, DiffusionMap):
        Z = model.embedding_[model.landmarks_]
        axes = figure.add_subplot(1, 2, 1, projection="3d" if Z.shape[1] > 2 else None)
        embedding(Z, model.density_, label="density", ax=axes)
    spectrum(model, ax=figure.add_subplot(1, 1 + shows_points, 1 + shows_points))
    return figure


def _of_iterations(model: IteratedMap) -> "Figure":
    """Colours are the features that the landmarks were placed by, which the model keeps; of labels, the likeliest."""
    colour: Any = model._placing
    if isinstance(model, IteratedDiffusionMapClassifier):
        colour = model.classes_[model._placing.argmax(axis=1)]
    kept = model.iterations_[: model.n_iter_]
    figure: Figure = matplotlib_module("figure").Figure(
        figsize=(max(9, 2.9 * len(kept) + 0.8), 7), layout="constrained"
    )
    parts: Any = figure.subfigures(2, 1)
    above, below = parts
    colours, row = colours_of(colour, "y", n_rows=len(colour)), []
    for place, record in enumerate(kept, start=1):
        axes = panel(above, (1, len(kept), place), record.embedding.shape[1])
        drawn = draw_points(axes, record.embedding, **colours.style(), s=3)
        axes.set_title(f"iteration {record.iteration}")
        row.append(axes)
    colours.bar(drawn, row)
    validation_curve(model, ax=below.add_subplot(1, 2, 1))
    spectrum(model, ax=below.add_subplot(1, 2, 2))
    return figure
