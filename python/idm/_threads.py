"""The one place that decides on threads: ours by `n_jobs`, one for BLAS while eigenpairs are computed."""

import contextlib
import functools
import os
import threading
from collections.abc import Iterator

from threadpoolctl import ThreadpoolController

from idm import _core
from idm._validation import as_integer
from idm._warnings import warn
from idm.exceptions import ForkedProcessWarning

# A larger number is a mistake.
_MOST = 1024


def n_threads(n_jobs: int | None) -> int:
    """Threads for one call: `n_jobs`, or what OMP_NUM_THREADS and threadpoolctl allow at this moment.

    At most one per processor that this process may use: more would only wait for each other. Negative numbers count
    back from that, as in scikit-learn: -1 means all of them.
    """
    if n_jobs is not None:
        n_jobs = as_integer(n_jobs, "n_jobs", low=-_MOST, high=_MOST)
        if n_jobs == 0:
            raise ValueError("n_jobs must not be 0; use None for the default, or -1 for all processors")
    if _core.in_forked_child():
        _warn_forked(os.getpid())
        return 1
    if n_jobs is None:
        n_jobs = _core.max_threads()
    return min(n_jobs, _n_processors()) if n_jobs > 0 else max(1, _n_processors() + 1 + n_jobs)


def _n_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _warn_forked(_pid: int) -> None:
    warn(
        "idm runs on one thread here: this process was forked from one that had loaded idm, and OpenMP's "
        "threads do not survive a fork. Use the 'spawn' or 'forkserver' start method, or joblib's 'loky', "
        "to use more",
        ForkedProcessWarning,
    )


_blas = threading.Lock()


def _new_lock() -> None:
    global _blas
    _blas = threading.Lock()


if hasattr(os, "register_at_fork"):  # another thread may hold it while the process forks
    os.register_at_fork(after_in_child=_new_lock)


@functools.cache
def _controller() -> ThreadpoolController:
    """Of the libraries that NumPy and SciPy came with: to look for them takes milliseconds."""
    return ThreadpoolController()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread, so that results repeat to the bit for every number of threads on one machine.

    The limit belongs to the process, and threadpoolctl lets one Python thread set it at a time: others wait here.
    """
    with _blas, _controller().limit(limits=1, user_api="blas"):
        yield
