"""What must hold in a fitted model: sizes that agree, ranges, and what else transform and predict rely on."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np

from idm._array_file import fail
from idm._cells import CellMeans, Cells
from idm._coordinates import Coordinates, MapOptions
from idm._diffusion_map import DiffusionMap
from idm._extension import PLAIN, FittedMap
from idm._feature_estimate import LocalAffine, Mean, Straightened
from idm._iterated_diffusion_map import IteratedDiffusionMap, IteratedDiffusionMapClassifier
from idm._iteration import Iteration, Settings
from idm._iteration_record import IterationRecord
from idm._local_estimates import Choice, WeightedPoints
from idm._local_kernel_map import LocalKernelMap
from idm._metric import Flow
from idm._neighbors import NeighborIndex
from idm._regression import Regression
from idm._spectrum import SolverInfo
from idm._variable_bandwidth import LocalScales
from idm._warnings import Advice

Model: TypeAlias = DiffusionMap | IteratedDiffusionMap | IteratedDiffusionMapClassifier | LocalKernelMap


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """The shape of an array, by letters of sizes that agree, and the range of its numbers or of a number."""

    shape: str = ""
    any_order: bool = False  # rows that the compiled steps read are in C order
    low: float = -np.finfo(np.float64).max
    high: float = np.finfo(np.float64).max
    below: str | None = None  # a size that whole numbers are less than
    most: str | None = None  # a size that they are not more than
    size: str | None = None  # that which a number states


_POSITIVE = 5e-324
_SPECTRUM = -np.inf  # where an eigenvalue of the kernel is not positive
# N rows and m columns of X, n features, L landmarks, T rows of the feature's estimate; other letters are sizes within
# an iteration. Every array of every dataclass has a rule, which a test makes sure of.
_GLOBAL = "NmnLT"
_SCOPES = (Iteration, IterationRecord)
_ITERATED_RULES = {
    "embedding_": _Rule(shape="N q"),
    "landmarks_": _Rule(shape="L", low=0, below="N"),
    "relevance_": _Rule(shape="m m", any_order=True, low=-np.inf, high=np.inf),
    "_placing": _Rule(shape="L n"),
    "_scale_": _Rule(low=_POSITIVE),
    "_n_features_out": _Rule(size="q"),
    "n_features_in_": _Rule(size="m"),
    "feature_names_in_": _Rule(shape="m"),
}
_STRAIGHTENED_RULES = {
    "units": _Rule(shape="2", low=_POSITIVE),
    "centre": _Rule(shape="m"),
    "A": _Rule(shape="m m", any_order=True),
}
_CHOICE_RULES = {"factor": _Rule(low=_POSITIVE), "gamma": _Rule(low=0)}
RULES: dict[type, dict[str, _Rule]] = {
    DiffusionMap: {
        "embedding_": _Rule(shape="N q"),
        "landmarks_": _Rule(shape="L", low=0, below="N"),
        "eigenvalues_": _Rule(shape="q", low=_SPECTRUM),
        "eigenvectors_": _Rule(shape="L q"),
        "density_": _Rule(shape="L", low=_POSITIVE),
        "dimension_": _Rule(low=0),
        "epsilon_": _Rule(low=_POSITIVE),
        "_n_features_out": _Rule(size="q"),
        "n_features_in_": _Rule(size="m"),
        "feature_names_in_": _Rule(shape="m"),
    },
    IteratedDiffusionMap: _ITERATED_RULES,
    IteratedDiffusionMapClassifier: {**_ITERATED_RULES, "classes_": _Rule(shape="n")},
    LocalKernelMap: {
        "_norms": _Rule(shape="q", low=_POSITIVE),
        "_H": _Rule(shape="q s", any_order=True),
        "feature_map_": _Rule(shape="q s", any_order=True),
        "feature_map_residual_": _Rule(low=0),
        "_from_functions": _Rule(shape="t n", any_order=True),
        "eigenvalues_": _Rule(shape="2 M", low=_SPECTRUM),
        "n_features_in_": _Rule(size="m"),
        "feature_names_in_": _Rule(shape="m"),
    },
    Regression: {
        "centre": _Rule(shape="q"),
        "A": _Rule(shape="q n", any_order=True),
        "constant": _Rule(shape="n"),
    },
    Straightened: _STRAIGHTENED_RULES,
    Choice: _CHOICE_RULES,
    LocalAffine: {
        **_STRAIGHTENED_RULES,
        **_CHOICE_RULES,
        "index": _Rule(shape="T m"),
        "values": _Rule(shape="T n"),
        "left_out": _Rule(shape="T n"),
        "relevance": _Rule(shape="m m", any_order=True, low=-np.inf, high=np.inf),
    },
    CellMeans: {"relevance": _Rule(shape="m m", any_order=True, low=-np.inf, high=np.inf)},
    Cells: {"centres": _Rule(shape="T m")},
    WeightedPoints: {
        "index": _Rule(shape="T m"),
        "values": _Rule(shape="T n"),
        "counts": _Rule(shape="T 1", low=1),
    },
    Mean: {"mean": _Rule(shape="n"), "n_rows": _Rule(low=1, most="N"), "n_columns": _Rule(size="m")},
    Iteration: {
        "features": _Rule(shape="L n"),
        "bandwidth": _Rule(shape="L", low=_POSITIVE),
        "local_dimension": _Rule(shape="L"),
        "image": _Rule(shape="L q"),
    },
    Settings: {"n_neighbors": _Rule(low=1), "regularization": _Rule(low=0), "n_bandwidths": _Rule(low=1)},
    MapOptions: {
        "n_components": _Rule(low=1),
        "n_neighbors_bandwidth": _Rule(low=1),
        "epsilon": _Rule(low=_POSITIVE),
        "least_epsilon": _Rule(low=0),
        "least_weight": _Rule(low=0, high=1),
        "tolerance": _Rule(low=0),
        "diffusion_time": _Rule(low=0),
    },
    Flow: {"tau": _Rule(low=0, high=1)},
    Advice: {"rows": _Rule(shape="L", low=0, below="N")},
    FittedMap: {
        "index": _Rule(shape="L p"),
        "values": _Rule(shape="L v"),
        "pool_size": _Rule(low=1, most="L"),
        "n_neighbors": _Rule(low=1, most="L"),
        "pool_radii": _Rule(shape="L 1", low=0),
        "radii": _Rule(shape="L 1", low=0),
        "support": _Rule(shape="L", low=0, high=np.inf),  # where all points coincide
        "embedding": _Rule(shape="L q"),
    },
    Coordinates: {
        "epsilon": _Rule(low=_POSITIVE),
        "diffusion_time": _Rule(low=0),
        "xi": _Rule(shape="e"),
        "functions": _Rule(shape="L e"),
        "heat": _Rule(shape="e", low=0),
        "axes": _Rule(shape="e q", any_order=True),
        "scale": _Rule(shape="L", low=0),
        "weights": _Rule(shape="L", low=0),
        "dimension": _Rule(shape="L"),
        "density": _Rule(shape="L", low=_POSITIVE),
        "parts": _Rule(shape="L", low=0, below="L"),
    },
    LocalScales: {
        "scales": _Rule(shape="L 3", low=_POSITIVE),
        "unit": _Rule(low=_POSITIVE),
        "reach": _Rule(low=_POSITIVE),
        "n_near": _Rule(low=1, most="L"),
    },
    SolverInfo: {"n_products": _Rule(low=0), "n_restarts": _Rule(low=0), "residuals": _Rule(shape="r", low=0)},
    IterationRecord: {
        "iteration": _Rule(low=1),
        "component": _Rule(shape="L", low=0, below="L"),
        "landmarks": _Rule(shape="L", low=0, below="N"),
        "eigenvalues": _Rule(shape="e", low=_SPECTRUM),
        "local_dimension": _Rule(shape="L"),
        "density": _Rule(shape="L", low=_POSITIVE),
        "embedding": _Rule(shape="L q"),
        "n_coordinates": _Rule(size="q"),
    },
}


def _parts(value: Any) -> dict[str, Any]:
    """What an estimator or a dataclass holds, by name."""
    return {f.name: getattr(value, f.name) for f in fields(value) if f.init} if is_dataclass(value) else vars(value)


def _walk(value: Any, where: str, scope: str) -> Iterator[tuple[str, str, _Rule, Any]]:
    """All values that have a rule, with their name and the iteration that they belong to."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(item, f"{where}[{number}]", scope)
    elif type(value) in RULES or is_dataclass(value):
        scope = where if isinstance(value, _SCOPES) else scope
        for name, part in _parts(value).items():
            path = f"{where}.{name}" if where else name
            rule = RULES.get(type(value), {}).get(name)
            if rule is not None and part is not None:
                yield (path, scope, rule, part.points if isinstance(part, NeighborIndex) else part)
            yield from _walk(part, path, scope)


