"""Model files: fitted estimators without pickle, as values of JSON and arrays. docs/model_files.md has the format.

Type hints steer both directions: those of the dataclasses that an estimator holds, and of its own attributes below.
A file chooses values, never what is made of them.
"""

import math
import os
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from idm import exceptions
from idm._array_file import DTYPES, FORMAT, VERSION, Arrays, as_list, check_names, fail, read_file
from idm._cells import CellMeans
from idm._diffusion_map import DiffusionMap
from idm._extension import FittedMap
from idm._feature_estimate import CrossFitted, LocalAffine, Mean
from idm._iterated_diffusion_map import IteratedDiffusionMap, IteratedDiffusionMapClassifier
from idm._iterated_map import IteratedMap
from idm._iteration import Iteration
from idm._iteration_record import IterationRecord
from idm._local_kernel_map import LocalKernelMap
from idm._model_rules import Model, check_model
from idm._neighbors import NeighborIndex
from idm._regression import Regression
from idm._stopping import StopReason

_Array: TypeAlias = NDArray[np.float64]
_Rows: TypeAlias = NDArray[np.intp]

_ESTIMATORS: dict[str, type[Model]] = {
    cls.__name__: cls for cls in (DiffusionMap, IteratedDiffusionMap, IteratedDiffusionMapClassifier, LocalKernelMap)
}
_ITERATED: dict[str, Any] = {
    "_regression": Regression | None,
    "_estimate": LocalAffine | CellMeans | Mean | None,
    "_scale_": float,
    "_iterations": list[Iteration],
    "_placing": _Array,
    "_feature_map": tuple[_Array, float] | None,
    "iterations_": list[IterationRecord],
    "n_iter_": int,
    "stop_reason_": StopReason | None,
    "landmarks_": _Rows,
    "relevance_": _Array | None,
    "embedding_": _Array,
    "_n_features_out": int,
}
# The attributes of fitted estimators, besides their parameters.
_FITTED: dict[type[Model], dict[str, Any]] = {
    DiffusionMap: {
        "_map": FittedMap,
        "_euclidean": bool,
        "embedding_": _Array,
        "landmarks_": _Rows,
        "eigenvalues_": _Array,
        "eigenvectors_": _Array,
        "density_": _Array,
        "dimension_": float,
        "epsilon_": float,
        "_n_features_out": int,
    },
    IteratedDiffusionMap: {**_ITERATED, "_one_feature": bool},
    IteratedDiffusionMapClassifier: {**_ITERATED, "classes_": NDArray[Any]},
    LocalKernelMap: {
        "_norms": _Array,
        "_H": _Array,
        "feature_map_": _Array,
        "feature_map_residual_": float,
        "_from_functions": _Array,
        "_one_feature": bool,
        "_iteration": Iteration,
        "eigenvalues_": _Array,
    },
}
# Parameters that files of an earlier idm do not have: their defaults are how it was.
_LATER = {"subsample", "store_embedding"}
# What a fit may leave to transform.
_OPTIONAL = {"embedding_"}
# What scikit-learn sets; only the first is always there.
_SET_BY_SKLEARN: dict[str, Any] = {
    "n_features_in_": int,
    "feature_names_in_": NDArray[np.object_],
    "_sklearn_output_config": dict[str, str],
}


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that `idm.load` reads, without pickle; its name usually ends in ".idm".

    The file is complete or not there: it is written under another name in the same folder and renamed when it is on
    the disk. Parameters that are not plain values (`callback`, `precomputed_knn`, a `RandomState`) are refused with a
    TypeError, and so is a model that was fitted with a `feature_estimator`. docs/model_files.md describes the format.

    Parameters
    ----------
    model : DiffusionMap, IteratedDiffusionMap, IteratedDiffusionMapClassifier or LocalKernelMap
        Fitted; not of a class derived from these.
    path : str or path
        The file, which is replaced if it exists.

    Examples
    --------
    >>> import idm, os, tempfile
    >>> X, _, y = idm.datasets.make_annulus(300, feature="radius", random_state=0)
    >>> model = idm.IteratedDiffusionMap(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "radius.idm")
    ...     idm.save(model, path)
    ...     loaded = idm.load(path)
    >>> bool((loaded.transform(X) == model.transform(X)).all())
    True

    """
    if type(model) not in _FITTED:
        raise TypeError(f"model must be a fitted {_one_of(_ESTIMATORS)}, got {type(model).__name__}")
    check_is_fitted(model)
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"path must name a file, got the folder {os.fspath(path)!r}")
    writer = _Writer()
    header = writer.header(model)
    check_model(model)
    writer.arrays.write(target, header)


def load(path: str | os.PathLike[str], mmap_mode: Literal["r"] | None = None) -> Model:
    """The estimator that `idm.save` wrote, with results that are the same to the bit on the same machine.

    Everything in the file is checked; what does not fit is a ValueError that says what. Nothing in it can run code.

    Parameters
    ----------
    path : str or path
        The file.
    mmap_mode : None or "r"
        None reads the arrays into memory. "r" maps them from the file, read-only, so that several processes share
        them; the file must not be changed in place then (`idm.save` does not).

    Returns
    -------
    estimator
        Of the class that was saved, fitted.

    """
    if mmap_mode not in (None, "r"):
        raise ValueError(f"mmap_mode must be None or 'r', got {mmap_mode!r}")
    with open(path, "rb") as file:
        try:
            header, arrays = read_file(file, mapped=mmap_mode == "r")
            model = _Reader(arrays).model(header)
            check_model(model)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)!r} cannot be loaded: {error}") from error
    return model


def _one_of(names: Any) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


def _arms(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type."""
    return tuple(map(_unaliased, get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)))


