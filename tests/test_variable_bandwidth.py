"""A bandwidth of its own for each point."""

import numpy as np
import pytest

import idm
import reference
from idm import _core
from idm._kernel import global_bandwidth
from idm._metric import Flow, metric_neighbors
from idm._neighbors import Neighbors
from idm._variable_bandwidth import scaled_lengths

pytestmark = pytest.mark.usefixtures("variant")


def of_points(X, k, n_near, n_threads=2):
    """The neighbours, and a, b and rho, the median r, and R."""
    neighbors = idm.nearest_neighbors(X, k)
    return neighbors, *_core.local_scales(*neighbors, n_near, n_threads)


def eighths(neighbors, scales):
    """How far the eighth neighbour of each point is, by lengths in units of some scales."""
    scaled = _core.scale_lengths(*neighbors, np.ascontiguousarray(scales).reshape(-1, 1), 2)
    return scaled[:, min(8, scaled.shape[1] - 1)]  # of 24 first neighbours or more


def assert_agrees_with_numpy(neighbors, n_near):
    scaled, found = scaled_lengths(neighbors, n_near, 2)
    scales, unit, reach = reference.local_scales(*neighbors, n_near)
    np.testing.assert_allclose(found.scales, scales, rtol=1e-14)
    np.testing.assert_allclose([found.unit, found.reach], [unit, reach], rtol=1e-14)
    assert found.n_near == n_near
    np.testing.assert_array_equal(scaled.indices, neighbors.indices)
    expected = reference.scaled_lengths(*neighbors, scales[:, 2])
    np.testing.assert_allclose(scaled.distances, expected, rtol=1e-14)


@pytest.mark.parametrize(("n", "k", "n_near"), [(300, 64, 16), (300, 64, 64), (300, 64, 1), (301, 9, 2), (200, 8, 2),
                                                (2, 2, 2), (3, 1, 1), (1, 1, 1), (1000, 256, 32)])  # fmt: skip
def test_agrees_with_numpy(rng, n, k, n_near):
    assert_agrees_with_numpy(idm.nearest_neighbors(rng.standard_t(2, size=(n, 2)), k), n_near)


@pytest.mark.parametrize("change", ["difference", "derivative"])
def test_lengths_of_a_flow_agree_with_numpy(rng, change):
    X, values = rng.normal(size=(300, 2)), rng.standard_t(2, size=(300, 2))
    pool = idm.nearest_neighbors(X, 100)
    assert_agrees_with_numpy(
        metric_neighbors(X, values, pool, Flow(tau=0.9, mixing="metric", change=change), 60, 2), 15
    )


def test_lengths_and_neighbors_of_anything_agree_with_numpy(rng):
    indices = np.array([[i, *rng.choice(np.delete(np.arange(50), i), 11, replace=False)] for i in range(50)])
    lengths = np.hstack([np.zeros((50, 1)), np.sort(np.exp(rng.normal(scale=3, size=(50, 11))), axis=1)])
    assert_agrees_with_numpy(Neighbors(indices, lengths), 5)


@pytest.mark.parametrize("factor", [1e-150, 1e-3, 7.0, 1e150])
def test_scales_have_no_unit(rng, factor):
    X = rng.standard_t(2, size=(300, 2))
    neighbors, scales, unit, reach = of_points(X, 40, 10)
    by_factor = Neighbors(neighbors.indices, neighbors.distances * factor)
    scales_by_factor, *sizes = _core.local_scales(*by_factor, 10, 2)
    np.testing.assert_allclose(scales_by_factor, scales, rtol=1e-14)
    np.testing.assert_allclose(sizes, [factor * unit, factor * reach], rtol=1e-14)
    # And those of the lengths that result are the same, but for the factor.
    first, then = (
        _core.scale_lengths(*near, s[:, 2:].copy(), 2)
        for near, s in ((neighbors, scales), (by_factor, scales_by_factor))
    )
    np.testing.assert_allclose(then, factor * first, rtol=1e-14)


@pytest.mark.parametrize("power", [-900, -500, 1, 500, 1000])
def test_powers_of_two_change_no_bit(rng, power):
    """Also where squares of lengths would overflow or underflow."""
    neighbors, scales, unit, reach = of_points(rng.standard_t(3, size=(300, 2)), 40, 10)
    found = _core.local_scales(neighbors.indices, neighbors.distances * 2.0**power, 10, 2)
    np.testing.assert_array_equal(found[0], scales)
    assert found[1:] == (2.0**power * unit, 2.0**power * reach)


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_every_thread_count_gives_the_same_bits(rng, n_threads):
    neighbors = idm.nearest_neighbors(rng.standard_t(2, size=(2000, 3)), 40)
    one, many = (_core.local_scales(*neighbors, 10, n) for n in (1, n_threads))
    np.testing.assert_array_equal(one[0], many[0])
    assert one[1:] == many[1:]
    one, many = (_core.scale_lengths(*neighbors, one[0][:, 2:].copy(), n) for n in (1, n_threads))
    np.testing.assert_array_equal(one, many)


