"""The iterated diffusion map: what it finds, when it stops, new points, parameters, hard input."""

import logging
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import idm
from idm import IteratedDiffusionMap, _coordinates
from idm._demo import EXAMPLES
from idm._feature_map import feature_map
from idm._iteration import NewPoints, extend_iteration, fit_iteration
from idm._neighbors import NeighborIndex
from idm._progress import Progress
from idm._regression import fit_regression
from idm._spectrum import leading_eigenpairs
from idm._stopping import DistanceChange
from idm.exceptions import (
    EigenpairError,
    EigenpairWarning,
    FeatureOutlierWarning,
    NotConvergedWarning,
    UnderflowWarning,
    UnpredictableFeatureWarning,
)


def quiet(test):
    """Doubtful results are expected of tiny or repeated data."""
    for name in (
        "DisconnectedGraph", "Spectrum", "Extrapolation", "Outlier", "DegenerateNeighborhood", "UnpredictableFeature"
    ):  # fmt: skip
        test = pytest.mark.filterwarnings(f"ignore::idm.exceptions.{name}Warning")(test)
    return test


def recall(embedding, y, queries, y_queries, n=200):
    """Of the n nearest in the embedding, the share that is among the n nearest in the feature."""
    found = idm.nearest_neighbors(embedding, n, queries=queries).indices
    true = idm.nearest_neighbors(y, n, queries=y_queries).indices
    return np.mean([len(np.intersect1d(a, b)) / n for a, b in zip(found, true, strict=True)])


