"""Iterated diffusion maps: find the variable that matters in data that hide it.

The steps of the method are functions on arrays, each in a module of the same name.
"""

from importlib.metadata import version as _version

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
