"""The linear map H of section 4.2, from final coordinates to the rescaled diffusion coordinates of the feature."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._coordinates import diffusion_coordinates
from idm._kernel import global_bandwidth
from idm._neighbors import Neighbors

_Array: TypeAlias = NDArray[np.float64]

_N_NEIGHBORS, _N_COMPONENTS, _TIME = 300, 10, 0.25


def feature_map(embedding: _Array, features: _Array, threads: int) -> tuple[_Array, float]:
    """H (M', n), by least squares of centred coordinates, and the relative residual.

    Equal features are one point of the feature's manifold, so that its diffusion map is of distinct values; H has no
    columns if there is only one.
    """
    values, rows = np.unique(features, axis=0, return_inverse=True)
    n, unit = len(values), float(np.ptp(values, axis=0).max())
    if n < 3:
        return np.zeros((embedding.shape[1], 0)), 0.0
    values /= unit
    neighbors = Neighbors(*_core.nearest_neighbors(values, None, min(_N_NEIGHBORS, n), threads))
    epsilon = global_bandwidth(neighbors.distances, 32, quiet=True)
    time = _TIME * float(np.mean(neighbors.distances[:, -1] ** 2)) / epsilon
    coordinates = diffusion_coordinates(
        neighbors, epsilon, min(_N_COMPONENTS, n - 1), threads, alpha=1.0, diffusion_time=time,
        rescaling="isometric", n_near=32, eigen_solver="auto", exact=True, quiet=True,
    ).embedding(time)  # fmt: skip
    target = unit * coordinates[rows.ravel()]
    target = target - target.mean(axis=0)
    centred = embedding - embedding.mean(axis=0)
    H, *_ = np.linalg.lstsq(centred, target, rcond=1e-10)
    residual = float(np.linalg.norm(centred @ H - target) / max(np.linalg.norm(target), np.finfo(float).tiny))
    return H, residual
