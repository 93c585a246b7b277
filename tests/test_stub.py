"""The stub of the extension says what the extension says of itself.

stubtest compares names. Of a compiled function it sees no signature: pybind11 writes that into the docstring.
"""

import inspect
import typing
from pathlib import Path

import numpy
import pytest

import idm
from idm import _core


def functions(scope):
    """Functions, and methods as Class.method, by name."""
    found = {}
    for name, value in scope.items():
        if inspect.isclass(value):
            found |= {f"{name}.{method}": f for method, f in functions(vars(value)).items()}
        elif inspect.isroutine(value) and (not name.startswith("_") or name == "__init__"):
            found[name] = value
    return found


def documented(function):
    """A function with the signature of the docstring."""
    scope = {"idm": idm, "numpy": numpy, "typing": typing}
    exec(f"def {function.__doc__.strip()}: ...", scope)
    return scope[function.__name__]


def is_array(annotation):
    return "ndarray" in str(annotation).lower()


_stub = {"__name__": "stub"}
exec(Path(_core.__file__).with_suffix(".pyi").read_text(), _stub)
STUB = functions({name: value for name, value in _stub.items() if getattr(value, "__module__", None) == "stub"})
COMPILED = functions({name: getattr(_core, name) for name in _core.__all__})


def test_the_same_functions_and_methods():
    assert STUB.keys() == COMPILED.keys()


@pytest.mark.parametrize("name", sorted(STUB.keys() & COMPILED.keys()))
def test_the_same_arguments(name):
    stub, compiled = (inspect.signature(f).parameters.values() for f in (STUB[name], documented(COMPILED[name])))
    assert [(p.name, p.kind, p.default) for p in stub] == [(p.name, p.kind, p.default) for p in compiled]
    for ours, theirs in zip(stub, compiled, strict=True):
        if is_array(theirs.annotation):
            assert ours.annotation == theirs.annotation, ours.name