@quiet
@parametrize_with_checks([IteratedDiffusionMap(max_iter=3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::idm.exceptions.ConstantFeatureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")  # of RidgeCV and constant columns, on the checks' tiny data
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# --- what it finds


@pytest.mark.large
@pytest.mark.parametrize(
    ("example", "least"),
    [
        ("annulus-radius", 0.975),
        ("annulus-angle", 0.975),
        ("torus-phi", 0.98),
        ("torus-theta", 0.975),
        ("sphere-x", 0.975),
        ("sphere-twist", 0.94),
    ],
)
def test_neighbors_of_new_points_are_those_of_the_feature(example, least):
    X, _, y = EXAMPLES[example](2000, 0)
    new, _, y_new = EXAMPLES[example](500, 1000)
    model = IteratedDiffusionMap(random_state=0).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert 2 <= model.n_iter_ <= 5
    assert recall(model.embedding_, y, model.transform(new), y_new) >= least
    # And the feature is predicted better than by its neighbours in the data.
    peer = KNeighborsRegressor(10, weights="distance").fit(X, y)
    ours, theirs = (np.sqrt(np.mean((m.predict(new).reshape(y_new.shape) - y_new) ** 2)) for m in (model, peer))
    assert ours <= theirs


@pytest.mark.large
@pytest.mark.parametrize("example", list(EXAMPLES))
def test_ten_iterations_are_as_good_as_three(example):
    X, _, y = EXAMPLES[example](2000, 1)
    model = IteratedDiffusionMap(max_iter=10, tol=0.0, random_state=0).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (10, "max_iter")
    recalls = [recall(r.embedding, y, r.embedding[:400], y[:400]) for r in model.iterations_]
    assert recalls[-1] >= max(recalls) - 0.005
    assert model.iterations_[-1].distance_change < 1e-7  # 3e-8 on the twisted sphere: it falls sixfold an iteration
    low, high = steps_along(model.embedding_, y)
    assert low > 0.5
    assert high < 2


def steps_along(embedding, y, n_bins=60, outer=3):
    """The least and the largest step between the means of bins of the feature (or its angle), over their median.

    Bins are equally wide. At the ends of an interval the outer steps are left out.
    """
    circle = y.shape[1] == 2
    value = np.arctan2(y[:, 0], y[:, 1]) if circle else y[:, 0]
    bins = np.minimum((value - value.min()) / np.ptp(value) * n_bins, n_bins - 1).astype(int)
    means = np.array([embedding[bins == b].mean(axis=0) for b in range(n_bins) if (bins == b).any()])
    steps = np.linalg.norm(np.diff(np.vstack([means, means[:1]]) if circle else means, axis=0), axis=1)
    steps = steps if circle else steps[outer:-outer]
    return steps.min() / np.median(steps), steps.max() / np.median(steps)


@pytest.mark.large
@pytest.mark.parametrize(
    ("example", "least"), [("annulus-radius", 0.85), ("torus-theta", 0.91), ("sphere-x", 0.88), ("sphere-twist", 0.68)]
)
def test_noise_in_the_feature_is_averaged(example, least):
    recalls = []
    for seed in range(3):
        X, _, y = EXAMPLES[example](2000, seed)
        new, _, y_new = EXAMPLES[example](500, seed + 1000)
        noisy = y + 0.3 * y.std() * np.random.default_rng(seed).normal(size=y.shape)
        model = IteratedDiffusionMap(random_state=seed).fit(X, noisy)
        recalls.append(recall(model.embedding_, y, model.transform(new), y_new))
    assert np.mean(recalls) > least


@pytest.mark.large
def test_irrelevant_dimensions_are_found(rng):
    X, new = rng.uniform(-1, 1, (2000, 8)), rng.uniform(-1, 1, (500, 8))
    y, y_new = (np.sin(3 * Z[:, :1]) + Z[:, 1:2] ** 2 / 2 for Z in (X, new))
    model = IteratedDiffusionMap(random_state=0).fit(X, y)
    assert recall(model.embedding_, y, model.transform(new), y_new) > 0.95
    relevance = np.diag(model.relevance_)
    assert relevance[2:].max() < 1e-5 * relevance[:2].min()
    # The mean squares of the partial derivatives: (3 cos 3 x1)^2 and x2^2.
    np.testing.assert_allclose(relevance[:2], [9 * (0.5 + np.sin(6) / 12), 1 / 3], rtol=0.06)


@pytest.mark.large
def test_more_rows_are_not_worse():
    X, _, y = EXAMPLES["annulus-radius"](20_000, 0)
    new, _, y_new = EXAMPLES["annulus-radius"](500, 1000)
    model = IteratedDiffusionMap(random_state=0).fit(X, y)
    assert len(model.landmarks_) == 2000
    assert model.embedding_.shape[0] == 20_000
    assert recall(model.embedding_, y, model.transform(new), y_new, n=2000) > 0.98
    assert recall(model.embedding_, y, model.transform(new), y_new, n=400) > 0.96


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_units_of_the_feature_do_not_matter(factor):
    X, _, y = EXAMPLES["torus-theta"](600, 0)
    plain, scaled = (IteratedDiffusionMap(random_state=0).fit(X, f * y) for f in (1.0, factor))
    assert scaled.n_iter_ == plain.n_iter_
    np.testing.assert_allclose(scaled.embedding_, plain.embedding_, rtol=0, atol=2e-11)
    np.testing.assert_allclose(scaled.predict(X[:9] + 0.01), factor * plain.predict(X[:9] + 0.01), rtol=1e-14)


@pytest.mark.parametrize("size", [100, 1e4])
@pytest.mark.parametrize("n_bad", [1, 8])
def test_features_out_of_proportion_are_told_and_do_no_harm(size, n_bad):
    X, _, y = idm.datasets.make_annulus(800, feature="radius", random_state=0)
    new, _, y_new = idm.datasets.make_annulus(300, feature="radius", random_state=1)
    bad, measured = np.arange(50, 50 + 90 * n_bad, 90), y.copy()
    measured[bad] += size * y.std()
    with pytest.warns(FeatureOutlierWarning, match=rf"in {n_bad} of 800 rows: {', '.join(map(str, bad))} \("):
        model = IteratedDiffusionMap(random_state=0).fit(X, measured)
    clean = IteratedDiffusionMap(random_state=0).fit(X, y)
    found, best = (recall(m.embedding_, y, m.transform(new), y_new, n=80) for m in (model, clean))
    assert found > best - 0.01
    assert not np.isin(bad, model.landmarks_).any()
    np.testing.assert_array_equal(model.transform(X[bad]), model.embedding_[bad])
    assert np.abs(model.predict(X[bad]) - y[bad]).max() < 0.2 * y.std()


def test_derivatives_stand_features_out_of_proportion_too():
    X, _, y = idm.datasets.make_annulus(500, feature="radius", random_state=0)
    measured = y.copy()
    measured[[3, 44]] = 1e6
    with pytest.warns(FeatureOutlierWarning, match="in 2 of 500 rows: 3, 44 "):
        model = IteratedDiffusionMap(max_iter=2, feature_change="derivative", random_state=0).fit(X, measured)
    assert model.score(X, y) > 0.95


def test_a_regressor_of_the_user(rng):
    X, _, y = EXAMPLES["annulus-radius"](500, 0)
    new, _, y_new = EXAMPLES["annulus-radius"](100, 1)
    ridge = KernelRidge(kernel="rbf", gamma=1.0, alpha=1e-3)
    model = IteratedDiffusionMap(feature_estimator=ridge, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(new), ridge.fit(X, y[:, 0]).predict(new)[:, np.newaxis], rtol=1e-14)
    assert not np.allclose(model.predict(X), ridge.predict(X)[:, np.newaxis])  # out of fold
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert model.relevance_ is None
    assert recall(model.embedding_, y, model.transform(new), y_new, n=50) > 0.9


@pytest.mark.large
@pytest.mark.parametrize("feature_change", ["difference", "derivative"])
def test_the_flow_shrinks_the_irrelevant_direction_by_1_minus_tau(feature_change):
    """An interval times a circle, flat: equation (flow), until the irrelevant direction is below the bandwidth."""
    tau, side = 0.3, 60
    height, angle = (g.ravel() for g in np.meshgrid(np.linspace(0, 4, side), 2 * np.pi * np.arange(side) / side))
    X = np.column_stack([height, np.cos(angle), np.sin(angle)])
    y = X[:, :1]
    model = IteratedDiffusionMap(
        150, tau=tau, max_iter=2, n_neighbors=200, n_neighbors_bandwidth=32, n_landmarks=None, feature_scale=1.0,
        feature_change=feature_change, early_stopping=False, regularization=1e-4,
    ).fit(X, y)  # fmt: skip
    around = np.roll(np.arange(side * side).reshape(side, side), -1, axis=0).ravel()
    along = np.arange(side * side).reshape(side, side)[:, 20:40]
    before = X
    for record in model.iterations_:
        after = record.embedding
        shrunk = np.linalg.norm(after[around] - after, axis=1) / np.linalg.norm(before[around] - before, axis=1)
        kept = np.linalg.norm(after[along[:, 1:]] - after[along[:, :-1]], axis=2) / np.linalg.norm(
            before[along[:, 1:]] - before[along[:, :-1]], axis=2
        )
        # The scale is common to both directions, so their ratio is what the flow says.
        assert np.median(shrunk) / np.median(kept) == pytest.approx(1 - tau, rel=0.05)
        before = after


@pytest.mark.large
def test_several_features_at_once():
    X, coordinates, _ = idm.datasets.make_torus(1500, random_state=0)
    theta, phi = coordinates.T
    y = np.column_stack([np.cos(theta), np.cos(phi)])
    model = IteratedDiffusionMap(random_state=0).fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > 0.9999
    assert model.predict(X[:3]).shape == (3, 2)


# --- when it stops


def test_the_best_iteration_is_kept_and_the_curve_too():
    X, _, y = EXAMPLES["annulus-angle"](1000, 0)
    model = IteratedDiffusionMap(random_state=0, n_iter_no_change=2, max_iter=8, early_stopping=True).fit(X, y)
    scores = [record.validation_score for record in model.iterations_]
    assert model.n_iter_ == 1 + int(np.argmax(scores))
    assert len(scores) == min(8, model.n_iter_ + 2)
    kept = model.iterations_[model.n_iter_ - 1].embedding
    np.testing.assert_array_equal(model.embedding_[model.landmarks_], kept)
    assert [record.iteration for record in model.iterations_] == list(range(1, len(scores) + 1))


def test_rows_that_are_held_out_take_no_part_in_the_iterations():
    X, _, y = EXAMPLES["annulus-radius"](600, 0)
    model = IteratedDiffusionMap(random_state=0, max_iter=2, early_stopping=True).fit(X, y)
    wrong = y.copy()
    held_out = np.setdiff1d(np.arange(600), _train_rows(model, X))
    assert len(held_out) == 60
    wrong[held_out] += 100.0
    again = clone(model).set_params(n_iter_no_change=2).fit(X, wrong)
    np.testing.assert_array_equal(again.iterations_[0].embedding, model.iterations_[0].embedding)


def _train_rows(model, X):
    points = model._iterations[0].map.index.points
    return idm.nearest_neighbors(X, 1, queries=points).indices[:, 0]


@pytest.mark.parametrize("seed", range(6))
@quiet
def test_no_row_finds_its_own_noise_in_the_embedding(seed):
    # A mean without one's own value is that value, upside down.
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    embedding = IteratedDiffusionMap(random_state=0).fit(X, y).embedding_[:, :3]
    assert LinearRegression().fit(embedding, y).score(embedding, y) < 0.05


@quiet
def test_unrelated_features_are_not_found(rng):
    # No row may know its own y: neither those that are held out, nor those of the fit.
    X, y = rng.normal(size=(1000, 3)), rng.normal(size=1000)
    model = IteratedDiffusionMap(random_state=0, n_iter_no_change=3, early_stopping=True).fit(X, y)
    assert max(record.validation_score for record in model.iterations_) < 0.02
    with pytest.warns(UnpredictableFeatureWarning, match=r"no better than the mean \(R\^2 -"):
        model = IteratedDiffusionMap(random_state=0).fit(X, y)
    assert {record.solver.solver for record in model.iterations_} == {"block"}  # which stays orthogonal, so near 1
    assert model.score(X, y) <= 0
    assert KNeighborsRegressor(20).fit(model.embedding_[::2], y[::2]).score(model.embedding_[1::2], y[1::2]) < 0.02


def test_the_reason_to_stop_is_told(rng):
    X, _, y = EXAMPLES["annulus-angle"](400, 0)

    def reason(**changes):
        return IteratedDiffusionMap(random_state=0, **changes).fit(X, y).stop_reason_

    assert reason(max_iter=2, n_iter_no_change=5, early_stopping=True) == "max_iter"
    assert reason(max_iter=2, tol=0.0) == "max_iter"
    assert reason() == "converged"
    assert reason(max_iter=20, early_stopping=True) == "no improvement"
    assert reason(max_iter=20, feature_change="derivative") == "no improvement"
    assert reason(callback=lambda record: True) == "callback"


def test_an_eigensolver_that_gives_up_later_is_told_and_at_first_fails(monkeypatch):
    X, _, y = EXAMPLES["annulus-angle"](400, 0)
    calls = []

    def gives_up(kernel, *args, **kwargs):
        calls.append(kernel)
        if len(calls) in (3, 4):
            raise EigenpairError("only 7 of 100 eigenpairs converged")
        return leading_eigenpairs(kernel, *args, **kwargs)

    monkeypatch.setattr(_coordinates, "leading_eigenpairs", gives_up)
    with pytest.warns(EigenpairWarning, match=r"iteration 3 is left out: only 7 of 100"):
        model = IteratedDiffusionMap(tol=0.0).fit(X, y)
    assert (model.stop_reason_, model.n_iter_, len(model.iterations_)) == ("eigenpairs", 2, 2)
    with pytest.raises(EigenpairError, match="only 7 of 100"):
        IteratedDiffusionMap(tol=0.0).fit(X, y)


@quiet
def test_a_graph_of_classes_keeps_its_size(rng):
    X = rng.normal(size=(500, 3))
    model = IteratedDiffusionMap(random_state=0).fit(X, (X[:, 0] > 0) * 1.0)
    sizes = [np.ptp(record.embedding, axis=0).max() for record in model.iterations_]
    assert min(sizes) > 0.5 * np.ptp(X)
    assert max(sizes) < 2 * np.ptp(X)


def test_every_iteration_says_what_the_eigensolver_did():
    X, _, y = EXAMPLES["annulus-angle"](700, 0)
    for record in IteratedDiffusionMap(tol=0.0, max_iter=2).fit(X, y).iterations_:
        assert record.solver.solver == "block"
        assert record.solver.n_products > 100
        assert record.solver.residuals.max() < 1e-8


def test_a_callback_sees_every_iteration_and_may_stop():
    X, _, y = EXAMPLES["annulus-radius"](500, 0)
    seen = []

    def stop_at_two(record):
        seen.append(record)
        return record.iteration == 2

    model = IteratedDiffusionMap(tol=0.0, max_iter=6, callback=stop_at_two).fit(X, y)
    assert [record.iteration for record in seen] == [1, 2]
    assert model.n_iter_ == 2
    assert seen[0].epsilon > 0
    assert seen[0].embedding.shape == (500, seen[0].n_coordinates)


def test_progress_is_logged_without_tqdm(caplog, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    X, _, y = EXAMPLES["annulus-radius"](300, 0)
    with caplog.at_level(logging.INFO, logger="idm"):
        IteratedDiffusionMap(tol=0.0, max_iter=2, verbose=1).fit(X, y)
    messages = [r.message for r in caplog.records]
    stages = ["features", "neighbours", "lengths", "eigenpairs"]
    assert messages[:4] == [f"iteration 1: {stage}" for stage in stages]
    assert messages[4].startswith("iteration 1: epsilon")
    assert messages[5] == "iteration 2: neighbours"
    assert messages[-1] == "stopped: max_iter"


def test_progress_is_a_bar_with_tqdm(capsys):
    X, _, y = EXAMPLES["annulus-radius"](300, 0)
    IteratedDiffusionMap(early_stopping=True, n_iter_no_change=2, max_iter=2, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "score 0.9" in shown
    IteratedDiffusionMap(random_state=0, max_iter=2).fit(X, y)
    assert capsys.readouterr().err == ""


# --- new points


@pytest.mark.parametrize("feature_change", ["difference", "derivative"])
@pytest.mark.parametrize("early_stopping", [True, False])
def test_transform_of_the_training_points_is_the_embedding(feature_change, early_stopping):
    X, _, y = EXAMPLES["torus-theta"](800, 0)
    model = IteratedDiffusionMap(
        feature_change=feature_change, early_stopping=early_stopping, max_iter=3, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert model.supported(X).all()


@pytest.mark.parametrize("feature_change", ["difference", "derivative"])
@pytest.mark.parametrize("mixing", ["lengths", "metric"])
def test_one_iteration_extends_its_own_points_without_their_help(feature_change, mixing):
    # As transform does, but for the rule that training points get their coordinates to the bit.
    X, _, y = EXAMPLES["torus-theta"](700, 0)
    settings = IteratedDiffusionMap(feature_change=feature_change, mixing=mixing)._settings(700)
    index = NeighborIndex(X)
    pool = index.nearest(None, settings.pool_size(700), 2)
    fitted = fit_iteration(index, pool, y, settings, 2, Progress())
    embedding = fitted.map.embedding
    moved = X + 1e-13
    extended, nearest = extend_iteration(fitted, moved, y, 2)
    error = np.abs(extended - embedding).max(axis=1) / np.abs(embedding).max()
    # A hundredth of the spacing is 1e-4: 1e-13 is 1e-9 of that. A few differ, where a point is the last neighbour of
    # another, or its eighth.
    assert np.median(error) < 1e-10
    assert error.max() < 0.02
    assert fitted.map.near(nearest).all()
    # The rule: points that coincide with data get their coordinates to the bit.
    new = NewPoints(X, y)
    new.advance(fitted, 2)
    np.testing.assert_array_equal(new.coordinates, embedding)


@pytest.mark.parametrize("feature_change", ["difference", "derivative"])
def test_each_row_is_predicted_alone(feature_change):
    X, _, y = EXAMPLES["torus-phi"](900, 0)
    model = IteratedDiffusionMap(max_iter=2, feature_change=feature_change, random_state=0).fit(X[:500], y[:500])
    together = model.predict(X[500:])
    for part in (slice(0, 1), slice(7, 8), slice(100, 103), slice(150, 400)):
        np.testing.assert_array_equal(model.predict(X[500:][part]), together[part])


@pytest.mark.parametrize("feature_change", ["difference", "derivative"])
def test_threads_of_blas_do_not_change_a_bit(feature_change):
    X, _, y = EXAMPLES["annulus-angle"](800, 0)
    found = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            model = IteratedDiffusionMap(max_iter=2, feature_change=feature_change, random_state=0, n_jobs=n)
            model.fit(X[:700], y[:700])
            found.append((model.embedding_, model.feature_map_, model.feature_map_residual_, model.relevance_))
            found[-1] += (model.predict(X[700:]), model.transform(X[700:]))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_threads_of_blas_do_not_change_a_bit_of_large_regressions(rng):
    embedding = rng.normal(size=(2000, 100))
    y = np.column_stack([np.cos(embedding[:, 0]), np.sin(embedding[:, 0])])
    found = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            found.append((*feature_map(embedding, y, 1), fit_regression(embedding, y).at(embedding[:50])))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_predictions_do_not_go_through_what_set_output_changes(monkeypatch):
    # transform may return a data frame with names, of which a regression on plain coordinates would warn.
    X, _, y = EXAMPLES["annulus-radius"](200, 0)
    model = IteratedDiffusionMap(max_iter=1, feature_change="derivative", random_state=0).fit(X, y)
    expected = model.predict(X)
    monkeypatch.setattr(IteratedDiffusionMap, "transform", None)
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.large
def test_the_feature_map_goes_to_the_coordinates_of_the_feature():
    X, _, y = EXAMPLES["annulus-radius"](1500, 0)
    model = IteratedDiffusionMap(random_state=0).fit(X, y)
    assert model.feature_map_.shape == (model.embedding_.shape[1], 10)
    assert model.feature_map_residual_ < 0.015
    # Coordinates of other rows say nothing of the feature.
    _, unrelated = feature_map(np.random.default_rng(0).permutation(model.embedding_), y, 2)
    assert unrelated > 0.98


# --- parameters


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_change": "derivative", "early_stopping": False, "max_iter": 3},
        {"feature_change": "derivative", "bandwidth": "svd"},
        {"feature_change": "derivative", "derivative": "regression"},
        {"feature_change": "derivative", "derivative": "correlation"},
        {"feature_change": "derivative", "regularization": 0.0},
        {"mixing": "metric"},
        {"rescaling": "global"},
        {"rescaling": "local"},
        {"diffusion_time": 5.0},
        {"n_components": 10},
        {"n_neighbors": 150},
        {"n_neighbors_bandwidth": 16},
        {"n_landmarks": 300},
        {"feature_scale": 0.1},
        {"feature_estimator": KNeighborsRegressor(5)},
        {"tau": 0.0},
        {"tau": 1.0},
        {"max_iter": 1},
        {"early_stopping": True, "n_iter_no_change": 3},
        {"early_stopping": True, "validation_fraction": 0.5},
        {"tol": 1e-5},
    ],
    ids=str,
)
def test_every_parameter_works_and_matters(changes):
    X, _, y = EXAMPLES["annulus-radius"](600, 0)
    new, _, y_new = EXAMPLES["annulus-radius"](100, 1)
    plain = IteratedDiffusionMap(random_state=0).fit(X, y)
    model = clone(plain).set_params(**changes).fit(X, y)
    assert model.score(new, y_new) > 0.9
    same = model.embedding_.shape == plain.embedding_.shape and np.allclose(model.embedding_, plain.embedding_)
    assert not same or len(model.iterations_) != len(plain.iterations_)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_components", 0, "n_components must be at least 1"),
        ("n_neighbors", 1, "n_neighbors must be at least 2"),
        ("mixing", "other", "mixing must be one of 'lengths', 'metric', got 'other'"),
        ("feature_change", "other", "feature_change must be one of"),
        ("derivative", "other", "derivative must be one of"),
        ("bandwidth", "other", "bandwidth must be one of"),
        ("rescaling", "other", "rescaling must be one of"),
        ("diffusion_time", "other", "diffusion_time must be 'auto' or a number >= 0, got 'other'"),
        ("diffusion_time", -1.0, "diffusion_time must be finite and at least 0"),
        ("regularization", -1.0, "regularization must be finite"),
        ("validation_fraction", 1.0, "validation_fraction must be finite and between"),
        ("n_iter_no_change", 0, "n_iter_no_change must be at least 1"),
        ("tol", -1.0, "tol must be finite"),
        ("tol", "other", "tol must be 'auto' or a number >= 0, got 'other'"),
        ("early_stopping", "other", "early_stopping must be 'auto', True or False, got 'other'"),
        ("early_stopping", 3.7, "early_stopping must be 'auto', True or False, got 3.7"),
        ("verbose", "x", "verbose must be an integer, got 'x'"),
        ("verbose", -1, "verbose must be at least 0, got -1"),
        ("callback", 3, "callback must be a function"),
        ("n_landmarks", 1, "n_landmarks must be at least 2"),
        ("n_landmarks", "other", "n_landmarks must be None, 'auto' or an integer >= 2, got 'other'"),
        ("n_landmarks", 7.5, "n_landmarks must be None, 'auto' or an integer >= 2, got 7.5"),
        ("n_neighbors", "x", "n_neighbors must be 'auto' or an integer >= 2, got 'x'"),
        ("n_neighbors", True, "n_neighbors must be 'auto' or an integer >= 2, got True"),
        ("n_neighbors_bandwidth", "x", "n_neighbors_bandwidth must be 'auto' or an integer >= 2, got 'x'"),
        ("feature_scale", "x", r"feature_scale must be 'auto' or a number from 1e-100 to 1e\+100, got 'x'"),
        ("n_neighbors_bandwidth", 1, "n_neighbors_bandwidth must be at least 2"),
        ("feature_scale", 0.0, "feature_scale must be finite and between"),
        ("n_jobs", 0, "n_jobs must not be 0"),
    ],
)
def test_wrong_parameters(name, value, words):
    X, _, y = EXAMPLES["annulus-radius"](50, 0)
    with pytest.raises((TypeError, ValueError), match=words):
        IteratedDiffusionMap(**{name: value}).fit(X, y)


@pytest.mark.large
@pytest.mark.parametrize(
    ("example", "least"),
    [
        ("annulus-radius", 0.68),
        ("annulus-angle", 0.85),
        ("torus-phi", 0.92),
        ("torus-theta", 0.84),
        ("sphere-x", 0.88),
        ("sphere-twist", 0.43),
    ],
)
def test_the_settings_of_the_paper_find_its_features(example, least):
    X, _, y = EXAMPLES[example](2000, 0)
    model = IteratedDiffusionMap.from_paper(example).fit(X, y)
    assert model.n_iter_ == len(model.iterations_) == 4
    assert recall(model.embedding_, y, model.embedding_[:300], y[:300]) > least


def test_an_example_that_is_not_in_the_paper():
    with pytest.raises(ValueError, match="example must be one of 'annulus-radius'"):
        IteratedDiffusionMap.from_paper("other")


def test_in_pipelines_and_searches():
    X, _, y = EXAMPLES["annulus-radius"](300, 0)
    pipeline = make_pipeline(StandardScaler(), IteratedDiffusionMap(max_iter=2, n_neighbors=50, random_state=0))
    search = GridSearchCV(pipeline, {"iterateddiffusionmap__tau": [0.2, 0.8]}, cv=2).fit(X, y[:, 0])
    assert search.best_score_ > 0.996
    names = search.best_estimator_[-1].get_feature_names_out()
    assert names[0] == "iterateddiffusionmap0"
    assert len(names) == search.best_estimator_[-1].embedding_.shape[1]


def test_no_time_has_a_formula_of_zeros():
    X, _, y = EXAMPLES["annulus-radius"](100, 0)
    with pytest.raises(ValueError, match="diffusion_time=0 makes all coordinates 0"):
        IteratedDiffusionMap(diffusion_time=0.0, rescaling="local").fit(X, y)


@pytest.mark.filterwarnings("ignore::idm.exceptions.EigenpairWarning")
def test_a_time_at_which_all_is_zero_is_told():
    X, _, y = EXAMPLES["annulus-radius"](200, 0)
    with pytest.warns(UnderflowWarning, match="all coordinates are 0: at diffusion_time"):
        IteratedDiffusionMap(max_iter=1, rescaling="global", diffusion_time=1e9).fit(X, y)


@pytest.mark.parametrize("rescaling", ["global", "local"])
def test_a_few_points_over_many_decades_that_give_zeros_are_told(rescaling):
    X = np.logspace(-4, 4, 9).reshape(-1, 1)
    with pytest.warns(UnderflowWarning, match=r"all coordinates are 0.*use rescaling='isometric'"):
        model = IteratedDiffusionMap(rescaling=rescaling, feature_change="derivative").fit(X, np.log(X[:, 0]))
    assert not model.embedding_.any()


# --- fixed points, cycles, and fits that end without


def test_a_map_that_comes_back_is_noticed():
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=(50, 2)) for _ in range(3))
    change = DistanceChange(a, np.random.RandomState(0))
    assert change.update(b) > 0.1
    assert change.update(a) > 0.1
    assert change.turns_back
    change.update(a + 0.01 * b)
    change.update(a + 0.02 * b)
    change.update(a + 0.04 * b)  # goes on
    assert not change.turns_back
    assert change.update(3 * (a + 0.04 * b)) < 1e-12  # but for a factor
    assert change.update(c) > 0.1


