"""The feature at new points: local affine regression, with a bandwidth that predicts left-out points best."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._neighbors import Neighbors

_Array: TypeAlias = NDArray[np.float64]

# Shares of the tuned bandwidth that are tried; derivatives like larger bandwidths than values do.
_FACTORS = (1.0, 0.5, 0.25, 0.125, 0.0625)
# Points that are left out to compare them, at most.
_MOST_LEFT_OUT = 2000


@dataclass(frozen=True, kw_only=True)
class FeatureEstimate:
    """Data (N, m), their features (N, n) and the bandwidth (N,) of the regression at each of them."""

    points: _Array
    features: _Array
    bandwidth: _Array
    regularization: float
    n_neighbors: int

    def at(self, queries: _Array, found: Neighbors, twins: NDArray[np.intp], threads: int) -> _Array:
        """The feature (Q, n) at new points with their neighbours; where these coincide with data, that of the data."""
        near = found.first(self.n_neighbors)
        bandwidth = self.bandwidth[near.indices[:, :1]]
        fitted = _regression(self.points, self.features, queries, near, bandwidth, self.regularization, threads)
        return np.where(twins >= 0, self.features[twins[:, 0]], fitted)


def estimate_feature(
    points: _Array, features: _Array, neighbors: Neighbors, bandwidth: _Array, regularization: float, threads: int
) -> FeatureEstimate:
    """Choose the share of the local bandwidth with the least error at points left out of their own regression."""
    n, k = neighbors.indices.shape
    rows = np.arange(n)[:: max(1, n // _MOST_LEFT_OUT)]
    others = Neighbors(neighbors.indices[rows, 1:].copy(), neighbors.distances[rows, 1:].copy())
    errors = []
    for factor in _FACTORS:
        eps = (factor * bandwidth[rows]).reshape(-1, 1)
        fitted = _regression(points, features, points[rows], others, eps, regularization, threads)
        errors.append(np.sum((fitted - features[rows]) ** 2))
    best = _FACTORS[int(np.argmin(errors))]
    return FeatureEstimate(
        points=points, features=features, bandwidth=best * bandwidth, regularization=regularization, n_neighbors=k
    )


def _regression(
    points: _Array,
    features: _Array,
    bases: _Array,
    neighbors: Neighbors,
    bandwidth: _Array,
    regularization: float,
    threads: int,
) -> _Array:
    _, fitted = _core.local_derivatives(
        points, features, bases, None, *neighbors, bandwidth, "affine", regularization, threads
    )
    return fitted
