"""Step 1: exact nearest neighbours, whichever way they are searched."""

import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import idm
import reference
from idm import _core
from idm._neighbors import NeighborIndex

pytestmark = pytest.mark.usefixtures("variant")

METHODS = ["auto", "tree", "blocked"]


def search(X, k, queries=None, method="auto", n_threads=2):
    return _core.NeighborIndex(X).nearest(queries, k, n_threads, method)


def assert_same_neighbors(found, expected, X, queries=None):
    """Equal distances; equal indices up to swaps between points whose distances differ only by rounding."""
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-15, atol=0)
    true = reference.pairwise_distances(X if queries is None else queries, X)
    np.testing.assert_allclose(np.take_along_axis(true, found[0], 1), expected[1], rtol=1e-15, atol=0)
    assert all(len(set(row)) == len(row) for row in found[0])


# Small integers: distances are exact and full of ties, so indices must agree exactly too.
lattices = st.tuples(st.integers(1, 80), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (33, 1), (500, 2), (700, 3), (300, 17), (300, 100), (80, 1000)])
def test_agrees_with_the_twin(rng, method, n, m):
    X, queries = rng.normal(size=(n, m)), rng.normal(size=(57, m))
    for k in {1, min(n, 7), n}:
        found = search(X, k, method=method)
        assert_same_neighbors(found, reference.nearest_neighbors(X, k), X)
        np.testing.assert_array_equal(found[0][:, 0], np.arange(n))
        np.testing.assert_array_equal(found[1][:, 0], 0.0)
        found = search(X, k, queries, method=method)
        assert_same_neighbors(found, reference.nearest_neighbors(X, k, queries), X, queries)


@pytest.mark.parametrize("method", METHODS)
@given(X=lattices, data=st.data())
def test_ties_go_to_the_smaller_index(method, X, data):
    k = data.draw(st.integers(1, len(X)))
    queries = X[:3] + 1
    for other in (None, queries):
        found, expected = search(X, k, other, method), reference.nearest_neighbors(X, k, other)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("method", METHODS)
@given(X=lattices, data=st.data())
def test_permuting_and_translating_points_changes_no_distance(method, X, data):
    k = data.draw(st.integers(1, len(X)))
    order = np.array(data.draw(st.permutations(range(len(X)))))
    before = search(X, k, method=method)[1]
    np.testing.assert_array_equal(search(X[order], k, method=method)[1], before[order])
    np.testing.assert_array_equal(search(X + 2.0**20, k, method=method)[1], before)


