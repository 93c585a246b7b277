"""Data with known answers."""

from functools import partial

import numpy as np
import pytest

from idm import datasets

close = partial(np.testing.assert_allclose, rtol=1e-14)

MAKERS = {
    "annulus": (datasets.make_annulus, 2),
    "torus": (datasets.make_torus, 3),
    "curved torus": (datasets.make_curved_torus, 30),
    "sphere": (datasets.make_sphere, 3),
    "circle": (datasets.make_circle, 2),
}


@pytest.mark.parametrize("name", MAKERS)
def test_rows_belong_together_and_a_seed_repeats_them(name):
    make, m = MAKERS[name]
    one, again, noisy = (make(400, random_state=3, noise=noise) for noise in (0.0, 0.0, 0.1))
    assert one.X.shape == (400, m)
    assert len(one.coordinates) == len(one.y) == 400
    assert one.y.ndim == one.coordinates.ndim == 2
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(noisy.coordinates, one.coordinates)
    np.testing.assert_array_equal(noisy.y, one.y)
    assert (noisy.X - one.X).std() == pytest.approx(0.1, rel=0.1)


def test_points_and_features_follow_from_the_coordinates():
    annulus = datasets.make_annulus(100, random_state=0)
    close(np.linalg.norm(annulus.X, axis=1), annulus.coordinates[:, 1])
    np.testing.assert_array_equal(annulus.y[:, 0], annulus.coordinates[:, 1])
    angle = datasets.make_annulus(100, feature="angle", random_state=0)
    close(angle.y * annulus.y, annulus.X[:, ::-1])
    for column, feature in enumerate(("theta", "phi")):
        torus = datasets.make_torus(100, feature=feature, random_state=0)
        close(np.arctan2(*torus.y.T) % (2 * np.pi), torus.coordinates[:, column])
        close((np.hypot(torus.X[:, 0], torus.X[:, 1]) - 2) ** 2 + torus.X[:, 2] ** 2, 1)
    sphere = datasets.make_sphere(100, n_dimensions=5, random_state=0)
    close(np.linalg.norm(sphere.X, axis=1), 1)
    np.testing.assert_array_equal(sphere.y[:, 0], sphere.X[:, 0])
    twist = datasets.make_sphere(100, feature="twist", random_state=0)
    x, y, z = twist.X.T
    np.testing.assert_array_equal(twist.y[:, 0], np.sin(np.pi * z / 2 + np.arctan2(y, x)))
    circle = datasets.make_circle(100, sampling="random", random_state=0)
    close(circle.y, circle.X[:, ::-1])


def test_the_curved_torus_is_the_torus_and_its_cubes_in_an_orthonormal_frame():
    curved = datasets.make_curved_torus(400, sampling="grid", random_state=0)
    close(curved.X[:, :3], datasets.make_torus(400, sampling="grid").X)
    cubes = curved.X[:, :3] ** 3 / 30
    close(curved.X[:, 3:] @ curved.X[:, 3:].T, cubes @ cubes.T, atol=2e-15)


def test_grids_are_grids():
    torus = datasets.make_torus(100, sampling="grid")
    close(np.unique(torus.coordinates[:, 0]), 2 * np.pi * np.arange(10) / 10)
    assert len(np.unique(torus.coordinates, axis=0)) == 100
    close(datasets.make_circle(8).coordinates[:, 0], 2 * np.pi * np.arange(8) / 8)


@pytest.mark.parametrize(
    ("make", "arguments", "error", "words"),
    [
        (datasets.make_torus, {"n_samples": 99, "sampling": "grid"}, ValueError, "square number.*such as 121"),
        (datasets.make_torus, {"feature": "x"}, ValueError, "feature must be one of 'theta', 'phi'"),
        (datasets.make_annulus, {"n_samples": 0}, ValueError, "n_samples must be at least 1, got 0"),
        (datasets.make_circle, {"noise": -1.0}, ValueError, "noise must be finite and between 0 and"),
        (datasets.make_circle, {"sampling": "halton"}, ValueError, "sampling must be one of"),
        (datasets.make_sphere, {"feature": "twist", "n_dimensions": 3}, ValueError, "n_dimensions=2, got 3"),
    ],
)
def test_bad_arguments_are_named(make, arguments, error, words):
    with pytest.raises(error, match=words):
        make(**arguments)
