"""Local geometry and derivatives against NumPy, N = 10,000, k = 500, 100 bandwidths, two threads.

python bench/local_geometry.py                the figures
python bench/local_geometry.py --dimensions   dimensions of known manifolds beside those of scikit-dimension
"""

import argparse
import time

import numpy as np
from harness import Report, best_times
from sklearn.datasets import make_swiss_roll

import idm
from idm import datasets

N, K, L = 10_000, 500, 100


def bandwidth_grids(distances):
    r_min = np.where(distances > 0, distances, np.inf).min(axis=1)
    low, high = np.log(r_min**2 / 72.09), np.log(10 * distances[:, -1] ** 2)
    return np.exp(low[:, None] + np.linspace(0, 1, L) * (high - low)[:, None])


def numpy_d1(distances):
    """The sweep of Algorithm 1, vectorised over rows, in chunks that fit in the cache."""
    bandwidth, dimension = np.empty(len(distances)), np.empty(len(distances))
    for rows in np.array_split(np.arange(len(distances)), max(1, len(distances) // 100)):
        squares, grid = distances[rows] ** 2, bandwidth_grids(distances[rows])
        d1 = np.empty((len(rows), L))
        for step in range(L):
            x = squares / (2 * grid[:, step, None])
            w = np.exp(-x)
            d1[:, step] = 2 * (w * x).sum(axis=1) / w.sum(axis=1)
        best = d1.argmax(axis=1)
        bandwidth[rows] = np.take_along_axis(grid, best[:, None], 1)[:, 0]
        dimension[rows] = d1.max(axis=1)
    return bandwidth, dimension


def numpy_svd(X, indices, distances, rows):
    """The criterion M for some rows, with batched eigh and differences between bandwidths for the slopes."""
    bandwidth = []
    for chunk in np.array_split(rows, max(1, len(rows) // 20)):
        dx = X[indices[chunk]] - X[chunk][:, None]
        squares, grid = distances[chunk] ** 2, bandwidth_grids(distances[chunk])
        d1, d2, weight = np.empty((3, len(chunk), L))
        for step in range(L):
            x = squares / (2 * grid[:, step, None])
            w = np.exp(-x)
            weight[:, step] = w.sum(axis=1)
            w /= weight[:, step, None]
            mean = (w * x).sum(axis=1)
            d1[:, step] = 2 * mean
            C = np.matmul((dx * w[:, :, None]).transpose(0, 2, 1), dx)
            B = np.matmul((dx * (w * x)[:, :, None]).transpose(0, 2, 1), dx)
            values, V = np.linalg.eigh(C)
            first = np.einsum("ial,iab,ibl->il", V, B, V, optimize=True) - mean[:, None] * values
            with np.errstate(all="ignore"):
                alpha = (first / (2 * values))[:, ::-1]
            share = np.clip(d1[:, step, None] - np.arange(X.shape[1]), 0, 1)
            d2[:, step] = 2 * np.where(share > 0, share * alpha, 0).sum(axis=1)
        with np.errstate(all="ignore"):
            slopes = sum(np.abs(np.gradient(np.log(d), axis=1) / np.gradient(np.log(grid), axis=1)) for d in (d1, d2))
            M = np.abs(d1 - d2) / ((d1 + d2) / 2) + slopes
        best = np.where((weight >= 12) & np.isfinite(M), M, np.inf).argmin(axis=1)
        bandwidth.append(np.take_along_axis(grid, best[:, None], 1)[:, 0])
    return np.concatenate(bandwidth)


def numpy_lstsq(X, y, indices, distances, bandwidth, rows):
    result = []
    for i in rows:
        w = np.exp(-(distances[i] ** 2) / (2 * bandwidth[i]))
        w = w / w.sum()
        dx, dy = X[indices[i]] - w @ X[indices[i]], y[indices[i]] - w @ y[indices[i]]
        root = np.sqrt(w)[:, None]
        result.append(np.linalg.lstsq(root * dx, root * dy, rcond=None)[0].T)
    return np.array(result)


def figures(rounds, path):
    rng = np.random.default_rng(0)
    report = Report(f"local geometry, N = {N}, k = {K}, L = {L}, two threads (best of {rounds} interleaved rounds)")

    X = datasets.make_torus(N, random_state=0).X
    neighbors = idm.nearest_neighbors(X, K, n_jobs=2)
    times = best_times(
        {
            "d1": lambda: idm.local_geometry(X, neighbors=neighbors, n_bandwidths=L, n_jobs=2),
            "svd": lambda: idm.local_geometry(X, neighbors=neighbors, n_bandwidths=L, bandwidth="svd", n_jobs=2),
            "numpy": lambda: numpy_d1(neighbors.distances),
        },
        rounds,
    )
    report.add("local_geometry d1, m = 3 / NumPy", times["d1"], times["numpy"], "at most 1 / 15 = 0.067")
    report.add("local_geometry svd, m = 3 / d1", times["svd"], times["d1"], "at most 4")

    # A peer that would take minutes runs on some rows only; its time is scaled to all of them.
    X = datasets.make_curved_torus(N, random_state=0).X
    neighbors = idm.nearest_neighbors(X, K, n_jobs=2)
    rows = np.arange(0, N, N // 100)
    times = best_times(
        {
            "svd": lambda: idm.local_geometry(X, neighbors=neighbors, n_bandwidths=L, bandwidth="svd", n_jobs=2),
            "numpy": lambda: numpy_svd(X, *neighbors, rows),
        },
        min(rounds, 2),
    )
    numpy_time = times["numpy"] * N / len(rows)
    report.add("local_geometry svd, m = 30 / NumPy, eigh", times["svd"], numpy_time, "at most 1 / 10 = 0.1")

    X, y = rng.normal(size=(N, 250)), rng.normal(size=(N, 2))
    neighbors = idm.nearest_neighbors(X, K, n_jobs=2)
    bandwidth = idm.local_geometry(X, neighbors=neighbors, n_jobs=2).bandwidth
    square = rng.normal(size=(3000, 3000))
    rows = np.arange(0, N, N // 20)
    times = best_times(
        {
            "ours": lambda: idm.local_derivatives(X, y, neighbors=neighbors, bandwidth=bandwidth, n_jobs=2),
            "matmul": lambda: square @ square,
            "lstsq": lambda: numpy_lstsq(X, y, *neighbors, bandwidth, rows),
        },
        min(rounds, 3),
    )
    matmul_time = N * K * 250**2 * times["matmul"] / 3000**3  # for as many multiply-adds
    report.add("local_derivatives, m = 250, n = 2 / matmul", times["ours"], matmul_time, "at most 1 / 0.5 = 2")
    lstsq_time = times["lstsq"] * N / len(rows)
    report.add("local_derivatives, m = 250 / NumPy, lstsq", times["ours"], lstsq_time, "at most 1 / 20 = 0.05")
    if path:
        report.save(path)


def dimensions():
    """Median dimension and time of each method, all with 500 neighbours where they ask for a number."""
    import skdim

    rng = np.random.default_rng(0)
    manifolds = {
        "circle (1)": datasets.make_circle(N, sampling="random", random_state=0).X,
        "sphere (2)": datasets.make_sphere(N, random_state=0).X,
        "torus (2)": datasets.make_torus(N, random_state=0).X,
        "plane (2)": rng.uniform(size=(N, 3)) * [1, 1, 0],
        "swiss roll (2)": make_swiss_roll(N, random_state=0)[0],
        "torus in R^30 (2)": datasets.make_curved_torus(N, random_state=0).X,
        "the same, noisy": datasets.make_curved_torus(N, noise=50**-0.5, random_state=0).X,
        "5-sphere (5)": datasets.make_sphere(N, n_dimensions=5, random_state=0).X,
    }
    methods = {
        "idm d1": lambda X: idm.local_geometry(X, n_neighbors=K, n_jobs=2).dimension,
        "idm svd": lambda X: idm.local_geometry(X, n_neighbors=K, bandwidth="svd", n_jobs=2).dimension,
        "lPCA": lambda X: skdim.id.lPCA().fit_transform_pw(X, n_neighbors=K, n_jobs=2),
        "MLE": lambda X: skdim.id.MLE().fit_transform_pw(X, n_neighbors=K, n_jobs=2),
        "TwoNN": lambda X: skdim.id.TwoNN().fit_transform_pw(X, n_neighbors=K, n_jobs=2),
    }
    print("median of the pointwise dimension, and seconds\n" + " " * 20 + "".join(f"{m:>16}" for m in methods))
    for name, X in manifolds.items():
        row = ""
        for method in methods.values():
            start = time.perf_counter()
            median = np.nanmedian(method(X))
            row += f"{median:>9.2f}{time.perf_counter() - start:>6.1f}s"
        print(f"{name:<20}{row}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="where to write a record of the figures with machine and versions")
    options = parser.parse_args()
    dimensions() if options.dimensions else figures(options.rounds, options.json)
