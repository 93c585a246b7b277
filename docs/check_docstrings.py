"""Numpydoc's validation of every public name: python docs/check_docstrings.py."""

import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

from numpydoc.validate import ERROR_MSGS, validate

import idm

# All checks but these.
LEFT_OUT = {
    "ES01",  # an extended summary: where one line says it all, there is none
    "EX01",  # examples: the estimators have them, their methods need none
    "GL01",  # summaries start beside the opening quotes, which only later versions of numpydoc allow
    "GL02",  # ruff wants a blank line before the closing quotes of a docstring with sections
    "GL03",
    "PR08",  # capital letters: descriptions may start with a symbol of the paper, such as s or gamma
    "SA01",  # "See Also": names in the text are links
    "SS05",  # "third person": it takes nouns such as "Points" for verbs
}


def public_names(module: ModuleType) -> Iterator[str]:
    """What users may call: the names of a module, and the methods of its classes that are not scikit-learn's."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    for name in getattr(module, "__all__", own):
        value, full = getattr(module, name), f"{module.__name__}.{name}"
        if name.startswith("_"):
            continue
        if inspect.ismodule(value):
            yield from public_names(value)
            continue
        yield full
        if inspect.isclass(value):
            for method, function in inspect.getmembers(value, callable):
                if not method.startswith("_") and str(getattr(function, "__module__", "")).startswith("idm"):
                    yield f"{full}.{method}"


def main() -> int:
    """Print what is wrong, and return 1 if anything is."""
    names = list(public_names(idm))
    found = [(name, *error) for name in names for error in validate(name)["errors"] if error[0] not in LEFT_OUT]
    for name, code, message in found:
        print(f"{name}: {code} {message}")
    print(f"{len(names)} names, {len(ERROR_MSGS) - len(LEFT_OUT)} checks, {len(found)} errors")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
