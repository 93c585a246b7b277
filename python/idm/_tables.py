"""Tables as the command line names them: FILE, FILE:NAME, or "-" for a pipe. Errors begin with that name."""

import io
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._command_error import CommandError, UsageError, refusals, writing
from idm._table_formats import BEGINNINGS, READERS, WRITERS, Columns, check_pyarrow
from idm._validation import as_float
from idm._whole_file import check_writable, whole_file

_Array: TypeAlias = NDArray[np.float64]

PIPE = "-"
_CHOICE = re.compile(rf"(.*(?:{'|'.join(map(re.escape, READERS))})):(.+)", re.IGNORECASE | re.DOTALL)


class Table:
    """A file whose columns are read when they are asked for."""

    def __init__(self, source: str) -> None:
        self.path, name = split_source(source)
        self.source = "standard input" if source == PIPE else source
        self._columns = _read(self.path, self.source, name)
        self.named = self._columns.named
        self.chosen: list[int] | None = None  # by the user
        if name is not None and self._columns.columns:
            self.chosen = self.places([name] if name in self._columns.columns else name.split(","))

    def places(self, names: Sequence[str], why: str = "") -> list[int]:
        """Where the columns with these names are; `why` they are needed."""
        columns = self._columns.columns
        for name in names:
            if (n := columns.count(name)) != 1:
                raise CommandError(
                    f"{self.path} has {f'{n} columns' if n else 'no column'} {name!r}{why}; it has {_some(columns)}"
                )
        return [columns.index(name) for name in names]

    def names(self, places: Sequence[int]) -> list[str] | None:
        """What the columns at these places are called; None if some have no name of their own."""
        found = [self._columns.columns[place] for place in places]
        return found if self.named and len(set(found)) == len(found) and all(found) else None

    def all_but(self, others: Sequence[int] = ()) -> list[int]:
        """All columns but those; one without a name is the index of a data frame, and nobody wants it."""
        places = [place for place in range(len(self._columns.columns)) if place not in others]
        if any(not self._columns.columns[place] for place in places):
            raise CommandError(
                f"{self.source} has a column without a name, as pandas writes its index; leave that out (index=False), "
                "or choose columns, as in FILE:NAME,NAME"
            )
        if others and not places:
            raise CommandError(f"{self.source} has no columns but those of y")
        return places

    def points(self, places: Sequence[int]) -> _Array:
        """Numbers (rows, columns), all finite."""
        return self._finite(self._numbers(places))

    def features(self) -> _Array:
        """Numbers, (rows,) or (rows, features); the one column of a text file is the former."""
        places = self._chosen_or_all()
        array = self._numbers(places)
        return self._finite(array.ravel() if len(places) == 1 or array.ndim == 1 else array)

    def labels(self) -> NDArray[Any]:
        """One column of numbers or texts."""
        places = self._chosen_or_all()
        if len(places) > 1:
            raise CommandError(
                f"{self.source} has {len(places)} columns, and labels are one; choose it, as in FILE:NAME"
            )
        with refusals(f"{self.source} "):
            array = self._columns.labels(places[0] if places else 0)
        if array.ndim != 1:
            raise CommandError(f"{self.source} has shape {array.shape}; labels are one column")
        if array.dtype.kind not in "biufU":  # others do not fit into a model file
            raise CommandError(
                f"{self.source} has labels of dtype {array.dtype}; save numbers, or texts as astype(str)"
            )
        return array

    def first_line(self) -> str:
        """The names in it, as they were written."""
        return ",".join(self._columns.columns)

    def _chosen_or_all(self) -> list[int]:
        return self.all_but() if self.chosen is None else self.chosen

    def _numbers(self, places: Sequence[int]) -> _Array:
        with refusals(f"{self.source} "):
            array = self._columns.numbers(places)
        with refusals():
            array = as_float(array, self.source)
        if array.ndim == 0 or array.ndim > 2 or array.size == 0:
            raise CommandError(
                f"{self.source} has shape {array.shape}; it needs a row for each point, and some of them"
            )
        return array

    def _finite(self, array: _Array) -> _Array:
        wrong = ~np.isfinite(array)
        if wrong.any():
            place = np.argwhere(wrong)[0]
            where = ", ".join(f"{axis} {n}" for axis, n in zip(("row", "column"), place, strict=False))
            raise CommandError(
                f"{self.source} has {counted(int(wrong.sum()), 'NaN or infinite value')}, the first in {where} "
                "(counted from 0); drop or impute such rows"
            )
        return array


def split_source(source: str) -> tuple[str, str | None]:
    """FILE:NAME as its parts; a file that is called so goes first."""
    found = _CHOICE.fullmatch(source)
    if found is None or os.path.exists(source):
        return source, None
    # The bytes of the argument, which are UTF-8 as in the files, whatever the locale made of them.
    return found[1], os.fsencode(found[2]).decode(errors="replace")


def _read(path: str, source: str, name: str | None) -> Columns:
    if path == PIPE:
        content = sys.stdin.buffer.read()
        ending = next((ending for start, ending in BEGINNINGS.items() if content.startswith(start)), ".csv")
        with refusals(f"{source} "):
            return READERS[ending](io.BytesIO(content), name)
    ending = _ending(path, source)
    if name is not None and ending == ".npy":
        raise UsageError(f"{source}: a .npy file has nothing to choose from; that is for .npz, .csv and .parquet")
    with open(path, "rb") as file, refusals(f"{path} "):
        return READERS[ending](file, name)


def _ending(path: str, source: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in READERS:
        raise UsageError(f"{source} must end in {_one_of(READERS)}, or be {PIPE!r} for a pipe")
    return ending


def counted(n: int, what: str) -> str:
    """1 row, 2 rows."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def _one_of(names: Any) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


def _some(columns: Sequence[str]) -> str:
    """Names for an error, not thousands of them."""
    return ", ".join(columns[:20]) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")


def check_output(path: str) -> None:
    """Refuse what `write_table` could not write to, before anything is computed."""
    if path == PIPE:
        return
    if _ending(path, path) == ".parquet":
        check_pyarrow()
    check_writable(Path(path))


def write_table(path: str, array: NDArray[Any], key: str) -> None:
    """Write rows in the format of the path's ending, through a pipe as .csv; `key` names array or columns."""
    array = np.array(array.tolist()) if array.dtype == object else array
    n_columns = 1 if array.ndim == 1 else array.shape[1]
    names = [key] if n_columns == 1 else [f"{key}{number}" for number in range(n_columns)]
    if path == PIPE:
        WRITERS[".csv"](sys.stdout.buffer, array, names, key)
        sys.stdout.buffer.flush()
        return
    with writing(path), whole_file(Path(os.path.realpath(path))) as file:
        WRITERS[_ending(path, path)](file, array, names, key)