def check_model(model: Model) -> None:
    """Sizes that must agree, numbers that must be finite and in range, and what else transform and predict rely on."""
    sizes: dict[str, int] = {}

    def size(letter: str, scope: str, otherwise: int) -> int:
        if letter.isdigit():
            return int(letter)
        return sizes.setdefault(letter if letter in _GLOBAL else scope + letter, otherwise)

    checks = list(_walk(model, "", ""))
    for where, scope, rule, value in checks:
        letters, shape = rule.shape.split(), np.shape(value)
        if len(letters) != len(shape):
            fail(where, f"must have {len(letters)} dimensions, got shape {shape}")
        wanted = tuple(size(letter, scope, n) for letter, n in zip(letters, shape, strict=True))
        if shape != wanted:
            fail(where, f"must have shape ({', '.join(letters)}) = {wanted}, got {shape}")
        if not rule.any_order and len(shape) == 2 and value.flags.f_contiguous and not value.flags.c_contiguous:
            fail(where, "must be in C order")
    for where, scope, rule, value in checks:
        low, high = rule.low, rule.high
        if rule.size is not None:
            low = high = size(rule.size, scope, value)
        elif rule.below is not None or rule.most is not None:
            # Without the embedding of all rows, their number is not known.
            high = size(rule.below or rule.most or "", scope, 2**53) - (rule.below is not None)
        array = np.asarray(value)
        if array.dtype.kind in "iuf" and not ((array >= low) & (array <= high)).all():
            fail(where, f"must have numbers from {low:.3g} to {high:.3g}, without NaN")
    if isinstance(model, DiffusionMap):
        _check_map(model._map, model.n_features_in_, 0)
        if model._map.flow != PLAIN:
            fail("flow", "must be that of a plain map")
    elif isinstance(model, LocalKernelMap):
        _check_local_kernel_map(model)
    else:
        _check_iterated(model)


