"""What the iterated diffusion map finds in the examples of section 4.3, beside other supervised representations.

Fitted on N random points, measured on 500 new ones, mean of the seeds:
10 %, 2 %   of that share of nearest points in the representation, how many are among the nearest in the true feature
coverage    occupied bins (of 24) of the irrelevant variable among the nearest 10 %, over those of the true ones
error       root mean square of the predicted feature, in units of its spread
steps       between the means of 60 equally wide bins of the feature (or its angle), over their median: least and
            largest, without the outer 5 % at the ends of an interval
iterations  that were kept

python bench/quality.py                        the six examples, 2000 points
python bench/quality.py --noise 0.3            with noise in y, in units of its spread
python bench/quality.py --ours --n-samples 10000
python bench/quality.py --cube                 y = sin 3 x1 + x2^2 / 2 in the cube of 4, 8 and 20 dimensions
python bench/quality.py --noisy                in R^30, by a random rotation, with noise of 0.05 in X
python bench/quality.py --ten                  ten iterations, whether or not distances still change
python bench/quality.py --paper                with the settings of the paper
python bench/quality.py --diabetes             R^2 of predictions of scikit-learn's data, five splits
python bench/quality.py --digits               class labels: share of new digits that are right, five splits
python bench/quality.py --only idm "kernel ridge"    of these methods only, as in the tables of README.md
"""

import argparse
import importlib.util
import time
import warnings

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

import idm
from idm._demo import EXAMPLES

CUBES = {f"cube-{d}": d for d in (4, 8, 20)}


def data(example, n, seed, noise, noisy):
    """X, measured y, its true value, new points with their feature, and the variable that it does not depend on."""
    rng = np.random.default_rng(seed)
    if example in CUBES:
        X, new = rng.uniform(-1, 1, (n, CUBES[example])), rng.uniform(-1, 1, (500, CUBES[example]))
        true, y_new = (np.sin(3 * Z[:, :1]) + Z[:, 1:2] ** 2 / 2 for Z in (X, new))
        variable = X[:, 2]
    else:
        X, coordinates, true = EXAMPLES[example](n, seed)
        new, _, y_new = EXAMPLES[example](500, seed + 1000)
        variable = irrelevant(example, coordinates)
    if noisy:
        basis, _ = np.linalg.qr(rng.normal(size=(30, X.shape[1])))
        X, new = (Z @ basis.T + 0.05 * rng.normal(size=(len(Z), 30)) for Z in (X, new))
    measured = true + noise * true.std() * rng.normal(size=true.shape)
    return X, measured, true, new, y_new, variable


def irrelevant(example, coordinates):
    """The variable that the feature does not depend on."""
    return {
        "annulus-radius": lambda c: c[:, 0],
        "annulus-angle": lambda c: c[:, 1],
        "torus-phi": lambda c: c[:, 0],
        "torus-theta": lambda c: c[:, 1],
        "sphere-x": lambda c: np.arctan2(c[:, 2], c[:, 1]),
        "sphere-twist": lambda c: c[:, 2],
    }[example](coordinates)


