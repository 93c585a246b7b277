"""An installed package works: in seconds, by itself, with nothing but the dependencies and pytest.

Wheels are tested by a copy of this file, without a checkout and without a compiler.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import idm
from idm import _core
from idm._threads import n_threads


def annulus(n, seed):
    X, _, y = idm.datasets.make_annulus(n, feature="radius", random_state=seed)
    return X, y


@pytest.fixture(scope="module")
def model():
    return idm.IteratedDiffusionMap(random_state=0).fit(*annulus(600, 0))


def run(*command, **environment):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_new_points_and_their_features(model):
    X, y = annulus(200, 1)
    Z = model.transform(X)
    assert Z.shape == (200, model.embedding_.shape[1])
    assert np.isfinite(Z).all()
    assert np.abs(model.predict(X) - y).max() < 0.05 * np.ptp(y)
    # Neighbours in the map have the feature of the point, neighbours in the data have not.
    spread = [np.ptp(y[idm.nearest_neighbors(points, 20).indices, 0], axis=1).mean() / np.ptp(y) for points in (Z, X)]
    assert spread[0] < 0.2 < spread[1]


def test_a_saved_model_is_the_same(model, tmp_path):
    X, _ = annulus(50, 1)
    idm.save(model, tmp_path / "model.idm")
    loaded = idm.load(tmp_path / "model.idm")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_the_example_of_the_readme(capsys):
    description = importlib.metadata.metadata("iterated-diffusion-map")["Description"]
    (code,) = re.findall(r"```python\n(.*?)```", description, flags=re.DOTALL)
    exec(code, {})
    score = re.search(r"R\^2 of their feature (\S+)", capsys.readouterr().out)
    assert float(score.group(1)) > 0.999


def test_the_command(tmp_path):
    script = Path(sysconfig.get_path("scripts"), "idm.exe" if os.name == "nt" else "idm")
    assert "transform" in run(script, "--help")
    table = run(script, "demo", "-n", "300", "-o", tmp_path / "picture.png")
    recall = [float(line.split()[-1]) for line in re.findall(r"^ +(?:data|\d+) .*$", table, flags=re.MULTILINE)]
    assert recall[0] < 0.6 < 0.8 < recall[-1]


def test_every_variant_gives_the_same_map(model):
    """To some digits: the variants round differently."""
    script = """
import idm
X, _, y = idm.datasets.make_annulus(600, feature="radius", random_state=0)
model = idm.IteratedDiffusionMap(random_state=0).fit(X, y)
print(idm._core.isa, model.n_iter_, (model.embedding_**2).sum())
"""
    for isa in _core.variants:
        if isa == "baseline" or _core.cpu_has_v3():
            chosen, *numbers = run(sys.executable, "-c", script, IDM_ISA=isa).split()
            assert chosen == isa
            expected = [model.n_iter_, (model.embedding_**2).sum()]
            np.testing.assert_allclose(np.array(numbers, float), expected, rtol=1e-6)


@pytest.mark.skipif(_core.build_info()["openmp"].startswith("none"), reason="this build runs on one thread")
def test_threads_beside_those_of_scikit_learn(model):
    """Each wheel has an OpenMP of its own. They work in turns, and threadpoolctl and OMP_NUM_THREADS reach ours."""
    X, y = annulus(600, 0)
    for _ in range(2):
        with threadpool_limits(2, user_api="openmp"):
            assert _core.max_threads() == 2
            assert _core.parallel_probe(n=8, seconds=0.02, fail_at=-1, n_threads=2) == 2
            centres = KMeans(3, n_init=1, random_state=0).fit(X).cluster_centers_
            again = idm.IteratedDiffusionMap(random_state=0, n_jobs=2).fit(X, y)
        with threadpool_limits(1, user_api="openmp"):
            assert n_threads(None) == 1
            np.testing.assert_allclose(KMeans(3, n_init=1, random_state=0).fit(X).cluster_centers_, centres)
        np.testing.assert_array_equal(again.embedding_, model.embedding_)
    script = "from idm import _core; print(_core.max_threads())"
    assert [run(sys.executable, "-c", script, OMP_NUM_THREADS=str(n)).strip() for n in (1, 3)] == ["1", "3"]
