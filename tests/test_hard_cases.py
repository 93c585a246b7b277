"""The promises of docs/promises.md, numbered as there: each input has a correct result, a warning or a clear error.

Model files (10) are in test_model_file.py, the same bits in threads and processes (10) in test_determinism.py; what a
step does with such input is in its own file.
"""

import contextlib
import logging
import sys
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError

import idm
from idm import DiffusionMap, IteratedDiffusionMap, IteratedDiffusionMapClassifier, LocalKernelMap
from idm.exceptions import (
    CoincidentPointsError,
    ConstantFeatureWarning,
    DegenerateNeighborhoodWarning,
    DisconnectedGraphWarning,
    ExtrapolationWarning,
    KernelCutWarning,
    NotConvergedWarning,
    OutlierWarning,
    SpectraDifferWarning,
    UnpredictableFeatureWarning,
)

DIFFUSION, LOCAL = DiffusionMap(5), LocalKernelMap(5)
ITERATED = IteratedDiffusionMap(max_iter=3, random_state=0)
LABELS = IteratedDiffusionMapClassifier(max_iter=3, random_state=0)


def of(*models):
    return pytest.mark.parametrize("model", models, ids=lambda model: type(model).__name__)


each_model = of(DIFFUSION, ITERATED, LABELS, LOCAL)
each_map = of(DIFFUSION, ITERATED, LABELS)


def fitted(model, X, y=None, **changes):
    """The model of X and a feature y, the first column of X if it is not given; of LocalKernelMap it is X itself."""
    y = np.asarray(X)[:, 0] if y is None else y
    if isinstance(model, LocalKernelMap):
        y = X
    elif isinstance(model, IteratedDiffusionMapClassifier):
        y = (y > np.median(y)).astype(int)
    return clone(model).set_params(**changes).fit(X, y)


def assert_sound(model, X):
    """New coordinates are finite, and those of the training rows are their own to the bit."""
    if isinstance(model, LocalKernelMap):
        assert np.isfinite(model.predict(X)).all()
    else:
        np.testing.assert_array_equal(model.transform(X), model.embedding_)
        assert np.isfinite(model.embedding_).all()


