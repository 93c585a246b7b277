"""Which of the extension modules beside this file to use."""

import importlib
import importlib.util
import os
from types import ModuleType


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


def load() -> tuple[ModuleType, str]:
    """Import the fastest variant that this processor can run, or the one named by IDM_ISA."""
    runnable = runnable_variants()
    chosen = os.environ.get("IDM_ISA") or runnable[-1]
    if chosen not in runnable:
        raise ImportError(
            f"IDM_ISA={chosen!r} cannot be used here: this installation has {', '.join(built_variants())}, and "
            f"this processor runs {', '.join(runnable)}. Unset IDM_ISA to let idm choose."
        )
    return importlib.import_module(f"idm._core._{chosen}"), chosen
