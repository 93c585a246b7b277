"""One iteration and several, against the NumPy twin from end to end."""

from dataclasses import replace

import numpy as np
import pytest

import idm
import reference
from idm import IteratedDiffusionMap
from idm._iteration import extend_iteration, fit_iteration
from idm._neighbors import NeighborIndex
from idm._progress import Progress

pytestmark = pytest.mark.usefixtures("variant")

N, K = 260, 60


def settings(change, mixing):
    return IteratedDiffusionMap(
        40, tau=0.7, mixing=mixing, n_neighbors=K, n_neighbors_bandwidth=32, feature_change=change, feature_scale=1.0,
        early_stopping=False, max_iter=2, tol=0.0,
    )  # fmt: skip


def assert_same_distances(found, expected):
    """Coordinates agree up to an orthogonal map: signs, and turns of equal eigenvalues."""
    assert found.shape == expected.shape
    a, b = (reference.pairwise_distances(Z, Z) for Z in (found, expected))
    np.testing.assert_allclose(a, b, rtol=0, atol=2e-13 * b.max())


@pytest.mark.parametrize("change", ["difference", "derivative"])
@pytest.mark.parametrize("mixing", ["lengths", "metric"])
@pytest.mark.parametrize("bandwidth", ["variable", "global"])
def test_an_iteration_and_its_extension_agree_with_numpy(change, mixing, bandwidth):
    X, _, y = idm.datasets.make_torus(N, feature="theta", random_state=3)
    new, _, y_new = idm.datasets.make_torus(40, feature="theta", random_state=4)
    expected = reference.Iteration(X, y, K, 0.7, mixing, change, 40, bandwidth=bandwidth)
    chosen, index = settings(change, mixing)._settings(N), NeighborIndex(X)
    chosen = replace(chosen, map=replace(chosen.map, bandwidth=bandwidth))
    pool = index.nearest(None, chosen.pool_size(N), 2)
    fitted = fit_iteration(index, pool, y, chosen, 2, Progress())
    assert fitted.map.coordinates.epsilon == pytest.approx(expected.epsilon, rel=1e-14, abs=0)
    np.testing.assert_allclose(fitted.map.coordinates.eigenvalues, expected.eigenvalues, rtol=1e-13)
    assert_same_distances(fitted.map.embedding, expected.embedding)

    extended, nearest = extend_iteration(fitted, new, y_new, 2)
    assert fitted.map.near(nearest).all()
    assert_same_distances(
        np.vstack([fitted.map.embedding, extended]), np.vstack([expected.embedding, expected.extend(new, y_new)])
    )


@pytest.mark.parametrize("change", ["difference", "derivative"])
def test_two_iterations_with_estimated_features_agree_with_numpy(change):
    X, _, y = idm.datasets.make_annulus(N, feature="radius", random_state=5)
    new, _, _ = idm.datasets.make_annulus(40, feature="radius", random_state=6)
    model = settings(change, "lengths").fit(X, y)
    at_rows, at_new = reference.feature_estimate(X, y, new) if change == "difference" else (y, None)
    bandwidth = "variable" if change == "difference" else "global"  # derivatives are the paper's own way
    first = reference.Iteration(X, at_rows, K, 0.7, "lengths", change, 40, bandwidth=bandwidth)
    second = reference.Iteration(first.embedding, at_rows, K, 0.7, "lengths", change, 40, bandwidth=bandwidth)
    assert_same_distances(model.embedding_, second.embedding)
    extended = second.extend(first.extend(new, at_new), at_new)
    assert_same_distances(np.vstack([model.embedding_, model.transform(new)]), np.vstack([second.embedding, extended]))
    if change == "difference":
        np.testing.assert_allclose(model.predict(new), at_new, rtol=5e-13)
        np.testing.assert_allclose(model.predict(X), at_rows, rtol=5e-13)