@pytest.mark.parametrize("method", METHODS)
def test_rotating_points_changes_distances_by_rounding_only(rng, method):
    X = rng.normal(size=(400, 6))
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    before, after = (search(Z, 20, method=method)[1] for Z in (X, X @ rotation))
    np.testing.assert_allclose(after, before, rtol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_self_comes_first_among_more_duplicates_than_neighbors(rng, method):
    X = np.repeat(rng.normal(size=(3, 4)), 60, axis=0)[rng.permutation(180)]
    indices, distances = search(X, 10, method=method)
    np.testing.assert_array_equal(indices[:, 0], np.arange(180))
    np.testing.assert_array_equal(distances, 0.0)
    np.testing.assert_array_equal(indices, reference.nearest_neighbors(X, 10)[0])


REPEATED = {
    "half zero": lambda rng, X: np.where(rng.random((len(X), 1)) < 0.5, 0.0, X),
    "nine in ten zero": lambda rng, X: np.where(rng.random((len(X), 1)) < 0.9, 0.0, X),
    "all equal": lambda rng, X: np.ones_like(X),
    "two values": lambda rng, X: X[rng.integers(0, 2, len(X))],
    "ten values": lambda rng, X: X[rng.integers(0, 10, len(X))],
    "signed zeros": lambda rng, X: np.where(rng.random(X.shape) < 0.5, 0.0, -0.0),
    "grid": lambda rng, X: rng.integers(0, 2, X.shape).astype(float),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", REPEATED)
def test_repeated_rows_are_found_by_index_and_self_comes_first(rng, method, name):
    X = REPEATED[name](rng, rng.normal(size=(600, 3)))
    order = np.arange(len(X))
    for queries in (None, np.vstack([X[::7], X[::20] + 0.25])):
        Z = X if queries is None else queries
        distances = np.sqrt(((Z[:, None, :] - X) ** 2).sum(2))
        if queries is None:
            distances[order, order] = -1  # goes first
        for k in (1, 2, 9, 40, 599, 600):
            indices = np.array([np.lexsort((order, row))[:k] for row in distances])
            found = search(X, k, queries, method)
            np.testing.assert_array_equal(found[0], indices)
            expected = np.maximum(np.take_along_axis(distances, indices, 1), 0)
            np.testing.assert_allclose(found[1], expected, rtol=1e-14)


@pytest.mark.large
@pytest.mark.parametrize("name", ["half zero", "all equal", "ten values"])
def test_repeated_rows_take_little_longer_than_distinct_ones(rng, name):
    distinct = rng.normal(size=(30_000, 3))
    seconds = []
    for X in (distinct, REPEATED[name](rng, distinct)):
        start = time.process_time()
        search(X, 50, n_threads=1)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 5 * seconds[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e200, 1e-200, 5e-324])
def test_scale_of_the_data_is_no_obstacle(rng, method, scale):
    X = np.round(rng.normal(size=(200, 3)) * 2**10)
    indices, distances = search(X * scale, 9, method=method)
    expected = reference.nearest_neighbors(X, 9)
    np.testing.assert_allclose(distances, expected[1] * scale, rtol=5e-15, atol=5e-324)
    # Neighbours may differ only where subnormal numbers cannot tell their distances apart.
    true = np.take_along_axis(reference.pairwise_distances(X, X), indices, 1)
    np.testing.assert_allclose(true, expected[1], rtol=1e-13, atol=1 if scale == 5e-324 else 0)


@pytest.mark.parametrize("method", METHODS)
def test_tiny_distances_beside_large_ones_do_not_vanish(method):
    for large in (1.0, 1e125, 1e300):
        X = np.array([[0.0, 0.0], [3e-180, 4e-180], [1e-170, 0.0], [large, 0.0]])
        indices, distances = search(X, 4, method=method)
        np.testing.assert_allclose(distances[0], [0, 5e-180, 1e-170, large], rtol=1e-15)
        np.testing.assert_array_equal(indices[0], [0, 1, 2, 3])
        np.testing.assert_array_equal(search(X, 4, X[:1], method)[1], distances[:1])
    # A spread that is smaller than the smallest normal number.
    assert search(np.array([[1.0, 0.0], [1.0, 1e-310]]), 2, method=method)[1][0, 1] == 1e-310


@pytest.mark.parametrize("method", METHODS)
def test_far_offsets_clusters_and_outliers_lose_no_neighbor(rng, method):
    # Each of these defeats distances computed as |x|^2 + |y|^2 - 2 x.y alone.
    cloud = rng.normal(size=(300, 5))
    cases = {
        "offset": np.round(cloud, 3) + 1e8,
        "tight clusters far apart": np.concatenate([cloud * 1e-9, cloud * 1e-9 + 1e4]),
        "outlier": np.concatenate([cloud, np.full((1, 5), 1e9)]),
    }
    for X in cases.values():
        assert_same_neighbors(search(X, 25, method=method), reference.nearest_neighbors(X, 25), X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_threads", [2, 7])
def test_every_thread_count_gives_the_same_bits(rng, method, n_threads):
    for m in (2, 40):
        X, queries = rng.normal(size=(900, m)), rng.normal(size=(333, m))
        for other in (None, queries):
            one, many = (search(X, 50, other, method, n) for n in (1, n_threads))
            np.testing.assert_array_equal(many[0], one[0])
            np.testing.assert_array_equal(many[1], one[1])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", ["near to far", "far to near", "random"])
def test_the_order_of_many_points_does_not_matter(rng, method, order):
    # More than two tiles of the blocked search, whose threshold tightens early, late or on the way.
    X = rng.normal(size=(5000, 6))
    rank = np.argsort(np.linalg.norm(X, axis=1))
    X = {"near to far": X[rank], "far to near": X[rank[::-1]], "random": X}[order]
    queries = X[::500] * 0.1
    for k in (1, 30, 3000):
        found, expected = search(X, k, queries, method), reference.nearest_neighbors(X, k, queries)
        assert_same_neighbors(found, expected, X, queries)


def test_each_query_depends_on_its_row_alone(rng):
    X, queries = rng.normal(size=(2000, 3)), rng.normal(size=(100, 3)) * 2
    together = idm.nearest_neighbors(X, 40, queries=queries)
    for method in METHODS:
        np.testing.assert_array_equal(search(X, 40, queries, method)[1], together.distances)
    for i in (0, 41, 99):
        alone = idm.nearest_neighbors(X, 40, queries=queries[i : i + 1])
        np.testing.assert_array_equal(alone.indices[0], together.indices[i])
        np.testing.assert_array_equal(alone.distances[0], together.distances[i])


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda X: X[::-1][::-1],
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int16),
        lambda X: X.astype(np.longdouble),
        lambda X: X.astype(object),
        lambda X: X.tolist(),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    ],
)
def test_any_numeric_layout_is_accepted_and_left_alone(rng, convert):
    X = np.round(rng.normal(size=(50, 3)) * 20)
    given_array = convert(X)
    before = np.array(given_array, copy=True)
    found = idm.nearest_neighbors(given_array, 5)
    np.testing.assert_array_equal(found.indices, reference.nearest_neighbors(X, 5)[0])
    np.testing.assert_array_equal(np.array(given_array), before)
    assert found.indices.dtype == np.intp
    assert found.distances.dtype == np.float64