def test_a_length_is_the_same_there_and_back_to_the_bit(rng):
    neighbors = idm.nearest_neighbors(rng.standard_t(2, size=(60, 2)), 60)
    scaled, _ = scaled_lengths(neighbors, 15, 2)
    matrix = np.empty((60, 60))
    np.put_along_axis(matrix, scaled.indices, scaled.distances, axis=1)
    np.testing.assert_array_equal(matrix, matrix.T)


# --- what the scales do


def test_evenly_spread_points_all_have_the_scale_1():
    t = 2 * np.pi * np.arange(500) / 500
    X = np.column_stack([np.cos(t), np.sin(t)])
    _, scales, unit, reach = of_points(X, 64, 16)
    np.testing.assert_allclose(scales, 1, rtol=1e-12)
    assert reach == pytest.approx(unit, rel=1e-12)


def test_the_scale_is_the_square_root_of_the_size_of_neighborhoods():
    # Two lines, one with wider gaps, but not so wide that there is a bridge.
    line = np.arange(400.0)[:, np.newaxis]
    neighbors, scales, _, _ = of_points(np.vstack([line[:201], 1e5 + 1.21 * line[:200]]), 64, 16)
    np.testing.assert_allclose(scales[300] / scales[100], 1.1, rtol=1e-11)
    scaled = _core.scale_lengths(*neighbors, scales[:, 2:].copy(), 2)
    np.testing.assert_allclose(scaled[300, 1:20] / scaled[100, 1:20], 1.1, rtol=1e-11)


def ring_with_a_far_point(n, k, distance):
    """Neighbours on a ring whose points are 1 apart, and a point n that has k - 1 of them, all at one distance."""
    steps = np.array([0, *(step for i in range(1, k) for step in (i, -i))])[:k]
    indices = (np.arange(n)[:, np.newaxis] + steps) % n
    lengths = np.tile(np.abs(steps).astype(float), (n, 1))
    far = np.array([[n, *range(k - 1)]])
    return Neighbors(np.vstack([indices, far]), np.vstack([lengths, [[0.0] + [distance] * (k - 1)]]))


@pytest.mark.parametrize("distance", [100.0, 1e4, 1e12])
def test_a_bridge_to_a_single_far_point(distance):
    neighbors, n_near = ring_with_a_far_point(200, 32, distance), 24
    scales, unit, reach = _core.local_scales(*neighbors, n_near, 2)
    # r of a point of the ring: two each at 1, ..., 11, and one at 12; its eighth neighbour, at 4, is nearer than that.
    expected = np.sqrt((2 * 506 + 144) / 24)
    np.testing.assert_allclose([unit, reach], expected, rtol=1e-14)
    np.testing.assert_allclose(scales[:200], 1, rtol=1e-14)
    a = np.sqrt(np.sqrt(23 / 24) * distance / expected)
    s = distance / np.sqrt(a) / reach
    np.testing.assert_allclose(scales[200], [a, a * s, a * s * np.sqrt(s)], rtol=1e-13)
    assert eighths(neighbors, scales[:, 2])[200] == pytest.approx(s**0.25 * reach, rel=1e-13)


@pytest.mark.parametrize("exponent", [1, 2, 3])
@pytest.mark.parametrize("n", [500, 2000])
def test_points_in_a_tail_stay_about_as_near_as_others(n, exponent):
    x = ((np.arange(n) + 0.5) / n) ** (-1 / exponent)  # a power law
    neighbors, scales, unit, reach = of_points(x[:, np.newaxis], 96, 24)
    assert np.sort(neighbors.distances[:, 8] / unit)[-5:].min() > 30  # without scales they are cut off,
    assert np.sort(eighths(neighbors, scales[:, 0]) / reach)[-5:].min() > 6  # and with those without a bridge
    bridged = eighths(neighbors, scales[:, 2]) / reach
    assert bridged.max() < 2
    assert np.quantile(bridged, 0.98) < 1.3


