"""Many fits and transforms in one process, beside two busy ones: memory stays flat, and every result is the same.

python bench/soak.py                                       200 fits and 2,000 transforms of 2000 rows
python bench/soak.py --fits 20 --transforms 50 --n-samples 300

Memory is the resident set (Linux), the mean of the first and of the last quarter of the calls.
"""

import argparse
import hashlib
import time

import numpy as np
from harness import busy_processes, memory

import idm

# What may be added: pages that the allocator keeps, and caches of the interpreter.
MOST_GROWTH = 0.05


def repeat(name, call, times):
    """Call so often, print a row of the table; whether memory was flat and all results were equal."""
    resident, hashes, start = [], set(), time.perf_counter()
    for _ in range(times):
        hashes.add(hashlib.sha256(call().tobytes()).hexdigest())
        resident.append(memory("VmRSS") / 1e6)
    seconds, quarter = (time.perf_counter() - start) / times, max(1, times // 4)
    first, last = np.mean(resident[:quarter]), np.mean(resident[-quarter:])
    print(
        f"{name:<24}{times:>7}{seconds:>9.3f}s{first:>10.1f}{last:>10.1f}{last / first - 1:>9.2%}{len(hashes):>9}",
        flush=True,
    )
    return last <= (1 + MOST_GROWTH) * first and len(hashes) == 1


def soak(n_fits, n_transforms, n_samples):
    """Both estimators; whether all went well."""
    X, _, y = idm.datasets.make_annulus(n_samples, feature="radius", random_state=0)
    new, _, _ = idm.datasets.make_annulus(n_samples, feature="radius", random_state=1)
    models = [
        (idm.IteratedDiffusionMap(max_iter=3, random_state=0), n_fits // 2),
        (idm.DiffusionMap(20, n_neighbors=100), n_fits - n_fits // 2),
    ]
    print(f"{'call':<24}{'times':>7}{'each':>10}{'first MB':>10}{'last MB':>10}{'growth':>9}{'results':>9}")
    well = []
    for model, times in models:
        name = type(model).__name__
        model.fit(X, y)  # the first fit allocates what the others use again
        well.append(repeat(f"{name}.fit", lambda model=model: model.fit(X, y).embedding_, times))
        transforms = round(n_transforms * times / n_fits)
        well.append(repeat("    transform", lambda model=model: model.transform(new), transforms))
    return all(well)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--transforms", type=int, default=2000)
    parser.add_argument("--n-samples", type=int, default=2000)
    options = parser.parse_args()
    with busy_processes(2):
        well = soak(options.fits, options.transforms, options.n_samples)
    print("memory is flat, and all results are equal" if well else "memory grows, or results differ")
    raise SystemExit(not well)
