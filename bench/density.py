"""The map on features of ordinary densities: tails, clusters, few values. Of so many samples of each:

wasted      more than half of the rows lie within 1 % of the range of the first coordinate
parts       a DisconnectedGraphWarning
max_iter    not converged
rank        |rank correlation| of the first coordinate with the estimate of a scalar y at the landmarks, the least
apart       of integers and two values: rows on the smaller side of the widest gap that leaves a tenth on both sides
            (0: there is none wider than 1 % of the range), the least share
recall      of the nearest 10 % and 2 % at 500 new rows, the share that is nearest by the feature, too; the mean
iterations  the mean

python bench/density.py [--n-samples 2000] [--seeds 20] [--first-seed 0] [--only normal lognormal]
python bench/density.py --data FOLDER      R^2 of y by 15 neighbours in two coordinates, all, and the estimate, of real
                                           data in .npz files with X and y: new rows are every fourth of 20 blocks
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

import idm

N_NEW = 500


def linear(X):
    return X[:, 0] + X[:, 1] / 2


def circle(rng, n):
    """Angles of a von Mises distribution, radii that do not matter, and noise in a third column."""
    t, r = rng.vonmises(0, 2, n), rng.uniform(1, 3, n)
    return np.column_stack([r * np.cos(t), r * np.sin(t), rng.normal(size=n)]), np.column_stack([np.cos(t), np.sin(t)])


def clusters(rng, n):
    centres = np.random.default_rng(11).normal(size=(5, 5))
    X = 3 * centres[rng.integers(5, size=n)] + rng.normal(size=(n, 5))
    return X, linear(X)


def of(columns, feature):
    """A data set of some random columns with a feature of them."""

    def draw(rng, n):
        X = columns(rng, n)
        return X, feature(X)

    return draw


def normal(rng, n):
    return rng.normal(size=(n, 5))


COEFFICIENTS = np.random.default_rng(5).uniform(0, 100, 5)  # as make_regression has them: 5 of 10 columns matter
DATA = {
    "normal": of(normal, linear),
    "normal, noise 0.3": of(normal, linear),
    "sin + square": of(normal, lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2),
    "make_regression": of(lambda rng, n: rng.normal(size=(n, 10)), lambda X: X[:, :5] @ COEFFICIENTS),
    "lognormal": of(normal, lambda X: np.exp(linear(X))),
    "exponential": of(lambda rng, n: rng.exponential(size=(n, 5)), linear),
    "Student t (3)": of(lambda rng, n: rng.standard_t(3, size=(n, 5)), linear),
    "Cauchy columns": of(lambda rng, n: rng.standard_cauchy(size=(n, 3)), linear),
    "two features 3 : 1": of(normal, lambda X: X[:, :2] * [3, 1]),
    "five clusters": clusters,
    "von Mises circle": circle,
    "integers": of(normal, lambda X: np.round(2 * linear(X))),
    "two values": of(normal, lambda X: (linear(X) > 0).astype(float)),
}
FEW_VALUES = ("integers", "two values")


def recall(Z, y, Z_new, y_new, share):
    n = max(1, round(len(y) * share))
    found = idm.nearest_neighbors(Z, n, queries=Z_new).indices
    true = idm.nearest_neighbors(y, n, queries=y_new).indices
    return np.mean([len(np.intersect1d(a, b)) / n for a, b in zip(found, true, strict=True)])


def densest(coordinate):
    """The largest share of the rows within 1 % of the range."""
    ordered = np.sort(coordinate)
    ends = np.searchsorted(ordered, ordered + 0.01 * np.ptp(ordered), side="right")
    return (ends - np.arange(len(ordered))).max() / len(ordered)


def apart(coordinate):
    """The rows on the smaller side of the widest gap that leaves a tenth on both."""
    ordered, n = np.sort(coordinate), len(coordinate)
    inner = np.arange(n // 10, n - n // 10)
    gaps = ordered[inner] - ordered[inner - 1]
    cut = inner[gaps.argmax()]
    return min(cut, n - cut) / n if gaps.max() > 0.01 * np.ptp(ordered) else 0.0


def figures(name, n, seed):
    rng = np.random.default_rng(seed)
    X, y = DATA[name](rng, n + N_NEW)
    y = y.reshape(len(X), -1)
    measured = y[:n] + (0.3 * y[:n].std() * rng.normal(size=(n, 1)) if "noise" in name else 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = idm.IteratedDiffusionMap(random_state=seed).fit(X[:n], measured)
        Z_new = model.transform(X[n:])
    Z, kept = model.embedding_, model.iterations_[model.n_iter_ - 1]
    estimate, rank = model.predict(X[kept.landmarks]), np.nan
    if y.shape[1] == 1 and name not in FEW_VALUES:
        rank = abs(np.corrcoef(rankdata(kept.embedding[:, 0]), rankdata(estimate))[0, 1])
    return {
        "wasted": densest(Z[:, 0]) > 0.5,
        "parts": any(w.category is idm.exceptions.DisconnectedGraphWarning for w in caught),
        "max_iter": model.stop_reason_ == "max_iter",
        "rank": rank,
        "apart": apart(Z[:, 0]) if name in FEW_VALUES else np.nan,
        "10 %": recall(Z, y[:n], Z_new, y[n:], 0.1),
        "2 %": recall(Z, y[:n], Z_new, y[n:], 0.02),
        "iterations": model.n_iter_,
    }


def real(folder, seeds):
    for path in sorted(Path(folder).glob("*.npz")):
        file, rows = np.load(path), []
        X, y = StandardScaler().fit_transform(file["X"]), file["y"].reshape(len(file["X"]), -1)
        for seed in range(seeds):
            blocks = np.arange(len(X)) * 20 // len(X)  # frames that follow each other belong together
            if "alanine" not in path.name:
                blocks = np.random.default_rng(seed).permutation(blocks)
            new = blocks % 4 == seed % 4
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = idm.IteratedDiffusionMap(random_state=seed).fit(X[~new], y[~new])
                Z, Z_new = model.embedding_, model.transform(X[new])
            parts = any(w.category is idm.exceptions.DisconnectedGraphWarning for w in caught)
            estimate = model.predict(X[~new]).reshape(-1, y.shape[1]), model.predict(X[new]).reshape(-1, y.shape[1])

            def score(a, b, y=y, new=new):
                found = KNeighborsRegressor(15).fit(a, y[~new]).predict(b)
                return r2_score(y[new], found, multioutput="variance_weighted")

            rows.append([score(Z[:, :2], Z_new[:, :2]), score(Z, Z_new), score(*estimate), parts])
        two, every, by_estimate, parts = np.mean(rows, axis=0)
        print(
            f"{path.stem:<20}{two:>8.3f} in two coordinates{every:>8.3f} in all{by_estimate:>8.3f} in the estimate"
            f"{parts * seeds:>4.0f} of {seeds} in parts",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-samples", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--data", metavar="FOLDER")
    options = parser.parse_args()
    if options.data:
        return real(options.data, 4)
    print(f"{options.n_samples} rows, {options.seeds} samples")
    print(f"{'':<20}wasted parts max_iter   rank  apart   10 %    2 %  it.")
    for name in options.only:
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        rows = [figures(name, options.n_samples, seed) for seed in seeds]
        column = {key: np.array([row[key] for row in rows], dtype=float) for key in rows[0]}
        print(
            f"{name:<20}{column['wasted'].sum():>6.0f}{column['parts'].sum():>6.0f}{column['max_iter'].sum():>9.0f}"
            f"{column['rank'].min():>7.4f}{column['apart'].min():>7.3f}{column['10 %'].mean():>7.3f}"
            f"{column['2 %'].mean():>7.3f}{column['iterations'].mean():>5.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
