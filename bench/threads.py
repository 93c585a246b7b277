"""Two threads against one, for every stage of the method.

python bench/threads.py [--rounds 50] [--json FILE]
"""

import argparse
import functools

import numpy as np
from harness import Report, best_times

import idm
from idm import _core
from idm._kernel import global_bandwidth, normalized_kernel
from idm._local_geometry import tuned_geometry
from idm._spectrum import leading_eigenpairs

LANDMARKS, K, POOL = 2000, 300, 500


def stages():
    """Functions of a number of threads, at the sizes that a fit of 10,000 rows has."""
    X, _, y = idm.datasets.make_torus(10_000, feature="theta", random_state=0)
    new = idm.datasets.make_torus(4000, feature="theta", random_state=1)
    points, values = X[:LANDMARKS], y[:LANDMARKS]
    near, pool = idm.nearest_neighbors(X, 300), idm.nearest_neighbors(points, POOL)
    eps = np.full((len(X), 1), 0.05)
    flow = {"tau": 0.95, "mixing": "lengths", "change": "difference"}
    lengths = _core.metric_neighbors(points, values, *pool, **flow, n_neighbors=K, n_threads=2)
    epsilon = global_bandwidth(lengths[1], K // 4)
    scales, unit, reach = _core.local_scales(*lengths, K // 4, 2)
    kernel = normalized_kernel(pool, epsilon, 1.0, 2, exact=True)
    functions, block = np.random.default_rng(0).normal(size=(LANDMARKS, 40)), np.ones((LANDMARKS, 8))
    basis, index = np.random.default_rng(1).normal(size=(LANDMARKS, 200)), _core.NeighborIndex(points)
    given = {
        "values": values, "pool_radii": pool.distances[:, -1:].copy(), "radii": lengths[1][:, -1:].copy(),
        "bases": new[0], "base_values": new[2], "pool_size": POOL, "n_neighbors": K, "epsilon": epsilon,
        "weights": np.ones((LANDMARKS, 1)), "functions": functions, "scales": scales, "unit": unit, "reach": reach,
        "n_near": K // 4, **flow,
    }  # fmt: skip
    f, g = np.array([[0.1, 1.0]]), np.array([[1e-3, 0.1]])
    ones, squares = np.ones((len(X), 1)), near.distances[:, 150:151] ** 2
    return {
        "neighbours": lambda t: idm.nearest_neighbors(X, 300, n_jobs=t),
        "local geometry, d1": lambda t: tuned_geometry(X, near, "d1", 100, t),
        "local geometry, svd": lambda t: _core.local_geometry(X, *near, "svd", 100, t),
        "tangent spaces": lambda t: _core.tangent_spaces(X, *near, eps, 2, t),
        "derivatives": lambda t: _core.local_derivatives(X, y, X, None, *near, eps, "affine", 0.05, t),
        "estimates of the feature": lambda t: _core.local_estimates(X, y, ones, X, *near, squares, None, f, g, t),
        "lengths": lambda t: _core.metric_neighbors(points, values, *pool, **flow, n_neighbors=K, n_threads=t),
        "kernel of lengths": lambda t: _core.symmetric_kernel(*lengths, epsilon, t),
        "kernel of neighbours": lambda t: _core.nearest_kernel(*near, 0.05, t),
        "extension": lambda t: _core.extend(index, **given, n_threads=t),
        "products with the kernel": lambda t: [_core.multiply(kernel.matrix, block, t) for _ in range(20)],
        "eigensolver": lambda t: leading_eigenpairs(kernel, 101, t, solver="block"),
        "of it, orthogonalisation": lambda t: [_core.project_out(basis, 200, block.copy(), t) for _ in range(20)],
        "fit of 10,000 rows": lambda t: idm.IteratedDiffusionMap(random_state=0, n_jobs=t).fit(X, y),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    report = Report("Two threads (ours) and one (peer), stage by stage")
    # All stages in every round: for minutes this machine may lend a core to others, which would be one stage's lot.
    functions = stages()
    contestants = {(name, t): functools.partial(stage, t) for name, stage in functions.items() for t in (2, 1)}
    times = best_times(contestants, arguments.rounds)
    for name in functions:
        without_aim = name in ("eigensolver", "of it, orthogonalisation", "fit of 10,000 rows")
        report.add(name, times[name, 2], times[name, 1], "(none)" if without_aim else "<= 0.588")
    if arguments.json:
        report.save(arguments.json)


if __name__ == "__main__":
    main()
