"""Eigenfunctions and rescaled coordinates: the claims of section 2.1."""

import numpy as np
import pytest

import idm
from idm import _core
from idm._coordinates import MapOptions, _density, diffusion_coordinates
from idm._metric import Flow, metric_neighbors
from idm._variable_bandwidth import scaled_lengths
from idm._warnings import Advice
from idm.exceptions import SpectrumWarning

each_bandwidth = pytest.mark.parametrize("bandwidth", ["variable", "global"])


def circle(n):
    t = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(t), np.sin(t)])


def coordinates(neighbors, epsilon, n_components, exact=True, diffusion_time=10.0, rescaling="global", **changes):
    """With one bandwidth for all, whose spectrum is known, unless `changes` say otherwise."""
    options = MapOptions(
        n_components=n_components,
        epsilon=epsilon,
        diffusion_time=diffusion_time,
        rescaling=rescaling,
        **{"bandwidth": "global", **changes},
    )
    return diffusion_coordinates(neighbors, options, 2, exact=exact)


@each_bandwidth  # those of evenly spaced points are all the same
def test_circle_has_the_reference_values(bandwidth):
    # 2000 equally spaced points, k = 300, s = 0.01, eps = 1e-4; density 1 / (2 pi), dimension 1.
    found = coordinates(idm.nearest_neighbors(circle(2000), 300), 1e-4, 60, diffusion_time=100.0, bandwidth=bandwidth)
    np.testing.assert_allclose(found.eigenvalues[0:8:2], [-1.00005, -4.0002, -9.0004, -16.0008], atol=6e-5)
    # xi is right to N times machine precision, and lambda = 2 log(xi) / eps.
    bound = 2000 * np.finfo(float).eps * 2 / 1e-4
    np.testing.assert_allclose(found.eigenvalues[1:8:2], found.eigenvalues[0:8:2], rtol=0, atol=bound)
    np.testing.assert_allclose(found.density, 1 / (2 * np.pi), rtol=2e-4)
    np.testing.assert_allclose(found.dimension, 1, rtol=1e-4)
    embedding, step = found.embedding, 2 * np.pi / 2000
    for n_steps, ratio in ((1, 1.000), (10, 0.997)):
        distances = np.linalg.norm(embedding - np.roll(embedding, n_steps, axis=0), axis=1)
        np.testing.assert_allclose(distances / (n_steps * step), ratio, rtol=0, atol=2e-4)


@each_bandwidth
def test_eigenfunctions_are_normalised_by_the_density(rng, bandwidth):
    found = coordinates(idm.nearest_neighbors(rng.normal(size=(800, 2)), 100), 0.05, 12, bandwidth=bandwidth)
    np.testing.assert_allclose(np.mean(found.functions**2 / found.density[:, np.newaxis], axis=0), 1, rtol=3e-14)


@pytest.mark.large
@pytest.mark.parametrize("time", [1e-4, 1e-3, 1e-2])
@each_bandwidth
def test_near_points_of_the_circle_keep_their_geodesic_distance(time, bandwidth):
    # Figure 2, left: all distances agree below sqrt(t).
    neighbors, epsilon = idm.nearest_neighbors(circle(2000), 300), 1e-4
    found = coordinates(neighbors, epsilon, 400, diffusion_time=time / epsilon, bandwidth=bandwidth)
    embedding = found.embedding
    for n_steps in (1, 2, 3):
        geodesic = n_steps * 2 * np.pi / 2000
        if geodesic < 0.4 * np.sqrt(time):
            distance = np.linalg.norm(embedding - np.roll(embedding, n_steps, axis=0), axis=1)
            np.testing.assert_allclose(distance, geodesic, rtol=0.008)


def test_heat_spectrum_is_that_of_the_circle():
    # Figure 2, middle.
    neighbors, orders = idm.nearest_neighbors(circle(2000), 300), np.repeat(np.arange(1, 21), 2)
    for time in (1e-4, 1e-3, 1e-2):
        found = coordinates(neighbors, 1e-4, 40, diffusion_time=time / 1e-4)
        np.testing.assert_allclose(found.heat, np.exp(-(orders**2) * time), rtol=5e-4)


