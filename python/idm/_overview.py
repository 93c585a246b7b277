"""A picture of what a model file tells by itself, without the data."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._diffusion_map import DiffusionMap
from idm._iterated_diffusion_map import IteratedDiffusionMapClassifier
from idm._iterated_map import IteratedMap
from idm._model_rules import Model
from idm.plot import _colour, _figure, _scatter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Array: TypeAlias = NDArray[np.float64]


def overview(model: Model) -> "Figure":
    """Above, the landmarks in the coordinates of each iteration that was kept; below, how it went, and the spectrum."""
    if isinstance(model, IteratedMap):
        return _of_iterations(model)
    if isinstance(model, DiffusionMap):
        figure = _figure(figsize=(8, 4), layout="constrained")
        axes = _scatter(figure, (1, 2, 1), model.embedding_[model.landmarks_], model.density_, "viridis")
        axes.set_title("landmarks, coloured by density")
        _spectrum(figure.add_subplot(1, 2, 2), {"": model.eigenvalues_})
        return figure
    figure = _figure(figsize=(5, 4), layout="constrained")
    _spectrum(figure.add_subplot(), {"on X": model.eigenvalues_[0], "on y": model.eigenvalues_[1]})
    return figure


def _of_iterations(model: IteratedMap) -> "Figure":
    """Colours are the features that the landmarks were placed by, which the model keeps; of labels, the likeliest."""
    colour, cmap = _colour(model._placing)
    if isinstance(model, IteratedDiffusionMapClassifier):
        colour, cmap = model._placing.argmax(axis=1).astype(np.float64), "viridis"
    kept = model.iterations_[: model.n_iter_]
    figure = _figure(figsize=(max(8, 2.9 * len(kept)), 7), layout="constrained")
    parts: Any = figure.subfigures(2, 1)
    above, below = parts
    for place, record in enumerate(kept, start=1):
        _scatter(above, (1, len(kept), place), record.embedding, colour, cmap).set_title(
            f"iteration {record.iteration}"
        )
    _course(below.add_subplot(1, 2, 1), model)
    _spectrum(below.add_subplot(1, 2, 2), {f"iteration {record.iteration}": record.eigenvalues for record in kept})
    return figure


def _course(axes: Any, model: IteratedMap) -> None:
    numbers = [record.iteration for record in model.iterations_]
    axes.plot(numbers, [record.distance_change for record in model.iterations_], "o-", label="change of distances")
    scores = [record.validation_score for record in model.iterations_]
    if None not in scores:
        axes.plot(numbers, scores, "s--", label="score at held-out rows")
    axes.axvline(model.n_iter_, color="0.8", zorder=0, label="kept")
    axes.set_xticks(numbers)
    axes.set_xlabel("iteration")
    axes.legend()
    axes.set_title(f"stopped: {model.stop_reason_}")


def _spectrum(axes: Any, eigenvalues: dict[str, _Array]) -> None:
    for name, values in eigenvalues.items():
        finite = np.where(np.isfinite(values), -values, np.nan)
        axes.plot(np.arange(1, len(values) + 1), finite, ".-", label=name)
    axes.set_xlabel("coordinate")
    axes.set_title("eigenvalues of the Laplacian, negated")
    if len(eigenvalues) > 1:
        axes.legend()
