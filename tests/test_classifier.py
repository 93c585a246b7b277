"""Class labels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import idm
from idm import IteratedDiffusionMapClassifier
from idm.exceptions import UnpredictableFeatureWarning


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::idm.exceptions.ConstantFeatureWarning")
@pytest.mark.filterwarnings("ignore::idm.exceptions.ExtrapolationWarning")
@pytest.mark.filterwarnings("ignore::idm.exceptions.OutlierWarning")
@pytest.mark.filterwarnings("ignore::idm.exceptions.UnpredictableFeatureWarning")
@parametrize_with_checks([IteratedDiffusionMapClassifier(max_iter=3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return train_test_split(scale(X), y, test_size=0.4, random_state=0, stratify=y)


@pytest.mark.parametrize("labels", [np.array(["a", "b", "c"]), np.array([10, -3, 7]), np.array([0.0, 1.0, 5.0])])
def test_labels_of_any_type(wine, labels):
    X, new, y, y_new = wine
    model = IteratedDiffusionMapClassifier(random_state=0).fit(X, labels[y])
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    assert model.predict(new).dtype == labels.dtype
    assert model.score(new, labels[y_new]) > 0.94
    shares = model.predict_proba(new)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=2e-15)
    assert (shares >= 0).all()
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(new))


def test_rows_of_one_class_are_neighbors(wine):
    X, new, y, y_new = wine
    model = IteratedDiffusionMapClassifier(random_state=0).fit(X, y)
    found = idm.nearest_neighbors(model.embedding_, 15, queries=model.transform(new)).indices
    before = idm.nearest_neighbors(X, 15, queries=new).indices
    assert np.mean(y[found] == y_new[:, np.newaxis]) > np.mean(y[before] == y_new[:, np.newaxis])
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_two_classes_at_random_are_not_found(rng):
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 2, 600)
    with pytest.warns(UnpredictableFeatureWarning):
        model = IteratedDiffusionMapClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) < 0.56  # no row knows its own label


@pytest.mark.large
def test_digits():
    X, y = load_digits(return_X_y=True)
    scores = []
    for seed in range(3):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        scores.append(IteratedDiffusionMapClassifier(random_state=0).fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(scores) > 0.98
