"""Where the graph of neighbours falls into parts: what is said of it, and where they lie."""

import warnings

import numpy as np
import pytest

import idm
from idm._coordinates import MapOptions, diffusion_coordinates
from idm._neighbors import NeighborIndex
from idm._parts import placed, warn_if_in_parts
from idm._warnings import Advice
from idm.exceptions import DisconnectedGraphWarning
from reference import pairwise_distances

ADVICE = Advice(what="the lengths", remedies={DisconnectedGraphWarning: "raise n_neighbors"})


# --- what is said


def test_the_rows_of_the_last_part_are_named_by_the_numbers_of_the_user():
    parts = np.array([0, 1, 0, 0, 2, 1, 2, 0, 1])
    advice = Advice(what=ADVICE.what, remedies=ADVICE.remedies, rows=np.arange(100, 109))
    said = r"has 3 connected components, of 4, 3, 2 points \(the last: rows 104, 106\), by the lengths; it is so; raise"
    with pytest.warns(DisconnectedGraphWarning, match=said):
        warn_if_in_parts(parts, advice, "it is so")
    with pytest.warns(DisconnectedGraphWarning, match=r"\(the last: rows 4, 6\)"):
        warn_if_in_parts(parts, ADVICE, "it is so")


def test_of_many_parts_and_rows_five_are_named():
    with pytest.warns(
        DisconnectedGraphWarning, match=r"7 .* of 10, 10, 10, 10, 10, \.\.\. points .*6, 13, 20, 27, 34, \.\.\.\)"
    ):
        warn_if_in_parts(np.tile(np.arange(7), 10), ADVICE, "it is so")


def test_one_part_is_nothing_to_say():
    warn_if_in_parts(np.zeros(5, dtype=np.intp), ADVICE, "it is so")  # a warning is an error here
    warn_if_in_parts(np.array([0, 0, 1]), Advice(what="X"), "nobody waits for it")


# --- where they lie


def parts_with_coordinates(rng, sizes, ranks):
    """Parts in mixed order, and coordinates of each that are 0 at all others; of different variance."""
    parts = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    coordinates = np.zeros((len(parts), sum(ranks)))
    columns = rng.permutation(sum(ranks))
    for part, (rank, last) in enumerate(zip(ranks, np.cumsum(ranks), strict=True)):
        rows = np.flatnonzero(parts == part)
        own = rng.normal(size=(len(rows), rank)) * np.arange(rank, 0, -1)
        coordinates[np.ix_(rows, columns[last - rank : last])] = own
    return parts, coordinates


def laid_out(parts, coordinates, places, masses):
    where, axes = placed(parts, coordinates, places, masses, 100)
    q = where.shape[1]
    return where, axes, np.hstack([where, coordinates]) @ np.vstack([np.eye(q, axes.shape[1]), axes])


