"""Time, memory and quality of a fit by the number of rows, each in a process of its own.

python bench/growth.py [--sizes 2000 10000 40000 160000 1000000] [--n-columns 3] [--dtype float64] [--json FILE]

The memory is the peak beyond what there was before the fit, when X and y were there already. Recall is that of the
nearest 10 % of 2,000 rows for 500 new ones (torus, theta).
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from harness import memory, save

import idm


def one_fit(n, m, dtype, n_jobs):
    """Seconds, peak bytes, recall, of a fit of n x m."""
    X, _, y = idm.datasets.make_torus(n, feature="theta", random_state=0)
    new, _, y_new = idm.datasets.make_torus(500, feature="theta", random_state=1)
    if m > 3:
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(m, 3)))[0].T
        X, new = X @ turn, new @ turn
    X = X.astype(dtype)
    idm.IteratedDiffusionMap(max_iter=1).fit(X[:500], y[:500])  # libraries are loaded
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak so far is forgotten
    before = memory("VmRSS")
    start = time.perf_counter()
    model = idm.IteratedDiffusionMap(random_state=0, n_jobs=n_jobs).fit(X, y)
    seconds = time.perf_counter() - start
    peak = memory("VmHWM") - before
    rows = np.random.default_rng(2).permutation(n)[:2000]
    k = len(rows) // 10
    start = time.perf_counter()
    mapped = model.transform(np.repeat(new, 20, axis=0) + 1e-9)
    per_row = (time.perf_counter() - start) / len(mapped)
    found = idm.nearest_neighbors(model.embedding_[rows], k, queries=mapped[::20]).indices
    right = idm.nearest_neighbors(y[rows], k, queries=y_new).indices
    recall = np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found, right, strict=True)])
    return {"n": n, "seconds": seconds, "bytes_per_row": peak / n, "peak": peak, "recall": recall,
            "n_iter": model.n_iter_, "n_coordinates": model.embedding_.shape[1], "transform_per_second": 1 / per_row,
            "estimated": idm.estimate_memory(n, m, y.shape[1])}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 10_000, 40_000, 160_000, 1_000_000])
    parser.add_argument("--n-columns", type=int, default=3)
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--one", action="store_true", help="the first size only, as JSON")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    given = ["--n-columns", str(arguments.n_columns), "--dtype", arguments.dtype, "--n-jobs", str(arguments.n_jobs)]
    if arguments.one:
        print(json.dumps(one_fit(arguments.sizes[0], arguments.n_columns, arguments.dtype, arguments.n_jobs)))
        return
    print(f"{'rows':>9}{'seconds':>9}{'us / row':>9}{'peak MB':>9}{'estimate':>9}{'B / row':>9}{'recall':>8}"
          f"{'n_iter':>7}{'M':>4}{'transform / s':>14}")  # fmt: skip
    rows = []
    for n in arguments.sizes:
        command = [sys.executable, __file__, "--one", "--sizes", str(n), *given]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows.append(row)
        print(f"{n:>9,}{row['seconds']:>9.2f}{1e6 * row['seconds'] / n:>9.0f}{row['peak'] / 1e6:>9.0f}"
              f"{row['estimated'] / 1e6:>9.0f}{row['bytes_per_row']:>9.0f}{row['recall']:>8.3f}{row['n_iter']:>7}"
              f"{row['n_coordinates']:>4}{row['transform_per_second']:>14,.0f}", flush=True)  # fmt: skip
    if arguments.json:
        title = f"Fits by the number of rows ({arguments.n_columns} columns, {arguments.dtype})"
        save(arguments.json, {"title": title, "growth": rows})


if __name__ == "__main__":
    main()