def merit(embedding, y, new, y_new, variable):
    """Recall of the nearest 10 % and 2 %, and coverage."""
    recalls, coverages = [], []
    bins = np.minimum((variable - variable.min()) / np.ptp(variable) * 24, 23).astype(int)
    for n in (len(y) // 10, len(y) // 50):
        found = idm.nearest_neighbors(embedding, n, queries=new).indices
        true = idm.nearest_neighbors(y, n, queries=y_new).indices
        recalls.append(np.mean([len(np.intersect1d(a, b)) / n for a, b in zip(found, true, strict=True)]))
        coverages.append(np.mean([len(set(bins[a])) / len(set(bins[b])) for a, b in zip(found, true, strict=True)]))
    return [*recalls, coverages[0]]


def steps(embedding, y, n_bins=60):
    """The least and the largest step along the feature, over the median step."""
    circle = y.shape[1] == 2
    value = np.arctan2(y[:, 0], y[:, 1]) if circle else y[:, 0]
    bins = np.minimum((value - value.min()) / np.ptp(value) * n_bins, n_bins - 1).astype(int)
    means = np.array([embedding[bins == b].mean(axis=0) for b in range(n_bins) if (bins == b).any()])
    lengths = np.linalg.norm(np.diff(np.vstack([means, means[:1]]) if circle else means, axis=0), axis=1)
    lengths = lengths if circle else lengths[n_bins // 20 : -(n_bins // 20)]
    return [lengths.min() / np.median(lengths), lengths.max() / np.median(lengths)]


def error(predicted, y_new):
    return np.sqrt(np.mean((predicted.reshape(y_new.shape) - y_new) ** 2) / y_new.var())


def idm_map(X, y, new, seed, example, **changes):
    model = idm.IteratedDiffusionMap(random_state=seed, **changes).fit(X, y)
    return model.embedding_, model.transform(new), model.predict(new), model.n_iter_


def paper_map(X, y, new, seed, example):
    model = idm.IteratedDiffusionMap.from_paper(example).fit(X, y)
    return model.embedding_, model.transform(new), model.predict(new), model.n_iter_


def prediction_map(make):
    """The prediction used as an embedding; out of fold for the rows of the fit, as ours is."""

    def embed(X, y, new, seed, example):
        model = make(seed).fit(X, y)
        model = getattr(model, "best_estimator_", model)
        predicted = model.predict(new).reshape(len(new), -1)
        return cross_val_predict(model, X, y, cv=5).reshape(len(X), -1), predicted, predicted, None

    return embed


def umap_map(X, y, new, seed, example):
    import umap

    model = umap.UMAP(n_components=3, target_metric="l2", random_state=seed)
    return model.fit_transform(X, y if y.shape[1] > 1 else y[:, 0]), model.transform(new), None, None


def pls_map(X, y, new, seed, example):
    model = PLSRegression(min(X.shape[1], y.shape[1] + 1)).fit(X, y)
    return model.transform(X), model.transform(new), model.predict(new), None


def nca_map(X, y, new, seed, example):
    """Metric learning for classes: ten of them, by the feature (or its angle)."""
    value = y[:, 0] if y.shape[1] == 1 else np.arctan2(y[:, 0], y[:, 1])
    classes = np.digitize(value, np.quantile(value, np.linspace(0.1, 0.9, 9)))
    model = NeighborhoodComponentsAnalysis(random_state=seed, max_iter=30).fit(X, classes)
    return model.transform(X), model.transform(new), None, None


def raw_map(X, y, new, seed, example):
    return X, new, KNeighborsRegressor(10, weights="distance").fit(X, y).predict(new), None


def kernel_ridge(seed=0):
    grid = {"alpha": [1e-6, 1e-4, 1e-2, 1e-1, 1.0], "gamma": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3, scoring="neg_mean_squared_error", n_jobs=2)


def forest(seed):
    return RandomForestRegressor(200, random_state=seed, n_jobs=2)


def run(examples, methods, options):
    warnings.simplefilter("ignore")  # of the peers; ours are shown by the tests
    print(f"{'example':<16}{'method':<18}   10 %    2 %  coverage  error       steps  iterations  seconds")
    for example in examples:
        for name, method in methods.items():
            results = []
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                X, y, true, new, y_new, variable = data(example, options.n_samples, seed, options.noise, options.noisy)
                start = time.perf_counter()
                embedding, at_new, predicted, n_iter = method(X, y, new, seed, example)
                seconds = time.perf_counter() - start
                found = merit(np.ascontiguousarray(embedding), true, np.ascontiguousarray(at_new), y_new, variable)
                found += [np.nan if predicted is None else error(predicted, y_new)]
                results.append([*found, *steps(embedding, true), np.nan if n_iter is None else n_iter, seconds])
            r = np.mean(results, axis=0)
            low, high = np.min(results, axis=0)[4], np.max(results, axis=0)[5]
            print(
                f"{example:<16}{name:<18}{r[0]:>7.3f}{r[1]:>7.3f}{r[2]:>10.2f}{r[3]:>7.3f}{low:>7.2f}{high:>5.2f}"
                f"{r[6]:>12.1f}{r[7]:>9.2f}",
                flush=True,
            )


def diabetes(seeds=5):
    """R^2 at 30 % new rows of standardised data."""
    X, y = load_diabetes(return_X_y=True)
    methods = {
        "idm": lambda: idm.IteratedDiffusionMap(random_state=0),
        "k-NN, k = 10": lambda: KNeighborsRegressor(10),
        "kernel ridge": lambda: GridSearchCV(
            KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0, 10.0], "gamma": [1e-3, 3e-3, 1e-2, 3e-2]}, cv=3
        ),
        "linear ridge": lambda: RidgeCV(np.logspace(-2, 3, 11)),
        "random forest": lambda: forest(0),
    }
    scores = {name: [] for name in methods}
    for seed in range(seeds):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        scaler, mean = StandardScaler().fit(X_train), y_train.mean()
        for name, make in methods.items():
            model = make().fit(scaler.transform(X_train), y_train - mean)
            scores[name].append(model.score(scaler.transform(X_test), y_test - mean))
    for name, values in scores.items():
        print(f"{name:<16}{np.mean(values):>7.3f}   ({' '.join(f'{v:.3f}' for v in values)})")


