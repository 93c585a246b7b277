"""Two builds of this library against each other, by turns, each time in a process of its own.

python -m pip install --no-deps --target OLD .      (of another commit, or with other flags; likewise NEW)
python bench/builds.py OLD NEW [--n-samples 10000] [--n-jobs 2] [--rounds 3] [--turns 4] [--only fit]
"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
from harness import Report, best_times

import idm


def tasks(n, n_jobs):
    """What users call, as functions without arguments; the parameters are those that all versions have."""
    X, _, y = idm.datasets.make_torus(n, feature="theta", random_state=0)
    new = idm.datasets.make_torus(10_000, random_state=1)[0]
    cube = np.random.default_rng(0).uniform(-1, 1, size=(n, 8))
    feature = np.sin(3 * cube[:, 0]) + cube[:, 1] ** 2 / 2
    model = idm.IteratedDiffusionMap(random_state=0, n_jobs=n_jobs)
    mapped = idm.IteratedDiffusionMap(random_state=0, n_jobs=n_jobs).fit(X[:10_000], y[:10_000])
    return {
        "fit": lambda: model.fit(X, y),
        "fit, cube of 8 dimensions": lambda: model.fit(cube, feature),
        "transform of 10,000 rows": lambda: mapped.transform(new),
        "DiffusionMap": lambda: idm.DiffusionMap(50, n_neighbors=300, n_jobs=n_jobs).fit(X),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD", help="a folder with a build")
    parser.add_argument("new", metavar="NEW", help="a folder with another")
    parser.add_argument("--n-samples", type=int, default=10_000)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="in each process")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--only", metavar="TASK")
    parser.add_argument("--one", action="store_true", help="the build that this process imports, as JSON")
    arguments = parser.parse_args()
    if arguments.one:
        chosen = tasks(arguments.n_samples, arguments.n_jobs)
        if arguments.only:
            chosen = {arguments.only: chosen[arguments.only]}
        print(json.dumps({"idm": idm.__file__, "times": best_times(chosen, arguments.rounds)}))
        return
    folders = [os.path.abspath(folder) for folder in (arguments.new, arguments.old)]
    command, found = [sys.executable, __file__, *sys.argv[1:], "--one"], ([], [])
    for turn in range(arguments.turns):
        for build in (0, 1)[:: -1 if turn % 2 else 1]:
            environment = {**os.environ, "PYTHONPATH": folders[build]}
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            measured = json.loads(done.stdout)
            if not measured["idm"].startswith(folders[build] + os.sep):
                parser.error(f"idm is not in {folders[build]}: {measured['idm']} was measured")
            found[build].append(measured["times"])
    report = Report(f"{arguments.n_samples:,} rows, {arguments.n_jobs} threads: the new build (ours), the old (peer)")
    for name in found[0][0]:
        report.add(name, *(min(times[name] for times in times_of) for times_of in found), "(none)")


if __name__ == "__main__":
    main()