def _check_map(fitted: FittedMap, n_columns: int, n_values: int) -> None:
    columns = fitted.index.points.shape[1], fitted.values.shape[1]
    if columns != (n_columns, n_values):
        fail("index and values", f"must have {n_columns} and {n_values} columns, got {columns[0]} and {columns[1]}")
    coordinates, n_coordinates = fitted.coordinates, fitted.embedding.shape[1]
    if coordinates.axes is None and len(coordinates.xi) != n_coordinates:
        fail("xi", f"must be as many as there are coordinates, {n_coordinates}, got {len(coordinates.xi)}")
    if coordinates.local_scales is not None and coordinates.local_scales.n_near > fitted.n_neighbors:
        fail("n_near", f"must be at most n_neighbors, got {coordinates.local_scales.n_near} and {fitted.n_neighbors}")
    if fitted.n_neighbors > fitted.pool_size:
        fail("pool_size", f"must be n_neighbors or more, got {fitted.pool_size} and {fitted.n_neighbors}")


def _check_iteration(fitted: Iteration, n_columns: int) -> None:
    derivative = fitted.map.flow.change == "derivative"
    if fitted.map.flow != fitted.settings.flow or (fitted.bandwidth is not None) is not derivative:
        fail("flow", "must be that of the settings, and a bandwidth is there for derivatives only")
    _check_map(fitted.map, n_columns, fitted.features.shape[1] * (n_columns if derivative else 1))


def _check_local_kernel_map(model: LocalKernelMap) -> None:
    _check_iteration(model._iteration, model.n_features_in_)
    iteration, from_functions = model._iteration, model._from_functions
    sizes = len(model._norms), len(from_functions), model.eigenvalues_.shape[1]
    wanted = (iteration.map.embedding.shape[1], model.feature_map_.shape[1] + 1, iteration.map.embedding.shape[1])
    if sizes != wanted:
        fail("_norms, _from_functions and eigenvalues_", f"must be of {wanted} functions, got {sizes}")
    if iteration.settings.needs_features or (model._one_feature and from_functions.shape[1] != 1):
        fail("_one_feature", "must be false with several features, and derivatives must be affine")


def _check_iterated(model: IteratedDiffusionMap | IteratedDiffusionMapClassifier) -> None:
    iterations, records = model._iterations, model.iterations_
    if not 1 <= model.n_iter_ == len(iterations) <= len(records):
        fail("n_iter_", f"must be the number of iterations kept, {len(iterations)} of {len(records)}")
    if [record.iteration for record in records] != list(range(1, len(records) + 1)):
        fail("iterations_", "must be numbered from 1")
    n_columns = model.n_features_in_
    if any(fitted.averaged for fitted in iterations[:2]):
        fail("averaged", "must be false for the first two iterations")
    n_before = 0
    for fitted in iterations:
        _check_iteration(fitted, n_columns + (n_before if fitted.averaged else 0))
        n_before, n_columns = n_columns, fitted.map.embedding.shape[1]
    if model._n_features_out != n_columns:
        fail("_n_features_out", f"must be {n_columns}, got {model._n_features_out}")
    estimated = model._estimate is not None
    if (model._regression is None) != estimated or any(f.settings.needs_features != estimated for f in iterations):
        fail("_estimate", "must be there unless derivatives are affine, and _regression otherwise")
    if model._feature_map is not None:
        H, _ = model._feature_map
        if H.ndim != 2 or len(H) != n_columns or not np.isfinite(H).all():
            fail("_feature_map", f"must be finite with {n_columns} rows, got shape {H.shape}")
    n = model._placing.shape[1]
    if isinstance(model, IteratedDiffusionMapClassifier):
        try:
            distinct = np.unique(model.classes_)
        except TypeError:
            distinct = model.classes_[:0]
        if not np.array_equal(distinct, model.classes_):
            fail("classes_", "must be sorted, and each label once")
    elif model._one_feature and n != 1:
        fail("_one_feature", "must be false with several features")
