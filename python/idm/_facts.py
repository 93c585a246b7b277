"""What a fitted model is, in words and figures: for `idm info` and for notebooks."""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from idm._iterated_diffusion_map import IteratedDiffusionMapClassifier
from idm._iterated_map import IteratedMap
from idm._local_kernel_map import LocalKernelMap
from idm._model_rules import Model
from idm._tables import counted

_MOST_NAMES = 8


def parameters(model: Model) -> str:
    """Those that differ from their defaults."""
    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()}
    changed = [f"{name}={value!r}" for name, value in model.get_params().items() if value != defaults[name]]
    return f"{', '.join(changed)} (others as by default)" if changed else "all as by default"


def facts(model: Model) -> Iterator[tuple[str, str]]:
    """What the fit came to, by name; a line without one goes on with the last."""
    names = _some(list(getattr(model, "feature_names_in_", [])))
    data = f"{counted(model.n_features_in_, 'column')}{names and f' ({names})'}"
    if isinstance(model, LocalKernelMap):
        data = f"{counted(len(model._iteration.map.index), 'row')}, {data}"
    elif hasattr(model, "embedding_"):
        data = f"{counted(len(model.embedding_), 'row')}, {data}"
    yield "data", data
    if isinstance(model, LocalKernelMap):
        yield "residual", f"{model.feature_map_residual_:.3g} of the eigenfunctions on y"
        yield "eigenvalues", f"on X {_some(model.eigenvalues_[0])}"
        yield "", f"on y {_some(model.eigenvalues_[1])}"
        return
    yield "landmarks", f"{len(model.landmarks_)}"
    if isinstance(model, IteratedDiffusionMapClassifier):
        yield "classes", f"{len(model.classes_)}: {_some(model.classes_.tolist())}"
    yield "coordinates", f"{model._n_features_out}"
    if isinstance(model, IteratedMap):
        yield (
            "stopped",
            f"after iteration {len(model.iterations_)}: {model.stop_reason_}; kept iteration {model.n_iter_}",
        )
    else:
        yield "epsilon", f"{model.epsilon_:.4g}"
        yield "dimension", f"{model.dimension_:.3g}"
        yield "eigenvalues", _some(model.eigenvalues_)


def _some(values: Iterable[Any]) -> str:
    """The first of many names or numbers."""
    listed = list(values)
    texts = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in listed[:_MOST_NAMES]]
    return ", ".join(texts) + (", ..." if len(listed) > _MOST_NAMES else "")


def table(model: IteratedMap) -> Iterator[tuple[str, ...]]:
    """A line for each iteration, after one of headings."""
    yield "iteration", "coordinates", "epsilon", "change", "score", ""
    for record in model.iterations_:
        score = "-" if record.validation_score is None else f"{record.validation_score:.4f}"
        mark = "kept" if record.iteration == model.n_iter_ else ""
        figures = f"{record.epsilon:.2g}", f"{record.distance_change:.3f}", score
        yield f"{record.iteration}", f"{record.n_coordinates}", *figures, mark
