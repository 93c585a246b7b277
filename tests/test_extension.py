"""New points: the kernel rows of training, and sums with them."""

import numpy as np
import pytest

import idm
from idm import _core
from idm._metric import Flow, metric_neighbors
from reference import pairwise_distances

pytestmark = pytest.mark.usefixtures("variant")

PLAIN = {"tau": 0.0, "mixing": "lengths", "change": "difference"}


def trained(X, values, pool_size, k, flow):
    """What the extension needs of training, but for the kernel."""
    pool = idm.nearest_neighbors(X, pool_size)
    neighbors = metric_neighbors(X, values, pool, Flow(**flow), k, 2)
    radii = {"pool_radii": pool.distances[:, -1:].copy(), "radii": neighbors.distances[:, -1:].copy()}
    return {"values": values, "pool_size": pool_size, "n_neighbors": k, **radii, **flow}


def extend(X, k, queries, epsilon, weights, functions, n_threads=2):
    """Of a plain map."""
    no_values, no_new_values = np.empty((len(X), 0)), np.empty((len(queries), 0))
    return _core.extend(
        _core.NeighborIndex(X), **trained(X, no_values, k, k, PLAIN), bases=queries, base_values=no_new_values,
        epsilon=epsilon, weights=weights.reshape(-1, 1), functions=functions, n_threads=n_threads,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "m", "k"), [(120, 2, 20), (500, 20, 40), (9000, 2, 60), (9000, 12, 60), (30, 1, 30)])
def test_agrees_with_numpy(rng, n, m, k):  # by the tree, and by all distances
    X, queries, epsilon = rng.normal(size=(n, m)), rng.normal(size=(9, m)), 0.05 * m
    weights, functions = rng.uniform(0.5, 2, n), rng.normal(size=(n, 7))
    found, nearest, distances = extend(X, k, queries, epsilon, weights, functions)
    d = pairwise_distances(queries, X)
    mine = np.argsort(np.argsort(d, axis=1), axis=1) < k
    theirs = d < idm.nearest_neighbors(X, k).distances[:, -1]
    J = (mine + 1.0 * theirs) / 2 * np.exp(-(d**2 - d.min(axis=1, keepdims=True) ** 2) / (2 * epsilon))
    P = J * weights / (J * weights).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, P @ functions, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(nearest[:, 0], d.argmin(axis=1))
    np.testing.assert_allclose(distances[:, 0], d.min(axis=1), rtol=1e-14)


@pytest.mark.parametrize("factor", [-1, 0, 0.3, 5, np.nan, np.inf])
def test_radii_that_are_not_those_of_exact_neighbors(rng, factor):
    """Of a model that was altered, or of neighbours by other distances: all points are looked at where it is needed."""
    X, queries, functions = rng.normal(size=(300, 2)), rng.normal(size=(20, 2)), rng.normal(size=(300, 3))
    known = trained(X, np.empty((300, 0)), 40, 40, PLAIN)
    known["pool_radii"] *= factor
    given = {"epsilon": 0.1, "weights": np.ones((300, 1)), "functions": functions, "n_threads": 1, **known}
    index = _core.NeighborIndex(X)
    found, nearest, _ = _core.extend(index, bases=queries, base_values=np.empty((20, 0)), **given)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(nearest[:, 0], pairwise_distances(queries, X).argmin(axis=1))
    for i in range(20):
        alone, _, _ = _core.extend(index, bases=queries[i : i + 1], base_values=np.empty((1, 0)), **given)
        np.testing.assert_array_equal(alone[0], found[i])


@pytest.mark.parametrize("change", ["derivative", "difference"])
@pytest.mark.parametrize("mixing", ["lengths", "metric"])
def test_lengths_of_the_flow_there_and_back(rng, change, mixing):
    n, m, tau, epsilon = 300, 3, 0.6, 0.3
    columns = 2 * m if change == "derivative" else 2
    X, values, queries, at_queries = (rng.normal(size=s) for s in ((n, m), (n, columns), (20, m), (20, columns)))
    functions, flow = rng.normal(size=(n, 5)), {"tau": tau, "mixing": mixing, "change": change}
    known = trained(X, values, 80, 40, flow)
    found, _, _ = _core.extend(
        _core.NeighborIndex(X), **known, bases=queries, base_values=at_queries, epsilon=epsilon,
        weights=np.ones((n, 1)), functions=functions, n_threads=2,
    )  # fmt: skip
    dx = queries[:, np.newaxis] - X
    if change == "derivative":
        dy = [np.einsum("qjfm,qjm->qjf", D.reshape(*s, 2, m), dx) for D, s in ((at_queries, (20, 1)), (values, (1, n)))]
    else:
        dy = [at_queries[:, np.newaxis] - values] * 2
    d = np.linalg.norm(dx, axis=2)
    there, back = (
        (1 - tau) * d + tau * c if mixing == "lengths" else np.sqrt((1 - tau) * d**2 + tau * c**2)
        for c in (np.linalg.norm(changes, axis=2) for changes in dy)
    )
    in_pool = np.argsort(np.argsort(d, axis=1), axis=1) < 80
    mine = np.argsort(np.argsort(np.where(in_pool, there, np.inf), axis=1), axis=1) < 40
    theirs = (d < known["pool_radii"][:, 0]) & (back < known["radii"][:, 0])
    J = mine * np.exp(-(there**2) / (2 * epsilon)) + theirs * np.exp(-(back**2) / (2 * epsilon))
    np.testing.assert_allclose(found, J @ functions / J.sum(axis=1, keepdims=True), rtol=1e-11, atol=1e-13)


