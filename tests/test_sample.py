"""Fits of a random part of many rows: what they find, and that row numbers are those of X."""

import sys

import numpy as np
import pytest
import scipy.sparse

import idm
from idm._sample import sampled
from idm.exceptions import ExtrapolationWarning, FeatureOutlierWarning

X, _, y = idm.datasets.make_annulus(3000, feature="radius", random_state=0)
XNEW, _, YNEW = idm.datasets.make_annulus(500, feature="radius", random_state=1)
y, YNEW = y[:, 0], YNEW[:, 0]


def model(**parameters):
    return idm.IteratedDiffusionMap(random_state=0, n_landmarks=400, **parameters)


def test_rows_that_are_not_fitted_are_mapped_like_new_ones():
    found = model(subsample=1000).fit(X, y)
    assert found.embedding_.shape[0] == len(X)
    np.testing.assert_array_equal(found.transform(X), found.embedding_)
    assert found.landmarks_.max() > 1000
    np.testing.assert_array_equal(found.iterations_[-1].landmarks, found.landmarks_)
    np.testing.assert_array_equal(found.embedding_[found.landmarks_], found.iterations_[found.n_iter_ - 1].embedding)
    assert found.score(XNEW, YNEW) > 0.999


def test_a_fit_of_all_rows_draws_no_sample():
    every, none = model(subsample=3000).fit(X, y), model(subsample=None).fit(X, y)
    np.testing.assert_array_equal(every.embedding_, none.embedding_)


def test_without_noise_features_of_rows_that_are_not_fitted_are_not_used():
    estimator = model(subsample=1000)
    rows = sampled(estimator, X, y, 1000, np.random.RandomState(0)).rows
    changed = np.full_like(y, 7.0)
    changed[rows] = y[rows]
    np.testing.assert_array_equal(model(subsample=1000).fit(X, changed).embedding_, estimator.fit(X, y).embedding_)


def test_warnings_name_rows_of_X():
    wrong = y.copy()
    wrong[2500] = 1e9
    with pytest.warns(FeatureOutlierWarning, match=r"in 1 of \d+ rows: 2500 \(row 2500 has 1e\+09"):
        model(subsample=2999).fit(X, wrong)


def test_data_frames_keep_their_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["east", "north"])
    found = model(subsample=1000).fit(frame, pandas.Series(y))
    assert found.feature_names_in_.tolist() == ["east", "north"]
    np.testing.assert_array_equal(found.embedding_, model(subsample=1000).fit(X, y).embedding_)


@pytest.mark.filterwarnings("ignore::idm.exceptions.OutlierWarning")  # rows where two classes meet
def test_labels_and_derivatives():
    labels = np.where(y > np.median(y), "far", "near")
    classifier = idm.IteratedDiffusionMapClassifier(random_state=0, n_landmarks=400, subsample=1000).fit(X, labels)
    assert classifier.score(XNEW, np.where(np.median(y) < YNEW, "far", "near")) > 0.94
    derivative = model(subsample=1000, feature_change="derivative", max_iter=2).fit(X, y)
    np.testing.assert_array_equal(derivative.transform(X), derivative.embedding_)
    assert derivative.score(XNEW, YNEW) > 0.98


@pytest.mark.parametrize(
    ("value", "error"), [(1, ValueError), (2.5, TypeError), ("auto", TypeError), (True, TypeError)]
)
def test_other_sizes_are_refused(value, error):
    with pytest.raises(error, match="subsample must be"):
        model(subsample=value).fit(X, y)
    with pytest.raises(TypeError, match="store_embedding must be True or False"):
        model(store_embedding="no").fit(X, y)


def test_the_estimate_of_memory_knows_it():
    sizes = [idm.estimate_memory(10_000_000, 3, estimator=model(**p)) for p in ({}, {"store_embedding": False})]
    assert sizes[0] - sizes[1] == 8 * 100 * 10_000_000
    assert sizes[1] < 2e8 < idm.estimate_memory(10_000_000, 3, estimator=model(subsample=None, store_embedding=False))


