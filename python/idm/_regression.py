"""Features by linear regression on the coordinates, where no estimate of them is needed to place rows."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

from idm._linear_map import linear_map
from idm._threads import one_blas_thread

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Regression:
    """(z - centre) A + constant."""

    centre: _Array  # (M',)
    A: _Array  # (M', n)
    constant: _Array  # (n,)

    def at(self, embedding: _Array) -> _Array:
        """The features (Q, n), each row's by itself, to the bit."""
        return linear_map(embedding - self.centre, self.A) + self.constant


def fit_regression(embedding: _Array, features: _Array) -> Regression:
    """Linear regression of the features on the coordinates, with a ridge that predicts left-out rows best."""
    with one_blas_thread():
        scaler = StandardScaler().fit(embedding)
        ridge = RidgeCV(np.logspace(-10, 2, 13)).fit(scaler.transform(embedding), features)
    slopes = np.atleast_2d(ridge.coef_).T
    return Regression(centre=scaler.mean_, A=slopes / scaler.scale_[:, np.newaxis], constant=ridge.intercept_)
