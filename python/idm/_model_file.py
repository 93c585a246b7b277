"""Model files: fitted estimators without pickle, as a JSON header and raw arrays. docs/model_files.md has the format.

Type hints steer both directions: those of the dataclasses that an estimator holds, and of its own attributes below.
A file chooses values, never what is made of them.
"""

import contextlib
import hashlib
import io
import json
import math
import os
import re
import secrets
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from idm import exceptions
from idm._coordinates import Coordinates, MapOptions
from idm._diffusion_map import DiffusionMap
from idm._extension import PLAIN, FittedMap
from idm._feature_estimate import CrossFitted, LocalAffine, Mean
from idm._iterated_diffusion_map import IteratedDiffusionMap, IteratedDiffusionMapClassifier
from idm._iterated_map import IterationRecord, Regression
from idm._iteration import Iteration, Settings
from idm._local_kernel_map import LocalKernelMap
from idm._metric import Flow
from idm._neighbors import NeighborIndex
from idm._spectrum import SolverInfo
from idm._stopping import StopReason
from idm._warnings import Advice

Model: TypeAlias = DiffusionMap | IteratedDiffusionMap | IteratedDiffusionMapClassifier | LocalKernelMap
_Array: TypeAlias = NDArray[np.float64]
_Rows: TypeAlias = NDArray[np.intp]

_MAGIC, _FORMAT, _VERSION = b"\x89idm\r\n\x1a\n", "idm model", 1
# Magic, length of the header (8 bytes, little-endian), its SHA-256, zeros; arrays start at multiples of it, too.
_ALIGNMENT = 64
_PREFIX_ZEROS = _ALIGNMENT - len(_MAGIC) - 8 - 32
# JSON takes up to 30 times its size in memory.
_LONGEST_HEADER = 2**24
_DTYPES = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,5}")

