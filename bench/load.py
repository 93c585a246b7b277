"""A fit beside busy processes: how much slower than alone.

python bench/load.py [--n-samples 2500] [--busy 2] [--rounds 3] [--json FILE]

Quiet and busy rounds take turns. With as many busy processes as processors, half of the time is ours: 2 is the ideal.
"""

import argparse
import os
import time

from harness import Report, busy_processes

import idm


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-samples", type=int, default=2500)
    parser.add_argument("--busy", type=int, default=2, help="busy processes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    X, _, y = idm.datasets.make_torus(arguments.n_samples, feature="theta", random_state=0)
    new = idm.datasets.make_torus(10_000, random_state=1)[0]
    model = idm.IteratedDiffusionMap(random_state=0).fit(X, y)
    tasks = {
        f"fit of {arguments.n_samples:,} rows": lambda: idm.IteratedDiffusionMap(random_state=0).fit(X, y),
        "transform of 10,000 rows": lambda: model.transform(new),
        f"DiffusionMap of {arguments.n_samples:,} rows": lambda: idm.DiffusionMap(50).fit(X),
    }
    best = {name: [float("inf")] * 2 for name in tasks}
    for _ in range(arguments.rounds):
        for busy in (0, 1):
            with busy_processes(arguments.busy * busy):
                for name, task in tasks.items():
                    start = time.perf_counter()
                    task()
                    best[name][busy] = min(best[name][busy], time.perf_counter() - start)
    report = Report(f"Beside {arguments.busy} busy processes on {os.cpu_count()} processors (ours) and alone (peer)")
    for name, (alone, beside) in best.items():
        report.add(name, beside, alone, "<= 3")
    if arguments.json:
        report.save(arguments.json)


if __name__ == "__main__":
    main()