@pytest.mark.large
@each_bandwidth
def test_iterating_the_plain_map_changes_nothing(bandwidth):
    # Figure 2, right: the second pass has the first one's eigenvalues, and its eigenfunctions up to an orthogonal map.
    neighbors = idm.nearest_neighbors(circle(2000), 300)
    first = coordinates(neighbors, 1e-4, 60, diffusion_time=100.0, bandwidth=bandwidth)
    neighbors = idm.nearest_neighbors(first.embedding, 300)
    second = coordinates(neighbors, 1e-4, 60, diffusion_time=100.0, bandwidth=bandwidth)
    np.testing.assert_allclose(second.eigenvalues[:10], first.eigenvalues[:10], rtol=0.01)
    a, b = first.functions[:, :10], second.functions[:, :10]
    u, _, vt = np.linalg.svd(b.T @ a)
    for before, after in zip(a.T, (b @ (u @ vt)).T, strict=True):
        assert np.corrcoef(before, after)[0, 1] > 0.9999


@pytest.mark.large
@pytest.mark.parametrize("derivative", ["exact", "estimated"])
def test_an_ellipse_with_the_metric_of_the_circle_has_its_eigenvalues(derivative):
    # Theorem 2.1. The ellipse is sampled unevenly for the circle, too: the normalisation has to mend that.
    t = np.arange(3000) * 2 * np.pi / 3000
    t = t + 0.3 * np.sin(t)
    y = np.column_stack([np.cos(t), np.sin(t)])
    X = y * [3.0, 1.0]
    if derivative == "exact":
        DH = np.broadcast_to(np.diag([1 / 3, 1.0]), (3000, 2, 2)).copy()
    else:
        DH = idm.local_derivatives(X, y, n_neighbors=50, regularization=1e-6)
    pool = idm.nearest_neighbors(X, 400)
    flow = Flow(tau=1.0, mixing="metric", change="derivative")
    neighbors = metric_neighbors(X, DH.reshape(3000, -1), pool, flow, 200, 2)
    found = coordinates(neighbors, 1e-4, 8, exact=False)
    np.testing.assert_allclose(found.eigenvalues, [-1, -1, -4, -4, -9, -9, -16, -16], rtol=3e-4)
    # Without it, they are those of a circle as long as the ellipse is (13.36 instead of 2 pi).
    plain = coordinates(idm.nearest_neighbors(X, 200), 1e-3, 8)
    np.testing.assert_allclose(plain.eigenvalues[:2], -((2 * np.pi / 13.365) ** 2), rtol=0.0015)


@pytest.mark.large
@pytest.mark.parametrize(("rescaling", "median"), [("isometric", 1e-9), ("global", 0.1), ("local", 0.1)])
def test_near_pairs_of_a_torus_keep_their_distance(rescaling, median):
    X, _, _ = idm.datasets.make_torus(4000, feature="phi", random_state=1)
    neighbors = idm.nearest_neighbors(X, 300)
    found = coordinates(neighbors, None, 60, rescaling=rescaling)
    mapped = _core.pair_distances(found.embedding, neighbors.indices[:, 1:32].copy(), 2)
    ratios = mapped / neighbors.distances[:, 1:32]
    assert np.median(ratios) == pytest.approx(1, abs=median)
    # The spread is that of a random sample: half of the pairs are within 9 %, with local dimensions within 20 %.
    assert np.diff(np.quantile(ratios, [0.25, 0.75])) < (0.4 if rescaling == "local" else 0.18)


