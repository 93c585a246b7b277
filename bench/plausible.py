"""Random data sets that someone might have, and the shares of them with which the map goes wrong.

Dimension 1 to 30, 100 to 5,000 rows; columns uniform, normal, exponential, of Student's t, a mixture or clusters,
rotated or in unequal units; y linear, smooth, kinked, discrete, heavy-tailed or on a circle; noise in X and y. Of each:
warned          any warning
not converged   the fit ended with max_iter; silent, if it did not say so
wasted          half of the rows lie within 1 % of the range of the first coordinate; of a discrete y, nine tenths
worse than X    R^2 of y as the mean of 10 neighbours at 500 new rows, in the map below that in X by 0.05
prediction      R^2 of predict below that of nearest neighbours (tuned, of X as it is or standardised) by 0.05

python bench/plausible.py [--first-seed 0] [--n-sets 240] [--verbose]
"""

import argparse
import warnings
from collections import Counter

import numpy as np
from scipy.stats import ortho_group
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import idm

N_NEW = 500
COLUMNS = {
    "uniform": lambda rng, n, m: rng.uniform(-1, 1, (n, m)),
    "normal": lambda rng, n, m: rng.normal(size=(n, m)),
    "exponential": lambda rng, n, m: rng.exponential(size=(n, m)),
    "t": lambda rng, n, m: rng.standard_t(3, size=(n, m)),
    "mixture": lambda rng, n, m: rng.normal(size=(n, m)) * rng.choice([0.3, 1.5], (n, 1)),
    "clusters": lambda rng, n, m: 3 * rng.normal(size=(4, m))[rng.integers(4, size=n)] + rng.normal(size=(n, m)),
}
TARGETS = {
    "linear": lambda u, v: u + v / 2,
    "smooth": lambda u, v: np.sin(2 * u) + v**2 / 2,
    "kinked": lambda u, v: np.abs(u) + np.maximum(v, 0) / 2,
    "integers": lambda u, v: np.round(u + v / 2),
    "two values": lambda u, v: (u + v / 2 > np.median(u + v / 2)).astype(float),
    "heavy tail": lambda u, v: np.exp(u + v / 2),
    "circle": lambda u, v: np.stack([u, v], axis=1) / np.hypot(u, v)[:, np.newaxis],
}
DISCRETE = ("integers", "two values")


def draw(seed):
    """X and y of a random data set, new rows last, and what it is."""
    rng = np.random.default_rng(seed)
    n, m = round(10 ** rng.uniform(2, np.log10(5000))), int(rng.integers(1, 31))
    columns, target = rng.choice(list(COLUMNS)), rng.choice(list(TARGETS))
    if target == "circle":
        m = max(m, 2)
    latent = COLUMNS[columns](rng, n + N_NEW, m)
    unit = latent / latent.std(axis=0)
    y = TARGETS[target](unit[:, 0], unit[:, 1 % m])
    noise, blur = rng.choice([0, 0, 0.1, 0.3]), rng.choice([0, 0, 0.05])
    if target in DISCRETE:
        noise = 0
    y = y + noise * y.std() * rng.normal(size=y.shape)
    X, shape = latent, rng.choice(["as it is", "rotated", "units"])
    if shape == "rotated" and m > 1:
        X = X @ ortho_group.rvs(m, random_state=seed)
    if shape == "units":
        X = X * 10 ** rng.uniform(-0.5, 0.5, m)
    X = X + blur * X.std(axis=0) * rng.normal(size=X.shape)
    return (
        X,
        y,
        {"n": n, "m": m, "X": str(columns), "y": str(target), "noise": noise, "blur": blur, "shape": str(shape)},
    )


def densest(coordinate):
    """The largest share of the rows within 1 % of the range."""
    ordered = np.sort(coordinate)
    ends = np.searchsorted(ordered, ordered + 0.01 * np.ptp(ordered), side="right")
    return (ends - np.arange(len(ordered))).max() / len(ordered)


def by_neighbors(Z, y, Z_new, y_new):
    k = min(10, len(Z))
    return r2_score(y_new, KNeighborsRegressor(k).fit(Z, y).predict(Z_new), multioutput="variance_weighted")


def nearest_neighbors(X, y, X_new, y_new):
    """R^2 of tuned nearest neighbours."""
    choice = make_pipeline(StandardScaler(), KNeighborsRegressor())
    grid = {
        "standardscaler": [StandardScaler(), "passthrough"],
        "kneighborsregressor__n_neighbors": [1, 3, 5, 10, 20, 40],
        "kneighborsregressor__weights": ["uniform", "distance"],
    }
    found = GridSearchCV(choice, grid, cv=4, scoring="neg_mean_squared_error").fit(X, y)
    return r2_score(y_new, found.predict(X_new), multioutput="variance_weighted")


def tried(seed):
    """What happened to the data set of a seed: a dictionary of yes and no, the warnings, and what the data are."""
    X, y, what = draw(seed)
    X, X_new, y, y_new = X[:-N_NEW], X[-N_NEW:], y[:-N_NEW], y[-N_NEW:]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = idm.IteratedDiffusionMap(random_state=seed).fit(X, y)
    names = [warning.category.__name__ for warning in caught]
    said_so = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z, Z_new, predicted = model.embedding_, model.transform(X_new), model.predict(X_new)
    in_map, in_X = by_neighbors(Z, y, Z_new, y_new), by_neighbors(X, y, X_new, y_new)
    score, theirs = (
        r2_score(y_new, predicted, multioutput="variance_weighted"),
        nearest_neighbors(X, y, X_new, y_new),
    )
    unconverged = model.stop_reason_ == "max_iter"
    found = {
        "warned": bool(names),
        "twice or more": max(Counter(names).values(), default=0) > 1,
        "disconnected": "DisconnectedGraphWarning" in names,
        "not converged": unconverged,
        "not converged, silent": unconverged and not said_so,
        "wasted": densest(Z[:, 0]) > (0.9 if what["y"] in DISCRETE else 0.5),
        "worse than X": in_map < in_X - 0.05,
        "prediction": score < theirs - 0.05,
    }
    what |= {
        "n_iter": model.n_iter_,
        "stop": model.stop_reason_,
        "map": in_map,
        "X-NN": in_X,
        "R2": score,
        "NN": theirs,
    }
    return found, Counter(names), what


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-sets", type=int, default=240)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="the data sets with which something went wrong")
    options = parser.parse_args()
    totals, names = Counter(), Counter()
    for seed in range(options.first_seed, options.first_seed + options.n_sets):
        found, warned, what = tried(seed)
        totals.update({key: int(yes) for key, yes in found.items()})
        names.update(set(warned))
        wrong = [key for key, yes in found.items() if yes]
        if wrong and options.verbose:
            told = " ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in what.items())
            print(f"{seed}: {', '.join(wrong)} ({' '.join(warned)}): {told}", flush=True)
    print(f"{options.n_sets} data sets, seeds from {options.first_seed}")
    for key, count in totals.items():
        print(f"{key:<24}{count:>5}{count / options.n_sets:>8.1%}")
    print("warnings: " + ", ".join(f"{name} {count}" for name, count in names.most_common()))


if __name__ == "__main__":
    main()