def digits(seeds=5):
    """The share of 30 % new digits whose label is right."""
    X, y = load_digits(return_X_y=True)
    methods = {
        "idm, predict": lambda a, b, new: idm.IteratedDiffusionMapClassifier(random_state=0).fit(a, b).predict(new),
        "3-NN": lambda a, b, new: KNeighborsClassifier(3).fit(a, b).predict(new),
    }

    def in_embedding(embed):
        def predict(a, b, new):
            embedding, at_new = embed(a, b, new)
            return KNeighborsClassifier(15).fit(embedding, b).predict(at_new)

        return predict

    def ours(a, b, new):
        model = idm.IteratedDiffusionMapClassifier(random_state=0).fit(a, b)
        return model.embedding_, model.transform(new)

    methods["idm, 15-NN"] = in_embedding(ours)
    if importlib.util.find_spec("umap"):
        import umap

        def theirs(a, b, new):
            model = umap.UMAP(random_state=0).fit(a, b)
            return model.embedding_, model.transform(new)

        methods["UMAP, 15-NN"] = in_embedding(theirs)
    warnings.simplefilter("ignore")
    splits = [train_test_split(X, y, test_size=0.3, random_state=seed) for seed in range(seeds)]
    for name, predict in methods.items():
        values = [np.mean(predict(a, b, new) == right) for a, new, b, right in splits]
        print(f"{name:<16}{np.mean(values):>7.3f}   ({' '.join(f'{v:.3f}' for v in values)})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--noisy", "--paper", "--cube", "--ten", "--diabetes", "--digits"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--n-samples", type=int, default=2000)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--ours", action="store_true", help="without the peers")
    parser.add_argument("--only", nargs="+", metavar="METHOD", help="of those that are printed")
    options = parser.parse_args()
    if options.diabetes:
        return diabetes()
    if options.digits:
        return digits()
    if options.paper:
        methods = {"the paper's": paper_map}
    elif options.ten:
        methods = {"idm": idm_map, "idm, ten": lambda *a: idm_map(*a, max_iter=10, tol=0.0)}
    else:
        methods = {"idm": idm_map}
        if not options.ours:
            methods |= {"kernel ridge": prediction_map(kernel_ridge), "random forest": prediction_map(forest)}
            methods |= {"raw data, k-NN": raw_map, "PLS": pls_map, "NCA": nca_map}
            if importlib.util.find_spec("umap"):
                methods["supervised UMAP"] = umap_map
            else:
                print("supervised UMAP is left out: umap-learn is not installed (pip install '.[bench]')")
    if options.only:
        if unknown := set(options.only) - set(methods):
            parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join(methods)}")
        methods = {name: methods[name] for name in options.only}
    run(CUBES if options.cube else EXAMPLES, methods, options)


if __name__ == "__main__":
    main()