@pytest.mark.large
def test_near_pairs_keep_their_lengths_in_units_of_both_scales():
    X, _, _ = idm.datasets.make_torus(4000, feature="phi", random_state=1)
    neighbors = idm.nearest_neighbors(X, 300)
    found = coordinates(neighbors, None, 60, rescaling="isometric", bandwidth="variable")
    rho = found.local_scales.scales[:, 2]
    assert rho.max() > 1.5 * rho.min()
    lengths = (neighbors.distances / np.sqrt(rho[:, np.newaxis] * rho[neighbors.indices]))[:, 1:32]
    mapped = _core.pair_distances(found.embedding, neighbors.indices[:, 1:32].copy(), 2)
    ratios = mapped / lengths
    assert np.median(ratios) == pytest.approx(1, abs=1e-9)
    # Scales, of 32 random points each, scatter by 5 %, and add to the spread of a random sample.
    assert np.diff(np.quantile(ratios, [0.25, 0.75])) < 0.2
    # In those lengths, dense and thin parts of the torus are equal; in those of X they are not.
    edge, of_s = neighbors.distances[:, 31], np.median(ratios, axis=1)
    dense = edge < np.median(edge)
    assert np.median(of_s[dense]) / np.median(of_s[~dense]) == pytest.approx(1, abs=0.05)
    of_X = np.median(mapped / neighbors.distances[:, 1:32], axis=1)
    assert np.median(of_X[dense]) / np.median(of_X[~dense]) > 1.1


def test_the_diffusion_time_is_at_most_about_that_of_points_on_a_line(rng):
    """Where the last neighbour is across a gap, it says nothing of the others; not so with one bandwidth for all."""
    X = np.concatenate([rng.uniform(size=(6, 40)) + 10 * np.arange(6)[:, np.newaxis]]).reshape(-1, 1)
    times = {}
    for bandwidth in ("variable", "global"):
        options = MapOptions(n_components=5, bandwidth=bandwidth)
        found = diffusion_coordinates(idm.nearest_neighbors(X, 50), options, 2, exact=True)
        neighbors, n_near = idm.nearest_neighbors(X, 50), 12
        if bandwidth == "variable":
            neighbors, _ = scaled_lengths(neighbors, n_near, 2)
        s = neighbors.distances
        times[bandwidth] = 0.25 * np.mean(s[:, -1] ** 2) / found.epsilon
        expected = min(16, times[bandwidth]) if bandwidth == "variable" else times[bandwidth]
        assert found.diffusion_time == pytest.approx(expected, rel=1e-12)
    assert min(times.values()) > 16  # or it would not be tested
    line = np.arange(3000.0)[:, np.newaxis]
    found = diffusion_coordinates(idm.nearest_neighbors(line, 64), MapOptions(n_components=5), 2, exact=True)
    assert found.diffusion_time == pytest.approx(12, rel=0.1)


def test_eigenvalues_that_are_not_positive_have_coordinates_0():
    neighbors = idm.nearest_neighbors(circle(200), 41)
    advice = Advice(remedies={SpectrumWarning: "lower it"})
    with pytest.warns(SpectrumWarning, match=r"\d+ of 199 eigenvalues .*; lower it") as told:
        found = coordinates(neighbors, 10.0, 199, advice=advice)
    zero = found.xi <= 0
    assert zero.sum() == int(str(told[0].message).split()[0]) > 0
    assert np.isneginf(found.eigenvalues[zero]).all()
    embedding = found.embedding
    assert np.isfinite(embedding).all()
    assert not embedding[:, zero].any()
    assert embedding[:, ~zero].any(axis=0).all()


def test_density_stays_finite_where_powers_overflow():
    # (2 pi eps)^(-d/2) is 1e+345 here.
    found = _density(np.array([1.0, 2.0]), 1e-6, np.full(2, 135.0))
    assert np.isfinite(found).all()
    assert (found > 1e300).all()


def test_a_long_time_does_not_underflow(rng):
    neighbors = idm.nearest_neighbors(rng.normal(size=(300, 2)), 60)
    found = coordinates(neighbors, 0.05, 5, diffusion_time=1e5, rescaling="isometric")
    embedding = found.embedding
    assert np.isfinite(embedding).all()
    assert embedding[:, 0].any()


@pytest.mark.filterwarnings("ignore::idm.exceptions.DisconnectedGraphWarning")
def test_the_scale_does_not_come_from_rounding_errors(rng):
    # All near pairs have equal coordinates: two, for three clusters.
    X = rng.normal(size=(300, 2)) + np.repeat(1e4 * np.arange(3)[:, np.newaxis], 100, axis=0)
    found = coordinates(idm.nearest_neighbors(X, 40), 0.05, 2, rescaling="isometric")
    assert 1e-3 < np.abs(found.embedding).max() < 1e3
