"""What an iteration came to, for the user."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._iteration import Iteration
from idm._spectrum import SolverInfo

_Array: TypeAlias = NDArray[np.float64]
_Rows: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class IterationRecord:
    """What an iteration came to; arrays per point are of the landmarks.

    Attributes
    ----------
    iteration : int
        Its number, from 1.
    epsilon, diffusion_time : float
        The bandwidth of its kernel, and s in units of it.
    eigenvalues : array
        Of the Laplacian in the metric of the flow, one per coordinate. Where the graph has fallen into parts, those of
        all parts, after a 0 for each direction in which the parts lie.
    local_dimension, density : array of shape (L,)
        At the landmarks, in that metric.
    component : array of int of shape (L,)
        The connected part of the graph of neighbours that each landmark is in, by decreasing size; all 0, as a rule.
    landmarks : array of int of shape (L,)
        Rows of X.
    embedding : array of shape (L, M')
        Their coordinates.
    n_coordinates : int
        M', those that matter.
    distance_change : float
        Of random pairs since the iteration before, relative, but for a common factor.
    validation_score : float or None
        R^2 of the feature at rows that were held out, from neighbours in the embedding.
    solver : SolverInfo
        What the eigensolver did: its name, products, restarts and residuals.
    seconds : float
        What it took.

    """

    iteration: int
    epsilon: float
    diffusion_time: float
    eigenvalues: _Array
    local_dimension: _Array
    density: _Array
    component: _Rows
    landmarks: _Rows
    embedding: _Array
    n_coordinates: int
    distance_change: float
    validation_score: float | None
    solver: SolverInfo
    seconds: float


def record_of(fitted: Iteration, **figures: Any) -> IterationRecord:
    """Of a fitted iteration, and figures that it does not know itself."""
    coordinates = fitted.map.coordinates
    return IterationRecord(
        epsilon=coordinates.epsilon,
        diffusion_time=coordinates.diffusion_time,
        eigenvalues=coordinates.eigenvalues,
        local_dimension=fitted.local_dimension,
        density=coordinates.density,
        component=coordinates.parts,
        n_coordinates=fitted.map.embedding.shape[1],
        solver=coordinates.solver,
        **figures,
    )
