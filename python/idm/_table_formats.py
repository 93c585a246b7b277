"""Four formats of tables, .npy, .npz, .csv and .parquet: the columns that are asked for, and never pickle.

Errors of what is in a file are ValueErrors without its name, which `_tables.py` adds.
"""

import csv
import io
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._command_error import CommandError

_Array: TypeAlias = NDArray[np.float64]

# Of a text file that is written: lists of Python's numbers take much more memory than an array.
_ROWS_AT_ONCE = 1000


class Columns(Protocol):
    """What a file has."""

    columns: list[str]  # what they are called, by their numbers if they have no names; none of an array
    named: bool

    def numbers(self, chosen: Sequence[int]) -> NDArray[Any]:
        """Some columns (rows, columns), by their places; an array is taken whole, whatever is in it."""

    def labels(self, chosen: int) -> NDArray[Any]:
        """One column, where texts are welcome."""


class ArrayColumns:
    """An array of NumPy."""

    named = False

    def __init__(self, array: NDArray[Any]) -> None:
        self.columns: list[str] = []
        self._array = array

    def numbers(self, chosen: Sequence[int]) -> NDArray[Any]:
        """The array, of any shape and type."""
        return self._array

    def labels(self, chosen: int) -> NDArray[Any]:
        """The array; a column is as good as a vector."""
        one_column = self._array.ndim == 2 and self._array.shape[1] == 1
        return self._array[:, 0] if one_column else self._array


def read_npy(file: BinaryIO, name: str | None) -> Columns:
    """An array that `numpy.save` wrote."""
    return ArrayColumns(_npy_array(file))


def _npy_array(file: Any) -> NDArray[Any]:
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise ValueError("holds Python objects, which only pickle reads; save numbers, or astype(str)") from error
        raise ValueError(f"is damaged, or not what its name says: {error}") from error


