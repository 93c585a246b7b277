"""The rows of a fit of the iterated map: those that carry the geometry, and what places all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from idm._batches import batches
from idm._feature_estimate import FeatureEstimate
from idm._iteration import Iteration, NewPoints, Settings
from idm._neighbors import NeighborIndex

_Array: TypeAlias = NDArray[np.float64]
_Rows: TypeAlias = NDArray[np.intp]

# One in so many landmarks are the neighbours that a held-out row is predicted from.
_SCORED_SHARE = 20


@dataclass(frozen=True, kw_only=True)
class FitRows:
    """The rows of a fit, numbered from 0, and what places them."""

    of_X: _Rows | None  # (S,), their numbers in X; None: the same
    points: _Array  # (S, m)
    features: _Array  # (S, n), measured
    held_out: _Rows
    outlying: _Rows  # whose features are not used
    landmarks: _Rows
    settings: Settings
    estimate: FeatureEstimate | None  # None: affine derivatives need none
    placing: _Array  # (S, n), estimated features, or measured ones if there is no estimate; of landmarks at least
    scale: float  # what they are multiplied by

    def numbers(self, rows: _Rows) -> _Rows:
        """The numbers of some rows in X."""
        return rows if self.of_X is None else self.of_X[rows]


def all_coordinates(
    rows: FitRows, embedding: _Array, iterations: list[Iteration], threads: int, done: Callable[[int], object]
) -> _Array:
    """The coordinates (S, M') of all rows, given those of the landmarks."""
    result = np.empty((len(rows.points), embedding.shape[1]))
    result[rows.landmarks] = embedding
    others = np.setdiff1d(np.arange(len(result)), rows.landmarks, assume_unique=True)
    for part in batches(len(others)):
        some = others[part]
        new = NewPoints(rows.points[some], rows.scale * rows.placing[some])
        result[some] = new.through(iterations, threads).coordinates
        done(len(some))
    return result


def held_out_score(rows: FitRows, image: NeighborIndex, coordinates: _Array, threads: int) -> float | None:
    """R^2 of features predicted as the mean of many neighbours in the coordinates: what the map is for.

    A linear regression on all coordinates predicts as well before the irrelevant directions are gone.
    """
    if len(rows.held_out) == 0:
        return None
    k, features = max(1, len(image) // _SCORED_SHARE), rows.features[rows.landmarks]
    predicted = np.empty((len(rows.held_out), features.shape[1]))
    for part in batches(len(predicted), k * features.shape[1]):
        found = image.nearest(coordinates[part], k, threads)
        predicted[part] = features[found.indices].mean(axis=1)
    return float(r2_score(rows.features[rows.held_out], predicted))
