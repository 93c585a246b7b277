"""Pictures show the numbers of the model, in axes that are given or new, and can be read."""

import doctest
import importlib
import io
import itertools
import pkgutil
import re
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import idm
from idm import plot
from idm.plot import _colours

mpl.use("Agg")
import matplotlib.pyplot as plt

PAGE = Path(__file__).parents[1] / "docs" / "plots.md"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def annulus():
    X, _, y = idm.datasets.make_annulus(250, feature="radius", random_state=0)
    return X, y[:, 0]


@pytest.fixture(scope="module")
def model(annulus):
    return idm.IteratedDiffusionMap(random_state=0).fit(*annulus)


@pytest.fixture(scope="module")
def stopped(annulus):
    """A model with held-out rows."""
    settings = {"feature_change": "derivative", "tau": 0.65, "n_landmarks": 150}
    return idm.IteratedDiffusionMap(random_state=0, **settings).fit(*annulus)


@pytest.fixture(scope="module")
def plain(annulus):
    return idm.DiffusionMap(6).fit(annulus[0])


@pytest.fixture(scope="module")
def torus():
    X, _, y = idm.datasets.make_torus(400, feature="phi", sampling="grid")
    return X, y


def copied(model, **changes):
    """The model with other attributes."""
    other = type(model)()
    vars(other).update(vars(model), **changes)
    return other


def colour_bar(ax):
    """The axes of the colour bar."""
    (bar,) = (other for other in ax.figure.axes if hasattr(other, "_colorbar"))
    return bar


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def solid_offsets(collection):
    return np.column_stack(collection._offsets3d)


# --- points


def test_points_are_at_their_coordinates_and_have_the_colour_of_the_feature(annulus):
    X, y = annulus
    ax = plot.embedding(X, y, label="radius")
    (points,) = ax.collections
    np.testing.assert_array_equal(points.get_offsets(), X)
    np.testing.assert_array_equal(points.get_array(), y)
    assert points.get_cmap().name == "viridis"
    assert colour_bar(ax).get_ylabel() == "radius"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Z[:, 0]", "Z[:, 1]")
    assert ax.get_aspect() == 1


def test_of_many_columns_the_first_three_are_drawn_with_equal_lengths(model, annulus):
    Z = model.embedding_
    assert Z.shape[1] > 3
    ax = plot.embedding(Z, annulus[1])
    np.testing.assert_array_equal(solid_offsets(ax.collections[0]), Z[:, :3])
    assert ax.get_zlabel() == "Z[:, 2]"
    box, ranges = ax._box_aspect, np.ptp(Z[:, :3], axis=0)
    np.testing.assert_allclose(box / box.max(), ranges / ranges.max())


def test_one_column_is_a_line(annulus):
    y = annulus[1]
    ax = plot.embedding(y.reshape(-1, 1))
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), np.column_stack([y, np.zeros(len(y))]))
    assert len(ax.get_yticks()) == 0
    assert ax.figure.axes == [ax]  # without y there is no scale


def test_two_features_are_coloured_by_their_angle_on_a_cyclic_scale(torus):
    X, y = torus
    ax = plot.embedding(X, y, label="phi")
    points = ax.collections[0]
    phi = np.arctan2(X[:, 1], X[:, 0])
    np.testing.assert_allclose(np.cos(points.get_array() - phi), 1)
    assert points.get_cmap().name == "twilight"
    assert points.get_clim() == (-np.pi, np.pi)
    assert colour_bar(ax).get_ylabel() == "angle of phi"
    assert tick_labels(colour_bar(ax).yaxis)[2] == "0"


def test_of_three_features_the_first_counts(annulus, rng):
    y = rng.normal(size=(250, 3))
    np.testing.assert_array_equal(plot.embedding(annulus[0], y).collections[0].get_array(), y[:, 0])


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (np.array(["b", "a", "c"]), ["a", "b", "c"]),
        (np.array(["b", "a", "c"], dtype=object), ["a", "b", "c"]),
        (np.array([7, -3, 9]), ["-3", "7", "9"]),
        (np.array([True, False, False]), ["False", "True"]),
    ],
)
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_labels_have_colours_of_their_own_and_their_names_at_the_bar(annulus, labels, names, shape):
    X = annulus[0]
    y = labels[np.arange(len(X)) % 3]
    ax = plot.embedding(X, y.reshape(shape), label="class")
    points, bar = ax.collections[0], colour_bar(ax)
    assert tick_labels(bar.yaxis) == names
    assert bar.get_ylabel() == "class"
    colours = points.to_rgba(points.get_array())
    for number, name in enumerate(names):
        of_class = np.unique(colours[y.astype(str) == name], axis=0)
        np.testing.assert_array_equal(of_class, [mpl.colors.to_rgba(_colours._OKABE_ITO[number])])


