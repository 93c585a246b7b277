"""Iterated diffusion maps: find the variable that matters in data that hide it.

The steps of the method are functions on arrays, each in a module of the same name.
"""

from importlib.metadata import version as _version

from idm import exceptions
from idm.config import show_config
from idm.neighbors import nearest_neighbors

__version__ = _version("iterated-diffusion-map")

__all__ = ["__version__", "exceptions", "nearest_neighbors", "show_config"]
