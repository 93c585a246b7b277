"""A model at the end of a notebook's cell, and the bar of verbose=1."""

import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import idm

TABLES = '<div class="idm-fit"'


@pytest.fixture(scope="module")
def data():
    X, _, y = idm.datasets.make_annulus(120, feature="radius", random_state=0)
    return X, y


@pytest.fixture(scope="module")
def model(data):
    return idm.IteratedDiffusionMap(max_iter=2, early_stopping=True, random_state=0).fit(*data)


def cells(html):
    return [part.split("<")[0] for tag in ("th", "td") for part in html.split(f'<{tag} style="text-align: ')[1:]]


def test_a_fitted_model_tells_its_iterations_below_the_diagram(model):
    diagram, below = model._repr_html_().split(TABLES)
    assert "sk-estimator" in diagram
    told = [cell.partition('">')[2] for cell in cells(below)]
    assert f"after iteration {len(model.iterations_)}: {model.stop_reason_}; kept iteration {model.n_iter_}" in told
    assert {"data", "landmarks", "coordinates", "stopped", "score", "kept"} <= set(told)
    for record in model.iterations_:
        assert f"{record.validation_score:.4f}" in told
    assert model._repr_mimebundle_()["text/html"].endswith(below)


def test_the_other_estimators_have_one_table(data):
    X, y = data
    labels = ["<b>" if r > 2 else "&" for r in y[:, 0]]
    for other in (idm.DiffusionMap(3).fit(X), idm.LocalKernelMap(3).fit(X, X)):
        assert other._repr_html_().split(TABLES)[1].count("<table") == 1
    shown = idm.IteratedDiffusionMapClassifier(max_iter=1).fit(X, labels)._repr_html_().split(TABLES)[1]
    assert "2: &amp;, &lt;b&gt;" in shown


def test_before_the_fit_and_after_clone_there_is_the_diagram_alone(model):
    for unfitted in (idm.IteratedDiffusionMap(), clone(model), idm.DiffusionMap(), idm.LocalKernelMap()):
        assert "sk-estimator" in unfitted._repr_html_()
        assert TABLES not in unfitted._repr_html_()
        assert TABLES not in unfitted._repr_mimebundle_()["text/html"]


def test_display_as_text_has_no_html(model):
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_pipelines_and_searches_are_shown(data):
    X, y = data
    small = idm.IteratedDiffusionMap(max_iter=1, n_neighbors=40, random_state=0)
    pipeline = make_pipeline(StandardScaler(), small).fit(X, y)
    search = GridSearchCV(small, {"tau": [0.5, 0.9]}, cv=2).fit(X, y)
    for whole in (pipeline, search):
        assert "IteratedDiffusionMap" in estimator_html_repr(whole)
    assert pipeline[-1]._feature_map is None


def test_showing_a_model_computes_nothing(model, monkeypatch):
    monkeypatch.setattr(model, "_feature_map", None)
    model._repr_html_()
    dir(model)
    assert model._feature_map is None
    assert model.feature_map_residual_ > 0
    assert {"feature_map_", "feature_map_residual_"} <= set(dir(model))


def test_the_bar_of_a_fit_that_converges_is_full_in_the_end(data, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    model = idm.IteratedDiffusionMap(random_state=0, verbose=1).fit(*data)
    assert model.stop_reason_ == "converged"
    shown = capsys.readouterr().err.rstrip().split("\r")
    assert f"{len(model.iterations_)}/{len(model.iterations_)}" in shown[-1]
    assert shown[-1].endswith("; converged")
    assert any(line.rstrip().endswith("now eigenpairs") for line in shown)


def test_a_bar_may_be_disabled(run_python):
    script = """
import idm
X, _, y = idm.datasets.make_annulus(60, random_state=0)
print(idm.IteratedDiffusionMap(max_iter=1, random_state=0, verbose=1).fit(X, y).n_iter_)
"""
    assert run_python(script, TQDM_DISABLE="1") == "1\n"


def test_a_notebook_without_widgets_is_not_warned(run_python):
    script = """
import sys, types, warnings
sys.modules["ipywidgets"] = None  # not installed
for name in ("IPython", "ipykernel.zmqshell"):  # what older and newer versions of tqdm look for
    sys.modules[name] = types.ModuleType(name)
kernel = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"].get_ipython = lambda: kernel
from idm._progress import progress
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with progress(2, 1) as shown:
        print(type(shown).__name__, len(caught))
"""
    assert run_python(script) == "_Bar 0\n"
