"""The feature from means of cells of all rows: sums that do not depend on their order, and noise that is averaged."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import idm
from idm._cells import CellMeans, Cells, CellSums, cell_means
from idm._feature_estimate import LocalAffine, Straightened, adapted_estimate
from idm._local_estimates import Choice
from idm._neighbors import NeighborIndex
from idm._sample import sampled
from idm.exceptions import FeatureOutlierWarning

N, SUBSAMPLE = 24_000, 2000
X, _, TRUE = idm.datasets.make_annulus(N, feature="radius", random_state=0)
NOISY = TRUE + 0.3 * TRUE.std() * np.random.default_rng(5).normal(size=TRUE.shape)
XNEW, _, YNEW = idm.datasets.make_annulus(500, feature="radius", random_state=1)


def model(**parameters):
    return idm.IteratedDiffusionMap(random_state=0, n_landmarks=400, subsample=SUBSAMPLE, **parameters)


def sums_of(n_rows=N, n_centres=50, A=None):
    straight = Straightened(units=(4.0, 2.0), centre=np.array([0.5, 0.25]), A=A)
    cells = Cells(straight=straight, centres=NeighborIndex(straight.points(X[:n_centres])))
    return CellSums(
        cells=cells, middle=np.array([0.5]), farthest=np.array([4.0]), one=2.0 ** (62 - n_rows.bit_length()) / 4
    )


@pytest.mark.parametrize("A", [None, np.array([[1.0, 0.5], [0.5, 0.25]])])
def test_means_are_those_of_the_rows_that_are_nearest_to_a_centre(A):
    sums = sums_of(A=A)
    mapped = X / 4 if A is None else (X / 4 - [0.5, 0.25]) @ A
    cell = np.argmin(np.linalg.norm(mapped[:, np.newaxis] - mapped[:50], axis=2), axis=1)
    _, found = sums.means(sums.of(X, NOISY, 2))
    np.testing.assert_array_equal(found.counts[:, 0], np.bincount(cell))
    for c in range(50):
        np.testing.assert_allclose(found.index.points[c], mapped[cell == c].mean(axis=0), rtol=0, atol=1e-14)
        np.testing.assert_allclose(found.values[c], NOISY[cell == c].mean() / 2, rtol=0, atol=1e-13)


def test_sums_do_not_depend_on_parts_or_order():
    sums, order = sums_of(), np.random.default_rng(1).permutation(N)
    parts = [sums.of(X[rows], NOISY[rows], 1) for rows in np.array_split(order, [1, 3000, 20_000])]
    np.testing.assert_array_equal(np.sum(parts, axis=0), sums.of(X, NOISY, 2))


def test_sums_stay_in_range():
    n_rows = 2**20 - 1
    sums = sums_of(n_rows)
    far = 2 * (sums.middle + 4)  # of the features, as far as they are used
    total = sums.of(np.repeat(X[:1], 1023, axis=0), np.repeat([far], 1023, axis=0), 1)[0]
    assert total[-1] == 1023 * 4 * sums.one
    assert n_rows * 4 * int(sums.one) < 2**63


def test_rows_far_from_the_sample_and_missing_features_are_left_out():
    sums = sums_of()
    points = np.vstack([X, [[1e9, 0.0]], X[:3]])
    values = np.vstack([NOISY, [[1.0]], [[np.nan], [1e9], [-np.inf]]])
    np.testing.assert_array_equal(sums.of(points, values, 1), sums.of(X, NOISY, 1))
    centres, means = sums.means(sums.of(X[:5], NOISY[:5], 1))
    assert len(centres.centres) == len(means.index) == 5  # of 50: the others have no rows


def test_a_row_does_not_see_its_own_cell():
    sums = sums_of()
    total = sums.of(X, NOISY, 1)
    cells, data = sums.means(total)
    choice, own = Choice(factor=0.5, gamma=1e-3), int(cells.of(X[100:101] / 4, 1)[0])
    estimate = CellMeans(cells=cells, data=data, choice=choice, relevance=None)
    total[own, -1] += int(sums.one) * total[own, 0]
    changed = CellMeans(cells=cells, data=sums.means(total)[1], choice=choice, relevance=None)
    np.testing.assert_array_equal(changed.at(X[100:101], 1), estimate.at(X[100:101], 1))
    other = np.flatnonzero(cells.of(X / 4, 1) != own)[:1]
    assert not np.array_equal(changed.at(X[other], 1), estimate.at(X[other], 1))


def error(estimator):
    return np.sqrt(np.mean((estimator.predict(XNEW).reshape(-1, 1) - YNEW) ** 2)) / YNEW.std()


def test_noise_of_all_rows_is_averaged():
    found = model().fit(X, NOISY)
    assert isinstance(found._estimate, CellMeans)
    alone = model().fit(X[:SUBSAMPLE], NOISY[:SUBSAMPLE])
    assert error(found) < 0.5 * error(alone)
    assert error(found) < 0.03
    np.testing.assert_array_equal(found.transform(X), found.embedding_)
    np.testing.assert_array_equal(found.transform(X[7:8])[0], found.embedding_[7])


def test_without_noise_the_sample_is_better():
    assert isinstance(model().fit(X, TRUE)._estimate, LocalAffine)


@pytest.mark.parametrize(("wave", "averaged"), [(1, True), (60, False)])
def test_what_is_finer_than_cells_is_not_averaged(wave, averaged):
    y = np.sin(wave * TRUE) + 0.1 * np.random.default_rng(3).normal(size=TRUE.shape)
    rows = adapted_estimate(X[:10_000], y[:10_000], np.random.RandomState(0), 2)
    found = cell_means(rows, y[:10_000], lambda sums: sums(X, y, 2), N, np.random.RandomState(0), 2)
    assert (found is not None) == averaged


def test_labels_are_averaged_too():
    random = np.random.default_rng(2)
    right, right_new = (np.where(y[:, 0] > np.median(TRUE), "far", "near") for y in (TRUE, YNEW))
    labels = np.where(random.uniform(size=N) < 0.3, np.where(right == "far", "near", "far"), right)
    found = idm.IteratedDiffusionMapClassifier(random_state=0, n_landmarks=400, subsample=SUBSAMPLE).fit(X, labels)
    assert isinstance(found._estimate, CellMeans)
    assert found.score(XNEW, right_new) > 0.95


def test_labels_of_another_type_outside_the_sample_are_not_known():
    labels = np.where(NOISY[:, 0] > np.median(TRUE), "far", "near").astype(object)
    classifier = idm.IteratedDiffusionMapClassifier(random_state=0, n_landmarks=400, subsample=SUBSAMPLE)
    rows = sampled(classifier, X, labels, SUBSAMPLE, np.random.RandomState(0)).rows
    expected = classifier.fit(X, labels)
    assert isinstance(expected._estimate, CellMeans)
    other = np.setdiff1d(np.arange(N), rows)[0]
    labels[other] = 3
    found = clone(classifier).fit(X, labels)
    assert found._estimate.data.counts.sum() == N - 1 == expected._estimate.data.counts.sum() - 1


@pytest.mark.parametrize("n_distinct", [12, 100])
def test_few_distinct_points_have_means_far_nearer_to_each_other_than_rows(n_distinct):
    random = np.random.default_rng(0)
    x = np.linspace(0, 1, n_distinct)
    points = np.column_stack([x, x**2])[random.integers(n_distinct, size=6000)]
    y = random.choice([-1.0, 1.0], size=6000) + 0.12 * points[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few points in many places
        found = model(max_iter=2, store_embedding=False).fit(points, y)
    assert np.isfinite(found.predict(points)).all()


def test_held_out_rows_are_not_averaged():
    parameters = {"early_stopping": True, "max_iter": 2, "store_embedding": False}
    found = model(**parameters).fit(X, NOISY)
    assert isinstance(found._estimate, CellMeans)
    assert found._estimate.data.counts.sum() == N - SUBSAMPLE / 10


@pytest.mark.parametrize("far", [1e100, 1e200])
def test_one_row_far_away_outside_the_sample(far):
    found = model(store_embedding=False)
    rows = sampled(found, X, NOISY, SUBSAMPLE, np.random.RandomState(0)).rows
    points, y = X.copy(), NOISY.copy()
    other = np.setdiff1d(np.arange(N), rows)[:2]
    points[other[0]], y[other[1]] = far, 1e100
    found.fit(points, y)
    assert isinstance(found._estimate, CellMeans)
    assert found._estimate.data.counts.sum() == N - 2


def test_a_column_of_a_constant_and_many_rows_of_one_point():
    points = np.column_stack([X, np.full(N, 3.0)])
    points[:8000] = points[0]
    found = model().fit(points, NOISY)
    assert np.isfinite(found.embedding_).all()


def test_the_same_from_a_disk_and_from_a_file(tmp_path):
    found = model(store_embedding=False).fit(X, NOISY)
    for name, array in {"X": X, "y": NOISY}.items():
        np.save(tmp_path / name, array)
    on_disk = model(store_embedding=False).fit(*(np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy"))
    idm.save(found, tmp_path / "model.idm")
    for other in (on_disk, idm.load(tmp_path / "model.idm")):
        assert isinstance(other._estimate, CellMeans)
        np.testing.assert_array_equal(other.transform(XNEW), found.transform(XNEW))


@pytest.mark.parametrize("scale", [1.0, 100.0], ids=["alone", "beside a column of large numbers"])
def test_features_out_of_all_proportion_are_not_averaged(scale):
    """In the sample or not, and whatever the units of the other column."""
    rng = np.random.default_rng(0)
    features = np.hstack([scale * NOISY, NOISY])
    features[rng.permutation(N)[:400], 1] = TRUE.mean() + 60 * TRUE.std()
    with pytest.warns(FeatureOutlierWarning):
        found = model(max_iter=1, store_embedding=False).fit(X, features)
    assert isinstance(found._estimate, CellMeans)
    error = found.predict(XNEW)[:, 1] - YNEW[:, 0]
    assert np.sqrt(np.mean(error**2)) < 0.05 * YNEW.std()
