"""`idm fit`, `transform`, `predict` and `plot`: tables in, a model or a table or a picture out."""

import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import idm
from idm import _overview
from idm._command_error import CommandError, UsageError, refusals, writing
from idm._iterated_map import IteratedMap
from idm._iteration_record import IterationRecord
from idm._model_rules import Model
from idm._progress import summary
from idm._tables import PIPE, Table, check_output, counted, write_table
from idm._whole_file import check_writable, whole_file

_Array: TypeAlias = NDArray[np.float64]

ESTIMATORS: dict[str, type[Model]] = {
    "iterated": idm.IteratedDiffusionMap,
    "classifier": idm.IteratedDiffusionMapClassifier,
    "diffusion-map": idm.DiffusionMap,
    "local-kernel-map": idm.LocalKernelMap,
}
# Objects, which a command line cannot give, and what --quiet is for.
_NOT_SET = {"callback", "feature_estimator", "precomputed_knn", "verbose"}


def fit(
    X: str, y: str | None, output: str, *, estimator: str, parameters: dict[str, Any], seed: int, quiet: bool
) -> None:
    """Fit a model to tables and save it; whatever can be refused is refused before."""
    model = _estimator(estimator, parameters, seed)
    if estimator == "diffusion-map" and y is not None:
        raise UsageError(f"--estimator diffusion-map takes no y, got {y}")
    if estimator != "diffusion-map" and y is None:
        raise UsageError(f"--estimator {estimator} needs y, a second table; diffusion-map does without")
    if X == y == PIPE:
        raise UsageError(f"X and y cannot both be {PIPE!r}: there is one pipe")
    if output != PIPE and not Path(output).suffix and not Path(output).is_dir():
        output = f"{Path(output)}.idm"
    if Path(output).suffix != ".idm":
        raise UsageError(f"--output {output} must end in .idm, as model files do")
    check_writable(Path(output))
    points, names, given = _fit_data(X, y, has_labels=estimator == "classifier")
    if not quiet:
        print(f"fitting {type(model).__name__} to {_size(points)}", file=sys.stderr)
        if isinstance(model, IteratedMap):
            model.callback = _tell
    start = time.perf_counter()
    with refusals():
        model.fit(*(points,) if given is None else (points, given))
    seconds = time.perf_counter() - start
    if isinstance(model, IteratedMap):
        model.callback = None
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)  # as scikit-learn does for data frames
    with refusals(), writing(output):
        idm.save(model, output)
    if not quiet:
        print(f"{type(model).__name__}: {_size(points)}, {seconds:.1f} s")
        _print_result(model)
        print(f"saved {output}")


def _print_result(model: Model) -> None:
    if isinstance(model, IteratedMap):
        print(f"kept iteration {model.n_iter_} of {len(model.iterations_)} ({model.stop_reason_})")
    if not isinstance(model, idm.LocalKernelMap):
        n_coordinates, n_landmarks = model._n_features_out, len(model.landmarks_)
        print(f"{counted(n_coordinates, 'coordinate')} from {counted(n_landmarks, 'landmark')}")


def _estimator(name: str, parameters: dict[str, Any], seed: int) -> Model:
    cls = ESTIMATORS[name]
    known = sorted(cls().get_params().keys() - _NOT_SET)
    for parameter in parameters:
        if parameter not in known:
            raise UsageError(f"--estimator {name} has no parameter {parameter!r}; it has {', '.join(known)}")
    if "random_state" in known:
        parameters = {"random_state": seed, **parameters}
    return cls(**parameters)


def _tell(record: IterationRecord) -> None:
    print(f"iteration {record.iteration}: {summary(record)}, {record.seconds:.1f} s", file=sys.stderr, flush=True)


def _fit_data(X: str, y: str | None, *, has_labels: bool) -> tuple[_Array, list[str] | None, NDArray[Any] | None]:
    """Points, the names of their columns, and features or labels."""
    table = Table(X)
    if y is None:
        return *_points(table, table.all_but() if table.chosen is None else table.chosen), None
    of_y = Table(y)
    places = table.chosen
    if places is None:  # of one table, X is all that y is not
        is_same = PIPE not in (X, y) and os.path.samefile(table.path, of_y.path)
        places = table.all_but(of_y.chosen or () if is_same else ())
    given = of_y.labels() if has_labels else of_y.features()
    points, names = _points(table, places)
    if len(points) != len(given):
        is_eaten = of_y.named and len(given) == len(points) - 1
        hint = f" (the first line of {y}, {of_y.first_line()!r:.40}, was read as names)" if is_eaten else ""
        raise CommandError(f"{X} has {counted(len(points), 'row')}, and {y} has {len(given)}{hint}; they must be equal")
    return points, names, given