@pytest.mark.parametrize(
    ("sizes", "ranks"),
    [((60, 30, 10), (6, 4, 2)), ((50, 5, 1, 1), (5, 2, 0, 0)), ((40, 30), (1, 7)), ((3, 2), (0, 0))],
)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_parts_lie_where_their_places_are_and_nothing_changes_within(rng, sizes, ranks, p):
    parts, coordinates = parts_with_coordinates(rng, sizes, ranks)
    masses = rng.uniform(0.5, 2, size=len(parts))
    places = rng.normal(size=(len(sizes), p))[parts] * 5 + rng.normal(size=(len(parts), p))
    where, axes, embedding = laid_out(parts, coordinates, places, masses)
    for part in range(len(sizes)):
        rows = parts == part
        before, now = (pairwise_distances(Z[rows], Z[rows]) for Z in (coordinates, embedding))
        np.testing.assert_allclose(now, before, rtol=0, atol=1e-13)
        assert (where[rows] == where[rows][0]).all()
    # The parts are as far from each other as the means of their places, by masses.
    means = np.array([np.average(places[parts == c], axis=0, weights=masses[parts == c]) for c in range(len(sizes))])
    of_parts = where[np.unique(parts, return_index=True)[1]]
    np.testing.assert_allclose(pairwise_distances(of_parts, of_parts), pairwise_distances(means, means), atol=1e-13)
    # Along principal axes of the places, the widest first.
    spread = places - places.mean(axis=0)
    V = np.linalg.svd(spread)[2]
    expected = (means - places.mean(axis=0)) @ V.T
    np.testing.assert_allclose(np.abs(of_parts), np.abs(expected), atol=1e-12)
    assert axes.shape[1] == max(p, *ranks)  # no more than one part needs


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_first_coordinate_increases_with_a_scalar_place(rng, sign):
    parts, coordinates = parts_with_coordinates(rng, (80, 50, 20), (4, 3, 1))
    places = np.array([3.0, -7.0, 5.0])[parts]
    # Within each part, one of its own coordinates is the place, but for noise; upwards or downwards.
    for part in range(3):
        rows = np.flatnonzero(parts == part)
        own = np.flatnonzero(coordinates[rows].any(axis=0))[0]
        places[rows] += 0.2 * sign * coordinates[rows, own]
    where, _, embedding = laid_out(parts, coordinates, places[:, np.newaxis], np.ones(len(parts)))
    means = [places[parts == c].mean() for c in range(3)]
    assert (np.argsort([where[parts == c, 0][0] for c in range(3)]) == np.argsort(means)).all()
    for part in range(3):
        rows = parts == part
        assert np.corrcoef(embedding[rows, 0], places[rows])[0, 1] > 0.8


