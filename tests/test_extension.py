"""New points: the kernel rows of training, and sums with them."""

import numpy as np
import pytest

import idm
from idm import _core
from idm._extension import Reach

pytestmark = pytest.mark.usefixtures("variant")


def reverse_sets(X, k, queries, twins):
    arrays = _core.reverse_neighbors(X, *Reach.of(idm.nearest_neighbors(X, k)), queries, twins.reshape(-1, 1), 2)
    row_start, columns, distances = arrays
    rows = np.split(columns, row_start[1:-1])
    for row, query, d in zip(rows, queries, np.split(distances, row_start[1:-1]), strict=True):
        np.testing.assert_allclose(d, np.linalg.norm(X[row] - query, axis=1), rtol=1e-14)
        assert len(set(row.tolist())) == len(row)
    return [set(row.tolist()) for row in rows]


@pytest.mark.parametrize(("n", "k"), [(1, 1), (40, 1), (40, 40), (500, 12), (3000, 100)])
@pytest.mark.parametrize("m", [1, 3, 20])
def test_training_points_are_found_by_those_that_have_them_as_neighbors(rng, n, k, m):
    X = rng.normal(size=(n, m))
    indices = idm.nearest_neighbors(X, k).indices
    expected = [set() for _ in range(n)]
    for i, row in enumerate(indices):
        for j in row:
            expected[j].add(i)
    assert reverse_sets(X, k, X, np.arange(n)) == expected


@pytest.mark.parametrize("k", [2, 5, 8, 30])
def test_ties_are_broken_as_in_training(k):
    X = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    expected = [set() for _ in range(144)]
    for i, row in enumerate(idm.nearest_neighbors(X, k).indices):
        for j in row:
            expected[j].add(i)
    assert reverse_sets(X, k, X, np.arange(144)) == expected


def test_a_new_point_is_counted_as_if_it_were_the_last(rng):
    X, queries = rng.normal(size=(200, 2)), rng.normal(size=(10, 2))
    found = reverse_sets(X, 15, queries, np.full(10, -1))
    for query, row in zip(queries, found, strict=True):
        indices = idm.nearest_neighbors(np.vstack([X, query]), 15).indices
        assert row == {i for i in range(200) if 200 in indices[i]}


def extend(X, k, queries, epsilon, weights, values, n_threads=2):
    found = idm.nearest_neighbors(X, k, queries=queries)
    twins = np.full((len(queries), 1), -1)
    reverse = _core.reverse_neighbors(X, *Reach.of(idm.nearest_neighbors(X, k)), queries, twins, n_threads)
    return _core.extend(*found, *reverse, epsilon, weights.reshape(-1, 1), values, n_threads)


def test_agrees_with_numpy(rng):
    X, queries, k, epsilon = rng.normal(size=(120, 2)), rng.normal(size=(9, 2)), 20, 0.05
    weights, values = rng.uniform(0.5, 2, 120), rng.normal(size=(120, 7))
    found, support = extend(X, k, queries, epsilon, weights, values)
    d = np.linalg.norm(queries[:, np.newaxis] - X, axis=2)
    mine = np.argsort(np.argsort(d, axis=1), axis=1) < k
    theirs = d < idm.nearest_neighbors(X, k).distances[:, -1]
    J = (mine + 1.0 * theirs) / 2 * np.exp(-(d**2) / (2 * epsilon))
    np.testing.assert_allclose(support[:, 0], J.sum(axis=1), rtol=1e-12)
    P = J * weights / (J * weights).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, P @ values, rtol=1e-11, atol=1e-13)


def test_far_points_get_the_values_of_the_nearest_and_no_support(rng):
    X, values = rng.normal(size=(50, 2)), rng.normal(size=(50, 3))
    query = np.array([[1e6, 0.0]])
    found, support = extend(X, 10, query, 0.01, np.ones(50), values)
    assert support[0, 0] == 0
    np.testing.assert_allclose(found[0], values[X[:, 0].argmax()])


def test_each_row_alone_to_the_bit(rng):
    X, queries, values = rng.normal(size=(300, 3)), rng.normal(size=(70, 3)), rng.normal(size=(300, 11))
    together, _ = extend(X, 25, queries, 0.3, np.ones(300), values)
    for i in range(70):
        alone, _ = extend(X, 25, queries[i : i + 1], 0.3, np.ones(300), values, n_threads=1)
        np.testing.assert_array_equal(alone[0], together[i])


def test_what_does_not_fit_is_refused(rng):
    X = rng.normal(size=(20, 2))
    reach = Reach.of(idm.nearest_neighbors(X, 4))
    with pytest.raises(ValueError, match="sizes"):
        _core.reverse_neighbors(X, *reach, X[:, :1].copy(), np.zeros((20, 1), np.intp), 1)
    with pytest.raises(ValueError, match="reach"):
        _core.reverse_neighbors(X, reach.radii[1:].copy(), reach.last, X, np.zeros((20, 1), np.intp), 1)
    with pytest.raises(ValueError, match="sizes"):
        extend(X, 4, X, 0.1, np.ones(19), np.ones((20, 1)))
