"""The same random_state gives the same bits, whatever the threads, the processes and the load."""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import idm

pytestmark = pytest.mark.large

MODELS = {
    "diffusion": idm.DiffusionMap(20, n_neighbors=80, n_landmarks=200, random_state=0),
    "difference": idm.IteratedDiffusionMap(max_iter=2, n_landmarks=200, random_state=0),
    "derivative": idm.IteratedDiffusionMap(max_iter=2, feature_change="derivative", random_state=0),
    # So wide and long that BLAS would share the work among its threads.
    "wide": idm.IteratedDiffusionMap(
        100, tau=0.1, max_iter=1, n_neighbors=60, feature_change="derivative", early_stopping=False, random_state=0
    ),
    "labels": idm.IteratedDiffusionMapClassifier(max_iter=2, random_state=0),
    "local": idm.LocalKernelMap(20, n_neighbors=80),
}


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def hashes(n_jobs=None, names=tuple(MODELS)):
    """One hash for every result of every model, fitted anew."""
    data = {n: idm.datasets.make_torus(n, feature="phi", noise=0.01, random_state=0) for n in (300, 2000)}
    new, _, _ = idm.datasets.make_torus(100, feature="phi", random_state=1)
    found = {}
    for name in names:
        X, _, y = data[2000 if name == "wide" else 300]
        model = MODELS[name].__class__(**MODELS[name].get_params()).set_params(n_jobs=n_jobs)
        model.fit(X, (y[:, 0] > 0) * 1 if name == "labels" else X if name == "local" else y)
        results = {a: getattr(model, a) for a in ("embedding_", "feature_map_", "relevance_") if hasattr(model, a)}
        results |= {m: getattr(model, m)(new) for m in ("transform", "predict") if hasattr(model, m)}
        found |= {f"{name} {what}": digest(array) for what, array in results.items()}
    return found


@pytest.fixture(scope="module")
def expected():
    found = hashes(n_jobs=1)
    assert len(found) == 24  # five each of four models, two each of the others
    return found


@pytest.fixture
def in_a_new_process(run_python):
    def run(**environment):
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        script = "import json, test_determinism; print(json.dumps(test_determinism.hashes()))"
        return json.loads(run_python(script, PYTHONPATH=path, **environment))

    return run


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_for_every_n_jobs(expected, n_jobs):
    assert hashes(n_jobs) == expected


@pytest.mark.parametrize("threads", ["1", "2", "4"])
def test_in_a_new_process_for_every_number_of_threads_of_blas_and_openmp(expected, in_a_new_process, threads):
    assert in_a_new_process(OPENBLAS_NUM_THREADS=threads, OMP_NUM_THREADS=threads) == expected


def test_in_eight_python_threads_at_once(expected):
    names = ("difference", "wide")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n_jobs: hashes(n_jobs, names), [1, 2] * 4))
    for results in found:
        assert results == {key: value for key, value in expected.items() if key.split()[0] in names}


def test_in_a_search_with_processes():
    X, _, y = idm.datasets.make_annulus(200, feature="radius", random_state=0)
    grid, model = {"tau": [0.5, 0.9]}, idm.IteratedDiffusionMap(max_iter=2, random_state=0)
    one, two = (GridSearchCV(model, grid, cv=2, n_jobs=n).fit(X, y) for n in (1, 2))
    for split in (0, 1):
        name = f"split{split}_test_score"
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])
    np.testing.assert_array_equal(one.best_estimator_.embedding_, two.best_estimator_.embedding_)


def test_under_load(expected):
    neighbors = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        assert hashes(2) == expected
    finally:
        for process in neighbors:
            process.kill()
            process.wait()