def test_read_only_memory_maps_are_accepted(rng, tmp_path):
    np.save(tmp_path / "X.npy", rng.normal(size=(60, 2)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(idm.nearest_neighbors(X, 3).indices, reference.nearest_neighbors(X, 3)[0])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n_neighbors": 0}, ValueError, ["n_neighbors", "at least 1", "0"]),
        ({"n_neighbors": -3}, ValueError, ["n_neighbors", "-3"]),
        ({"n_neighbors": 11}, ValueError, ["n_neighbors=11", "10 rows", "lower"]),
        ({"n_neighbors": 2.0}, TypeError, ["n_neighbors", "2.0", "integer"]),
        ({"n_neighbors": True}, TypeError, ["n_neighbors", "True"]),
        ({"n_neighbors": "3"}, TypeError, ["n_neighbors", "'3'"]),
        ({"queries": np.zeros((4, 3))}, ValueError, ["queries", "2 columns", "(4, 3)"]),
        ({"queries": np.zeros((0, 2))}, ValueError, ["queries", "(0, 2)"]),
        ({"queries": [[np.nan, 0.0]]}, ValueError, ["queries", "nan", "row 0, column 0"]),
        ({"n_jobs": 0}, ValueError, ["n_jobs", "-1"]),
        ({"n_jobs": 2**40}, ValueError, ["n_jobs", "1024"]),
        ({"n_jobs": 1.5}, TypeError, ["n_jobs", "1.5"]),
    ],
)
def test_bad_arguments_are_named_with_their_value_and_a_remedy(arguments, error, words):
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(error) as caught:
        idm.nearest_neighbors(X, **{"n_neighbors": 3, **arguments})
    for word in words:
        assert word in str(caught.value)


# --- the index


def test_an_index_is_pickled_as_its_points_and_cannot_be_changed(rng):
    X = rng.normal(size=(300, 3))
    index = NeighborIndex(X)
    again = pickle.loads(pickle.dumps(index))
    np.testing.assert_array_equal(again.nearest(X, 5, 1).indices, index.nearest(X, 5, 1).indices)
    assert len(pickle.dumps(index)) < X.nbytes + 1000
    with pytest.raises(ValueError, match="read-only"):
        index.points[0] = 1


def test_an_index_answers_several_threads_at_once(rng):
    index, queries = NeighborIndex(rng.normal(size=(3000, 3))), rng.normal(size=(8, 200, 3))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda q: index.nearest(q, 20, 2), queries))
    for q, neighbors in zip(queries, found, strict=True):
        np.testing.assert_array_equal(neighbors.indices, index.nearest(q, 20, 1).indices)


def test_an_index_refuses_distances_whose_squares_overflow():
    index = NeighborIndex(np.array([[0.0], [1.0]]))
    assert index.nearest(np.array([[1e140]]), 2, 1).indices.shape == (1, 2)
    with pytest.raises(ValueError, match=r"point has points 1e.200 apart, whose squared distances overflow"):
        index.nearest(np.array([[1e200]]), 1, 1, name="point")


def test_an_index_has_an_order_of_near_points(rng):
    X = rng.normal(size=(3000, 2))
    order = NeighborIndex(X).order()
    np.testing.assert_array_equal(np.sort(order), np.arange(3000))
    steps = np.linalg.norm(np.diff(X[order], axis=0), axis=1)
    assert np.median(steps) < 0.2 * np.median(np.linalg.norm(np.diff(X, axis=0), axis=1))