@contextlib.contextmanager
def exactly(*categories):
    """These warnings are given, and no others, each once; but for few iterations, which the models here have."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    told = [w.category for w in caught if w.category is not NotConvergedWarning]
    assert sorted(told, key=str) == sorted(categories, key=str), [str(w.message) for w in caught]


@pytest.fixture(scope="module")
def annulus():
    X, _, y = idm.datasets.make_annulus(250, feature="radius", random_state=0)
    return X, y[:, 0]


# --- 1. few rows, many neighbours, many coordinates, one column, many columns


@each_model
@pytest.mark.parametrize("n", [0, 1])
def test_1_too_few_rows_are_refused(model, n):
    with pytest.raises(ValueError, match=f"{n} sample.*minimum of 2 is required by {type(model).__name__}"):
        clone(model).fit(np.zeros((n, 2)), np.zeros(n))


@each_model
@pytest.mark.parametrize("n", [2, 3, 4, 9, 10, 15])
def test_1_few_rows_have_a_map(model, n, rng):
    X = rng.normal(size=(n, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnpredictableFeatureWarning)  # so few rows may tell nothing of y
        warnings.simplefilter("ignore", OutlierWarning)
        found = fitted(model, X)
    assert_sound(found, X)
    if model is DIFFUSION:
        assert found.embedding_.shape == (n, min(5, n - 1))


@each_model
def test_1_more_neighbors_than_rows_are_all_rows(model, rng):
    X = rng.normal(size=(60, 2))
    all_rows, more = (fitted(model, X, n_neighbors=k) for k in (60, 1000))
    if isinstance(model, LocalKernelMap):
        np.testing.assert_array_equal(more.predict(X), all_rows.predict(X))
    else:
        np.testing.assert_array_equal(more.embedding_, all_rows.embedding_)


@each_model
def test_1_more_coordinates_than_there_are_rows_are_one_less(model, rng):
    X = rng.normal(size=(20, 2))
    found = fitted(model, X, n_components=500)
    assert_sound(found, X)
    if isinstance(model, LocalKernelMap):
        assert found.eigenvalues_.shape == (2, 19)
    else:
        assert found.embedding_.shape[1] <= 19


@each_model
def test_1_one_column(model, rng):
    X = rng.uniform(size=(100, 1))
    assert_sound(fitted(model, X), X)


@each_model
def test_1_more_columns_than_neighbors(model, rng):
    X = rng.normal(size=(60, 80))
    with exactly(*[KernelCutWarning] * (model is DIFFUSION), *[SpectraDifferWarning] * (model is LOCAL)):
        found = fitted(model, X, n_neighbors=20)
    assert_sound(found, X)


# --- 2. copies


@each_model
def test_2_identical_points_are_refused(model):
    with pytest.raises(CoincidentPointsError, match="no two points apart"):
        fitted(model, np.ones((40, 2)), np.arange(40.0))


@each_model
@pytest.mark.parametrize("k", [100, 20])
def test_2_copies_have_one_place(model, k):
    # 60 copies each of three points; 20 neighbours are fewer than that.
    rng = np.random.default_rng(0)
    X = np.vstack([np.repeat(rng.normal(size=(3, 2)), 60, axis=0), rng.normal(size=(120, 2))])
    told = {(DIFFUSION, 20): KernelCutWarning, (LOCAL, 20): DegenerateNeighborhoodWarning}
    with exactly(*[told[model, k]] if (model, k) in told else ()):
        found = fitted(model, X, n_neighbors=k)
    assert_sound(found, X)
    if not isinstance(model, LocalKernelMap):
        for first in (0, 60, 120):
            np.testing.assert_array_equal(found.embedding_[first : first + 60], found.embedding_[[first] * 60])


# --- 3. data that fall apart


@each_model
def test_3_three_far_identical_clusters(model):
    cluster = np.random.default_rng(0).normal(size=(100, 2))
    X = np.vstack([cluster, cluster + 1e4, cluster - 1e4])
    # The feature joins what X has apart.
    told = {DIFFUSION: [DisconnectedGraphWarning], LOCAL: [DisconnectedGraphWarning] * 2}.get(model, [])
    with exactly(*told):
        found = fitted(model, X, X[:, 0] % 7, n_neighbors=64)
    assert_sound(found, X)
    if model is DIFFUSION:  # two coordinates of eigenvalue 0, three values: the clusters
        np.testing.assert_array_equal(found.eigenvalues_[:2], 0)
        assert len(np.unique(found.eigenvectors_[:, :2].round(8), axis=0)) == 3
        assert np.abs(found.embedding_).max() < 100


@of(DiffusionMap(5, bandwidth="global"), DIFFUSION, LOCAL)
def test_3_an_outlier_is_named(model, rng):
    X = rng.normal(size=(300, 2))
    y = X[:, 0].copy()
    X[11] = 1e9
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fitted(model, X, y, n_neighbors=50)
    assert_sound(found, X)
    outliers = [str(w.message) for w in caught if w.category is OutlierWarning]
    assert all("row 11" in message for message in outliers)
    assert outliers
    others = {w.category for w in caught} - {OutlierWarning, NotConvergedWarning}
    assert others <= {DisconnectedGraphWarning, KernelCutWarning}


@each_map
@pytest.mark.parametrize("far", [30.0, 300.0])
def test_3_an_outlier_takes_no_coordinate(model, far, rng):
    X = rng.normal(size=(300, 2))
    y = X[:, 0].copy()
    X[11] = far
    with exactly():
        found = fitted(model, X, y, n_neighbors=50)
    assert_sound(found, X)
    coordinate = np.delete(found.embedding_[:, 0], 11)
    assert np.ptp(np.quantile(coordinate, [0.25, 0.75])) > 0.2 * np.ptp(found.embedding_[:, 0])


def test_3_a_graph_that_falls_apart_in_a_later_iteration(rng):
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = (X[:, 0] > 0) * 5.0
    with exactly():  # of a y with few values, parts are what one wants
        model = IteratedDiffusionMap(max_iter=20, tol=0.0, n_neighbors=60, random_state=0).fit(X, y)
    assert any(record.component.any() for record in model.iterations_)
    # Neighbours have one value, that which places them: the parts are pure.
    found, placed = idm.nearest_neighbors(model.embedding_, 6).indices, model.predict(X) > 2.5
    assert np.mean(placed[found] == placed[:, np.newaxis]) > 0.98
    with pytest.warns(ExtrapolationWarning):  # far from the data
        assert np.isfinite(model.transform(rng.normal(size=(100, 2)) + 3.0)).all()


class Known(RegressorMixin, BaseEstimator):
    """A feature of two values, everywhere beside each other, that is known exactly."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return 5.0 * (np.floor(1000 * X[:, 0]) % 2)


