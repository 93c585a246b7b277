"""`idm info`: what is in a model file, in words and figures."""

import inspect
import os
from collections.abc import Iterable, Iterator
from typing import Any

from idm._array_file import read_header
from idm._command_error import refusals
from idm._iterated_diffusion_map import IteratedDiffusionMapClassifier
from idm._iterated_map import IteratedMap
from idm._local_kernel_map import LocalKernelMap
from idm._model_commands import load, model_path
from idm._model_rules import Model
from idm._tables import counted

_MOST_NAMES = 8


def info(path: str) -> None:
    """Print a model file, after all checks of loading it."""
    path = model_path(path)
    model = load(path)
    size = os.path.getsize(path)
    with open(path, "rb") as file, refusals(f"{path}: "):
        header, _ = read_header(file, size)
    rows = [
        ("file", f"{path}, {size:,} bytes, format version {header['version']}, written by idm {header['written_by']}"),
        ("estimator", type(model).__name__),
        ("parameters", _parameters(model)),
        *_facts(model),
    ]
    for name, text in rows:
        print(f"{name:<12}{text}")
    if isinstance(model, IteratedMap):
        print()
        for line in _table(model):
            print(line)


def _parameters(model: Model) -> str:
    """Those that differ from their defaults."""
    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()}
    changed = [f"{name}={value!r}" for name, value in model.get_params().items() if value != defaults[name]]
    return f"{', '.join(changed)} (others as by default)" if changed else "all as by default"


def _facts(model: Model) -> Iterator[tuple[str, str]]:
    names = _some(list(getattr(model, "feature_names_in_", [])))
    columns = f"{counted(model.n_features_in_, 'column')}{names and f' ({names})'}"
    if isinstance(model, LocalKernelMap):
        columns = f"{counted(len(model._iteration.map.index), 'row')}, {columns}"
    elif hasattr(model, "embedding_"):
        columns = f"{counted(len(model.embedding_), 'row')}, {columns}"
    yield "data", columns
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


def _table(model: IteratedMap) -> Iterator[str]:
    yield f"{'iteration':>9}{'coordinates':>13}{'epsilon':>10}{'change':>8}{'score':>8}"
    for record in model.iterations_:
        score = "-" if record.validation_score is None else f"{record.validation_score:.4f}"
        mark = " kept" if record.iteration == model.n_iter_ else ""
        yield (
            f"{record.iteration:>9}{record.n_coordinates:>13}{record.epsilon:>10.2g}{record.distance_change:>8.3f}"
            f"{score:>8}{mark}"
        )
