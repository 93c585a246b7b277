"""Data frames in, data frames out: names of columns are kept and checked, as scikit-learn does it."""

import numpy as np
import pandas as pd
import pytest

import idm

COLUMNS = ["pressure", "speed"]


@pytest.fixture(scope="module")
def frames():
    X, _, y = idm.datasets.make_annulus(300, feature="radius", random_state=0)
    index = [f"run {i}" for i in range(300)]
    return pd.DataFrame(X, columns=COLUMNS, index=index), pd.Series(y[:, 0], index=index, name="radius")


def labels(y):
    return pd.Series(np.where(y > y.median(), "outer", "inner"), index=y.index)


MODELS = {
    "DiffusionMap": (idm.DiffusionMap(3, n_neighbors=100), lambda y: None),
    "IteratedDiffusionMap": (idm.IteratedDiffusionMap(max_iter=1, random_state=0), lambda y: y),
    "IteratedDiffusionMapClassifier": (idm.IteratedDiffusionMapClassifier(max_iter=1, random_state=0), labels),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_frame_gives_what_its_array_gives(frames, name):
    (X, y), (model, kind) = frames, MODELS[name]
    target = kind(y)
    plain = model.fit(X.to_numpy(), None if target is None else target.to_numpy()).transform(X.to_numpy())
    fitted = model.fit(X, target)
    assert fitted.feature_names_in_.tolist() == COLUMNS
    mapped = fitted.set_output(transform="pandas").transform(X)
    fitted.set_output(transform="default")
    np.testing.assert_array_equal(mapped.to_numpy(), plain)
    assert mapped.index.equals(X.index)
    assert mapped.columns.tolist() == [f"{name.lower()}{i}" for i in range(mapped.shape[1])]


@pytest.mark.parametrize("name", ["IteratedDiffusionMap", "IteratedDiffusionMapClassifier"])
def test_predictions_do_not_warn_about_names(frames, name):
    """The map hands its coordinates to a regression inside, which knows no names (warnings are errors here)."""
    (X, y), (model, kind) = frames, MODELS[name]
    expected = model.fit(X, kind(y)).predict(X)
    np.testing.assert_array_equal(model.set_output(transform="pandas").predict(X), expected)
    model.set_output(transform="default")


@pytest.mark.parametrize("name", MODELS)
def test_other_columns_are_refused(frames, name):
    (X, y), (model, kind) = frames, MODELS[name]
    model.fit(X, kind(y))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(X[COLUMNS[::-1]])


def test_names_are_kept_in_model_files(frames, tmp_path):
    X, y = frames
    idm.save(idm.IteratedDiffusionMap(max_iter=1, random_state=0).fit(X, y), tmp_path / "model.idm")
    loaded = idm.load(tmp_path / "model.idm")
    assert loaded.feature_names_in_.tolist() == COLUMNS
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.transform(X.rename(columns={"speed": "velocity"}))