def test_many_integers_and_floats_have_a_scale(annulus):
    X, rows = annulus[0], np.arange(250)
    for y in (rows % 11, (rows % 3).astype(float), (rows % 3 + 0.5).astype(object)):
        points = plot.embedding(X, y).collections[0]
        assert points.get_cmap().name == "viridis"
        np.testing.assert_array_equal(points.get_array(), y.astype(float))
    assert plot.embedding(X, rows % 10).collections[0].get_cmap().N == 10


def as_seen(colours, blindness):
    """L*a*b* of colours as protanopes or deuteranopes see them (Machado, Oliveira and Fernandes 2009)."""
    linear = np.array([mpl.colors.to_rgb(c) for c in colours])
    linear = np.where(linear <= 0.04045, linear / 12.92, ((linear + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(blindness).T, 0, 1)
    xyz = seen @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.9505, 1, 1.089])
    return np.column_stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])])


@pytest.mark.parametrize(
    "blindness",
    [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ],
    ids=["none", "protanopia", "deuteranopia"],
)
@pytest.mark.parametrize("palette", [_colours._OKABE_ITO, _colours._PETROFF], ids=["Okabe-Ito", "Petroff"])
def test_colour_blind_readers_can_tell_the_colours_apart(palette, blindness):
    seen = as_seen([*palette, "white"], blindness)
    differences = np.linalg.norm(seen[:, None] - seen, axis=2)[np.triu_indices(len(seen), 1)]
    assert differences.min() > 5  # twice what can just be told apart


def test_the_nearest_in_the_coordinates_are_marked_in_the_data(model, annulus):
    X, Z = annulus[0], model.embedding_
    ax = plot.neighbors(X, 7, coordinates=Z, n_neighbors=20)
    every, nearest, star = ax.collections
    np.testing.assert_array_equal(every.get_offsets(), X)
    expected = np.argsort(np.linalg.norm(Z - Z[7], axis=1), kind="stable")[:20]
    np.testing.assert_array_equal(np.sort(nearest.get_offsets(), axis=0), np.sort(X[expected], axis=0))
    np.testing.assert_array_equal(star.get_offsets(), X[7:8])
    assert legend(ax) == ["20 nearest", "row 7"]
    assert every.zorder < nearest.zorder < star.zorder


def test_by_default_neighbours_are_those_in_the_data_and_a_fifth_of_them(torus):
    X = torus[0]
    nearest = solid_offsets(plot.neighbors(X, 0).collections[1])
    assert nearest.shape == (80, 3)
    assert np.linalg.norm(nearest - X[0], axis=1).max() <= np.sort(np.linalg.norm(X - X[0], axis=1))[79]
    assert len(solid_offsets(plot.neighbors(X, 0, n_neighbors=1000).collections[1])) == len(X)


def test_in_three_dimensions_marks_are_on_top_and_keep_their_colours(torus):
    ax = plot.neighbors(torus[0], 0)
    ax.figure.canvas.draw()
    assert not ax.computed_zorder
    assert [len(np.unique(collection.get_facecolors(), axis=0)) for collection in ax.collections] == [1, 1, 1]


def test_the_map_of_local_dimension_has_the_dimensions_of_local_geometry(annulus, model):
    X = annulus[0]
    for coordinates, settings in ((None, {"n_neighbors": 50}), (model.embedding_, {"bandwidth": "svd"})):
        ax = plot.local_dimension(X, coordinates=coordinates, **settings)
        points = ax.collections[0]
        expected = idm.local_geometry(X if coordinates is None else coordinates, **{"n_neighbors": 100, **settings})
        np.testing.assert_array_equal(points.get_offsets(), X)
        np.testing.assert_array_equal(points.get_array(), expected.dimension)
        np.testing.assert_allclose(points.get_clim(), np.quantile(expected.dimension, [0.01, 0.99]))
        assert colour_bar(ax).get_ylabel() == "local dimension"
        assert points.colorbar.extend == "both"


