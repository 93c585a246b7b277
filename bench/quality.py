"""What the iterated diffusion map finds in the examples of section 4.3, beside other supervised representations.

Fitted on 2000 random points, measured on 500 new ones, mean of the seeds:
recall      of the 200 nearest points in the representation, the share that is among the 200 nearest in the feature
coverage    occupied bins (of 24) of the irrelevant variable among these 200, over those of the true 200
error       root mean square of the predicted feature, in units of its spread

python bench/quality.py               the examples
python bench/quality.py --noisy       the same in R^30, by a random rotation, with noise of 0.05
python bench/quality.py --paper       with the settings of the paper
"""

import argparse
import importlib.util
import time
import warnings

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor, NeighborhoodComponentsAnalysis

import idm
from idm._demo import EXAMPLES


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


def merit(embedding, y, new, y_new, variable, n=200):
    found = idm.nearest_neighbors(embedding, n, queries=new).indices
    true = idm.nearest_neighbors(y, n, queries=y_new).indices
    bins = np.minimum((variable - variable.min()) / np.ptp(variable) * 24, 23).astype(int)
    recalls = [len(np.intersect1d(a, b)) / n for a, b in zip(found, true, strict=True)]
    coverages = [len(set(bins[a])) / len(set(bins[b])) for a, b in zip(found, true, strict=True)]
    return np.mean(recalls), np.mean(coverages)


def error(predicted, y_new):
    return np.sqrt(np.mean((predicted.reshape(y_new.shape) - y_new) ** 2) / y_new.var())


def idm_map(X, y, new, seed, paper=None):
    model = idm.IteratedDiffusionMap(random_state=seed) if paper is None else idm.IteratedDiffusionMap.from_paper(paper)
    model.fit(X, y)
    return model.embedding_, model.transform(new), model.predict(new)


def umap_map(X, y, new, seed):
    import umap

    model = umap.UMAP(n_components=3, target_metric="l2", random_state=seed)
    return model.fit_transform(X, y if y.shape[1] > 1 else y[:, 0]), model.transform(new), None


def pls_map(X, y, new, seed):
    model = PLSRegression(min(X.shape[1], y.shape[1] + 1)).fit(X, y)
    return model.transform(X), model.transform(new), model.predict(new)


def nca_map(X, y, new, seed):
    """Metric learning for classes: ten of them, by the feature (or its angle)."""
    value = y[:, 0] if y.shape[1] == 1 else np.arctan2(y[:, 0], y[:, 1])
    classes = np.digitize(value, np.quantile(value, np.linspace(0.1, 0.9, 9)))
    model = NeighborhoodComponentsAnalysis(random_state=seed, max_iter=30).fit(X, classes)
    return model.transform(X), model.transform(new), None


def raw_map(X, y, new, seed):
    return X, new, None


PREDICTORS = {
    "k-NN regression": lambda seed: KNeighborsRegressor(10, weights="distance"),
    "kernel ridge": lambda seed: GridSearchCV(
        KernelRidge(kernel="rbf"), {"alpha": [1e-6, 1e-4, 1e-2], "gamma": [0.1, 1.0, 10.0]}, cv=3
    ),
    "random forest": lambda seed: RandomForestRegressor(200, random_state=seed, n_jobs=2),
}


def data(example, seed, noisy):
    X, coordinates, y = EXAMPLES[example](2000, seed)
    new, _, y_new = EXAMPLES[example](500, seed + 1000)
    if noisy:
        rng = np.random.default_rng(seed)
        basis, _ = np.linalg.qr(rng.normal(size=(30, X.shape[1])))
        X, new = (Z @ basis.T + 0.05 * rng.normal(size=(len(Z), 30)) for Z in (X, new))
    return X, y, new, y_new, irrelevant(example, coordinates)


def run(methods, noisy, seeds):
    warnings.simplefilter("ignore")  # of the peers; ours are shown by the tests
    print(f"{'example':<16}{'method':<18}{'recall':>8}{'coverage':>10}{'error':>9}{'seconds':>9}")
    for example in EXAMPLES:
        for name, method in methods.items():
            results = []
            for seed in range(seeds):
                X, y, new, y_new, variable = data(example, seed, noisy)
                start = time.perf_counter()
                embedding, new_embedding, predicted = method(X, y, new, seed, example)
                seconds = time.perf_counter() - start
                quality = (
                    merit(embedding, y, new_embedding, y_new, variable) if embedding is not None else (np.nan,) * 2
                )
                results.append([*quality, np.nan if predicted is None else error(predicted, y_new), seconds])
            mean = [f"{v:.3f}" if np.isfinite(v) else "" for v in np.mean(results, axis=0)]
            print(f"{example:<16}{name:<18}{mean[0]:>8}{mean[1]:>10}{mean[2]:>9}{mean[3]:>9}", flush=True)


def predictor(make):
    return lambda X, y, new, seed, example: (None, None, make(seed).fit(X, y).predict(new))


def representation(method):
    return lambda X, y, new, seed, example: method(X, y, new, seed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noisy", action="store_true")
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ours", action="store_true", help="without the peers")
    options = parser.parse_args()
    if options.paper:
        methods = {"the paper's": lambda X, y, new, seed, example: idm_map(X, y, new, seed, example)}
    else:
        methods = {"idm": representation(idm_map), "raw data": representation(raw_map)}
        if not options.ours:
            methods |= {"PLS": representation(pls_map), "NCA": representation(nca_map)}
            if importlib.util.find_spec("umap"):
                methods["supervised UMAP"] = representation(umap_map)
            else:
                print("supervised UMAP is left out: umap-learn is not installed (pip install '.[bench]')")
        methods |= {name: predictor(make) for name, make in PREDICTORS.items()}
    run(methods, options.noisy, options.seeds)