def test_a_model_without_coordinates_of_its_rows_is_saved(tmp_path):
    found = model(subsample=1000, store_embedding=False).fit(X, y)
    idm.save(found, tmp_path / "model.idm")
    loaded = idm.load(tmp_path / "model.idm")
    assert not hasattr(loaded, "embedding_")
    np.testing.assert_array_equal(loaded.transform(XNEW), found.transform(XNEW))
    pytest.importorskip("matplotlib")
    assert len(idm.plot.iterations(loaded, X, y).axes) > 2


def test_progress_tells_rows_a_second_and_the_time_left(capsys, caplog, monkeypatch):
    pytest.importorskip("tqdm")
    found = model(subsample=1000, verbose=1).fit(X, y)
    assert "rows: 100%" in capsys.readouterr().err
    noisy = y + np.random.default_rng(0).normal(scale=y.std(), size=len(y))
    model(subsample=1000, store_embedding=False, verbose=1).fit(X, noisy)
    assert "rows summed:   0%" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with caplog.at_level("INFO", logger="idm"):
        found.transform(XNEW)
    assert "500 of 500 rows" in caplog.text
    assert "a second, 0 s left" in caplog.text


@pytest.fixture
def outside():
    """A row that is not fitted."""
    rows = sampled(model(), X, y, 1000, np.random.RandomState(0)).rows
    return int(np.setdiff1d(np.arange(len(X)), rows)[7])


@pytest.mark.parametrize("missing", [None, np.nan, np.inf])
def test_missing_values_of_rows_that_are_not_fitted_are_found(outside, missing):
    wrong = y.astype(object)
    wrong[outside] = missing
    with pytest.raises(ValueError, match=rf"y must be finite, got 1 NaN or infinite .* row {outside}, column 0"):
        model(subsample=1000).fit(X, wrong)
    masked = np.ma.masked_array(y, np.arange(len(y)) == outside)
    with pytest.raises(ValueError, match="y has masked values"):
        model(subsample=1000).fit(X, masked)
    labels = np.where(y > 1, "a", "b").astype(object)
    labels[outside] = None
    with pytest.raises(ValueError, match=rf"y has no label in row {outside}"):
        idm.IteratedDiffusionMapClassifier(subsample=1000).fit(X, labels)


def test_rows_that_are_not_fitted_and_far_from_all_others_are_told(outside):
    far = X.copy()
    far[outside] += 1000
    with pytest.warns(ExtrapolationWarning, match="1 of 3000 rows"):
        model(subsample=1000).fit(far, y)


@pytest.mark.parametrize(("wrong", "words"), [(None, "requires y to be passed"), (5.0, r"y must have shape \(rows,\)")])
def test_what_is_no_feature_is_refused_in_the_same_words(wrong, words):
    for subsample in (1000, None):
        with pytest.raises(ValueError, match=words):
            model(subsample=subsample).fit(X, wrong)


def test_parameters_are_checked_before_rows_are_read():
    class Unread:
        shape, dtype = (3000, 2), np.dtype(float)

        def __getitem__(self, rows):
            raise AssertionError

    for changes in ({"tau": 5}, {"max_iter": 0}, {"n_components": "x"}, {"n_landmarks": 1}, {"n_jobs": "a"}):
        with pytest.raises((TypeError, ValueError), match=next(iter(changes))):
            idm.IteratedDiffusionMap(**changes).fit(Unread(), y)
    with pytest.raises(TypeError, match="subsample must be an integer"):
        idm.estimate_memory(1000, 3, estimator=model(subsample="a"))


def test_sparse_features_are_refused_as_without_a_sample():
    for subsample in (1000, None):
        with pytest.raises(TypeError, match="y is a sparse matrix"):
            model(subsample=subsample).fit(X, scipy.sparse.csr_array(y[:, np.newaxis]))
