"""New points: the kernel rows of training, and sums with them."""

import numpy as np
import pytest

import idm
import reference
from idm import _core
from idm._metric import Flow, metric_neighbors
from reference import pairwise_distances

pytestmark = pytest.mark.usefixtures("variant")

PLAIN = {"tau": 0.0, "mixing": "lengths", "change": "difference"}


GLOBAL = {"scales": None, "unit": 1.0, "reach": 1.0, "n_near": 1}


def trained(X, values, pool_size, k, flow, n_near=None):
    """What the extension needs of training, but for the kernel; with local scales if `n_near` is given."""
    pool = idm.nearest_neighbors(X, pool_size)
    neighbors = metric_neighbors(X, values, pool, Flow(**flow), k, 2)
    radii = {"pool_radii": pool.distances[:, -1:].copy(), "radii": neighbors.distances[:, -1:].copy()}
    local = GLOBAL
    if n_near is not None:
        scales, unit, reach = _core.local_scales(*neighbors, n_near, 2)
        local = {"scales": scales, "unit": unit, "reach": reach, "n_near": n_near}
    return {"values": values, "pool_size": pool_size, "n_neighbors": k, **radii, **flow, **local}


def extend(X, k, queries, epsilon, weights, functions, n_threads=2, n_near=None):
    """Of a plain map."""
    no_values, no_new_values = np.empty((len(X), 0)), np.empty((len(queries), 0))
    return _core.extend(
        _core.NeighborIndex(X), **trained(X, no_values, k, k, PLAIN, n_near), bases=queries, base_values=no_new_values,
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


@pytest.mark.parametrize("n_near", [None, 10])
@pytest.mark.parametrize("factor", [-1, 0, 0.3, 5, np.nan, np.inf])
def test_radii_that_are_not_those_of_exact_neighbors(rng, factor, n_near):
    """Of a model that was altered, or of neighbours by other distances: all points are looked at where it is needed."""
    X, queries, functions = rng.normal(size=(300, 2)), rng.normal(size=(20, 2)), rng.normal(size=(300, 3))
    known = trained(X, np.empty((300, 0)), 40, 40, PLAIN, n_near)
    known["pool_radii"] *= factor
    given = {"epsilon": 0.1, "weights": np.ones((300, 1)), "functions": functions, "n_threads": 1, **known}
    index = _core.NeighborIndex(X)
    found, nearest, _ = _core.extend(index, bases=queries, base_values=np.empty((20, 0)), **given)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(nearest[:, 0], pairwise_distances(queries, X).argmin(axis=1))
    for i in range(20):
        alone, _, _ = _core.extend(index, bases=queries[i : i + 1], base_values=np.empty((1, 0)), **given)
        np.testing.assert_array_equal(alone[0], found[i])


@pytest.mark.parametrize("n_near", [None, 1, 10, 40])
@pytest.mark.parametrize("change", ["derivative", "difference"])
@pytest.mark.parametrize("mixing", ["lengths", "metric"])
def test_lengths_of_the_flow_there_and_back(rng, change, mixing, n_near):
    n, m, tau, epsilon = 300, 3, 0.6, 0.3
    columns = 2 * m if change == "derivative" else 2
    X, values, queries, at_queries = (rng.normal(size=s) for s in ((n, m), (n, columns), (20, m), (20, columns)))
    functions, flow = rng.normal(size=(n, 5)), {"tau": tau, "mixing": mixing, "change": change}
    known = trained(X, values, 80, 40, flow, n_near)
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
    two_eps = 2 * epsilon
    if n_near is not None:
        near = np.argsort(np.where(in_pool, there, np.inf), axis=1)[:, :40]
        at_near, scales = np.take_along_axis(there, near, axis=1), known["scales"]
        rho = reference.scale_of_new_points(near, at_near, n_near, scales, known["unit"], known["reach"])
        assert np.ptp(rho) > 0.1
        two_eps = two_eps * np.outer(rho, scales[:, 2])
    J = mine * np.exp(-(there**2) / two_eps) + theirs * np.exp(-(back**2) / two_eps)
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


@pytest.mark.parametrize("n_near", [None, 6])
@pytest.mark.parametrize(("n", "m"), [(300, 3), (6000, 2), (6000, 9)])
def test_each_row_alone_to_the_bit(rng, n, m, n_near):
    X, queries, functions = rng.normal(size=(n, m)), rng.normal(size=(70, m)), rng.normal(size=(n, 11))
    together, _, _ = extend(X, 25, queries, 0.3, np.ones(n), functions, n_near=n_near)
    for i in range(0, 70, 9):
        alone, _, _ = extend(X, 25, queries[i : i + 1], 0.3, np.ones(n), functions, n_threads=1, n_near=n_near)
        np.testing.assert_array_equal(alone[0], together[i])


# --- a bandwidth of its own for each point


def kernel_row(known, X, queries, epsilon):
    """(Q, N), that of a plain map: the functions are those that are 1 at one point, and 0 at the others."""
    n, q = len(X), len(queries)
    found, _, _ = _core.extend(
        _core.NeighborIndex(X), **known, bases=queries, base_values=np.empty((q, 0)), epsilon=epsilon,
        weights=np.ones((n, 1)), functions=np.eye(n), n_threads=2,
    )  # fmt: skip
    return found


def plain_row(known, X, queries, epsilon, own=None):
    """The same by NumPy. Queries are new points, or the rows `own` of X."""
    d, k = pairwise_distances(queries, X), known["n_neighbors"]
    near = np.argsort(d, axis=1, kind="stable")[:, :k]
    scales, at_near = known["scales"], np.take_along_axis(d, near, axis=1)
    rho = reference.scale_of_new_points(near, at_near, known["n_near"], scales, known["unit"], known["reach"])
    if own is not None:
        rho = scales[own, 2]
    mine = np.zeros(d.shape)
    np.put_along_axis(mine, near, 1.0, axis=1)
    J = (mine + (d < known["pool_radii"][:, 0])) * np.exp(-(d**2) / (2 * epsilon * np.outer(rho, scales[:, 2])))
    return J / J.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("n", "k", "n_near"), [(300, 40, 10), (300, 40, 40), (300, 40, 1), (300, 9, 2), (12, 12, 3),
                                                (40, 5, 2), (9, 2, 2), (9, 1, 1)])  # fmt: skip