@pytest.mark.parametrize("m", [1, 2, 10])
def test_the_bridge_takes_the_fourth_root_at_least(rng, m):
    """Of s, where it is the bridge of one point; that of its neighbour adds to it. It takes nobody away."""
    X = np.vstack([rng.standard_t(1, size=(500, m)), [[1e7] * m]])
    neighbors, scales, _, reach = of_points(X, 96, 24)
    s, bridged = (eighths(neighbors, scales[:, c]) / reach for c in (0, 2))
    assert (bridged <= np.maximum(1, s) ** 0.25 * (1 + 1e-13)).all()
    assert s.max() > 100
    assert (np.diff(scales, axis=1) >= 0).all()
    assert (scales[s > 1, 2] > scales[s > 1, 0]).all()
    assert (scales[s <= 1, 2] == scales[s <= 1, 0]).all()


def test_a_far_point_is_no_neighbor_of_all(rng):
    """A single point, or a few, must not make the bandwidth that of their distance."""
    X = rng.normal(size=(500, 2))
    X[:3] += 1e6
    neighbors = idm.nearest_neighbors(X, 64)
    scaled, found = scaled_lengths(neighbors, 16, 2)
    assert global_bandwidth(neighbors.distances, 16) > 1e9
    assert global_bandwidth(scaled.distances, 16, scaled=True) < 4 * found.reach**2
    own = scaled.distances[:3, 8] / found.reach
    assert (own > 3).all()  # and they are farther than others are


# --- points in one place


def test_copies_have_a_least_scale(rng):
    X = np.vstack([rng.normal(size=(200, 2)), np.zeros((40, 2)) + 7])  # more copies than neighbours
    neighbors, scales, unit, reach = of_points(X, 32, 8)
    assert_agrees_with_numpy(neighbors, 8)
    np.testing.assert_array_equal(scales[200:], np.sqrt(1e-3))
    assert np.isfinite(scales).all()
    assert scales.min() == np.sqrt(1e-3)
    scaled, _ = scaled_lengths(neighbors, 8, 2)
    assert not scaled.distances[200:].any()
    # Medians are those of the others: of what is positive.
    r = np.sort(reference.root_mean_square(neighbors.distances[:200, :8]))
    assert unit == pytest.approx(r[100], rel=1e-14)
    assert reach == pytest.approx(reference.local_scales(*neighbors.first(32), 8)[2], rel=1e-14)


def test_two_copies_of_every_point(rng):
    X = np.repeat(rng.normal(size=(100, 2)), 2, axis=0)
    neighbors, scales, _, _ = of_points(X, 20, 5)
    assert_agrees_with_numpy(neighbors, 5)
    np.testing.assert_array_equal(scales[0::2], scales[1::2])


@pytest.mark.parametrize(("n", "k", "n_near"), [(50, 20, 5), (5, 5, 2), (1, 1, 1)])
def test_all_points_in_one_place(n, k, n_near):
    neighbors = Neighbors(np.tile(np.arange(k), (n, 1)), np.zeros((n, k)))
    scales, unit, reach = _core.local_scales(*neighbors, n_near, 2)
    assert (unit, reach) == (1, 1)
    np.testing.assert_array_equal(scales, np.sqrt(1e-3))
    assert not scaled_lengths(neighbors, n_near, 2)[0].distances.any()


@pytest.mark.parametrize(("k", "n_near", "other"), [(2, 2, 1), (12, 3, 1), (8, 8, 2), (60, 16, 5), (60, 24, 8)])
def test_with_few_first_neighbors_the_bridge_leads_to_a_third_of_them(rng, k, n_near, other):
    X = np.vstack([rng.normal(size=(60, 2)), [[300.0, 0.0]]])
    neighbors, scales, _, reach = of_points(X, k, n_near)
    assert_agrees_with_numpy(neighbors, n_near)
    a, j, d = scales[:, 0], neighbors.indices[60, other], neighbors.distances[60, other]
    assert scales[60, 1] == pytest.approx(d / np.sqrt(a[j] / a[60]) / reach, rel=1e-13)


def test_lengths_of_very_different_size_have_scales_in_range():
    X = np.concatenate([np.arange(40) * 1e-120, [1e100]])[:, np.newaxis]
    neighbors = idm.nearest_neighbors(X, 20)
    scales, unit, reach = _core.local_scales(*neighbors, 5, 1)
    assert np.isfinite(scales).all()
    assert (scales > 0).all()
    assert np.isfinite([unit, reach]).all()
    tiny = np.full((3, 2), 1e-305)
    tiny[:, 0] = 0
    (scales, *_) = _core.local_scales(np.array([[0, 1], [1, 2], [2, 0]]), tiny, 2, 1)
    np.testing.assert_allclose(scales[:, :1], 1, rtol=1e-9)
