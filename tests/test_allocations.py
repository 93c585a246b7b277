"""The loops over points do not allocate: twice the points, the same number of calls of malloc."""

import platform
import subprocess

import pytest

COUNTER = """
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static _Atomic long calls;
long malloc_calls(void) { return calls; }
void *malloc(size_t n) { ++calls; return __libc_malloc(n); }
void *calloc(size_t n, size_t size) { ++calls; return __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { ++calls; return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { ++calls; return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { ++calls; return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { ++calls; return (*p = __libc_memalign(a, n)) ? 0 : 12; }
"""

SCRIPT = """
import ctypes
import numpy as np
import idm
from idm import _core

malloc_calls = ctypes.CDLL(None).malloc_calls
malloc_calls.restype = ctypes.c_long
rng = np.random.default_rng(0)


def calls(step, n, m, k):
    X, y = rng.normal(size=(n, m)), rng.normal(size=(n, 2))
    indices, distances = _core.NeighborIndex(X).nearest(None, k, 1)
    eps = np.full((n, 1), np.median(distances[:, -1]) ** 2 / 8)
    functions = {
        "d1": lambda: _core.local_geometry(X, indices, distances, "d1", 40, 1),
        "svd": lambda: _core.local_geometry(X, indices, distances, "svd", 40, 1),
        "tangent": lambda: _core.tangent_spaces(X, indices, distances, eps, min(m, k), 1),
        "ridge": lambda: _core.local_derivatives(X, y, X, None, indices, distances, eps, "affine", 0.05, 1),
        "plain": lambda: _core.local_derivatives(X, y, X, None, indices, distances, eps, "affine", 0.0, 1),
    }
    before = malloc_calls()
    result = functions[step]()
    return malloc_calls() - before


for m, k in ((3, 50), (40, 100), (60, 30)):
    for step in ("d1", "svd", "tangent", "ridge", "plain"):
        calls(step, 100, m, k)
        print(step, m, k, calls(step, 100, m, k), calls(step, 300, m, k))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="replaces malloc of glibc")
def test_the_loops_over_points_do_not_allocate(tmp_path, run_python):
    source, library = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(COUNTER)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    printed = run_python(SCRIPT, LD_PRELOAD=str(library))
    rows = [line.split() for line in printed.splitlines()]
    assert len(rows) == 15
    for step, m, k, few, many in rows:
        assert int(few) > 0, "malloc was not counted"
        # 200 more points; the vector of bandwidths in local_geometry grows by doubling, and twice at most.
        assert int(many) - int(few) <= 4, (step, m, k, few, many)