def test_a_part_is_turned_as_its_places_fit_best(rng):
    """Where a part is a picture of its places, turned and reflected, it is turned back."""
    parts, places = np.repeat([0, 1], 40), rng.normal(size=(80, 3)) * [3.0, 2.0, 1.0]
    places[40:] += [20.0, 0.0, 0.0]
    coordinates = np.zeros((80, 6))
    for part in range(2):
        rows, Q = parts == part, np.linalg.qr(rng.normal(size=(3, 3)))[0]
        coordinates[rows, 3 * part : 3 * part + 3] = (places[rows] - places[rows].mean(axis=0)) @ Q
    _, _, embedding = laid_out(parts, coordinates, places, np.ones(80))
    np.testing.assert_allclose(
        pairwise_distances(embedding, embedding), pairwise_distances(places, places), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_parts_of_one_class_each_lie_at_the_corners_of_a_simplex(rng, n_classes):
    sizes = tuple(range(20, 20 + n_classes))
    parts, coordinates = parts_with_coordinates(rng, sizes, (3,) * n_classes)
    where, _, embedding = laid_out(parts, coordinates, np.eye(n_classes)[parts], np.ones(len(parts)))
    assert where.shape[1] == n_classes - 1
    of_parts = where[np.unique(parts, return_index=True)[1]]
    expected = np.sqrt(2) * (1 - np.eye(n_classes))
    np.testing.assert_allclose(pairwise_distances(of_parts, of_parts), expected, atol=1e-13)
    assert np.isfinite(embedding).all()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("p", [1, 3])
def test_parts_whose_places_are_all_equal_lie_in_one_place(rng, value, p):
    parts, coordinates = parts_with_coordinates(rng, (30, 20, 1), (3, 2, 0))
    where, axes, embedding = laid_out(parts, coordinates, np.full((51, p), value), np.ones(51))
    assert np.ptp(where, axis=0).max(initial=0) <= 1e-14 * value
    assert np.isfinite(axes).all()
    for part in range(3):
        rows = parts == part
        before, now = (pairwise_distances(Z[rows], Z[rows]) for Z in (coordinates, embedding))
        np.testing.assert_allclose(now, before, rtol=0, atol=1e-13)


# --- from end to end


def share_in_one_place(coordinate):
    """The largest share of the rows within 1 % of the range."""
    ordered = np.sort(coordinate)
    beyond = np.searchsorted(ordered, ordered + 0.01 * np.ptp(ordered), side="right")
    return (beyond - np.arange(len(ordered))).max() / len(ordered)


@pytest.mark.parametrize("few_values", [True, False])
def test_an_integer_feature_has_parts_where_its_values_are(rng, few_values):
    X, new = rng.uniform(size=(800, 3)), rng.uniform(size=(200, 3))
    groups = np.floor(3 * X[:, 0]).astype(int)
    for points in (X, new):
        points[:, 0] += 0.2 * np.floor(3 * points[:, 0])  # gaps that X alone bridges
    assert not idm.DiffusionMap(1).fit(X)._map.coordinates.parts.any()
    y = groups if few_values else 60 * groups + np.round(6 * X[:, 1]).astype(int) + np.arange(800) % 3  # 27 values
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = idm.IteratedDiffusionMap(n_neighbors=60, random_state=0).fit(X, y)
    assert [w.category for w in told] == ([] if few_values else [DisconnectedGraphWarning])  # of classes one wants it
    parts, first = model.iterations_[-1].component, model.embedding_[:, 0]
    n_parts = parts.max() + 1
    assert n_parts > 1
    # Parts have places of their own, in the order of their y.
    assert share_in_one_place(first) < 0.9
    of_parts = [parts == part for part in range(n_parts)]
    assert (np.argsort([first[p].mean() for p in of_parts]) == np.argsort([y[p].mean() for p in of_parts])).all()
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    # New rows fall beside a part, and where they are clearly of one by the feature that places them, it is that.
    nearest = idm.nearest_neighbors(model.embedding_, 1, queries=model.transform(new))
    assert nearest.distances.max() < 0.02 * np.ptp(first)
    at_rows, at_new = model.predict(X), model.predict(new)
    within = np.array([(at_rows[p].min() <= at_new) & (at_new <= at_rows[p].max()) for p in of_parts])
    clearly = within.sum(axis=0) == 1
    assert clearly.mean() > 0.8
    np.testing.assert_array_equal(parts[nearest.indices[clearly, 0]], within[:, clearly].argmax(axis=0))


def test_copies_of_a_part_with_the_same_feature_lie_in_one_place(rng):
    X = rng.uniform(size=(200, 2))
    model = idm.IteratedDiffusionMap(max_iter=1, tau=0.3, n_neighbors=60, random_state=0)
    with pytest.warns(DisconnectedGraphWarning, match="2 connected components, of 200, 200 points"):
        model.fit(np.vstack([X, X + 1e3]), np.tile(X[:, 0], 2))
    first, second = model.embedding_[:200], model.embedding_[200:]
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-8 * np.ptp(first[:, 0]))
    assert np.abs(np.corrcoef(first[:, 0], X[:, 0])[0, 1]) > 0.9


def test_tight_parts_keep_what_is_within_them():
    """Even if all eigenvalues within are small beside 1: weights are relative to the largest of them."""
    rng = np.random.default_rng(0)
    places = np.repeat(np.arange(10) * 1000.0, 12)[:, np.newaxis] + rng.normal(size=(120, 1))
    neighbors = NeighborIndex(places).nearest(None, 40, 1)
    found = diffusion_coordinates(
        neighbors, MapOptions(n_components=100, least_weight=1e-3), 1, exact=False, places=places
    )
    assert found.parts.max() == 9
    within = [np.ptp(found.embedding[found.parts == part], axis=0).max() for part in range(10)]
    assert np.sort(within)[-3:].min() > 0.3  # those of the largest eigenvalues


def test_there_are_no_more_coordinates_than_asked_for(rng):
    X = np.vstack([rng.normal(size=(80, 3)) + 100 * c for c in rng.normal(size=(5, 3))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = idm.IteratedDiffusionMap(1, n_neighbors=40, random_state=0).fit(X, X)
    assert model.embedding_.shape == (400, 1)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