def test_maps_that_cycle_go_on_from_the_mean_of_the_last_two(monkeypatch, tmp_path):
    update = DistanceChange.update

    def turned_back(self, points):
        changed = update(self, points)
        self.turns_back = True
        return changed

    monkeypatch.setattr(DistanceChange, "update", turned_back)
    X, _, y = EXAMPLES["annulus-radius"](400, 0)
    new, _, _ = EXAMPLES["annulus-radius"](50, 1)
    model = IteratedDiffusionMap(max_iter=5, tol=0.0, n_landmarks=300, random_state=0).fit(X, y)
    assert [fitted.averaged for fitted in model._iterations] == [False, False, True, True, True]
    maps = [fitted.map for fitted in model._iterations]
    squares = [pdist(Z, "sqeuclidean") for Z in (maps[1].embedding, maps[0].embedding, maps[2].index.points)]
    np.testing.assert_allclose(squares[2], (squares[0] + squares[1]) / 2, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    alone = np.vstack([model.transform(row[np.newaxis]) for row in new])
    np.testing.assert_array_equal(model.transform(new), alone)
    idm.save(model, tmp_path / "damped.idm")
    np.testing.assert_array_equal(idm.load(tmp_path / "damped.idm").transform(new), alone)


def test_features_with_a_kink_have_a_fixed_point():
    # With one bandwidth for all, 10 of these 24 data sets did not converge, most of them in cycles of two.
    ended = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n, d = int(rng.choice([200, 500, 1000])), int(rng.choice([1, 2, 3]))
        X = rng.uniform(-1, 1, (n, d))
        y = np.abs(X[:, 0]) + (0.5 * np.maximum(X[:, 1], 0) if d > 1 else 0)
        y = y + rng.choice([0, 0.05]) * rng.normal(size=n)
        ended.append(IteratedDiffusionMap(random_state=seed).fit(X, y).stop_reason_)
    assert ended == ["converged"] * 24


def test_a_fit_that_does_not_converge_says_what_is_left():
    X, _, y = EXAMPLES["annulus-radius"](300, 0)
    with pytest.warns(
        NotConvergedWarning, match=r"max_iter=2 while .* by 0\.\d+ of .* \(tol is 0\.02\); raise max_iter"
    ):
        model = IteratedDiffusionMap(max_iter=2, random_state=0).fit(X, y)
    assert model.stop_reason_ == "max_iter"
    assert issubclass(NotConvergedWarning, ConvergenceWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IteratedDiffusionMap(max_iter=2, tol=0.0, random_state=0).fit(X, y)  # as many as were asked for
        IteratedDiffusionMap(max_iter=1, feature_change="derivative", random_state=0).fit(X, y)