def read_npz(file: BinaryIO, name: str | None) -> Columns:
    """One of the arrays that `numpy.savez` wrote; it needs no name if it is the only one."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [member[:-4] for member in archive.namelist() if member.endswith(".npy")]
            if name is None and len(names) != 1:
                raise ValueError(f"has {len(names)} arrays ({', '.join(names)}); name one, as in FILE.npz:NAME")
            if name is not None and name not in names:
                raise ValueError(f"has no array {name!r}; it has {', '.join(names) or 'none'}")
            with archive.open(f"{name or names[0]}.npy") as member:
                return ArrayColumns(_npy_array(member))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # the last: encrypted, or packed oddly
        raise ValueError(f"is damaged, or not what its name says: {error}") from error


class CsvColumns:
    """Fields between commas, in UTF-8. The first line has names if one of its fields is text."""

    def __init__(self, text: str) -> None:
        self._text = text
        number, fields = next(self._lines(), (0, [""]))
        if not number:
            raise ValueError("is empty")
        if len(fields) == 1 and any(mark in fields[0] for mark in ";\t"):
            raise ValueError("has semicolons or tabs between its fields; save it with commas")
        self.named = not all(_is_number(field) or not field.strip() for field in fields)
        self.columns = [field.strip() if self.named else str(place) for place, field in enumerate(fields)]
        self._n_skipped = number if self.named else 0

    def numbers(self, chosen: Sequence[int]) -> NDArray[Any]:
        """Read by NumPy, which is quick; if it cannot, field by field to tell where the trouble is."""
        for _ in self._rows():  # NumPy would not mind lines that are too long
            pass
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that there are no rows, which the caller tells
                return np.loadtxt(
                    io.StringIO(self._text),
                    delimiter=",",
                    comments=None,
                    quotechar='"',
                    skiprows=self._n_skipped,
                    usecols=list(chosen),
                    ndmin=2,
                )
        except ValueError as error:
            for number, fields in self._rows():
                for place in chosen:
                    if not _is_number(fields[place]):
                        raise self._trouble(number, place, fields[place]) from None
            raise ValueError(f"cannot be read: {error}") from error

    def labels(self, chosen: int) -> NDArray[Any]:
        """Whole numbers; or numbers that are not whole; or texts, as they are written (also 007 and 1.0)."""
        found = []
        for number, fields in self._rows():
            if not fields[chosen].strip():
                raise self._trouble(number, chosen, fields[chosen])
            found.append(fields[chosen])
        if all(text.lstrip("-").isdecimal() and str(int(text)) == text for text in found):
            return np.array(found, dtype=np.int64)
        if all(map(_is_number, found)) and not all(float(text).is_integer() for text in found):
            return np.array(found, dtype=np.float64)
        return np.array(found, dtype=str)

    def _trouble(self, number: int, place: int, field: str) -> ValueError:
        what = f"the text {field!r:.40}" if field.strip() else "an empty field"
        remedy = "choose columns of numbers, as in FILE.csv:NAME,NAME" if field.strip() else "drop or impute such rows"
        return ValueError(f"has {what} in line {number}, column {self.columns[place]!r}; {remedy}")

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Lines that are not empty, with the numbers that an editor shows."""
        reader = csv.reader(io.StringIO(self._text, newline=""))
        try:
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
        except csv.Error as error:
            raise ValueError(f"cannot be read: {error} in line {reader.line_num}") from error

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Lines below the names, all with as many fields."""
        for number, fields in self._lines():
            if number <= self._n_skipped:
                continue
            if len(fields) != len(self.columns):
                raise ValueError(f"has {len(fields)} fields in line {number}, and {len(self.columns)} in the first")
            yield number, fields


def read_csv(file: BinaryIO, name: str | None) -> Columns:
    """A text file; spreadsheets like to begin it with a mark (BOM)."""
    try:
        return CsvColumns(file.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"is not text in UTF-8 ({error.reason} at byte {error.start}); save it as such") from error


class ParquetColumns:
    """A table of Arrow, without the index that pandas may have added."""

    named = True

    def __init__(self, table: Any) -> None:
        self.columns = [name for name in table.column_names if not name.startswith("__index_level_")]
        if not self.columns:
            raise ValueError("has no columns")
        self._table = table.select(self.columns)

    def numbers(self, chosen: Sequence[int]) -> NDArray[Any]:
        """Missing numbers become NaN."""
        found = []
        for place in chosen:
            array = self._table.column(place).to_numpy()
            if array.dtype.kind not in "biuf":
                raise ValueError(
                    f"has {self._table.field(place).type} and not numbers in column {self.columns[place]!r}; choose "
                    "columns of numbers, as in FILE.parquet:NAME,NAME"
                )
            found.append(np.asarray(array, dtype=np.float64))
        return np.column_stack(found)

    def labels(self, chosen: int) -> NDArray[Any]:
        """Of any type that Python has."""
        values = self._table.column(chosen).to_pylist()
        if None in values:
            raise ValueError(
                f"has an empty field in row {values.index(None)}, column {self.columns[chosen]!r}; drop such rows"
            )
        return np.array(values)


def read_parquet(file: BinaryIO, name: str | None) -> Columns:
    """A file of the format that pandas, Arrow and Spark write."""
    check_pyarrow()
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(file)
    except (pyarrow.ArrowException, ValueError, OSError) as error:
        raise ValueError(f"is damaged, or not what its name says: {error}") from error
    return ParquetColumns(table)


def check_pyarrow() -> None:
    """Say what is missing, before it is needed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise CommandError("parquet files need pyarrow: pip install 'iterated-diffusion-map[parquet]'") from error


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def write_npy(file: BinaryIO, array: NDArray[Any], names: Sequence[str], key: str) -> None:
    """As `numpy.save` does."""
    np.lib.format.write_array(file, array, allow_pickle=False)


def write_npz(file: BinaryIO, array: NDArray[Any], names: Sequence[str], key: str) -> None:
    """One array."""
    np.savez(file, allow_pickle=False, **{key: array})


def write_csv(file: BinaryIO, array: NDArray[Any], names: Sequence[str], key: str) -> None:
    """With names in the first line, and the digits that give the same number back."""
    file.write(_csv_lines([list(names)]))
    for start in range(0, len(array), _ROWS_AT_ONCE):
        rows = array[start : start + _ROWS_AT_ONCE]
        file.write(_csv_lines(rows.reshape(len(rows), -1).tolist()))


def _csv_lines(rows: list[list[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def write_parquet(file: BinaryIO, array: NDArray[Any], names: Sequence[str], key: str) -> None:
    """A column for each of the array."""
    import pyarrow.parquet

    columns = np.ascontiguousarray(array.reshape(len(array), -1).T)
    pyarrow.parquet.write_table(pyarrow.table(list(map(pyarrow.array, columns)), names=list(names)), file)


READERS: dict[str, Callable[[BinaryIO, str | None], Columns]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_csv,
    ".parquet": read_parquet,
}
WRITERS: dict[str, Callable[[BinaryIO, NDArray[Any], Sequence[str], str], None]] = {
    ".npy": write_npy,
    ".npz": write_npz,
    ".csv": write_csv,
    ".parquet": write_parquet,
}
# How they begin, for what comes through a pipe and has no name; what begins otherwise is .csv.
BEGINNINGS = {b"\x93NUMPY": ".npy", b"PK": ".npz", b"PAR1": ".parquet"}