@pytest.mark.filterwarnings("ignore::idm.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("tau", [0.95, 0.98])
def test_3_a_collapse_ends_the_iterations_and_loses_none(tau):
    # Neighbours are nearer than a thousandth of what they are on a line. There are few places, of one value of y each.
    X = np.random.default_rng(3).normal(size=(200, 2))
    model = IteratedDiffusionMap(tau=tau, max_iter=20, tol=0.0, n_neighbors=50, feature_estimator=Known())
    model.fit(X, Known().predict(X))
    assert model.stop_reason_ == "coincident points"
    assert model.n_iter_ == len(model.iterations_) < 20
    rounded = (model.embedding_ / np.ptp(model.embedding_, axis=0).max()).round(1)
    places, of_rows = np.unique(rounded, axis=0, return_inverse=True)
    assert len(places) < 4
    for place in range(len(places)):
        assert len(np.unique(model.predict(X)[of_rows.ravel() == place])) == 1


# --- 4. features and columns that say nothing


def test_4_a_constant_feature(rng):
    X = rng.normal(size=(200, 2))
    with exactly(ConstantFeatureWarning):
        model = clone(ITERATED).fit(X, np.full(200, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, rtol=1e-14)
    assert model.feature_map_.shape[1] == 0
    with exactly(ConstantFeatureWarning):
        np.testing.assert_allclose(clone(ITERATED).fit(X, np.full(200, -1.7e200)).predict(X), -1.7e200, rtol=1e-14)
    with exactly(UnpredictableFeatureWarning):
        clone(ITERATED).fit(X, 1.7e9 + rng.normal(size=200))
    with exactly(ConstantFeatureWarning):
        labels = clone(LABELS).fit(X, np.full(200, "a"))
    assert (labels.predict(X) == "a").all()
    with pytest.raises(CoincidentPointsError, match="no two points apart in y along X"):
        clone(LOCAL).fit(X, np.ones(200))


@pytest.mark.parametrize("tau", [0.95, 1.0])
def test_4_without_a_feature_the_map_is_the_diffusion_map_of_X(tau, rng):
    X = rng.uniform(size=(300, 2))
    models = [IteratedDiffusionMap(tau=tau, n_neighbors=80) for _ in range(2)]
    with exactly(ConstantFeatureWarning):
        models[0].fit(X, np.ones(300))
    with exactly(UnpredictableFeatureWarning):
        models[1].fit(X, np.random.default_rng(1).normal(size=300))
    for model in models:
        assert (model.stop_reason_, model.n_iter_) == ("no flow", 1)
        (record,) = model.iterations_
        plain = DiffusionMap(
            record.n_coordinates, n_neighbors=80, n_neighbors_bandwidth=20, diffusion_time=record.diffusion_time
        ).fit(X)
        np.testing.assert_allclose(np.abs(model.embedding_), np.abs(plain.embedding_), rtol=0, atol=1e-6)
        assert_sound(model, X)


@each_map
def test_4_a_constant_column_changes_nothing(model, annulus):
    X, y = annulus
    plain, wider = (fitted(model, Z, y).embedding_ for Z in (X, np.column_stack([X, np.full(250, 7.0)])))
    np.testing.assert_allclose(wider, plain, rtol=0, atol=1e-12)


@of(ITERATED, LABELS)
def test_4_unrelated_features_are_told(model, rng):
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    with exactly(UnpredictableFeatureWarning):
        found = fitted(model, X, y)
    assert_sound(found, X)


@pytest.mark.parametrize("change", ["difference", "derivative"])
def test_4_neighborhoods_of_one_value(rng, change):
    X = rng.normal(size=(300, 2))
    y = np.maximum(X[:, 0], 0)
    flat = idm.local_derivatives(X, y, n_neighbors=20)[X[:, 0] < -1.5]
    assert len(flat) > 5
    assert not flat.any()
    with exactly():
        model = clone(ITERATED).set_params(feature_change=change).fit(X, y)
    assert_sound(model, X)
    assert model.score(X, y) > {"difference": 0.9999, "derivative": 0.98}[change]


# --- 5. units, and where the data lie


@pytest.mark.parametrize("factor", [1e6, 1e-6])
@pytest.mark.parametrize("n_other", [5, 1000])
def test_5_the_units_of_y_change_nothing(factor, n_other):
    X = np.random.default_rng(0).normal(size=(2000, 3))
    y = np.zeros(2000)
    y[np.argsort(-X[:, 0])[:n_other]] = 1.0  # 5: no pair of rows in a hundred has another y
    plain, scaled = (IteratedDiffusionMap(max_iter=3, random_state=0).fit(X, c * y) for c in (1.0, factor))
    a, b = (pdist(model.embedding_[::4]) for model in (plain, scaled))
    np.testing.assert_allclose(b, a, rtol=0, atol=1e-9 * a.max())


@each_model
@pytest.mark.parametrize(
    ("factor", "words"), [(1e200, "overflow; rescale it"), (1e-200, "no two points apart.*rescale")]
)
def test_5_scales_beyond_float_are_refused(model, annulus, factor, words):
    X, y = annulus
    with pytest.raises(ValueError, match=words):
        fitted(model, X * factor, y)


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_5_scales_of_y_beyond_float(annulus, factor):
    X, y = annulus
    if factor > 1:
        with pytest.raises(ValueError, match=r"y has values .* apart, whose squares overflow; rescale it"):
            clone(ITERATED).fit(X, y * factor)
    else:  # a feature that hardly changes
        assert np.isfinite(clone(ITERATED).fit(X, y * factor).embedding_).all()


@each_map
@pytest.mark.parametrize("factor", [1e-100, 1e-8, 1e8, 1e100])
def test_5_the_map_scales_as_the_data_do(model, annulus, factor):
    X, y = annulus
    plain, scaled = (fitted(model, X * f, y * f) for f in (1.0, factor))
    np.testing.assert_allclose(scaled.embedding_ / factor, plain.embedding_, rtol=0, atol=1e-11)
    if model is DIFFUSION:
        assert scaled.epsilon_ == pytest.approx(plain.epsilon_ * factor**2, rel=1e-14, abs=0)


@each_map
@pytest.mark.parametrize("move", ["rotated", "moved by 3", "moved by 1e8", "permuted"])
def test_5_moved_data_have_the_same_distances(model, annulus, rng, move):
    X, y = annulus
    order = rng.permutation(250) if move == "permuted" else np.arange(250)
    rotation, _ = np.linalg.qr(rng.normal(size=(2, 2)))
    moved = {"rotated": X @ rotation, "moved by 3": X + 3, "moved by 1e8": X + 1e8, "permuted": X[order]}[move]
    changes = {} if model is DIFFUSION else {"feature_scale": 1.0}  # which "auto" finds by random pairs of rows
    a, b = fitted(model, X, y, **changes).embedding_[order], fitted(model, moved, y[order], **changes).embedding_
    # Coordinates are rounded to 1e-8 there.
    allowed = (1e-6 if move == "moved by 1e8" else 5e-11) * np.abs(a).max()
    np.testing.assert_allclose(*(np.linalg.norm(e - e[0], axis=1) for e in (a, b)), rtol=0, atol=allowed)


# --- 6. values and layouts


@each_model
@pytest.mark.parametrize("where", ["X", "y", "query"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_6_values_that_are_not_finite_are_refused(model, annulus, where, value):
    X, y = (array.copy() for array in annulus)
    if where == "query":
        found = fitted(model, X, y)
        with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
            (found.predict if isinstance(model, LocalKernelMap) else found.transform)([[0.0, value]])
    elif not (where == "y" and model is DIFFUSION):
        (X[:, 0] if where == "X" else y)[3] = value
        with pytest.raises(ValueError, match=rf"{where} contains (NaN|infinity)"):
            clone(model).fit(X, y)


@each_map
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int64, object])
def test_6_other_types_are_converted(model, annulus, dtype):
    X, y = (np.round(array * 100).astype(dtype) for array in annulus)
    found, expected = fitted(model, X, y), fitted(model, X.astype(float), y.astype(float))
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)
    np.testing.assert_array_equal(found.transform(X[::-1]), expected.embedding_[::-1])


@each_model
def test_6_bool_is_a_number(model):
    corners = np.random.default_rng(0).integers(0, 2, size=(60, 7)).astype(bool)
    found, expected = (fitted(model, Z, corners.sum(axis=1)) for Z in (corners, corners.astype(float)))
    results = [(m.predict if isinstance(model, LocalKernelMap) else m.transform)(corners) for m in (found, expected)]
    np.testing.assert_array_equal(*results)


@each_model
def test_6_what_is_no_array_of_numbers_is_refused(model, annulus):
    X, y = annulus
    for wrong, words in {
        "complex": (X.astype(complex), "Complex data not supported"),
        "words": (np.full(X.shape, "word"), "X must hold numbers"),
        "sparse": (scipy.sparse.csr_matrix(X), "Sparse data was passed for X"),
        "masked": (np.ma.masked_greater(X, 1), "X has masked values"),
    }.values():
        with pytest.raises((TypeError, ValueError), match=words):
            clone(model).fit(wrong, y)


@each_map
def test_6_layouts_do_not_matter_and_are_left_alone(model, annulus, tmp_path):
    X, y = annulus
    np.save(tmp_path / "X.npy", X)
    expected = fitted(model, X, y).embedding_
    for given in (
        np.asfortranarray(X),
        X[::-1].copy()[::-1],
        np.repeat(X, 2, axis=1)[:, ::2],
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        X.tolist(),
    ):
        found = fitted(model, given, y)
        np.testing.assert_array_equal(found.embedding_, expected)
        np.testing.assert_array_equal(found.transform(given), expected)
        np.testing.assert_array_equal(given, X)


# --- 7. ties


@each_map
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # so few neighbours are cut off, and fall apart
@pytest.mark.parametrize("k", [9, 21, 60])
def test_7_ties_on_a_grid_are_broken_as_in_the_fit(model, k):
    X = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    found = fitted(model, X, np.hypot(*X.T), n_neighbors=k)
    assert_sound(found, X)


@of(DIFFUSION, ITERATED)
def test_7_double_eigenvalues_of_a_circle(model):
    X, _, _ = idm.datasets.make_circle(400)
    found = fitted(model, X, X[:, 0], n_components=10)
    assert_sound(found, X)
    if model is DIFFUSION:
        rounding = 400 * np.finfo(float).eps * 2 / found.epsilon_  # of 2 log(xi) / epsilon
        np.testing.assert_allclose(found.eigenvalues_[::2], found.eigenvalues_[1::2], rtol=0, atol=rounding)


# --- 8. queries


@each_map
def test_8_training_rows_and_far_points(model, annulus):
    X, y = annulus
    found = fitted(model, X, y)
    rows = np.vstack([X[:2], [[0.0, 50.0], [1e10, 0.7e10]], X[2:3]])
    assert found.supported(rows).tolist() == [True, True, False, False, True]
    with pytest.warns(ExtrapolationWarning, match=r"2 of 5 rows .* \(the first: row 2\)"):
        coordinates = found.transform(rows)
    np.testing.assert_array_equal(coordinates[[0, 1, 4]], found.embedding_[:3])
    assert np.isfinite(coordinates).all()


@each_model
def test_8_queries_that_are_refused(model, annulus):
    found = fitted(model, *annulus)
    ask = found.predict if isinstance(model, LocalKernelMap) else found.transform
    for rows, words in (
        (np.zeros((1, 3)), f"3 features, but {type(model).__name__} is expecting 2"),
        (np.zeros((0, 2)), "0 sample"),
        (np.full((1, 2), 1e200), "overflow; rescale"),
    ):
        with pytest.raises(ValueError, match=words):
            ask(rows)


@pytest.mark.large
@of(DIFFUSION, ITERATED)
@pytest.mark.filterwarnings("ignore::idm.exceptions.ExtrapolationWarning")  # of the corners
def test_8_many_rows_at_once_are_as_in_parts(model, annulus):
    found = fitted(model, *annulus, n_neighbors=50)
    n = 1_000_000 if model is DIFFUSION else 20_000
    new = np.random.default_rng(0).uniform(-1.4, 1.4, size=(n, 2))
    once = found.transform(new)
    for part in (slice(1000), slice(n // 2, n // 2 + 1), slice(n - 1000, n)):
        np.testing.assert_array_equal(found.transform(new[part]), once[part])


# --- 9. the step of the flow and the number of iterations


@of(ITERATED, LABELS)
def test_9_iterations_and_steps_that_are_refused(model, annulus):
    for name, value, words in (
        ("max_iter", 0, "max_iter must be at least 1, got 0"),
        ("tau", -0.1, "tau must be finite and between 0 and 1, got -0.1"),
        ("tau", np.nan, "tau must be finite and between 0 and 1, got nan"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted(model, *annulus, **{name: value})


@of(ITERATED, LABELS)
@pytest.mark.parametrize(
    "changes", [{"max_iter": 1}, {"max_iter": 20, "tol": 0.0}, {"tau": 0.0}, {"tau": 1.0}], ids=str
)
@pytest.mark.filterwarnings("ignore::idm.exceptions.OutlierWarning")  # with tau = 1 classes are points, but for edges
def test_9_iterations_and_steps(model, annulus, changes):
    found = fitted(model, *annulus, **changes)
    assert_sound(found, annulus[0])
    if "max_iter" in changes:
        assert found.n_iter_ == changes["max_iter"] or found.stop_reason_ == "coincident points"
    if changes == {"tau": 0.0} and model is ITERATED:  # nothing shrinks, but for far distances, as diffusion maps do
        assert found.n_iter_ == 1
        assert np.ptp(found.embedding_, axis=0).max() > 0.7 * np.ptp(annulus[0], axis=0).max()


# --- 10. interrupts, processes, memory


@pytest.fixture
def ctrl_c_in(monkeypatch, ctrl_c):
    """Ctrl-C, 0.02 s after a phase of the fit has begun, or now."""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # phases are logged
    logger, handler = logging.getLogger("idm"), logging.Handler()
    level = logger.level

    def start(phase):
        if phase in ("estimate", "transform"):
            ctrl_c.after(0.02)
        names = (f"iteration 1: {phase}", phase)
        handler.emit = lambda record: ctrl_c.after(0.02) if record.getMessage() in names else None
        return ctrl_c

    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield start
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.mark.large
@pytest.mark.parametrize("phase", ["estimate", "neighbours", "lengths", "eigenpairs", "other rows", "transform"])
def test_10_ctrl_c_in_every_phase(phase, ctrl_c_in):
    """Within half a second; the model is as it was, and the next fit is right."""
    X, _, y = idm.datasets.make_torus(8000, feature="phi", random_state=0)
    model = IteratedDiffusionMap(max_iter=2, tol=0.0, n_landmarks=300, random_state=0).fit(X[:500], y[:500])
    expected = model.transform(X[:9])
    call = partial(model.set_params(n_landmarks=2000, verbose=1).fit, X, y)
    if phase == "transform":
        call = partial(model.transform, np.tile(X, (20, 1)) + 0.01)
    with ctrl_c_in(phase).stops():
        call()
    np.testing.assert_array_equal(model.transform(X[:9]), expected)
    again = model.set_params(n_landmarks=300, verbose=0).fit(X[:500], y[:500])
    np.testing.assert_array_equal(again.transform(X[:9]), expected)


@each_map
def test_10_a_failed_fit_leaves_the_model_as_it_was(model, annulus):
    X, y = annulus
    found = fitted(model, X, y)
    with pytest.raises(CoincidentPointsError):
        found.fit(np.ones((40, 3)), np.arange(40) % 2)
    np.testing.assert_array_equal(found.transform(X), found.embedding_)  # two columns, as before
    with pytest.raises(NotFittedError):
        clone(model).transform(X)


def test_10_fork_after_a_fit(run_python):
    script = """
import os, warnings
import numpy as np, idm
X, _, y = idm.datasets.make_annulus(400, feature="radius", random_state=0)
model = idm.IteratedDiffusionMap(max_iter=2, random_state=0, n_jobs=2).fit(X, y)
expected = model.transform(X + 0.01)
child = os.fork()
if child == 0:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        same = (model.transform(X + 0.01) == expected).all()
        again = idm.IteratedDiffusionMap(max_iter=2, random_state=0, n_jobs=2).fit(X, y)
    names = {w.category.__name__ for w in caught} - {"NotConvergedWarning"}
    os._exit(0 if same and (again.embedding_ == model.embedding_).all() and names == {"ForkedProcessWarning"} else 1)
print(os.waitpid(child, 0)[1])
"""
    assert run_python(script, "-W", "ignore::DeprecationWarning").strip() == "0"


@pytest.mark.large
def test_10_memory_that_runs_out_is_a_memory_error(run_python):
    """And the next fit, with memory, is right."""
    script = """
import resource
import numpy as np, idm
X, _, y = idm.datasets.make_torus(20_000, feature="phi", random_state=0)
model = idm.IteratedDiffusionMap(max_iter=1, n_landmarks=300, random_state=0).fit(X[:2000], y[:2000])
expected = model.transform(X[:9])
used = 4096 * int(open("/proc/self/statm").read().split()[0])
failures = 0
for megabytes in (8, 32, 96):
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, -1))
    try:
        idm.DiffusionMap(50, n_neighbors=900).fit(X)
    except MemoryError:
        failures += 1
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
model.fit(X[:2000], y[:2000])
print(failures, (model.transform(X[:9]) == expected).all())
"""
    assert run_python(script).split() == ["3", "True"]
