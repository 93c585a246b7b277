"""Iterated diffusion maps: find the variable that matters in data that hide it.

The steps of the method are functions on arrays, each in a module of the same name. Modules are imported when a name of
theirs is first used: scikit-learn takes a second, which `idm --help` need not wait for.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

# At once: it says what is wrong with an installation, and notices when the process forks.
from idm import _core as _core

if TYPE_CHECKING:
    from idm import datasets, exceptions, plot
    from idm._config import show_config
    from idm._diffusion_map import DiffusionMap
    from idm._iterated_diffusion_map import IteratedDiffusionMap, IteratedDiffusionMapClassifier
    from idm._local_derivatives import local_derivatives
    from idm._local_geometry import local_geometry
    from idm._local_kernel_map import LocalKernelMap
    from idm._memory import estimate_memory
    from idm._model_file import load, save
    from idm._neighbors import nearest_neighbors
    from idm._scaling_laws import scaling_laws
    from idm._tangent_spaces import tangent_spaces

__version__ = _version("iterated-diffusion-map")

__all__ = [
    "DiffusionMap",
    "IteratedDiffusionMap",
    "IteratedDiffusionMapClassifier",
    "LocalKernelMap",
    "__version__",
    "datasets",
    "estimate_memory",
    "exceptions",
    "load",
    "local_derivatives",
    "local_geometry",
    "nearest_neighbors",
    "plot",
    "save",
    "scaling_laws",
    "show_config",
    "tangent_spaces",
]

# Where names are that are not modules themselves.
_HOMES = {
    "DiffusionMap": "_diffusion_map",
    "IteratedDiffusionMap": "_iterated_diffusion_map",
    "IteratedDiffusionMapClassifier": "_iterated_diffusion_map",
    "LocalKernelMap": "_local_kernel_map",
    "estimate_memory": "_memory",
    "load": "_model_file",
    "local_derivatives": "_local_derivatives",
    "local_geometry": "_local_geometry",
    "nearest_neighbors": "_neighbors",
    "save": "_model_file",
    "scaling_laws": "_scaling_laws",
    "show_config": "_config",
    "tangent_spaces": "_tangent_spaces",
}


if not TYPE_CHECKING:  # to a type checker, these would make every name a public one

    def __getattr__(name: str) -> object:
        """A public name that is used for the first time; afterwards it is an attribute like any other."""
        if name in _HOMES:
            value = getattr(_import_module(f"idm.{_HOMES[name]}"), name)
        elif name in __all__:
            value = _import_module(f"idm.{name}")
        else:
            raise AttributeError(f"module 'idm' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """Public names, used or not."""
        return sorted({*globals(), *__all__})
