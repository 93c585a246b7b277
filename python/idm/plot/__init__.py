"""Pictures of maps and their iterations. Needs matplotlib: ``pip install 'iterated-diffusion-map[plot]'``.

Every function but `iterations`, which makes a figure, draws in the axes `ax` and returns them, so that their titles,
limits and scales can be changed. Without `ax` it makes a new pyplot figure, as scikit-learn's displays do.
"""

from idm.plot._iterations import iterations
from idm.plot._points import embedding, local_dimension, neighbors
from idm.plot._relevance import relevance
from idm.plot._scaling_laws import scaling_laws
from idm.plot._spectrum import spectrum
from idm.plot._validation_curve import validation_curve

__all__ = [
    "embedding",
    "iterations",
    "local_dimension",
    "neighbors",
    "relevance",
    "scaling_laws",
    "spectrum",
    "validation_curve",
]
