"""Nearest neighbours against SciPy's and scikit-learn's, N = 10,000, k = 500, two threads.

python bench/neighbors.py               the figures
python bench/neighbors.py --crossover   tree, blocks and the automatic choice, by dimension
"""

import argparse

import numpy as np
from harness import Report, best_times
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

import idm
from idm import _core

N, K = 10_000, 500


def torus(rng, n=N):
    theta, phi = rng.uniform(0, 2 * np.pi, (2, n))
    ring = 2 + np.cos(theta)
    return np.c_[ring * np.cos(phi), ring * np.sin(phi), np.sin(theta)]


def sklearn_query(X, algorithm):
    return NearestNeighbors(n_neighbors=K, algorithm=algorithm, n_jobs=2).fit(X).kneighbors(X)


def figures(rounds, path):
    rng = np.random.default_rng(0)
    report = Report(f"nearest_neighbors, N = {N}, k = {K}, two threads (best of {rounds} interleaved rounds)")
    cases = {
        "m = 3, torus": (torus(rng), ["cKDTree", "kd_tree"]),
        "m = 30, Gaussian": (rng.normal(size=(N, 30)), ["cKDTree", "brute"]),
        "m = 30, torus in a 30-dimensional space": (
            torus(rng) @ rng.normal(size=(3, 30)),
            ["cKDTree", "brute"],
        ),
        "m = 250, Gaussian": (rng.normal(size=(N, 250)), ["brute"]),
    }
    for case, (X, peers) in cases.items():
        contestants = {
            "two threads": lambda X=X: idm.nearest_neighbors(X, K, n_jobs=2),
            "one thread": lambda X=X: idm.nearest_neighbors(X, K, n_jobs=1),
        }
        for peer in peers:
            if peer == "cKDTree":
                contestants[peer] = lambda X=X: cKDTree(X).query(X, K, workers=2)
            else:
                contestants[peer] = lambda X=X, peer=peer: sklearn_query(X, peer)
        times = best_times(contestants, rounds)
        fastest = min(peers, key=times.get)
        report.add(f"{case} / {fastest}", times["two threads"], times[fastest], "at most 0.8")
        report.add("    two threads / one", times["two threads"], times["one thread"], "at most 0.556")
    if path:
        report.save(path)


def crossover(rounds):
    print(f"{'ambient':>8}{'intrinsic':>10}{'k':>6}{'tree':>9}{'blocked':>9}{'auto':>9}")
    rng = np.random.default_rng(0)
    for ambient in (2, 3, 10, 30, 100, 250):
        for intrinsic in (1, 2, 3, 5, 8, 12):
            if intrinsic > ambient:
                continue
            X = rng.normal(size=(N, intrinsic)) @ rng.normal(size=(intrinsic, ambient))
            for k in (50, 500):
                methods = ("tree", "blocked", "auto")
                times = best_times(
                    {m: lambda X=X, k=k, m=m: _core.NeighborIndex(X).nearest(None, k, 2, m) for m in methods},
                    rounds,
                )
                row = "".join(f"{times[m]:>9.3f}" for m in methods)
                print(f"{ambient:>8}{intrinsic:>10}{k:>6}{row}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crossover", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="where to write a record of the figures with machine and versions")
    options = parser.parse_args()
    crossover(options.rounds) if options.crossover else figures(options.rounds, options.json)
