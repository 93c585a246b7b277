"""Diffusion maps against SciPy, pydiffmap and scikit-learn: torus, N = 10,000, k = 500, two threads.

python bench/diffusion_map.py             the figures
python bench/diffusion_map.py --solvers   block Lanczos and eigsh, by number of points, neighbours and pairs
python bench/diffusion_map.py --memory    the peak of a fit above its input, in a process of its own
"""

import argparse
import subprocess
import sys
import warnings

import numpy as np
import scipy.sparse
from harness import Report, best_times
from scipy.sparse.linalg import eigsh
from sklearn.manifold import SpectralEmbedding

import idm
from idm._kernel import global_bandwidth, normalized_kernel
from idm._neighbors import NeighborIndex
from idm._spectrum import leading_eigenpairs

N, K = 10_000, 500


def torus(n=N, seed=0):
    return idm.datasets.make_torus(n, feature="phi", random_state=seed)[0]


def scipy_kernel(neighbors, epsilon):
    """The normalised kernel as one writes it with SciPy."""
    n, k = neighbors.indices.shape
    entries = np.exp(-(neighbors.distances.ravel() ** 2) / (2 * epsilon))
    J = scipy.sparse.csr_matrix((entries, neighbors.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    J = (J + J.T) / 2
    D = scipy.sparse.diags(1 / np.asarray(J.sum(axis=1)).ravel())
    K = D @ J @ D
    Dh = scipy.sparse.diags(1 / np.sqrt(np.asarray(K.sum(axis=1)).ravel()))
    return (Dh @ K @ Dh).tocsr()


def as_scipy(kernel):
    matrix = kernel.matrix
    return scipy.sparse.csr_matrix((matrix.values, matrix.columns, matrix.row_start), shape=(len(kernel),) * 2)


def pydiffmap(X, epsilon):
    """The same map by pydiffmap, whose kernel is exp(-d^2 / (4 epsilon))."""
    from pydiffmap.diffusion_map import DiffusionMap

    peer = DiffusionMap.from_sklearn(
        n_evecs=50, k=K, epsilon=epsilon / 2, alpha=1.0, neighbor_params={"n_jobs": 2, "algorithm": "kd_tree"}
    )
    peer.fit(X)
    return peer


def eigenpair_times(X, kernel, n_pairs, rounds):
    """Ours as `DiffusionMap` calls it, with the order of the points in the tree of the search, which pays for putting
    the kernel into that order; eigsh gets it in that order for nothing.
    """
    order = NeighborIndex(X).order()
    matrix, start = as_scipy(kernel.part(order, 2)), np.random.default_rng(0).normal(size=len(kernel))
    return best_times(
        {
            "ours": lambda: leading_eigenpairs(kernel, n_pairs, 2, tolerance=1e-8, order=order),
            "eigsh": lambda: eigsh(matrix, n_pairs, tol=1e-8, v0=start, which="LA"),
        },
        rounds,
    )


def figures(rounds, path):
    X, new = torus(), torus(seed=1)
    neighbors = idm.nearest_neighbors(X, K, n_jobs=2)
    epsilon = global_bandwidth(neighbors.distances, 32)
    kernel = normalized_kernel(neighbors, epsilon, 1.0, 2, exact=True)
    expected = scipy_kernel(neighbors, epsilon)
    print(f"largest difference from SciPy's kernel: {abs(as_scipy(kernel) - expected).max():.1e}")
    report = Report(f"diffusion maps, N = {N}, k = {K}, two threads (best of {rounds} interleaved rounds)")

    times = best_times(
        {
            "ours": lambda: normalized_kernel(neighbors, epsilon, 1.0, 2, exact=True),
            "general": lambda: normalized_kernel(neighbors, epsilon, 1.0, 2, exact=False),
            "scipy": lambda: scipy_kernel(neighbors, epsilon),
        },
        rounds,
    )
    report.add("assembly + normalisation / SciPy", times["ours"], times["scipy"], "at most 0.125")
    report.add("    of asymmetric distances / SciPy", times["general"], times["scipy"], "(none)")

    few = idm.nearest_neighbors(X, 64, n_jobs=2)
    sparse = normalized_kernel(few, global_bandwidth(few.distances, 32), 1.0, 2, exact=True)
    for case, given, n_pairs, aim in (
        ("251 eigenpairs / eigsh", kernel, 251, "at most 0.25"),
        ("51 eigenpairs / eigsh", kernel, 51, "at most 0.4"),
        ("11 eigenpairs, 64 neighbours / eigsh", sparse, 11, "at most 1"),
    ):
        times = eigenpair_times(X, given, n_pairs, rounds)
        report.add(case, times["ours"], times["eigsh"], aim)

    mine = idm.DiffusionMap(50, n_neighbors=K, n_jobs=2)
    contestants = {"ours": lambda: mine.fit(X), "transform": lambda: mine.transform(new)}
    contestants["scikit-learn"] = lambda: SpectralEmbedding(50, n_neighbors=100, n_jobs=2).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peers
        try:
            peer = pydiffmap(X, mine.fit(X).epsilon_)
            xi = np.exp(mine.eigenvalues_ * mine.epsilon_ / 2)
            theirs = np.sort(1 + peer.evals * mine.epsilon_ / 2)[::-1]
            print(f"largest difference from pydiffmap's 50 eigenvalues: {np.abs(theirs - xi).max():.1e}")
            contestants["pydiffmap"] = lambda: pydiffmap(X, mine.epsilon_)
        except ImportError:
            print("pydiffmap is not installed (pip install '.[bench]')")
        times = best_times(contestants, rounds)
    if "pydiffmap" in times:
        report.add("fit, 50 coordinates / pydiffmap", times["ours"], times["pydiffmap"], "at most 0.25")
    report.add("fit / SpectralEmbedding, 100 neighbours", times["ours"], times["scikit-learn"], "at most 0.111")
    report.add("transform of 10,000 points / fit", times["transform"], times["ours"], "at most 0.5")
    if path:
        report.save(path)
    memory()


def memory():
    """Peak memory of a fit with 250 coordinates: of a process that fits, less one that fits 600 points."""
    script = (
        "import sys, idm\n"
        "n = int(sys.argv[1])\n"
        f"X = idm.datasets.make_torus({N}, feature='phi', random_state=0)[0]\n"
        f"idm.DiffusionMap(250, n_neighbors={K}, n_jobs=2).fit(X[:n])\n"
        "status = open('/proc/self/status').read()\n"  # Linux; ru_maxrss would be inherited
        "print(status.split('VmHWM:')[1].split()[0])\n"
    )
    peaks = [
        int(subprocess.run([sys.executable, "-c", script, str(n)], capture_output=True, text=True, check=True).stdout)
        for n in (600, N)
    ]
    per_point = (peaks[1] - peaks[0]) * 1024 / (N - 600)
    print(f"peak memory of a fit, k = {K}, M = 250: {per_point / 1000:.1f} KB per point  aim 30")


def solvers(rounds):
    print(f"{'points':>8}{'k':>6}{'pairs':>7}{'block':>9}{'eigsh':>9}{'ratio':>8}")
    for n, k, n_pairs in [
        (2000, 32, 11),
        (2000, 300, 11),
        (2000, 300, 101),
        (10_000, 64, 11),
        (10_000, 500, 11),
        (10_000, 500, 51),
        (10_000, 500, 251),
        (40_000, 100, 51),
    ]:
        X = torus(n)
        neighbors = idm.nearest_neighbors(X, k)
        kernel = normalized_kernel(neighbors, global_bandwidth(neighbors.distances, 32), 1.0, 2, exact=True)
        times = eigenpair_times(X, kernel, n_pairs, min(rounds, 2))
        ratio = times["ours"] / times["eigsh"]
        print(f"{n:>8}{k:>6}{n_pairs:>7}{times['ours']:>8.3f}s{times['eigsh']:>8.3f}s{ratio:>8.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solvers", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="where to write a record of the figures with machine and versions")
    options = parser.parse_args()
    if options.solvers:
        solvers(options.rounds)
    elif options.memory:
        memory()
    else:
        figures(options.rounds, options.json)