def test_a_new_point_has_a_scale_as_the_data_have(rng, n, k, n_near):
    X = rng.standard_t(2, size=(n, 2))  # with thin parts, where the eighth neighbour is far
    queries = np.vstack([rng.standard_t(2, size=(30, 2)), [[80.0, 0.0]]])
    known = trained(X, np.empty((n, 0)), k, k, PLAIN, n_near)
    expected = plain_row(known, X, queries, 2.0)
    np.testing.assert_allclose(kernel_row(known, X, queries, 2.0), expected, rtol=1e-11, atol=1e-14)
    if k == 40:  # b and rho are not what a is, and both count
        for column in (0, 1):
            other = {**known, "scales": known["scales"].copy()}
            other["scales"][:, column] *= 0.5
            assert np.abs(plain_row(other, X, queries, 2.0) - expected).max() > 1e-3


def test_the_eighth_neighbor_is_the_first_by_number_of_those_as_far():
    X = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    queries = X[[30, 77, 66]] + [[0.5, 0.5], [0.5, 0.5], [0.5, 0.0]]  # the eighth is one of eight, of eight, of four
    known = trained(X, np.empty((144, 0)), 40, 40, PLAIN, 24)
    # Other scales than the grid has, so that each point shows whether it is the eighth neighbour.
    known["scales"] = np.ascontiguousarray(np.random.default_rng(0).uniform(0.3, 0.6, size=(144, 3)))
    known["reach"] = 0.5
    expected = plain_row(known, X, queries, 0.5)
    np.testing.assert_allclose(kernel_row(known, X, queries, 0.5), expected, rtol=1e-12, atol=1e-15)
    d = pairwise_distances(queries, X)
    for i, eighth in enumerate(np.argsort(d, axis=1, kind="stable")[:, 8]):
        (equal,) = np.nonzero(d[i] == d[i, eighth])
        assert len(equal) >= 4
        for j in equal:
            other = {**known, "scales": known["scales"].copy()}
            other["scales"][j, :2] *= 0.5
            changed = np.abs(kernel_row(other, X, queries[i : i + 1], 0.5) - expected[i]).max()
            assert changed > 1e-3 if j == eighth else changed == pytest.approx(0, abs=1e-14)