# --- curves and bars


def test_the_spectrum_is_that_of_the_model(plain):
    ax = plot.spectrum(plain)
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 7))
    np.testing.assert_array_equal(line.get_ydata(), -plain.eigenvalues_)
    assert ax.get_legend() is None


def test_eigenvalues_that_are_not_finite_are_left_out(plain):
    changed = copied(plain, eigenvalues_=np.array([-1.0, -2.0, -np.inf]))
    np.testing.assert_array_equal(plot.spectrum(changed).lines[0].get_xydata(), [[1, 1], [2, 2]])


def test_every_iteration_has_its_spectrum(model):
    ax = plot.spectrum(model)
    assert len(ax.lines) == len(model.iterations_)
    for line, record in zip(ax.lines, model.iterations_, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), -record.eigenvalues)
    assert legend(ax) == ["iteration 1", "iteration 2", f"iteration {model.n_iter_} (kept)"]


def test_of_many_iterations_the_legend_names_a_few(annulus):
    X, y = annulus
    model = idm.IteratedDiffusionMap(max_iter=13, tol=0.0, random_state=0).fit(X[:100], y[:100])
    ax = plot.spectrum(model)
    assert len(ax.lines) == len(model.iterations_) == 13
    assert legend(ax)[0] == "iteration 1"
    assert legend(ax)[-1] == "iteration 13 (kept)"
    assert len(legend(ax)) == 6


def test_both_sides_of_a_local_kernel_map_are_drawn():
    X, _, y = idm.datasets.make_circle(300)
    model = idm.LocalKernelMap(4, regularization=1e-6).fit(X * [2, 1], y)
    ax = plot.spectrum(model)
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], -model.eigenvalues_)
    assert legend(ax) == ["of X, lengths of y", "of y"]


@pytest.fixture(scope="module")
def laws(torus):
    eps = np.geomspace(0.05, 10, 40)
    return eps, idm.scaling_laws(torus[0], 7, eps)


def test_dimensions_are_drawn_against_bandwidths_in_any_order(torus, laws):
    eps, expected = laws
    ax = plot.scaling_laws(torus[0], 7, eps[::-1])
    d1, d2, disagreement, _, dots = ax.lines
    for line, values in ((d1, expected.d1), (d2, expected.d2), (disagreement, expected.disagreement)):
        np.testing.assert_array_equal(line.get_xdata(), eps)
        np.testing.assert_array_equal(line.get_ydata(), values)
    best = np.flatnonzero(eps == expected.best)
    at_best = [expected.d_ave[best[0]], expected.disagreement[best[0]]]
    np.testing.assert_array_equal(dots.get_xydata(), np.column_stack([[expected.best] * 2, at_best]))
    assert legend(ax)[-1] == rf"chosen $\epsilon$ = {expected.best:.3g}"
    assert ax.get_xscale() == "log"
    assert ax.get_ylim()[1] > d1.get_ydata().max()


@pytest.mark.parametrize("show", ["exponents", "singular_values"])
def test_every_direction_has_a_curve_and_a_dot(torus, laws, show):
    eps, expected = laws
    values = getattr(expected, show)
    ax = plot.scaling_laws(torus[0], 7, eps, show=show)
    curves = [line for line in ax.lines if len(line.get_xdata()) == len(eps)]
    np.testing.assert_array_equal([line.get_ydata() for line in curves], values.T)
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(dots.get_ydata(), values[eps == expected.best][0])
    assert legend(ax)[:2] == ["tangent (2)", "normal (1)"]
    assert (ax.get_yscale() == "log") == (show == "singular_values")


