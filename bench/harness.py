"""Times of this library and its peers in one run, interleaved, as ratios.

The machine may be shared and noisy, so a time by itself says little: every contestant runs once per round,
the best round counts, and what is reported is a ratio of two such times.
"""

import datetime
import json
import multiprocessing
import os
import platform
import sys
import time
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from unittest import mock

import idm

# The standard module, which cProfile needs, not the one beside this; in worker processes too.
with mock.patch.object(sys, "path", [path for path in sys.path if Path(path).resolve() != Path(__file__).parent]):
    import profile  # noqa: F401

PACKAGES = ["numpy", "scipy", "scikit-learn", "scikit-dimension", "pydiffmap", "umap-learn"]


def best_times(contestants, rounds=5):
    """The best time in seconds of each contestant, a dictionary of functions without arguments.

    Every other round goes backwards: who comes first finds what they share in no cache.
    """
    best = dict.fromkeys(contestants, float("inf"))
    for r in range(rounds):
        for name in list(contestants)[:: -1 if r % 2 else 1]:
            start = time.perf_counter()
            contestants[name]()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


class Report:
    """Rows of `ours against a peer`, printed as they come and kept with the machine for a JSON record."""

    def __init__(self, title):
        self.title, self.rows, self.notes = title, [], []
        print(f"{title}\n{'case':<44}{'ours':>9}{'peer':>9}{'ratio':>8}  aim")

    def add(self, case, ours, peer, aim):
        """Two times in seconds; `aim` says what the ratio ours / peer should be."""
        self.rows.append({"case": case, "ours": ours, "peer": peer, "ratio": ours / peer, "aim": aim})
        print(f"{case:<44}{ours:>8.3f}s{peer:>8.3f}s{ours / peer:>8.3f}  {aim}", flush=True)

    def note(self, text):
        """A line below the rows."""
        self.notes.append(text)
        print(text, flush=True)

    def save(self, path):
        """Write the rows with the machine and the versions they were measured on."""
        save(path, {"title": self.title, "rows": self.rows, "notes": self.notes})


def save(path, record):
    """Write a record as JSON, with the command, the day, the machine and the versions."""
    skip = sys.argv.index("--json") if "--json" in sys.argv else len(sys.argv)
    given = sys.argv[1:skip] + sys.argv[skip + 2 :]
    command = " ".join(["python", f"bench/{Path(sys.argv[0]).name}", *given])
    record |= {"command": command, "date": str(datetime.date.today()), "machine": machine(), "versions": versions()}
    Path(path).write_text(json.dumps(record, indent=1) + "\n")


@contextmanager
def busy_processes(n):
    """Processes beside this one that do nothing, with all their might; they end with it, however it ends."""
    processes = [multiprocessing.get_context("spawn").Process(target=_spin, args=(os.getpid(),)) for _ in range(n)]
    for process in processes:
        process.start()
    time.sleep(2 if n else 0)  # until they are up
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin(parent):
    while os.getppid() == parent:
        sum(range(100_000))


def memory(name):
    """Bytes that this process takes (VmRSS), or took at its peak (VmHWM); Linux."""
    return 1024 * int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0])


def machine():
    """What the times depend on: processor and threads."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {"processor": model, "cpus": os.cpu_count(), "system": platform.platform(terse=True)}


def versions():
    """Versions of this library, of Python and of the peers that are installed."""
    found = dict(idm.show_config("dicts"))
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