def _points(table: Table, places: list[int]) -> tuple[_Array, list[str] | None]:
    points = table.points(places)
    if points.ndim == 1:
        raise CommandError(
            f"{table.source} has shape {points.shape}; it needs a row for each point and a column for each coordinate: "
            "save it with reshape(-1, 1), or reshape(1, -1) if it is one point"
        )
    return points, table.names(places)


def transform(model: str, X: str, output: str, *, quiet: bool) -> None:
    """Write the coordinates of new points."""
    _apply("transform", model, X, output, key="z", quiet=quiet)


def predict(model: str, X: str, output: str, *, quiet: bool) -> None:
    """Write the features or labels of new points."""
    _apply("predict", model, X, output, key="y", quiet=quiet)


def _apply(method: str, path: str, X: str, output: str, *, key: str, quiet: bool) -> None:
    check_output(output)
    path = model_path(path)
    model = load(path)
    if not hasattr(model, method):
        other = "predict" if method == "transform" else "transform"
        raise CommandError(f"{path} is a {type(model).__name__}, which cannot {method}; use idm {other}")
    points = _new_points(Table(X), model, path)
    with refusals(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # they were looked at here
        result = getattr(model, method)(points)
    write_table(output, result, key)
    if not quiet and output != PIPE:
        print(f"saved {output}: {_size(result)}")


def _size(array: NDArray[Any]) -> str:
    return f"{counted(len(array), 'row')}, {counted(array[0].size, 'column')}"


def model_path(name: str) -> str:
    """A model file, whose name may be given without its ending."""
    return name if Path(name).suffix or os.path.exists(name) else f"{name}.idm"


def load(path: str) -> Model:
    """A model file, for a command."""
    with refusals():
        return idm.load(path)


def _new_points(table: Table, model: Model, path: str) -> _Array:
    """Columns of a table that a model was fitted to: by their names, if both have some, else all in their order."""
    names, places = list(getattr(model, "feature_names_in_", [])), table.chosen
    is_renamed = places is not None and sorted(table.names(places) or []) != sorted(names)
    if names and table.named and not is_renamed:
        places = table.places(names, f", to which {path} was fitted")
    points, _ = _points(table, table.all_but() if places is None else places)
    if points.shape[1] != model.n_features_in_:
        raise CommandError(
            f"{table.source} has {counted(points.shape[1], 'column')}, and {path} was fitted to {model.n_features_in_}"
        )
    return points


def plot(path: str, output: Path, X: str | None, y: str | None, *, quiet: bool) -> None:
    """Draw a model, with its data if they are given."""
    if (X is None) != (y is None):
        raise UsageError("--X and --y go together: the tables that the model was fitted to")
    if X == y == PIPE:
        raise UsageError(f"--X and --y cannot both be {PIPE!r}: there is one pipe")
    path = model_path(path)
    model = load(path)
    if X is None or y is None:
        figure = _overview.overview(model)
    elif not isinstance(model, IteratedMap):
        raise UsageError(f"--X and --y are for iterated maps, and {path} is a {type(model).__name__}; leave them out")
    else:
        figure = _with_data(model, path, X, y)
    save_figure(figure, output)
    if not quiet:
        print(f"saved {output}")


def _with_data(model: IteratedMap, path: str, X: str, y: str) -> Any:
    points, table = _new_points(Table(X), model, path), Table(y)
    if isinstance(model, idm.IteratedDiffusionMapClassifier):
        features = np.unique(table.labels(), return_inverse=True)[1].astype(np.float64)
    else:
        features = table.features()
    for name, n_rows in ((X, len(points)), (y, len(features))):
        if hasattr(model, "embedding_") and n_rows != len(model.embedding_):
            raise CommandError(f"{name} has {counted(n_rows, 'row')}, and {path} was fitted to {len(model.embedding_)}")
    with refusals():
        return idm.plot.iterations(model, points, features)


def save_figure(figure: Any, path: Path) -> None:
    """Write a picture, complete or not at all."""
    with writing(path), whole_file(Path(os.path.realpath(path))) as file:
        figure.savefig(file, dpi=110, format=path.suffix[1:].lower())
