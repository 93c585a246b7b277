"""Where the time of a fit and of transform goes, stage by stage, and what bounds each.

python bench/profile.py [--n-samples 10000] [--n-columns 3] [--queries 10000] [--n-jobs 2] [--json FILE]

The bound of a stage is the time of its multiply-adds at the rate of a matrix product, or of the bytes that it must move
at the rate of a copy, whichever is longer, both measured here; "reached" is the share of that bound in the time.
"""

import argparse
import time
from collections import defaultdict
from unittest import mock

import numpy as np
import scipy.linalg
from harness import save
from threadpoolctl import threadpool_limits

import idm
from idm import _core
from idm._neighbors import NeighborIndex


def nearest(self, queries, k, threads, **_):
    n, m = self.points.shape
    rows = n if queries is None else len(queries)
    least = min(rows * n * m, 40 * rows * k * m)  # a tree looks at some times k points; 40 is generous
    return least, 16 * rows * k


def extend(self, **given):
    (n, m), rows = self.points.shape, len(given["bases"])
    M, k = given["functions"].shape[1], given["n_neighbors"]
    return rows * (n * m + k * M), 8 * rows * (m + M)


# Multiply-adds and bytes of a call, by its arguments.
WORK = {
    "local_estimates": lambda X, Y, c, B, i, d, e, o, f, g, t: (
        i.size * f.size * (X.shape[1] ** 2 / 2 + X.shape[1] * Y.shape[1]),
        i.size * (16 + 8 * X.shape[1]),
    ),
    "local_derivatives": lambda X, Y, B, y, i, *_: (
        i.size * (X.shape[1] ** 2 / 2 + X.shape[1] * Y.shape[1]),
        i.size * (16 + 8 * X.shape[1]),
    ),
    "local_geometry": lambda X, i, *_: (0, 8 * i.size * 20),
    "metric_neighbors": lambda X, Y, i, d, **o: (
        i.size * (Y.shape[1] + 2),
        16 * i.size + 16 * len(X) * o["n_neighbors"],
    ),
    "symmetric_kernel": lambda i, d, *_: (0, 16 * i.size + 2 * 24 * i.size),
    "nearest_kernel": lambda i, d, *_: (0, 16 * i.size + 24 * i.size),
    "normalize": lambda K, *_: (0, 2 * 20 * K.values.size),
    "kernel_dimensions": lambda d, *_: (0, 8 * d.size),
    "multiply": lambda K, x, *_: (K.values.size * x.shape[1], 12 * K.values.size + 16 * x.size),
    "chebyshev": lambda K, x, low, high, degree, *_: (
        degree * K.values.size * x.shape[1],
        degree * (12 * K.values.size + 24 * x.size),
    ),
    "project_out": lambda V, d, W, *_: (2 * len(V) * d * W.shape[1], 8 * len(V) * d),
    "pair_distances": lambda X, i, *_: (i.size * X.shape[1], 16 * i.size),
    "farthest_points": lambda X, g, n: (n * X.size, 8 * len(X) * n),
    "connected_components": lambda K, *_: (0, 8 * len(K.row_start)),  # it ends when all points have a label
}
NAMES = {
    "nearest": "neighbours",
    "extend": "extension",
    "eigh": "eigenpairs of the projection",
    "qr": "orthonormal blocks",
    "project_out": "orthogonalisation",
    "multiply": "products with the kernel",
    "chebyshev": "filtered products",
    "symmetric_kernel": "kernel",
    "local_scales": "local scales",
    "metric_neighbors": "lengths",
    "local_estimates": "estimates of the feature",
    "farthest_points": "landmarks",
}


class Stages:
    """Times of the stages while it is entered."""

    def __init__(self):
        self.calls = defaultdict(lambda: [0, 0.0, 0.0, 0.0])  # number, seconds, multiply-adds, bytes

    def timed(self, name, function, work):
        def call(*args, **kwargs):
            start = time.perf_counter()
            result = function(*args, **kwargs)
            seconds = time.perf_counter() - start
            madds, moved = work(*args, **kwargs)
            for i, value in enumerate((1, seconds, madds, moved)):
                self.calls[name][i] += value
            return result

        return call

    def __enter__(self):
        patched = [(_core, name, getattr(_core, name), work) for name, work in WORK.items()]
        patched += [(NeighborIndex, f.__name__, getattr(NeighborIndex, f.__name__), f) for f in (nearest, extend)]
        patched += [
            (scipy.linalg, "eigh", scipy.linalg.eigh, lambda T, **_: (4 / 3 * len(T) ** 3, 0)),
            (scipy.linalg, "qr", scipy.linalg.qr, lambda W, **_: (2 * len(W) * W.shape[1] ** 2, 8 * W.size)),
        ]
        self.patches = [mock.patch.object(where, n, self.timed(n, f, work)) for where, n, f, work in patched]
        for patch in self.patches:
            patch.start()
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.start
        for patch in self.patches:
            patch.stop()