def test_singular_values_that_vanish_are_not_drawn():
    plane = np.column_stack([np.random.default_rng(0).normal(size=(200, 2)), np.zeros(200)])
    for show in ("exponents", "singular_values"):
        curves = [line.get_ydata() for line in plot.scaling_laws(plane, 0, show=show).lines]
        assert [np.isnan(curve).all() for curve in curves[:3]] == [False, False, True]


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_bandwidths_by_default_hold_the_chosen_one(torus, scale):
    X = scale * torus[0]
    ax = plot.scaling_laws(X, X[7])
    eps, best = ax.lines[0].get_xdata(), ax.lines[-1].get_xdata()[0]
    assert eps[10] < best < eps[-10]
    assert ax.lines[0].get_ydata().max() > 1.9  # among them, some that show the surface


def test_the_curve_of_scores_has_a_star_at_the_iteration_that_was_kept(stopped):
    ax = plot.validation_curve(stopped)
    scores = [r.validation_score for r in stopped.iterations_]
    curve, star = ax.lines
    np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([np.arange(1, len(scores) + 1), scores]))
    np.testing.assert_array_equal(star.get_xydata(), [[stopped.n_iter_, max(scores)]])
    assert legend(ax) == [f"kept: iteration {stopped.n_iter_} ({stopped.stop_reason_})"]
    assert ax.get_ylabel() == "$R^2$ of y at held-out rows"


def test_without_held_out_rows_the_curve_is_of_distances_with_their_tolerance(model):
    ax = plot.validation_curve(model)
    curve, tolerance, star = ax.lines
    np.testing.assert_array_equal(curve.get_ydata(), [r.distance_change for r in model.iterations_])
    assert set(tolerance.get_ydata()) == {0.02}
    assert star.get_ydata() == model.iterations_[model.n_iter_ - 1].distance_change
    assert legend(ax) == ["tol = 0.02", "kept: iteration 3 (converged)"]
    ax.figure.canvas.draw()
    assert "0.05" in tick_labels(ax.yaxis)


@pytest.mark.parametrize("changes", [[0.21, 0.29], [0.5, 0.003], [0.5, 3e-9], [0.5, 0.0]])
def test_an_axis_of_changes_has_several_labels(model, changes):
    records = [replace(r, distance_change=c) for r, c in zip(model.iterations_, changes, strict=False)]
    ax = plot.validation_curve(copied(model, iterations_=records, n_iter_=2, tol=0.0))
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    positions = [ax.get_yticks(minor=minor) for minor in (False, True)]
    labels = [ax.get_yticklabels(minor=minor) for minor in (False, True)]
    inside = [
        label.get_text()
        for position, label in zip(np.concatenate(positions), [*labels[0], *labels[1]], strict=True)
        if low <= position <= high and label.get_text()
    ]
    assert 2 <= len(inside) <= 10


def test_loaded_models_have_the_same_pictures(model, tmp_path):
    idm.save(model, tmp_path / "model.idm")
    loaded = idm.load(tmp_path / "model.idm")
    for function in (plot.spectrum, plot.validation_curve):
        for line, other in zip(function(model).lines, function(loaded).lines, strict=True):
            np.testing.assert_array_equal(line.get_xydata(), other.get_xydata())
    assert legend(plot.validation_curve(loaded)) == legend(plot.validation_curve(model))


@pytest.fixture(scope="module")
def wide():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 20))
    return idm.IteratedDiffusionMap(max_iter=1, random_state=0).fit(X, 2 * X[:, 4] + X[:, 2])


def test_the_most_relevant_columns_have_bars_with_their_names(wide):
    ax = plot.relevance(wide, names=[f"column {j}" for j in range(20)])
    diagonal = np.diagonal(wide.relevance_)
    np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], np.sort(diagonal)[::-1][:15])
    order = np.argsort(-diagonal)[:15]
    assert tick_labels(ax.yaxis) == [f"column {j}" for j in order]
    assert list(order[:2]) == [4, 2]
    assert ax.yaxis_inverted()
    assert ax.get_title() == "15 of 20 columns"


def test_names_of_columns_come_from_the_model(model):
    assert set(tick_labels(plot.relevance(model).yaxis)) == {"X[:, 0]", "X[:, 1]"}
    named = copied(model, feature_names_in_=np.array(["left", "up"], dtype=object))
    assert set(tick_labels(plot.relevance(named).yaxis)) == {"left", "up"}


# --- the figure of iterations


