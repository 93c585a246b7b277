"""The parallel layer: threads, exceptions, interrupts, forks."""

import os
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import idm
from idm import _core
from idm._threads import n_threads
from idm.exceptions import ForkedProcessWarning

pytestmark = pytest.mark.usefixtures("variant")

has_openmp = not _core.build_info()["openmp"].startswith("none")
needs_openmp = pytest.mark.skipif(not has_openmp, reason="this build has no OpenMP and runs on one thread")


@needs_openmp
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_as_many_threads_as_asked_for_take_part(threads):
    assert _core.parallel_probe(n=28, seconds=0.01, fail_at=-1, n_threads=threads) == threads


@needs_openmp
def test_n_jobs_none_follows_threadpoolctl_at_the_time_of_the_call(monkeypatch):
    monkeypatch.setattr("idm._threads._n_processors", lambda: 8)
    with threadpool_limits(3, user_api="openmp"):
        assert n_threads(None) == 3
        with threadpool_limits(1, user_api="openmp"):
            assert n_threads(None) == 1
        assert n_threads(None) == 3


@needs_openmp
@pytest.mark.parametrize("threads", [1, 2, 64])
def test_n_jobs_none_follows_omp_num_threads(run_python, threads):
    script = """
import numpy as np, idm
from idm._threads import n_threads
X = np.random.default_rng(0).normal(size=(3000, 3))
sums = [idm.nearest_neighbors(X, 20, n_jobs=n_jobs).distances.sum() for n_jobs in (None, 1)]
print(n_threads(None), *sums)
"""
    used, default, single = run_python(script, OMP_NUM_THREADS=str(threads)).split()
    assert int(used) == min(threads, len(os.sched_getaffinity(0)))
    assert default == single


def test_no_more_threads_than_the_processors_of_the_affinity_mask(run_python):
    script = """
import os
from idm._threads import n_threads
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print(n_threads(1024), n_threads(None), n_threads(-1))
"""
    assert run_python(script, OMP_NUM_THREADS="64").split() == ["1", "1", "1"]


@needs_openmp
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer takes terabytes of addresses")
def test_where_the_system_refuses_threads_one_does_the_work(run_python):
    # Address space for the process as it is and 64 MB more: not for the stacks, of 8 MB or more, of 63 threads.
    script = """
import resource
import numpy as np, idm
from idm import _core
X = np.random.default_rng(0).normal(size=(3000, 3))
expected = _core.NeighborIndex(X).nearest(None, 20, 1, "tree")
used = 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1])
resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, resource.RLIM_INFINITY))
refused = _core.parallel_probe(n=64, seconds=0, fail_at=-1, n_threads=64)
found = _core.NeighborIndex(X).nearest(None, 20, 64, "tree")
print(refused, all((a == b).all() for a, b in zip(found, expected)))
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(_core.parallel_probe(n=28, seconds=0.02, fail_at=-1, n_threads=7))
"""
    assert run_python(script).split() == ["1", "True", "7"]


def test_negative_n_jobs_counts_back_from_the_processors():
    assert n_threads(-1) == len(os.sched_getaffinity(0))
    assert n_threads(-1000) == 1


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("fail_at", [0, 5, 99])
def test_an_exception_in_a_block_comes_out_and_the_layer_works_on(threads, fail_at):
    with pytest.raises(RuntimeError, match=f"block {fail_at} failed"):
        _core.parallel_probe(n=100, seconds=0.0005, fail_at=fail_at, n_threads=threads)
    assert _core.parallel_probe(n=10, seconds=0, fail_at=-1, n_threads=threads) >= 1


@pytest.mark.parametrize("threads", [2, 7])
def test_an_exception_stops_the_other_threads(threads):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="block 0 failed"):
        _core.parallel_probe(n=1000, seconds=0.01, fail_at=0, n_threads=threads)
    assert time.monotonic() - start < 1.0  # all blocks would take 10 s / threads


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_loop_within_half_a_second(threads, ctrl_c):
    ctrl_c.after(0.2)
    with ctrl_c.stops():
        _core.parallel_probe(n=4000, seconds=0.01, fail_at=-1, n_threads=threads)


