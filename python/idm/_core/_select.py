"""Which of the extension modules beside this file to use."""

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Iterator
from types import ModuleType

# Some microseconds: as long as a thread takes to fall asleep and to wake up again.
_SPINS = "1000"


def built_variants() -> tuple[str, ...]:
    """Names of the variants in this installation, the fastest last."""
    return tuple(isa for isa in ("baseline", "v3") if importlib.util.find_spec(f"idm._core._{isa}"))


def runnable_variants() -> tuple[str, ...]:
    """Those among them that this processor can run."""
    built = built_variants()
    if not built:
        raise ImportError(
            "The compiled part of idm is missing. If you are in a source checkout, install it with "
            "`pip install .` and start Python from another folder; otherwise reinstall "
            "iterated-diffusion-map."
        )
    baseline = importlib.import_module("idm._core._baseline")
    return tuple(isa for isa in built if isa == "baseline" or baseline.cpu_has_v3())


@contextlib.contextmanager
def _short_waits() -> Iterator[None]:
    """Threads of GNU OpenMP that wait for others go to sleep soon, instead of taking the processor from them.

    It reads its settings once, when it is loaded. Those of the user go first.
    """
    if {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = _SPINS
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


def load() -> tuple[ModuleType, str]:
    """Import the fastest variant that this processor can run, or the one named by IDM_ISA."""
    with _short_waits():
        runnable = runnable_variants()
    chosen = os.environ.get("IDM_ISA") or runnable[-1]
    if chosen not in runnable:
        raise ImportError(
            f"IDM_ISA={chosen!r} cannot be used here: this installation has {', '.join(built_variants())}, and "
            f"this processor runs {', '.join(runnable)}. Unset IDM_ISA to let idm choose."
        )
    return importlib.import_module(f"idm._core._{chosen}"), chosen
