"""Rows that carry the geometry."""

import numpy as np
import pytest

import idm
from idm import _core
from idm._landmarks import choose_landmarks, n_landmarks_of

pytestmark = pytest.mark.usefixtures("variant")


def test_farthest_points_agree_with_numpy(rng):
    X = rng.normal(size=(200, 3))
    chosen = [0, 1, 2]
    for _ in range(17):
        chosen.append(int(np.min(np.linalg.norm(X[:, np.newaxis] - X[chosen], axis=2), axis=1).argmax()))
    assert _core.farthest_points(X, 3, 20).ravel().tolist() == chosen


def test_no_row_is_chosen_twice_whatever_coincides():
    assert sorted(_core.farthest_points(np.ones((30, 2)), 1, 30).ravel().tolist()) == list(range(30))


def test_landmarks_cover_the_data_better_than_random_rows(rng):
    X = rng.standard_t(3, size=(20_000, 2))
    rows = choose_landmarks(X, 500, np.random.RandomState(0))
    assert len(set(rows.tolist())) == 500
    assert (np.diff(rows) > 0).all()

    def farthest(rows):
        return np.quantile(idm.nearest_neighbors(X[rows], 1, queries=X).distances, 0.99)

    assert farthest(rows) < 0.7 * farthest(rng.permutation(20_000)[:500])
    # And half of them follow the density: they are not all at the edge.
    assert np.median(np.linalg.norm(X[rows], axis=1)) < 3 * np.median(np.linalg.norm(X, axis=1))


def test_how_many():
    assert [n_landmarks_of(value, 5000) for value in ("auto", None, 700, 9000)] == [2000, 5000, 700, 5000]
    assert n_landmarks_of("auto", 300) == 300


@pytest.mark.large
def test_a_diffusion_map_of_landmarks_is_that_of_all_rows():
    X, _, _ = idm.datasets.make_torus(6000, feature="phi", random_state=0)
    # Of one bandwidth for all: landmarks are more even than all rows, and so would local scales be.
    whole = idm.DiffusionMap(4, n_neighbors=600, bandwidth="global").fit(X)
    part = idm.DiffusionMap(4, n_neighbors=200, bandwidth="global", n_landmarks=2000, random_state=0).fit(X)
    assert len(part.landmarks_) == 2000
    assert part.embedding_.shape == (6000, 4)
    np.testing.assert_allclose(part.eigenvalues_, whole.eigenvalues_, rtol=0.07)
    np.testing.assert_array_equal(part.transform(X), part.embedding_)
    # The same functions, up to a turn of the pairs.
    a, b = (e - e.mean(axis=0) for e in (whole.embedding_, part.embedding_))
    _, residual, *_ = np.linalg.lstsq(a, b, rcond=None)
    assert residual.sum() < 0.0015 * np.sum(b**2)


def test_precomputed_neighbors_go_with_all_rows_only(rng):
    X = rng.normal(size=(100, 2))
    with pytest.raises(ValueError, match="leave out precomputed_knn"):
        idm.DiffusionMap(2, n_landmarks=50, precomputed_knn=tuple(idm.nearest_neighbors(X, 10))).fit(X)