def test_the_scale_tends_to_that_of_a_point_of_the_data(rng):
    X, epsilon = rng.standard_t(2, size=(300, 2)), 2.0
    known, own = trained(X, np.empty((300, 0)), 40, 40, PLAIN, 24), idm.nearest_neighbors(X, 40)
    rho = known["scales"][:, 2]
    assert len(np.unique(known["scales"][:, 0] < rho)) == 2  # some have been bridged
    rows, others = np.arange(300), own.indices[:, 20]
    # What changes rho: the lengths to the first 24, and to the eighth.
    shortest = np.minimum(reference.root_mean_square(own.distances[:, :24]), own.distances[:, 8])
    step = rng.normal(size=X.shape)
    for length in (1e-3, 1e-5, 1e-7, 0.0):
        queries = X + length * step
        P, d = kernel_row(known, X, queries, epsilon), pairwise_distances(queries, X)
        # Two entries of a row, that of its twin and another, tell its rho.
        has = d[rows, others] < known["pool_radii"][others, 0]
        logarithm = np.log(P[rows, rows] / 2) - np.log(P[rows, others] / (1 + has))
        exponents = [d[rows, j] ** 2 / (2 * epsilon * rho[j]) for j in (others, rows)]
        found = (exponents[0] - exponents[1]) / logarithm
        # rho follows r^(1/2), or r^(1/8) d^(3/2) on a bridge.
        moved = 2 * length * np.linalg.norm(step, axis=1) / shortest
        same = np.argsort(d, axis=1, kind="stable")[:, 8] == own.indices[:, 8]  # where it is another, rho may jump
        assert same.mean() > (0.95 if length > 1e-4 else 0.999)
        assert (np.abs(found / rho - 1) <= moved + 1e-12)[same].all()
        assert np.quantile(np.abs(found / rho - 1), 0.9) > 0.03 * length  # and it is not just copied


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("value", [np.nan, 0.0, np.inf, -np.inf, -1.0, 1e-320, 1e308])
def test_scales_that_are_wrong_do_no_harm(rng, value, column):
    """As of a model that was altered: only rows that they belong to differ."""
    X, queries = rng.normal(size=(300, 2)), rng.normal(size=(40, 2))
    known = trained(X, np.empty((300, 0)), 40, 40, PLAIN, 10)
    expected = kernel_row(known, X, queries, 0.3)
    wrong = {**known, "scales": known["scales"].copy()}
    wrong["scales"][7, column] = value
    found = kernel_row(wrong, X, queries, 0.3)
    d = pairwise_distances(queries, X)
    far = (np.argsort(np.argsort(d, axis=1), axis=1)[:, 7] >= 40) & (d[:, 7] >= known["pool_radii"][7])
    assert 0 < far.sum() < 40
    np.testing.assert_array_equal(found[far], expected[far])
    wrong["scales"][:] = value
    found = kernel_row(wrong, X, queries, 0.3)
    assert found.shape == expected.shape
    index, bases = _core.NeighborIndex(X), {"bases": queries, "base_values": np.empty((40, 0))}
    given = {"epsilon": 0.3, "weights": np.ones((300, 1)), "functions": np.ones((300, 1)), "n_threads": 1}
    _, nearest, distances = _core.extend(index, **wrong, **bases, **given)
    np.testing.assert_array_equal(nearest[:, 0], d.argmin(axis=1))
    np.testing.assert_allclose(distances[:, 0], d.min(axis=1), rtol=1e-14)


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
