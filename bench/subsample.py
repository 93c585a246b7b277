"""What fitting a part of many rows costs: error of the estimate at new rows, and recall, by `subsample`.

python bench/subsample.py [--n-samples 400000] [--examples annulus-radius torus-theta sphere-twist]

The error is in units of the spread of the feature, recall that of the nearest 10 % and 2 % of 4,000 new rows.
"""

import argparse
import time

import numpy as np

import idm
from idm._demo import EXAMPLES


def recall(embedding, y, share, n_queries=500):
    k = int(share * len(y))
    found, right = (idm.nearest_neighbors(Z, k, queries=Z[:n_queries]).indices for Z in (embedding, y))
    return np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found, right, strict=True)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-samples", type=int, default=400_000)
    parser.add_argument("--examples", nargs="+", default=["annulus-radius", "torus-theta", "sphere-twist"])
    arguments = parser.parse_args()
    print(f"{'example':<16}{'noise':>6}{'subsample':>10}{'error':>8}{'10 %':>7}{'2 %':>7}{'seconds':>9}")
    for example in arguments.examples:
        X, _, true = EXAMPLES[example](arguments.n_samples, 0)
        new, _, y_new = EXAMPLES[example](4000, 1)
        for noise in (0.0, 0.3):
            y = true + noise * true.std(axis=0) * np.random.default_rng(5).normal(size=true.shape)
            for subsample in (10_000, 30_000, 100_000, None):
                start = time.perf_counter()
                model = idm.IteratedDiffusionMap(random_state=0, subsample=subsample, store_embedding=False).fit(X, y)
                seconds = time.perf_counter() - start
                predicted, Z = model.predict(new).reshape(len(new), -1), model.transform(new)
                error = np.sqrt(np.mean((predicted - y_new) ** 2) / np.mean(y_new.var(axis=0)))
                print(f"{example:<16}{noise:>6}{subsample or 'all':>10}{error:>8.4f}{recall(Z, y_new, 0.1):>7.3f}"
                      f"{recall(Z, y_new, 0.02):>7.3f}{seconds:>9.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