def rates(threads):
    """Multiply-adds and bytes per second, of a matrix product and of a copy."""
    A, source = np.random.default_rng(0).normal(size=(1000, 1000)), np.ones(16_000_000)
    target = np.empty_like(source)
    best = [float("inf")] * 2
    with threadpool_limits(threads, user_api="blas"):
        for _ in range(5):
            start = time.perf_counter()
            A @ A
            middle = time.perf_counter()
            np.copyto(target, source)
            best = [min(best[0], middle - start), min(best[1], time.perf_counter() - middle)]
    return A.shape[0] ** 3 / best[0], 2 * source.nbytes / best[1]


def table(title, stages, rate, bandwidth):
    """Rows of a printed table, the longest stage first."""
    print(f"\n{title}: {stages.seconds:.3f} s")
    print(f"{'stage':<32}{'calls':>6}{'seconds':>9}{'share':>7}{'bound':>9}{'reached':>9}  by")
    rows = []
    for name, (calls, seconds, madds, moved) in sorted(stages.calls.items(), key=lambda item: -item[1][1]):
        arithmetic, memory = madds / rate, moved / bandwidth
        bound, by = max((arithmetic, "arithmetic"), (memory, "memory"))
        row = {"stage": NAMES.get(name, name.replace("_", " ")), "calls": calls, "seconds": seconds}
        rows.append(row | {"share": seconds / stages.seconds, "bound": bound, "reached": bound / seconds, "by": by})
    rest = stages.seconds - sum(row["seconds"] for row in rows)
    rows.append({"stage": "everything else", "calls": 1, "seconds": rest, "share": rest / stages.seconds})
    for row in rows:
        line = f"{row['stage']:<32}{row['calls']:>6}{row['seconds']:>9.3f}{row['share']:>7.0%}"
        print(line + (f"{row['bound']:>9.4f}{row['reached']:>9.0%}  {row['by']}" if "bound" in row else ""))
    return {"title": title, "seconds": stages.seconds, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-samples", type=int, default=10_000)
    parser.add_argument("--n-columns", type=int, default=3, help="3, or more: the torus turned into as many")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    X, _, y = idm.datasets.make_torus(arguments.n_samples, feature="theta", random_state=0)
    new = idm.datasets.make_torus(arguments.queries, random_state=1)[0]
    if arguments.n_columns > 3:
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(arguments.n_columns, 3)))[0].T
        X, new = X @ turn, new @ turn
    rate, bandwidth = rates(arguments.n_jobs)
    rates_text = f"matrix product {rate / 1e9:.1f} G multiply-adds a second, copy {bandwidth / 1e9:.1f} GB a second"
    print(f"{rates_text}, {arguments.n_jobs} threads")
    estimator = idm.IteratedDiffusionMap(random_state=0, n_jobs=arguments.n_jobs)
    estimator.fit(X[:1000], y[:1000])  # warm
    with Stages() as fit:
        estimator.fit(X, y)
    with Stages() as transform:
        estimator.transform(new)
    tables = [
        table(f"fit of {X.shape[0]:,} x {X.shape[1]}, {estimator.n_iter_} iterations", fit, rate, bandwidth),
        table(f"transform of {len(new):,} rows to {estimator.embedding_.shape[1]} columns", transform, rate, bandwidth),
    ]
    per_row = transform.seconds / len(new) * arguments.n_jobs
    per_iteration = 1e6 * per_row / estimator.n_iter_
    print(f"\n{1 / per_row:,.0f} rows a second and core, {per_iteration:.1f} us per row and iteration")
    if arguments.json:
        notes = [rates_text, f"transform: {1 / per_row:,.0f} rows a second and core"]
        save(arguments.json, {"title": "Where the time goes", "notes": notes, "tables": tables})


if __name__ == "__main__":
    main()