def test_the_figure_of_iterations_has_one_colour_bar_and_is_not_one_of_pyplots(model, annulus):
    figure = plot.iterations(model, *annulus)
    bars = [axes for axes in figure.axes if hasattr(axes, "_colorbar")]
    assert [bar.get_ylabel() for bar in bars] == ["y"]
    assert plt.get_fignums() == []


def test_the_colours_of_iterations_are_those_of_the_landmarks(stopped, annulus):
    X, y = annulus
    figure = plot.iterations(stopped, X, y)
    assert len(stopped.landmarks_) == 150
    for axes in figure.axes[0:-1:2]:
        np.testing.assert_array_equal(axes.collections[0].get_array(), y[stopped.landmarks_])


def test_iterations_of_labels_are_named_at_the_bar(annulus):
    X, y = annulus
    labels = np.array(["inner", "outer"])[(y > 2).astype(int)]
    model = idm.IteratedDiffusionMapClassifier(max_iter=1, random_state=0).fit(X, labels)
    figure = plot.iterations(model, X, labels)
    assert tick_labels(figure.axes[-1].yaxis) == ["inner", "outer"]


# --- axes, old and new


@pytest.fixture
def calls(annulus, model, plain, torus, stopped, wide):
    """Every function that returns axes, by a name; those in three dimensions end in 3."""
    (X, y), (T, t) = annulus, torus
    return {
        "embedding": lambda **ax: plot.embedding(X, y, **ax),
        "embedding 3": lambda **ax: plot.embedding(T, t, **ax),
        "embedding of labels": lambda **ax: plot.embedding(X, y > 2, **ax),
        "embedding of labels 3": lambda **ax: plot.embedding(T, T[:, 0] > 2, **ax),
        "embedding of a map 3": lambda **ax: plot.embedding(model.embedding_, y, **ax),
        "neighbors": lambda **ax: plot.neighbors(X, 7, coordinates=model.embedding_, **ax),
        "neighbors 3": lambda **ax: plot.neighbors(T, 7, **ax),
        "local dimension": lambda **ax: plot.local_dimension(X, **ax),
        "local dimension 3": lambda **ax: plot.local_dimension(T, **ax),
        "spectrum": lambda **ax: plot.spectrum(plain, **ax),
        "spectra": lambda **ax: plot.spectrum(model, **ax),
        "scaling laws": lambda **ax: plot.scaling_laws(T, 7, **ax),
        "exponents": lambda **ax: plot.scaling_laws(T, 7, show="exponents", **ax),
        "singular values": lambda **ax: plot.scaling_laws(T, 7, show="singular_values", **ax),
        "validation curve": lambda **ax: plot.validation_curve(stopped, **ax),
        "changes": lambda **ax: plot.validation_curve(model, **ax),
        "relevance": lambda **ax: plot.relevance(wide, **ax),
    }


NAMES = [
    "embedding", "embedding 3", "embedding of labels", "embedding of labels 3", "embedding of a map 3", "neighbors",
    "neighbors 3", "local dimension", "local dimension 3", "spectrum", "spectra", "scaling laws", "exponents",
    "singular values", "validation curve", "changes", "relevance",
]  # fmt: skip


def test_every_call_is_named_and_every_function_called(calls):
    assert list(calls) == NAMES
    words = " ".join(NAMES).replace(" ", "_")
    assert [name for name in plot.__all__ if name not in words] == ["iterations"]


@pytest.mark.parametrize("name", NAMES)
def test_axes_that_are_given_are_drawn_in_and_returned(calls, name):
    figure = mpl.figure.Figure()
    solid = {"projection": "3d"} if name.endswith("3") else {}
    ax = figure.add_subplot(1, 2, 1, **solid)
    other = figure.add_subplot(1, 2, 2)
    assert calls[name](ax=ax) is ax
    assert ax.has_data()
    assert not other.has_data()
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", NAMES)
def test_without_axes_there_is_a_new_figure_that_pyplot_shows(calls, name):
    ax = calls[name]()
    assert plt.gcf() is ax.figure
    assert calls[name]().figure is not ax.figure
    assert len(plt.get_fignums()) == 2