def _unaliased(hint: Any) -> Any:
    """NDArray[T] as np.ndarray[Any, np.dtype[T]]: from NumPy 2.5 on, it is the name of an alias that hides this."""
    if get_origin(hint) is not NDArray:
        return hint
    return types.GenericAlias(np.ndarray, (Any, types.GenericAlias(np.dtype, get_args(hint))))


def _field_hints(cls: type) -> dict[str, Any]:
    """The type hints of what a dataclass is made of; fields that it computes itself are not stored."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls) if field.init}


def _parameter_hints(cls: type[Model]) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(cls.__init__).items() if name != "return"}


def _is_plain(value: Any) -> bool:
    """A value of JSON that is neither a list nor an object, and that other readers understand."""
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return value is None or type(value) in (bool, str) or (type(value) is float and math.isfinite(value))


def _fits_plain(value: Any, hint: Any) -> bool:
    """Whether a plain value is of the type; whole numbers are real ones, too."""
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint in (None, type(None)):
        return value is None
    return (
        hint in (bool, int, float, str) and _is_plain(value) and type(value) in (hint, int if hint is float else hint)
    )


def _fits_parameter(value: Any, hint: Any) -> bool:
    """The same for what users give: True is 1, and Any is any plain value."""
    number = int(value) if isinstance(value, bool) else value
    return _is_plain(value) and any(
        arm is Any or _fits_plain(value, arm) or _fits_plain(number, arm) for arm in _arms(hint)
    )


def _fits_dtype(array: NDArray[Any], hint: Any) -> bool:
    """Whether an array is NDArray[...] of its hint."""
    (wanted,) = get_args(get_args(hint)[1])
    return bool(DTYPES.fullmatch(array.dtype.str) or array.dtype == object if wanted is Any else array.dtype == wanted)


def _required(cls: type[Model]) -> set[str]:
    return {*_FITTED[cls], "n_features_in_"} - (_OPTIONAL if issubclass(cls, IteratedMap) else set())


class _Writer:
    """Turns a model into a header, and collects its arrays."""

    def __init__(self) -> None:
        self.arrays = Arrays()

    def header(self, model: Model) -> dict[str, Any]:
        """The header; its last part are the arrays, which the others refer to."""
        cls = type(model)
        hints = {**_FITTED[cls], **_SET_BY_SKLEARN}
        parameters = _parameter_hints(cls)
        attributes = {name: value for name, value in vars(model).items() if name not in parameters}
        check_names(attributes, _required(cls), set(hints), f"this {cls.__name__}")
        fitted = {name: self.node(value, hints[name], name) for name, value in attributes.items()}
        return {
            "format": FORMAT,
            "version": VERSION,
            "written_by": version("iterated-diffusion-map"),
            "class": cls.__name__,
            "parameters": {name: _parameter(getattr(model, name), hint, name) for name, hint in parameters.items()},
            "fitted": fitted,
            "arrays": self.arrays.entries,
        }

    def node(self, value: Any, hint: Any, where: str) -> Any:
        """What stands for a value in the header."""
        value = value.item() if isinstance(value, np.generic) else value
        for arm in _arms(hint):
            origin = get_origin(arm)
            if _fits_plain(value, arm):
                return value
            if origin is np.ndarray and isinstance(value, np.ndarray) and _fits_dtype(value, arm):
                return self._array(value, where)
            if origin is list and type(value) is list:
                return [self.node(item, get_args(arm)[0], f"{where}[{i}]") for i, item in enumerate(value)]
            if origin is tuple and type(value) is tuple and len(value) == len(get_args(arm)):
                return [
                    self.node(v, h, f"{where}[{i}]") for i, (v, h) in enumerate(zip(value, get_args(arm), strict=True))
                ]
            if origin in (dict, Mapping) and isinstance(value, Mapping):
                return {key if isinstance(key, str) else key.__name__: text for key, text in value.items()}
            if arm is NeighborIndex and type(value) is NeighborIndex:
                return {"class": "NeighborIndex", "points": self._array(value.points, f"{where}.points")}
            if is_dataclass(arm) and type(value) is arm:
                parts = {n: self.node(getattr(value, n), h, f"{where}.{n}") for n, h in _field_hints(arm).items()}
                return {"class": arm.__name__, **parts}
        if isinstance(value, CrossFitted):
            raise TypeError(
                "a model that was fitted with a feature_estimator cannot be saved without pickle; use pickle or "
                "joblib.dump, or fit with feature_estimator=None"
            )
        raise TypeError(f"{where} does not fit into a model file: {value!r:.60}; use pickle or joblib.dump")

    def _array(self, array: NDArray[Any], where: str) -> dict[str, Any]:
        if array.dtype == object:
            items = [item.item() if isinstance(item, np.generic) else item for item in array.tolist()]
            if not all(map(_is_plain, items)):
                raise TypeError(f"{where} holds objects other than strings and numbers; use pickle or joblib.dump")
            return {"objects": items}
        return {"array": self.arrays.number(array)}


def _parameter(value: Any, hint: Any, name: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if _fits_parameter(value, hint):
        return value
    remedy = "give it as a plain number or string"
    if {Any, type(None)} & set(_arms(hint)):
        remedy = f"only fit uses it, so save after model.set_params({name}=None), or use pickle or joblib.dump"
    raise TypeError(f"{name} of type {type(value).__name__} is not kept in model files; {remedy}")


class _Reader:
    """Turns a header and its arrays into a model."""

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self._arrays = arrays
        self._used: set[int] = set()
        self._indexes: dict[int, NeighborIndex] = {}  # one for all that have the same points

    def model(self, header: dict[str, Any]) -> Model:
        """The model, whose parts have the right types."""
        name, parameters, fitted = (header["class"], header["parameters"], header["fitted"])
        if not isinstance(name, str) or name not in _ESTIMATORS:
            fail("class", f"must be {_one_of(_ESTIMATORS)}, got {name!r:.60}")
        cls = _ESTIMATORS[name]
        hints = _parameter_hints(cls)
        check_names(parameters, set(hints) - _LATER, set(hints), "parameters")
        for key, value in parameters.items():
            if not _fits_parameter(value, hints[key]):
                fail(f"parameters.{key}", f"must not be {value!r:.60}")
        hints = {**_FITTED[cls], **_SET_BY_SKLEARN}
        check_names(fitted, _required(cls), set(hints), "fitted")
        model = cls(**parameters)
        for key, node in fitted.items():
            setattr(model, key, self.value(node, hints[key], key))
        if len(self._used) < len(self._arrays):
            fail("arrays", "has some that nothing refers to")
        return model

    def value(self, node: Any, hint: Any, where: str) -> Any:
        """The value that a node stands for, of the type that the hint says."""
        for arm in _arms(hint):
            origin = get_origin(arm)
            if _fits_plain(node, arm):
                return node
            if origin is np.ndarray and isinstance(node, dict):
                return self._array(node, arm, where)
            if origin is list and isinstance(node, list):
                return [self.value(item, get_args(arm)[0], f"{where}[{i}]") for i, item in enumerate(node)]
            if origin is tuple and isinstance(node, list) and len(node) == len(get_args(arm)):
                return tuple(
                    self.value(n, h, f"{where}[{i}]") for i, (n, h) in enumerate(zip(node, get_args(arm), strict=True))
                )
            if origin in (dict, Mapping) and isinstance(node, dict):
                return {
                    self._key(key, get_args(arm)[0], where): self.value(text, str, where) for key, text in node.items()
                }
            known = arm is NeighborIndex or is_dataclass(arm)
            if known and isinstance(node, dict) and node.get("class") == arm.__name__:
                return self._instance(node, arm, where)
        fail(where, f"must not be {node!r:.60}")

    def _key(self, key: str, hint: Any, where: str) -> Any:
        if hint is str:
            return key
        cls = vars(exceptions).get(key)
        if not (isinstance(cls, type) and issubclass(cls, Exception)):
            fail(where, f"has {key!r:.60}, which is no warning or error of idm.exceptions")
        return cls

    def _instance(self, node: dict[str, Any], cls: type, where: str) -> Any:
        hints = {"points": _Array} if cls is NeighborIndex else _field_hints(cls)
        check_names(node, {"class", *hints}, {"class", *hints}, where)
        parts = {name: self.value(node[name], hint, f"{where}.{name}") for name, hint in hints.items()}
        if cls is not NeighborIndex:
            return cls(**parts)
        number, points = node["points"]["array"], parts["points"]
        if number not in self._indexes:
            if points.ndim != 2 or points.size == 0 or not points.flags.c_contiguous:
                fail(where, f"must have points in rows, got shape {points.shape}")
            self._indexes[number] = NeighborIndex(points)
        return self._indexes[number]

    def _array(self, node: dict[str, Any], hint: Any, where: str) -> NDArray[Any]:
        (wanted,) = get_args(get_args(hint)[1])
        if set(node) == {"objects"} and wanted in (Any, np.object_):
            items = as_list(node["objects"], where)
            if not all(map(_is_plain, items)) or (wanted is np.object_ and not all(isinstance(i, str) for i in items)):
                fail(where, "must hold strings or numbers")
            objects = np.empty(len(items), dtype=object)
            objects[:] = items
            return objects
        number = node.get("array")
        if set(node) != {"array"} or type(number) is not int or not 0 <= number < len(self._arrays):
            fail(where, f"must be one of {len(self._arrays)} arrays, got {node!r:.60}")
        array = self._arrays[number]
        if not _fits_dtype(array, hint):
            fail(where, f"must not be of dtype {array.dtype}")
        self._used.add(number)
        return array