@pytest.mark.parametrize("method", ["tree", "blocked"])
def test_ctrl_c_stops_a_search_and_the_next_one_is_right(rng, method, ctrl_c):
    X = rng.normal(size=(60_000, 8))  # many seconds of work, either way
    ctrl_c.after(0.7)
    with ctrl_c.stops():
        _core.NeighborIndex(X).nearest(None, 800, 2, method)
    assert idm.nearest_neighbors(X[:100], 2).indices[7, 0] == 7


def long_step(rng, name):
    """A step that takes many seconds for one point."""
    sizes = {"local_geometry": (1500, 1200), "tangent_spaces": (1500, 1200), "local_derivatives 0.1": (6000, 5000)}
    n, m = sizes.get(name, (3000, 2500))
    X, Y = rng.normal(size=(n, m)), rng.normal(size=(n, 2))
    if n == 1500:
        near, eps = idm.nearest_neighbors(X, m), np.full((n, 1), 2.0 * m)
        if name == "local_geometry":
            return lambda: _core.local_geometry(X, *near, "svd", 50, 2)
        return lambda: _core.tangent_spaces(X, *near, eps, m, 2)
    base, eps = X[:1], np.full((1, 1), 2.0 * m)
    near = idm.nearest_neighbors(X, n, queries=base)
    if name == "scaling_laws":
        return lambda: _core.scaling_laws(X, base, *near, eps, 2)
    if name == "local_estimates":
        return lambda: _core.local_estimates(
            X, Y, np.ones((len(X), 1)), base, *near, np.ones((len(base), 1)), None, np.ones((1, 9)), np.ones((1, 9)), 2
        )
    ridge = float(name.removeprefix("local_derivatives "))
    return lambda: _core.local_derivatives(X, Y, base, Y[:1], *near, eps, "affine", ridge, 2)


@pytest.mark.large
@pytest.mark.parametrize("seconds", [0.3, 1.5])
@pytest.mark.parametrize(
    "name",
    [
        "local_geometry",
        "tangent_spaces",
        "scaling_laws",
        "local_estimates",
        "local_derivatives 0",
        "local_derivatives 0.1",
    ],
)
def test_ctrl_c_stops_the_work_at_one_point(rng, name, seconds, ctrl_c):
    step = long_step(rng, name)
    ctrl_c.after(seconds)
    with ctrl_c.stops():
        step()


def test_the_gil_is_released():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    ticker = threading.Thread(target=tick)
    ticker.start()
    _core.parallel_probe(n=1, seconds=0.3, fail_at=-1, n_threads=1)
    done.set()
    ticker.join()
    assert len(ticks) > 20


def test_two_python_threads_get_the_results_of_one(rng):
    X = rng.normal(size=(2000, 4))
    expected = idm.nearest_neighbors(X, 30, n_jobs=1)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(idm.nearest_neighbors(X, 30, n_jobs=2))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for found in results:
        np.testing.assert_array_equal(found.indices, expected.indices)


def test_a_forked_child_runs_on_one_thread_and_warns_once(run_python):
    script = """
import os, sys, warnings
import numpy as np, idm
X = np.random.default_rng(0).normal(size=(3000, 3))
expected = idm.nearest_neighbors(X, 20, n_jobs=2).indices
child = os.fork()
if child == 0:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        same = all((idm.nearest_neighbors(X, 20, n_jobs=2).indices == expected).all() for _ in range(3))
    names = [w.category.__name__ for w in caught]
    sys.stdout.write(f"{same} {names} {'test_parallel' in str(caught[0].filename) or caught[0].filename}")
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    printed = run_python(script, "-W", "ignore::DeprecationWarning")
    assert printed.startswith(f"True ['{ForkedProcessWarning.__name__}']")
    assert printed.endswith("<string>")  # the warning points at the caller's line, not into idm