@pytest.mark.parametrize("name", NAMES)
def test_axes_of_another_kind_are_refused_with_the_remedy(calls, name):
    solid = name.endswith("3")
    wrong = mpl.figure.Figure().add_subplot(projection=None if solid else "3d")
    with pytest.raises(ValueError, match=r"ax must be 3-D for" if solid else r"ax must be 2-D for") as caught:
        calls[name](ax=wrong)
    message = str(caught.value)
    assert ("got 2-D axes; make them with projection='3d', or pass" if solid else "got 3-D axes; ") in message
    assert not wrong.has_data()
    with pytest.raises(TypeError, match=r"ax must be matplotlib Axes or None, got Figure; pass one of the axes of"):
        calls[name](ax=wrong.figure)


@pytest.mark.parametrize("name", NAMES)
def test_a_small_picture_can_be_read(calls, name):
    """At 4 x 3 inches all words are inside, and the numbers of an axis do not touch."""
    with plt.rc_context({"figure.figsize": (4, 3)}):
        ax = calls[name]()
    figure = ax.figure
    figure.savefig(io.BytesIO(), dpi=100)
    renderer, page = figure.canvas.get_renderer(), figure.bbox.padded(1)
    words = [label for axes in figure.axes for label in (axes.title, axes.xaxis.label, axes.yaxis.label)]
    words += [ax.zaxis.label] if name.endswith("3") else []
    for word in words:
        extent = word.get_window_extent(renderer)
        inside = (page.min <= extent.min).all() and (extent.max <= page.max).all()
        assert inside or not word.get_text(), word
        for other in figure.axes:
            assert word.axes is other or not extent.overlaps(other.bbox) or not word.get_text(), word
    for axes in figure.axes if not name.endswith("3") else figure.axes[1:]:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = [
                label.get_window_extent(renderer)
                for position, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
                if label.get_text() and label.get_visible() and low <= position <= high
            ]
            for first, second in itertools.pairwise(labels):
                assert not first.overlaps(second), (axis, first, second)


def test_maps_can_share_their_axes(annulus, model):
    figure, axes = plt.subplots(1, 2, sharex=True, sharey=True)
    plot.embedding(annulus[0], ax=axes[0])
    plot.neighbors(annulus[0], 3, coordinates=model.embedding_, ax=axes[1])
    figure.canvas.draw()
    assert axes[0].get_aspect() == axes[1].get_aspect() == 1


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_points_that_coincide_are_drawn(n_columns):
    plot.embedding(np.ones((5, n_columns)), np.ones(5)).figure.canvas.draw()


# --- errors


def test_models_that_are_not_fitted_have_no_pictures():
    for function in (plot.spectrum, plot.validation_curve, plot.relevance):
        with pytest.raises(NotFittedError, match="IteratedDiffusionMap"):
            function(idm.IteratedDiffusionMap())
    for model in (idm.DiffusionMap(), idm.LocalKernelMap()):
        with pytest.raises(NotFittedError, match=type(model).__name__):
            plot.spectrum(model)


def test_other_models_are_refused_by_name(plain, annulus):
    of_features = "model must be a fitted IteratedDiffusionMap or IteratedDiffusionMapClassifier, got DiffusionMap"
    for call in (plot.validation_curve, plot.relevance, lambda model: plot.iterations(model, *annulus)):
        with pytest.raises(TypeError, match=of_features):
            call(plain)
    every = "DiffusionMap, IteratedDiffusionMap, IteratedDiffusionMapClassifier or LocalKernelMap"
    with pytest.raises(TypeError, match=f"model must be a fitted {every}, got ndarray"):
        plot.spectrum(annulus[0])
    with pytest.raises(TypeError, match=f"model must be a fitted {every}, got the class DiffusionMap"):
        plot.spectrum(idm.DiffusionMap)


