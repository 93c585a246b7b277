"""Data with known answers: manifolds of the paper, their intrinsic coordinates and their features."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from idm._validation import as_choice, as_integer, as_real

_Array = NDArray[np.float64]
_Seed = int | np.random.RandomState | None


class Dataset(NamedTuple):
    """Points, where they lie on the manifold, and the feature to find: a named tuple whose rows belong together.

    Parameters
    ----------
    X : array of shape (N, m)
        The points.
    coordinates : array of shape (N, d)
        Where they lie on the manifold.
    y : array of shape (N, n)
        Their features.

    """

    X: _Array
    coordinates: _Array
    y: _Array


def make_annulus(
    n_samples: int = 2000,
    *,
    feature: Literal["radius", "angle"] = "radius",
    noise: float = 0.0,
    random_state: _Seed = None,
) -> Dataset:
    """Random points of the annulus 1 <= r <= 3 in the plane, with r and the angle uniform.

    Parameters
    ----------
    n_samples : int
        The number of points.
    feature : {"radius", "angle"}
        The feature is r, or (sin angle, cos angle).
    noise : float
        The standard deviation of Gaussian noise added to X, not to the rest.
    random_state : int, RandomState or None
        Makes the sample repeatable.

    Returns
    -------
    Dataset
        X (N, 2), coordinates (angle, r), and y of one or two columns.

    """
    rng, n = _start(n_samples, random_state)
    chosen = as_choice(feature, "feature", ("radius", "angle"))
    angle, r = rng.uniform(0, 2 * np.pi, n), rng.uniform(1, 3, n)
    X = np.c_[r * np.cos(angle), r * np.sin(angle)]
    y = r[:, None] if chosen == "radius" else _on_circle(angle)
    return Dataset(_noisy(X, noise, rng), np.c_[angle, r], y)


def make_torus(
    n_samples: int = 2000,
    *,
    feature: Literal["theta", "phi"] = "theta",
    sampling: Literal["random", "grid"] = "random",
    noise: float = 0.0,
    random_state: _Seed = None,
) -> Dataset:
    """The torus ((2 + cos theta) cos phi, (2 + cos theta) sin phi, sin theta).

    Parameters
    ----------
    n_samples : int
        The number of points, a square number for a grid.
    feature : {"theta", "phi"}
        The feature is (sin, cos) of this angle.
    sampling : {"random", "grid"}
        Both angles uniform, or on a grid.
    noise : float
        The standard deviation of Gaussian noise added to X, not to the rest.
    random_state : int, RandomState or None
        Makes the sample repeatable.

    Returns
    -------
    Dataset
        X (N, 3), coordinates (theta, phi), and y of two columns.

    """
    rng, n = _start(n_samples, random_state)
    chosen = as_choice(feature, "feature", ("theta", "phi"))
    coordinates = _two_angles(rng, n, sampling)
    y = _on_circle(coordinates[:, 0 if chosen == "theta" else 1])
    return Dataset(_noisy(_torus(coordinates), noise, rng), coordinates, y)


def make_curved_torus(
    n_samples: int = 10_000,
    *,
    feature: Literal["theta", "phi"] = "theta",
    sampling: Literal["random", "grid"] = "random",
    noise: float = 0.0,
    random_state: _Seed = None,
) -> Dataset:
    """The torus in R^30 of section 3.3, an embedding of high curvature.

    Three coordinates are those of `make_torus`; the other 27 are their third powers divided by 30, mapped by a random
    matrix with orthonormal columns.

    Parameters
    ----------
    n_samples : int
        The number of points, a square number for a grid.
    feature : {"theta", "phi"}
        The feature is (sin, cos) of this angle.
    sampling : {"random", "grid"}
        Both angles uniform, or on a grid.
    noise : float
        The standard deviation of Gaussian noise added to X, not to the rest. The paper's is ``sqrt(1 / 50)``.
    random_state : int, RandomState or None
        Makes the sample repeatable.

    Returns
    -------
    Dataset
        X (N, 30), coordinates (theta, phi), and y of two columns.

    """
    rng, n = _start(n_samples, random_state)
    chosen = as_choice(feature, "feature", ("theta", "phi"))
    coordinates = _two_angles(rng, n, sampling)
    X = _torus(coordinates)
    basis = np.linalg.qr(rng.normal(size=(27, 3)))[0]
    X = np.hstack([X, X**3 / 30 @ basis.T])
    y = _on_circle(coordinates[:, 0 if chosen == "theta" else 1])
    return Dataset(_noisy(X, noise, rng), coordinates, y)


def make_sphere(
    n_samples: int = 2000,
    *,
    n_dimensions: int = 2,
    feature: Literal["x", "twist"] = "x",
    noise: float = 0.0,
    random_state: _Seed = None,
) -> Dataset:
    """Uniform random points of the unit sphere.

    Parameters
    ----------
    n_samples : int
        The number of points.
    n_dimensions : int
        Of the sphere, one less than those of the space around it.
    feature : {"x", "twist"}
        The first Cartesian coordinate x, or on the 2-sphere sin(pi z / 2 + atan2(y, x)).
    noise : float
        The standard deviation of Gaussian noise added to X, not to the rest.
    random_state : int, RandomState or None
        Makes the sample repeatable.

    Returns
    -------
    Dataset
        X, the same without noise as coordinates, and y of one column.

    """
    rng, n = _start(n_samples, random_state)
    dimension = as_integer(n_dimensions, "n_dimensions", low=1)
    chosen = as_choice(feature, "feature", ("x", "twist"))
    if chosen == "twist" and dimension != 2:
        raise ValueError(f"feature='twist' is defined for n_dimensions=2, got {dimension}; use feature='x' there")
    X = rng.normal(size=(n, dimension + 1))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X[:, 0] if chosen == "x" else np.sin(np.pi * X[:, 2] / 2 + np.arctan2(X[:, 1], X[:, 0]))
    return Dataset(_noisy(X, noise, rng), X, y[:, None].copy())


def make_circle(
    n_samples: int = 2000,
    *,
    sampling: Literal["grid", "random"] = "grid",
    noise: float = 0.0,
    random_state: _Seed = None,
) -> Dataset:
    """Points on the unit circle, equally spaced or random.

    Parameters
    ----------
    n_samples : int
        The number of points.
    sampling : {"grid", "random"}
        Equally spaced angles, or uniform ones.
    noise : float
        The standard deviation of Gaussian noise added to X, not to the rest.
    random_state : int, RandomState or None
        Makes the sample repeatable.

    Returns
    -------
    Dataset
        X (N, 2), the angle, and (sin, cos) of it as y.

    """
    rng, n = _start(n_samples, random_state)
    chosen = as_choice(sampling, "sampling", ("grid", "random"))
    angle = 2 * np.pi * np.arange(n) / n if chosen == "grid" else rng.uniform(0, 2 * np.pi, n)
    X = np.c_[np.cos(angle), np.sin(angle)]
    return Dataset(_noisy(X, noise, rng), angle[:, None], _on_circle(angle))


def _start(n_samples: int, random_state: _Seed) -> tuple[np.random.RandomState, int]:
    return check_random_state(random_state), as_integer(n_samples, "n_samples", low=1)


def _noisy(X: _Array, noise: float, rng: np.random.RandomState) -> _Array:
    scale = as_real(noise, "noise", low=0, high=1e100)
    return np.asarray(X + scale * rng.normal(size=X.shape))


def _on_circle(angle: _Array) -> _Array:
    return np.column_stack([np.sin(angle), np.cos(angle)])


def _two_angles(rng: np.random.RandomState, n: int, sampling: str) -> _Array:
    if as_choice(sampling, "sampling", ("random", "grid")) == "random":
        return np.asarray(rng.uniform(0, 2 * np.pi, (n, 2)))
    side = round(np.sqrt(n))
    if side * side != n:
        raise ValueError(f"n_samples={n} must be a square number for sampling='grid', such as {(side + 1) ** 2}")
    angle = 2 * np.pi * np.arange(side) / side
    return np.stack(np.meshgrid(angle, angle, indexing="ij"), axis=-1).reshape(-1, 2)


def _torus(coordinates: _Array) -> _Array:
    theta, phi = coordinates.T
    ring = 2 + np.cos(theta)
    return np.column_stack([ring * np.cos(phi), ring * np.sin(phi), np.sin(theta)])
