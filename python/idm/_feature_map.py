"""The linear map H of section 4.2, from final coordinates to the rescaled diffusion coordinates of the feature."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._coordinates import MapOptions, diffusion_coordinates
from idm._neighbors import NeighborIndex
from idm._threads import one_blas_thread

_Array: TypeAlias = NDArray[np.float64]

_N_NEIGHBORS, _N_COMPONENTS = 300, 10


def feature_map(embedding: _Array, features: _Array, threads: int) -> tuple[_Array, float]:
    """H (M', n), by least squares of centred coordinates, and the relative residual.

    Equal features are one point of the feature's manifold, so that its diffusion map is of distinct values; H has no
    columns if there is only one.
    """
    values, rows = np.unique(features, axis=0, return_inverse=True)
    n, unit = len(values), float(np.ptp(values, axis=0).max())
    if n < 3:
        return np.zeros((embedding.shape[1], 0)), 0.0
    neighbors = NeighborIndex(values / unit).nearest(None, min(_N_NEIGHBORS, n), threads, name="y")
    coordinates = diffusion_coordinates(neighbors, MapOptions(n_components=_N_COMPONENTS), threads, exact=True)
    target = unit * coordinates.embedding[rows.ravel()]
    target = target - target.mean(axis=0)
    centred = embedding - embedding.mean(axis=0)
    with one_blas_thread():
        H, *_ = np.linalg.lstsq(centred, target, rcond=1e-10)
        residual = float(np.linalg.norm(centred @ H - target) / max(np.linalg.norm(target), np.finfo(float).tiny))
    return H, residual