WRONG = {
    "Z is a vector": (lambda X, y: plot.embedding(y), ValueError, "Z must be two-dimensional"),
    "y is too short": (
        lambda X, y: plot.embedding(X, y[1:]), ValueError, "y must have a row for each of the 250 rows of X, got 249",
    ),
    "labels are too few": (
        lambda X, y: plot.embedding(X, [True] * 3), ValueError,
        "y must have a row for each of the 250 rows of X, got 3",
    ),
    "y has NaN": (lambda X, y: plot.embedding(X, np.where(y > 2, np.nan, y)), ValueError, "y must be finite"),
    "many labels": (
        lambda X, y: plot.embedding(X, y.astype(str)), ValueError,
        "y has 250 labels, and colours of at most 10 can be told apart; join some, or pass numbers",
    ),
    "mixed labels": (
        lambda X, y: plot.embedding(X, [None, "a"] * 125), ValueError,
        "y mixes labels of the types NoneType, str; give",
    ),
    "masked labels": (
        lambda X, y: plot.embedding(X, np.ma.masked_less(y, 2)), ValueError, "y has masked values; drop those rows",
    ),
    "row is beyond": (lambda X, y: plot.neighbors(X, 250), ValueError, "row must be between 0 and 249, got 250"),
    "row is a float": (lambda X, y: plot.neighbors(X, 1.0), TypeError, "row must be an integer, got 1.0"),
    "no neighbours": (
        lambda X, y: plot.neighbors(X, 1, n_neighbors=0), ValueError, "n_neighbors must be at least 1, got 0",
    ),
    "other rows": (
        lambda X, y: plot.neighbors(X, 1, coordinates=X[1:]), ValueError,
        "coordinates must have a row for each of the 250 rows of X, got 249; those of a record of iterations_ belong",
    ),
    "dimension of other rows": (
        lambda X, y: plot.local_dimension(X, coordinates=X[1:]), ValueError, "coordinates must have a row for each of",
    ),
    "bandwidth": (
        lambda X, y: plot.local_dimension(X, bandwidth="d2"), ValueError,
        "bandwidth must be one of 'd1', 'svd', got 'd2'",
    ),
    "show": (
        lambda X, y: plot.scaling_laws(X, 0, show="d1"), ValueError,
        "show must be one of 'dimension', 'exponents', 'singular_values', got 'd1'",
    ),
    "point": (lambda X, y: plot.scaling_laws(X, 250), ValueError, "point must be a row of X, from 0 to 249"),
    "copies": (
        lambda X, y: plot.scaling_laws(np.ones((9, 2)), 3), ValueError,
        "the points around 3 coincide with it; choose another point, or remove copies from X",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_drawn_is_said_and_leaves_no_figure(annulus, name):
    call, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        call(*annulus)
    assert plt.get_fignums() == []


def test_relevance_needs_one_name_per_column_and_a_relevance(model, annulus):
    with pytest.raises(ValueError, match="names must have one for each of the 2 columns of X, got 3"):
        plot.relevance(model, names="abc")
    X, _ = annulus
    other = idm.IteratedDiffusionMap(max_iter=1, feature_estimator=LinearRegression()).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="model has no relevance_, because of its feature_estimator; fit one"):
        plot.relevance(other)


# --- matplotlib is optional


def test_importing_the_package_does_not_import_matplotlib(run_python):
    assert run_python("import idm, sys; print('matplotlib' in sys.modules)").strip() == "False"


@pytest.mark.parametrize("name", NAMES)
def test_without_matplotlib_every_function_says_what_it_needs(calls, name, monkeypatch):
    for module in [module for module in sys.modules if module.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"idm.plot needs matplotlib: pip install 'iterated-diffusion-map\[plot\]'"):
        calls[name]()


@pytest.mark.parametrize("name", [info.name for info in pkgutil.iter_modules(plot.__path__)])
def test_the_examples_of_the_documentation_run(name):
    module = importlib.import_module(f"idm.plot.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.skipif(not PAGE.exists(), reason="the tests run outside the repository")
def test_the_page_of_pictures_runs_and_has_them():
    blocks = re.findall(r"```python\n(.*?)```(?:\s*!\[[^\]]*\]\((.*?)\))?", PAGE.read_text(), flags=re.DOTALL)
    names = {}
    for code, picture in blocks:
        names["ax"] = None
        exec(compile(code, str(PAGE), "exec"), names)
        assert isinstance(names["ax"], mpl.axes.Axes) == bool(picture)
        if picture:
            assert (PAGE.parent / picture).stat().st_size < 60_000
    called = {name for name in plot.__all__ if f"idm.plot.{name}(" in PAGE.read_text()}
    assert called == set(plot.__all__)
