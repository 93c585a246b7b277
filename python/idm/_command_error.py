"""Errors that are for the user of the command line to mend: one line, no traceback."""

import contextlib
from collections.abc import Iterator


class CommandError(Exception):
    """Something is wrong with a file or with what is in it."""

    status = 1


class UsageError(CommandError):
    """Arguments that do not fit together, whatever is in the files."""

    status = 2


@contextlib.contextmanager
def refusals(prefix: str = "") -> Iterator[None]:
    """Calls of libraries, whose ValueError and TypeError are about the data or parameters that they were given."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise CommandError(f"{prefix}{error}") from error


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """A file on its way to the disk, where errors may come without its name, or with a temporary one."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error
