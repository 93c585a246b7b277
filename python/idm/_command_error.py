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