def test_ties_are_broken_by_index():
    X = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    queries, k = X[[30, 77]] + 0.5, 6  # four points at one distance, eight at the next
    found, nearest, _ = extend(X, k, queries, 1e9, np.ones(144), np.eye(144))
    d = pairwise_distances(queries, X).round(9)
    for row, distances, first in zip(found, d, nearest[:, 0], strict=True):
        order = np.lexsort((np.arange(144), distances))
        theirs = np.flatnonzero(distances < idm.nearest_neighbors(X, k).distances[:, -1])
        assert first == order[0]
        assert set(np.flatnonzero(row)) == set(order[:k]) | set(theirs)


@pytest.mark.parametrize("radius", [0.0, 1e-3, 0.5, 50.0])
def test_radii_that_are_not_those_of_neighbors_do_no_harm(rng, radius):
    """As of precomputed neighbours that are not exact: the nearest points are found all the same."""
    X, queries = rng.normal(size=(6000, 2)), rng.normal(size=(5, 2))
    known = {**trained(X, np.empty((6000, 0)), 30, 30, PLAIN), "pool_radii": np.full((6000, 1), radius)}
    known["radii"] = np.zeros((6000, 1))
    found, _, _ = _core.extend(
        _core.NeighborIndex(X), **known, bases=queries, base_values=np.empty((5, 0)), epsilon=1e9,
        weights=np.ones((6000, 1)), functions=X, n_threads=1,
    )  # fmt: skip
    near = idm.nearest_neighbors(X, 30, queries=queries).indices
    np.testing.assert_allclose(found, X[near].mean(axis=1), rtol=1e-9)


def test_far_points_get_the_values_of_the_nearest(rng):
    X, functions = rng.normal(size=(50, 2)), rng.normal(size=(50, 3))
    found, nearest, _ = extend(X, 10, np.array([[1e6, 0.0]]), 0.01, np.ones(50), functions)
    assert nearest[0, 0] == X[:, 0].argmax()
    np.testing.assert_allclose(found[0], functions[X[:, 0].argmax()])
    with pytest.raises(ValueError, match="overflow"):
        extend(X, 10, np.array([[1e200, 0.0]]), 0.01, np.ones(50), functions)


@pytest.mark.parametrize(("n", "m"), [(300, 3), (6000, 2), (6000, 9)])
def test_each_row_alone_to_the_bit(rng, n, m):
    X, queries, functions = rng.normal(size=(n, m)), rng.normal(size=(70, m)), rng.normal(size=(n, 11))
    together, _, _ = extend(X, 25, queries, 0.3, np.ones(n), functions)
    for i in range(0, 70, 9):
        alone, _, _ = extend(X, 25, queries[i : i + 1], 0.3, np.ones(n), functions, n_threads=1)
        np.testing.assert_array_equal(alone[0], together[i])


@pytest.mark.parametrize("model", [idm.IteratedDiffusionMap(random_state=0), idm.DiffusionMap(10)])
def test_support_ends_with_the_distance_from_the_data(model):
    X, _, y = idm.datasets.make_annulus(2000, feature="radius", random_state=0)  # radii from 1 to 3
    model.fit(X, y)
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    shares = [model.supported(radius * circle).mean() for radius in (0.0, 0.2, 0.8, 1.0, 2.0, 3.0, 3.2, 4.0, 10.0)]
    assert shares == [0, 0, 1, 1, 1, 1, 1, 0, 0]
    inwards = np.array([model.supported(radius * circle) for radius in np.linspace(1, 0, 30)])
    # Once out, always out, but where the nearest of the data changes.
    assert (np.diff(inwards.astype(int), axis=0) <= 0).mean() > 0.99
