"""One file of a JSON header and raw arrays, each with a checksum: the bytes of a model file, whatever they mean.

docs/model_files.md has the format.
"""

import hashlib
import io
import json
import math
import os
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from idm._whole_file import whole_file

_MAGIC, FORMAT, VERSION = b"\x89idm\r\n\x1a\n", "idm model", 1
# Magic, length of the header (8 bytes, little-endian), its SHA-256, zeros; arrays start at multiples of it, too.
_ALIGNMENT = 64
_PREFIX_ZEROS = _ALIGNMENT - len(_MAGIC) - 8 - 32
# JSON takes up to 30 times its size in memory.
_LONGEST_HEADER = 2**24
DTYPES = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,5}")


def fail(where: str, problem: str) -> NoReturn:
    """Refuse what a file says, or would have to say."""
    raise ValueError(f"{where} {problem}")


def check_names(node: Any, least: set[str], most: set[str], where: str) -> None:
    """Refuse what is no object of JSON with these keys."""
    if not isinstance(node, dict):
        fail(where, f"must be an object of JSON, got {node!r:.60}")
    missing, unknown = least - set(node), set(node) - most
    if missing or unknown:
        fail(where, f"must have {sorted(least)!s:.500}; missing: {sorted(missing)}, unknown: {sorted(unknown)!s:.200}")


def as_list(node: Any, where: str) -> list[Any]:
    """A list of JSON."""
    if not isinstance(node, list):
        fail(where, f"must be a list, got {node!r:.60}")
    return node


class Arrays:
    """Arrays on their way to a file: one for all that are equal, as views of one memory are."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []  # of the header
        self._arrays: list[NDArray[Any]] = []
        self._numbers: dict[str, int] = {}
        self._end = 0

    def number(self, array: NDArray[Any]) -> int:
        """That which stands for the array in the header."""
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            array = np.ascontiguousarray(array)
        order = "C" if array.flags.c_contiguous else "F"
        kind = {"dtype": array.dtype.str, "shape": list(array.shape), "order": order}
        checksum = hashlib.sha256(_bytes(array)).hexdigest()
        number = self._numbers.setdefault(json.dumps([kind, checksum]), len(self._arrays))
        if number == len(self._arrays):
            self._arrays.append(array)
            self.entries.append({**kind, "offset": _aligned(self._end), "sha256": checksum})
            self._end = _aligned(self._end) + array.nbytes
        return number

    def write(self, target: Path, header: dict[str, Any]) -> None:
        """Write the file under another name in the same folder, and rename it when it is on the disk."""
        with whole_file(target) as file:
            _write(file, header, self._arrays)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _bytes(array: NDArray[Any]) -> memoryview:
    """The memory of an array that is contiguous in C or Fortran order."""
    return array.ravel(order="K").view(np.uint8).data


def _write(file: BinaryIO, header: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(text) > _LONGEST_HEADER:
        fail("the header", f"would have {len(text)} bytes, more than {_LONGEST_HEADER}; shorten the feature names")
    file.write(_MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + bytes(_PREFIX_ZEROS))
    parts: list[bytes | memoryview] = [text, *map(_bytes, arrays)]
    for part in parts:
        file.write(bytes(_aligned(file.tell()) - file.tell()))
        file.write(part)


def read_file(file: io.BufferedReader, *, mapped: bool) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The header and the arrays; none of these is allocated before all sizes are known to be those of the file."""
    size = os.fstat(file.fileno()).st_size
    header, length = read_header(file, size)
    start = _aligned(_ALIGNMENT + length)
    layout = _layout(as_list(header["arrays"], "arrays"), size - start)
    if any(file.read(start - _ALIGNMENT - length)):
        fail("the file", "is altered: there must be zeros between header and arrays")
    content = np.memmap(file, np.uint8, "r") if mapped else None
    return header, [_read_array(file, start, spec, content) for spec in layout]


def read_header(file: io.BufferedReader, size: int) -> tuple[dict[str, Any], int]:
    """The header of a file of that size, and the bytes that it takes."""
    prefix = file.read(_ALIGNMENT)
    if prefix[: len(_MAGIC)] != _MAGIC:
        fail("the file", "is not a model file of idm.save (those begin with other bytes); is it a pickle?")
    length, checksum = int.from_bytes(prefix[8:16], "little"), prefix[16:48]
    if length > min(_LONGEST_HEADER, size - _ALIGNMENT) or any(prefix[48:]):
        fail("the file", "is cut short or altered: the length of its header does not fit")
    text = file.read(length)
    if hashlib.sha256(text).digest() != checksum:
        fail("the file", "is cut short or altered: its header has another checksum")
    return _parse(text), length


def _parse(text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        node = dict(pairs)
        if len(node) < len(pairs):
            fail("the header", "has a key twice")
        return node

    def refuse(constant: str) -> NoReturn:
        fail("the header", f"has the number {constant}, which is not finite")

    try:
        header = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except RecursionError:
        fail("the header", "is nested too deeply")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        fail("the header", f"must be of format {FORMAT!r}")
    found, written_by = header.get("version"), header.get("written_by")
    if type(found) is not int or found != VERSION:
        fail(
            "the file",
            f"has format version {found!r:.20} (written by idm {written_by!r:.30}), and idm "
            f"{version('iterated-diffusion-map')} reads version {VERSION}; install the idm that wrote it, or later",
        )
    names = {"format", "version", "written_by", "class", "parameters", "fitted", "arrays"}
    check_names(header, names, names, "the header")
    if not isinstance(written_by, str):
        fail("written_by", f"must be a version, got {written_by!r:.30}")
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
        check_names(entry, names, names, where)
        dtype, shape, order = (entry["dtype"], as_list(entry["shape"], f"{where}.shape"), entry["order"])
        if not isinstance(dtype, str) or not DTYPES.fullmatch(dtype):
            fail(where, f"has the dtype {dtype!r:.30}, which is none of a model")
        if len(shape) > 2 or not all(type(n) is int and 0 <= n < 2**48 for n in shape) or order not in ("C", "F"):
            fail(where, f"has the shape {shape!r:.60} and the order {order!r:.20}; up to two sizes and 'C' or 'F' fit")
        offset, n_bytes = _aligned(end), math.prod(shape) * np.dtype(dtype).itemsize
        if type(entry["offset"]) is not int or entry["offset"] != offset or offset + n_bytes > size:
            fail(where, f"is at {entry['offset']!r:.30} with {n_bytes} bytes, which does not fit the file")
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
        fail("the file", f"has {size - end} bytes after the last array")
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
        fail(spec.where, "is cut short or altered: it has another checksum")
    array = raw.view(spec.dtype).reshape(spec.shape, order=spec.order)
    # Bytes that are no values of their type, which NumPy does not expect.
    if spec.dtype.kind == "b" and (raw > 1).any():
        fail(spec.where, "has truth values other than 0 and 1")
    if spec.dtype.kind == "U" and (raw.view(np.uint32) > 0x10FFFF).any():
        fail(spec.where, "has characters that do not exist")
    return array