_ESTIMATORS: dict[str, type[Model]] = {
    cls.__name__: cls for cls in (DiffusionMap, IteratedDiffusionMap, IteratedDiffusionMapClassifier, LocalKernelMap)
}
_ITERATED: dict[str, Any] = {
    "_regression": Regression | None,
    "_estimate": LocalAffine | Mean | None,
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
# What scikit-learn sets; only the first is always there.
_SET_BY_SKLEARN: dict[str, Any] = {
    "n_features_in_": int,
    "feature_names_in_": NDArray[np.object_],
    "_sklearn_output_config": dict[str, str],
}


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
_RULES: dict[type, dict[str, _Rule]] = {
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
    LocalAffine: {
        "units": _Rule(shape="2", low=_POSITIVE),
        "centre": _Rule(shape="m"),
        "A": _Rule(shape="m m", any_order=True),
        "index": _Rule(shape="T m"),
        "values": _Rule(shape="T n"),
        "factor": _Rule(low=_POSITIVE),
        "gamma": _Rule(low=0),
        "left_out": _Rule(shape="T n"),
        "relevance": _Rule(shape="m m", any_order=True, low=-np.inf, high=np.inf),
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
        "spread": _Rule(low=0),
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
        "xi": _Rule(shape="q"),
        "functions": _Rule(shape="L q"),
        "heat": _Rule(shape="q", low=0),
        "scale": _Rule(shape="L", low=0),
        "weights": _Rule(shape="L", low=0),
        "dimension": _Rule(shape="L"),
        "density": _Rule(shape="L", low=_POSITIVE),
    },
    SolverInfo: {"n_products": _Rule(low=0), "n_restarts": _Rule(low=0), "residuals": _Rule(shape="r", low=0)},
    IterationRecord: {
        "iteration": _Rule(low=1),
        "landmarks": _Rule(shape="L", low=0, below="N"),
        "eigenvalues": _Rule(shape="q", low=_SPECTRUM),
        "local_dimension": _Rule(shape="L"),
        "density": _Rule(shape="L", low=_POSITIVE),
        "embedding": _Rule(shape="L q"),
        "n_coordinates": _Rule(size="q"),
    },
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
    _check(model)
    temporary = target.with_name(f".idm-{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb") as file:
            _write(file, header, writer.arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


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
    """
    if mmap_mode not in (None, "r"):
        raise ValueError(f"mmap_mode must be None or 'r', got {mmap_mode!r}")
    with open(path, "rb") as file:
        try:
            header, arrays = _read(file, mapped=mmap_mode == "r")
            model = _Reader(arrays).model(header)
            _check(model)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)!r} cannot be loaded: {error}") from error
    return model


def _one_of(names: Any) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


def _fail(where: str, problem: str) -> NoReturn:
    raise ValueError(f"{where} {problem}")


# The bytes: prefix, header, arrays.


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _bytes(array: NDArray[Any]) -> memoryview:
    """The memory of an array that is contiguous in C or Fortran order."""
    return array.ravel(order="K").view(np.uint8).data


def _write(file: io.BufferedWriter, header: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(text) > _LONGEST_HEADER:
        _fail("the header", f"would have {len(text)} bytes, more than {_LONGEST_HEADER}; shorten the feature names")
    file.write(_MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + bytes(_PREFIX_ZEROS))
    parts: list[bytes | memoryview] = [text, *map(_bytes, arrays)]
    for part in parts:
        file.write(bytes(_aligned(file.tell()) - file.tell()))
        file.write(part)


def _sync_folder(folder: Path) -> None:
    """Put a new name on the disk; only POSIX systems can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read(file: io.BufferedReader, *, mapped: bool) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The header and the arrays; none of these is allocated before all sizes are known to be those of the file."""
    size = os.fstat(file.fileno()).st_size
    prefix = file.read(_ALIGNMENT)
    if prefix[: len(_MAGIC)] != _MAGIC:
        _fail("the file", "is not a model file of idm.save (those begin with other bytes); is it a pickle?")
    length, checksum = int.from_bytes(prefix[8:16], "little"), prefix[16:48]
    if length > min(_LONGEST_HEADER, size - _ALIGNMENT) or any(prefix[48:]):
        _fail("the file", "is cut short or altered: the length of its header does not fit")
    text = file.read(length)
    if hashlib.sha256(text).digest() != checksum:
        _fail("the file", "is cut short or altered: its header has another checksum")
    header = _parse(text)
    start = _aligned(_ALIGNMENT + length)
    layout = _layout(_list(header["arrays"], "arrays"), size - start)
    if any(file.read(start - _ALIGNMENT - length)):
        _fail("the file", "is altered: there must be zeros between header and arrays")
    content = np.memmap(file, np.uint8, "r") if mapped else None
    return header, [_read_array(file, start, spec, content) for spec in layout]


def _parse(text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        node = dict(pairs)
        if len(node) < len(pairs):
            _fail("the header", "has a key twice")
        return node

    def refuse(constant: str) -> NoReturn:
        _fail("the header", f"has the number {constant}, which is not finite")

    try:
        header = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except RecursionError:
        _fail("the header", "is nested too deeply")
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        _fail("the header", f"must be of format {_FORMAT!r}")
    found, written_by = header.get("version"), header.get("written_by")
    if type(found) is not int or found != _VERSION:
        _fail(
            "the file",
            f"has format version {found!r:.20} (written by idm {written_by!r:.30}), and idm "
            f"{version('iterated-diffusion-map')} reads version {_VERSION}; install the idm that wrote it, or later",
        )
    names = {"format", "version", "written_by", "class", "parameters", "fitted", "arrays"}
    _names(header, names, names, "the header")
    if not isinstance(written_by, str):
        _fail("written_by", f"must be a version, got {written_by!r:.30}")
    return header


@dataclass(frozen=True, kw_only=True)
class _Spec:
    """Where an array is, and what."""

    where: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    offset: int  # from the start of the first
    n_bytes: int
    padding: int  # zeros before it
    checksum: str


def _layout(entries: list[Any], size: int) -> list[_Spec]:
    """The arrays one after the other, each at the next multiple of 64, up to the end of the file."""
    layout, end = [], 0
    for number, entry in enumerate(entries):
        where = f"arrays[{number}]"
        names = {"dtype", "shape", "order", "offset", "sha256"}
        _names(entry, names, names, where)
        dtype, shape, order = (entry["dtype"], _list(entry["shape"], f"{where}.shape"), entry["order"])
        if not isinstance(dtype, str) or not _DTYPES.fullmatch(dtype):
            _fail(where, f"has the dtype {dtype!r:.30}, which is none of a model")
        if len(shape) > 2 or not all(type(n) is int and 0 <= n < 2**48 for n in shape) or order not in ("C", "F"):
            _fail(where, f"has the shape {shape!r:.60} and the order {order!r:.20}; up to two sizes and 'C' or 'F' fit")
        offset, n_bytes = _aligned(end), math.prod(shape) * np.dtype(dtype).itemsize
        if type(entry["offset"]) is not int or entry["offset"] != offset or offset + n_bytes > size:
            _fail(where, f"is at {entry['offset']!r:.30} with {n_bytes} bytes, which does not fit the file")
        layout.append(
            _Spec(
                where=where,
                dtype=np.dtype(dtype),
                shape=tuple(shape),
                order=order,
                offset=offset,
                n_bytes=n_bytes,
                padding=offset - end,
                checksum=entry["sha256"],
            )
        )
        end = offset + n_bytes
    if end != size:
        _fail("the file", f"has {size - end} bytes after the last array")
    return layout


def _read_array(file: io.BufferedReader, start: int, spec: _Spec, content: NDArray[np.uint8] | None) -> NDArray[Any]:
    begin = start + spec.offset
    file.seek(begin - spec.padding)
    zeros = file.read(spec.padding)
    if content is None:
        raw = np.empty(spec.n_bytes, np.uint8)
        n_read = file.readinto(raw.data)
    else:
        raw = content[begin : begin + spec.n_bytes].view(np.ndarray)
        n_read = len(raw)
    if n_read != spec.n_bytes or any(zeros) or hashlib.sha256(raw.data).hexdigest() != spec.checksum:
        _fail(spec.where, "is cut short or altered: it has another checksum")
    array = raw.view(spec.dtype).reshape(spec.shape, order=spec.order)
    # Bytes that are no values of their type, which NumPy does not expect.
    if spec.dtype.kind == "b" and (raw > 1).any():
        _fail(spec.where, "has truth values other than 0 and 1")
    if spec.dtype.kind == "U" and (raw.view(np.uint32) > 0x10FFFF).any():
        _fail(spec.where, "has characters that do not exist")
    return array


# Values to nodes of JSON and back, by type hints.


def _names(node: Any, least: set[str], most: set[str], where: str) -> None:
    if not isinstance(node, dict):
        _fail(where, f"must be an object of JSON, got {node!r:.60}")
    missing, unknown = least - set(node), set(node) - most
    if missing or unknown:
        _fail(where, f"must have {sorted(least)!s:.500}; missing: {sorted(missing)}, unknown: {sorted(unknown)!s:.200}")


def _list(node: Any, where: str) -> list[Any]:
    if not isinstance(node, list):
        _fail(where, f"must be a list, got {node!r:.60}")
    return node


def _arms(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


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
    return bool(_DTYPES.fullmatch(array.dtype.str) or array.dtype == object if wanted is Any else array.dtype == wanted)


class _Writer:
    """Turns a model into a header, and collects its arrays: one for all that are equal, as views of one memory are."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.entries: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}
        self._end = 0

    def header(self, model: Model) -> dict[str, Any]:
        """The header; its last part are the arrays, which the others refer to."""
        cls = type(model)
        hints = {**_FITTED[cls], **_SET_BY_SKLEARN}
        parameters = _parameter_hints(cls)
        attributes = {name: value for name, value in vars(model).items() if name not in parameters}
        _names(attributes, {*_FITTED[cls], "n_features_in_"}, set(hints), f"this {cls.__name__}")
        fitted = {name: self.node(value, hints[name], name) for name, value in attributes.items()}
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "written_by": version("iterated-diffusion-map"),
            "class": cls.__name__,
            "parameters": {name: _parameter(getattr(model, name), hint, name) for name, hint in parameters.items()},
            "fitted": fitted,
            "arrays": self.entries,
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
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            array = np.ascontiguousarray(array)
        order = "C" if array.flags.c_contiguous else "F"
        kind = {"dtype": array.dtype.str, "shape": list(array.shape), "order": order}
        checksum = hashlib.sha256(_bytes(array)).hexdigest()
        number = self._numbers.setdefault(json.dumps([kind, checksum]), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
            self.entries.append({**kind, "offset": _aligned(self._end), "sha256": checksum})
            self._end = _aligned(self._end) + array.nbytes
        return {"array": number}


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
            _fail("class", f"must be {_one_of(_ESTIMATORS)}, got {name!r:.60}")
        cls = _ESTIMATORS[name]
        hints = _parameter_hints(cls)
        _names(parameters, set(hints), set(hints), "parameters")
        for key, value in parameters.items():
            if not _fits_parameter(value, hints[key]):
                _fail(f"parameters.{key}", f"must not be {value!r:.60}")
        hints = {**_FITTED[cls], **_SET_BY_SKLEARN}
        _names(fitted, {*_FITTED[cls], "n_features_in_"}, set(hints), "fitted")
        model = cls(**parameters)
        for key, node in fitted.items():
            setattr(model, key, self.value(node, hints[key], key))
        if len(self._used) < len(self._arrays):
            _fail("arrays", "has some that nothing refers to")
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
        _fail(where, f"must not be {node!r:.60}")

    def _key(self, key: str, hint: Any, where: str) -> Any:
        if hint is str:
            return key
        cls = vars(exceptions).get(key)
        if not (isinstance(cls, type) and issubclass(cls, Exception)):
            _fail(where, f"has {key!r:.60}, which is no warning or error of idm.exceptions")
        return cls

    def _instance(self, node: dict[str, Any], cls: type, where: str) -> Any:
        hints = {"points": _Array} if cls is NeighborIndex else _field_hints(cls)
        _names(node, {"class", *hints}, {"class", *hints}, where)
        parts = {name: self.value(node[name], hint, f"{where}.{name}") for name, hint in hints.items()}
        if cls is not NeighborIndex:
            return cls(**parts)
        number, points = node["points"]["array"], parts["points"]
        if number not in self._indexes:
            if points.ndim != 2 or points.size == 0 or not points.flags.c_contiguous:
                _fail(where, f"must have points in rows, got shape {points.shape}")
            self._indexes[number] = NeighborIndex(points)
        return self._indexes[number]

    def _array(self, node: dict[str, Any], hint: Any, where: str) -> NDArray[Any]:
        (wanted,) = get_args(get_args(hint)[1])
        if set(node) == {"objects"} and wanted in (Any, np.object_):
            items = _list(node["objects"], where)
            if not all(map(_is_plain, items)) or (wanted is np.object_ and not all(isinstance(i, str) for i in items)):
                _fail(where, "must hold strings or numbers")
            objects = np.empty(len(items), dtype=object)
            objects[:] = items
            return objects
        number = node.get("array")
        if set(node) != {"array"} or type(number) is not int or not 0 <= number < len(self._arrays):
            _fail(where, f"must be one of {len(self._arrays)} arrays, got {node!r:.60}")
        array = self._arrays[number]
        if not _fits_dtype(array, hint):
            _fail(where, f"must not be of dtype {array.dtype}")
        self._used.add(number)
        return array


# What must fit together.


def _parts(value: Any) -> dict[str, Any]:
    """What an estimator or a dataclass holds, by name."""
    return {f.name: getattr(value, f.name) for f in fields(value) if f.init} if is_dataclass(value) else vars(value)


def _walk(value: Any, where: str, scope: str) -> Iterator[tuple[str, str, _Rule, Any]]:
    """All values that have a rule, with their name and the iteration that they belong to."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(item, f"{where}[{number}]", scope)
    elif type(value) in _FITTED or is_dataclass(value):
        scope = where if isinstance(value, _SCOPES) else scope
        for name, part in _parts(value).items():
            path = f"{where}.{name}" if where else name
            rule = _RULES.get(type(value), {}).get(name)
            if rule is not None and part is not None:
                yield (path, scope, rule, part.points if isinstance(part, NeighborIndex) else part)
            yield from _walk(part, path, scope)


def _check(model: Model) -> None:
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
            _fail(where, f"must have {len(letters)} dimensions, got shape {shape}")
        wanted = tuple(size(letter, scope, n) for letter, n in zip(letters, shape, strict=True))
        if shape != wanted:
            _fail(where, f"must have shape ({', '.join(letters)}) = {wanted}, got {shape}")
        if not rule.any_order and len(shape) == 2 and value.flags.f_contiguous and not value.flags.c_contiguous:
            _fail(where, "must be in C order")
    for where, scope, rule, value in checks:
        low, high = rule.low, rule.high
        if rule.size is not None:
            low = high = size(rule.size, scope, value)
        elif rule.below is not None or rule.most is not None:
            high = size(rule.below or rule.most or "", scope, 0) - (rule.below is not None)
        array = np.asarray(value)
        if array.dtype.kind in "iuf" and not ((array >= low) & (array <= high)).all():
            _fail(where, f"must have numbers from {low:.3g} to {high:.3g}, without NaN")
    if isinstance(model, DiffusionMap):
        _check_map(model._map, model.n_features_in_, 0)
        if model._map.flow != PLAIN:
            _fail("flow", "must be that of a plain map")
    elif isinstance(model, LocalKernelMap):
        _check_local_kernel_map(model)
    else:
        _check_iterated(model)


def _check_map(fitted: FittedMap, n_columns: int, n_values: int) -> None:
    columns = fitted.index.points.shape[1], fitted.values.shape[1]
    if columns != (n_columns, n_values):
        _fail("index and values", f"must have {n_columns} and {n_values} columns, got {columns[0]} and {columns[1]}")
    if fitted.n_neighbors > fitted.pool_size:
        _fail("pool_size", f"must be n_neighbors or more, got {fitted.pool_size} and {fitted.n_neighbors}")


def _check_iteration(fitted: Iteration, n_columns: int) -> None:
    derivative = fitted.map.flow.change == "derivative"
    if fitted.map.flow != fitted.settings.flow or (fitted.bandwidth is not None) is not derivative:
        _fail("flow", "must be that of the settings, and a bandwidth is there for derivatives only")
    _check_map(fitted.map, n_columns, fitted.features.shape[1] * (n_columns if derivative else 1))


def _check_local_kernel_map(model: LocalKernelMap) -> None:
    _check_iteration(model._iteration, model.n_features_in_)
    iteration, from_functions = model._iteration, model._from_functions
    sizes = len(model._norms), len(from_functions), model.eigenvalues_.shape[1]
    wanted = (iteration.map.embedding.shape[1], model.feature_map_.shape[1] + 1, iteration.map.embedding.shape[1])
    if sizes != wanted:
        _fail("_norms, _from_functions and eigenvalues_", f"must be of {wanted} functions, got {sizes}")
    if iteration.settings.needs_features or (model._one_feature and from_functions.shape[1] != 1):
        _fail("_one_feature", "must be false with several features, and derivatives must be affine")


def _check_iterated(model: IteratedDiffusionMap | IteratedDiffusionMapClassifier) -> None:
    iterations, records = model._iterations, model.iterations_
    if not 1 <= model.n_iter_ == len(iterations) <= len(records):
        _fail("n_iter_", f"must be the number of iterations kept, {len(iterations)} of {len(records)}")
    if [record.iteration for record in records] != list(range(1, len(records) + 1)):
        _fail("iterations_", "must be numbered from 1")
    n_columns = model.n_features_in_
    for fitted in iterations:
        _check_iteration(fitted, n_columns)
        n_columns = fitted.map.embedding.shape[1]
    if model.embedding_.shape[1] != n_columns:
        _fail("embedding_", f"must have {n_columns} columns, got {model.embedding_.shape[1]}")
    estimated = model._estimate is not None
    if (model._regression is None) != estimated or any(f.settings.needs_features != estimated for f in iterations):
        _fail("_estimate", "must be there unless derivatives are affine, and _regression otherwise")
    if model._feature_map is not None:
        H, _ = model._feature_map
        if H.ndim != 2 or len(H) != n_columns or not np.isfinite(H).all():
            _fail("_feature_map", f"must be finite with {n_columns} rows, got shape {H.shape}")
    n = model._placing.shape[1]
    if isinstance(model, IteratedDiffusionMapClassifier):
        try:
            distinct = np.unique(model.classes_)
        except TypeError:
            distinct = model.classes_[:0]
        if not np.array_equal(distinct, model.classes_):
            _fail("classes_", "must be sorted, and each label once")
    elif model._one_feature and n != 1:
        _fail("_one_feature", "must be false with several features")
