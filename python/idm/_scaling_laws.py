"""How singular values and dimensions scale with the bandwidth at one point (sections 3.1 and 3.3)."""

import operator
from collections.abc import Sized
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from idm import _core
from idm._neighbors import NeighborIndex
from idm._threads import n_threads
from idm._validation import as_bandwidths, as_float, as_points


class ScalingLaws(NamedTuple):
    """The laws at one point for L bandwidths: arrays are (L,), or (L, min(N, m)) per singular value."""

    singular_values: NDArray[np.float64]
    exponents: NDArray[np.float64]
    d1: NDArray[np.float64]
    d2: NDArray[np.float64]
    d_ave: NDArray[np.float64]
    disagreement: NDArray[np.float64]
    weight: NDArray[np.float64]
    best: float


def scaling_laws(X: ArrayLike, point: ArrayLike, bandwidths: ArrayLike, *, n_jobs: int | None = None) -> ScalingLaws:
    """Singular values, their exponents and two dimensions at one point, for a list of bandwidths.

    This is what figures 3, 5 and 6 of the paper show. All points are used, with weights
    ``w = exp(-r^2 / (2 eps))``; tangent directions have singular values that scale as ``eps^(1/2)``, normal ones
    as ``eps``. Everything is in closed form: no differences between the bandwidths are taken.

    Parameters
    ----------
    X : array of shape (N, m)
        The points.
    point : int or array of shape (m,)
        The base point: a row of X, or its coordinates.
    bandwidths : array of shape (L,)
        The values of eps, in any order.
    n_jobs : int, optional
        Threads, at most one per processor; None follows OMP_NUM_THREADS and threadpoolctl.

    Returns
    -------
    ScalingLaws
        A named tuple. `singular_values` and `exponents` (dlog sigma / dlog eps), largest singular value first;
        those that vanish (below 1e-7 of the largest) are 0 and have the exponent 1 of normal directions. `d1` from
        the sum of the weights, `d2` from the exponents, `d_ave` their mean; `disagreement`, the criterion
        M = |d1 - d2| / d_ave + |dlog d1 / dlog eps| + |dlog d2 / dlog eps|, infinite where d2 is not positive;
        `weight`, the sum of the weights; `best`, the bandwidth of least disagreement among those with a weight of
        at least 5 (N / 2, if that is less).

    """
    points = as_points(X, "X")
    eps = as_bandwidths(bandwidths, "bandwidths")
    base = base_point(points, point)
    threads = n_threads(n_jobs)
    name = "point" if isinstance(point, Sized) else "X"
    near = NeighborIndex(points).nearest(base, len(points), threads, name=name)
    singular_values, exponents, laws = _core.scaling_laws(points, base, *near, eps.reshape(1, -1), threads)
    d1, d2, d_ave, disagreement, weight = np.ascontiguousarray(laws.T)
    eligible = weight >= min(_core.least_weight, len(points) / 2)
    if not eligible.any():
        raise ValueError(
            f"bandwidths up to {eps.max():.3g} give the points around {point!r} a weight of {weight.max():.3g} "
            f"only, and less than {_core.least_weight:.0f} says nothing of the geometry; try larger bandwidths"
        )
    eligible &= np.isfinite(disagreement)
    if not eligible.any():
        raise ValueError(
            f"the points around {point!r} have no dimension at these bandwidths: they coincide with it; choose another "
            "point, or remove copies from X"
        )
    best = float(eps[np.argmin(np.where(eligible, disagreement, np.inf))])
    return ScalingLaws(
        singular_values=singular_values,
        exponents=exponents,
        d1=d1,
        d2=d2,
        d_ave=d_ave,
        disagreement=disagreement,
        weight=weight,
        best=best,
    )


def base_point(points: NDArray[np.float64], point: ArrayLike) -> NDArray[np.float64]:
    if isinstance(point, int | np.generic) or not isinstance(point, Sized):
        try:
            row = operator.index(point)  # type: ignore[arg-type]
        except TypeError:
            row = None
        if row is None or isinstance(point, bool):
            raise TypeError(f"point must be a row of X or an array of coordinates, got {point!r}")
        if not -len(points) <= row < len(points):
            raise ValueError(f"point must be a row of X, from 0 to {len(points) - 1}, or its coordinates, got {row}")
        return np.ascontiguousarray(points[row].reshape(1, -1))
    array = as_float(point, "point")
    if array.ndim != 1:
        raise ValueError(f"point must be one point of {points.shape[1]} coordinates, got shape {array.shape}")
    return as_points(array.reshape(1, -1), "point", n_columns=points.shape[1])
