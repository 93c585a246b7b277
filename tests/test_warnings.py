"""Warnings point at the user's line and at their heading in docs/warnings.md, and advise in parameters that exist."""

import inspect
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import idm
from idm import _diffusion_map, _local_kernel_map, exceptions
from idm._warnings import PAGE

DOCUMENT = Path(__file__).parents[1] / PAGE
CLASSES = {name: c for name, c in vars(exceptions).items() if inspect.isclass(c)}


def clusters(rng, n=120):
    return rng.normal(size=(n, 2)) + np.repeat([[0.0, 0.0], [1e4, 0.0]], n // 2, axis=0)


def outlier(rng):
    X = rng.normal(size=(200, 2))
    X[5] = 1e9
    return X


def cases(rng):
    """A call that warns, from this file, and the warning."""
    X = clusters(rng)
    fitted = idm.DiffusionMap(3, n_neighbors=60).fit(X[:60])
    model = idm.IteratedDiffusionMap(max_iter=1, early_stopping=False, n_neighbors=20)
    far, copies = np.array([[1e5, 0.0]]), np.repeat(X[:30], 30, axis=0)
    trained = idm.IteratedDiffusionMap(max_iter=1, random_state=0).fit(X[:60], X[:60, 0])
    pair = idm.LocalKernelMap(3, n_neighbors=20)
    separate = idm.DiffusionMap(2, n_neighbors=20, bandwidth="global")
    scaled = make_pipeline(StandardScaler(), separate).set_output(transform="default")
    return [
        (lambda: idm.DiffusionMap(3, n_neighbors=20).fit(X), exceptions.DisconnectedGraphWarning),
        (lambda: idm.DiffusionMap(3, n_neighbors=20).fit_transform(X), exceptions.DisconnectedGraphWarning),
        (lambda: scaled.fit_transform(X), exceptions.DisconnectedGraphWarning),
        (lambda: model.fit(X, X[:, 0]), exceptions.DisconnectedGraphWarning),
        (lambda: model.fit_transform(X, X[:, 0]), exceptions.DisconnectedGraphWarning),
        (lambda: model.fit(X[:60], np.ones(60)), exceptions.ConstantFeatureWarning),
        (lambda: model.fit(X[:60], X[:60, 0]), exceptions.NotConvergedWarning),
        (lambda: model.fit(X[:60], np.where(np.arange(60) == 5, 1e4, X[:60, 0])), exceptions.FeatureOutlierWarning),
        (
            lambda: idm.DiffusionMap(3, n_neighbors=50, bandwidth="global").fit(outlier(rng)),
            exceptions.OutlierWarning,
        ),
        (lambda: idm.DiffusionMap(3, n_neighbors=20).fit(rng.normal(size=(300, 9))), exceptions.KernelCutWarning),
        (lambda: idm.DiffusionMap(50, n_neighbors=60, epsilon=1e3).fit(X[:60]), exceptions.SpectrumWarning),
        (lambda: idm.DiffusionMap(3, n_neighbors=20).fit(X), exceptions.NarrowKernelWarning),
        (lambda: idm.DiffusionMap(3, rescaling="global", diffusion_time=1e9).fit(X[:60]), exceptions.UnderflowWarning),
        (lambda: pair.fit(X, X), exceptions.DisconnectedGraphWarning),
        (lambda: fitted.transform(far), exceptions.ExtrapolationWarning),
        (lambda: fitted.diffusion_distances(far), exceptions.ExtrapolationWarning),
        (lambda: trained.predict(far), exceptions.ExtrapolationWarning),
        (lambda: idm.local_geometry(np.vstack([copies, X]), n_neighbors=20), exceptions.DegenerateNeighborhoodWarning),
        (
            lambda: idm.tangent_spaces(np.vstack([copies, X]), n_neighbors=20),
            exceptions.DegenerateNeighborhoodWarning,
        ),
        (
            lambda: idm.local_derivatives(X, X[:, 0], n_neighbors=20, queries=far),
            exceptions.ExtrapolationWarning,
        ),
    ]


@pytest.mark.parametrize("number", range(20))
def test_warnings_point_at_this_file(rng, number):
    call, category = cases(rng)[number]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [w for w in caught if w.category is category]
    assert found, [str(w.message) for w in caught]
    assert {w.filename for w in found} == {__file__}


def test_there_are_as_many_cases_as_numbers(rng):
    assert len(cases(rng)) == 20


@pytest.mark.parametrize("estimator", [idm.DiffusionMap, idm.IteratedDiffusionMap, idm.LocalKernelMap])
def test_remedies_name_parameters_of_the_estimator(estimator):
    remedies = {
        idm.DiffusionMap: lambda: _diffusion_map._ADVICE.remedies,
        idm.IteratedDiffusionMap: lambda: idm.IteratedDiffusionMap()._settings(100).map.advice.remedies,
        idm.LocalKernelMap: lambda: _local_kernel_map._REMEDIES,
    }[estimator]()
    every = {name for cls in (idm.DiffusionMap, idm.IteratedDiffusionMap) for name in inspect.signature(cls).parameters}
    own = set(inspect.signature(estimator).parameters)
    for text in remedies.values():
        words = {word.strip(",.:;=") for word in text.replace("=", " ").split()}
        assert words & every <= own, text


in_the_repository = pytest.mark.skipif(not DOCUMENT.exists(), reason="the tests run outside the repository")


def documented():
    """The text under each heading of a class."""
    return dict(
        re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )


def code_of(name):
    (code,) = re.findall(r"```python\n(.*?)```", documented()[name], re.DOTALL)
    return code


@in_the_repository
def test_every_class_has_its_heading_and_says_what_to_do():
    assert set(documented()) == set(CLASSES)
    for text in documented().values():
        assert re.findall(r"^\*\*(\w+):\*\* ", text, re.MULTILINE) == ["When", "Meaning", "Remedy"]


@in_the_repository
@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"ForkedProcessWarning"}))
def test_the_code_under_a_heading_raises_it_and_nothing_else(name):
    raised = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(code_of(name), PAGE, "exec"), {})
        except (exceptions.CoincidentPointsError, exceptions.EigenpairError) as error:
            raised.append(type(error))
    assert {w.category for w in caught} | set(raised) == {CLASSES[name]}
    for w in caught:
        assert str(w.message).endswith(f"; see {PAGE}#{name.lower()}")


@in_the_repository
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_the_code_about_forks_warns_in_the_child():
    done = subprocess.run(
        [sys.executable, "-c", code_of("ForkedProcessWarning")], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"(\w+Warning): .*idm", done.stderr)) == {"ForkedProcessWarning"}
    assert f"see {PAGE}#forkedprocesswarning" in done.stderr
