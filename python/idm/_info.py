"""`idm info`: what is in a model file, in words and figures."""

import os

from idm._array_file import read_header
from idm._command_error import refusals
from idm._facts import facts, parameters, table
from idm._iterated_map import IteratedMap
from idm._model_commands import load, model_path

_WIDTHS = (9, 13, 10, 8, 8)


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
        ("parameters", parameters(model)),
        *facts(model),
    ]
    for name, text in rows:
        print(f"{name:<12}{text}")
    if isinstance(model, IteratedMap):
        print()
        for *figures, mark in table(model):
            line = "".join(f"{text:>{width}}" for text, width in zip(figures, _WIDTHS, strict=True))
            print(f"{line} {mark}".rstrip())
