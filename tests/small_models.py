"""Fitted models of every kind, small enough for hundreds of copies, and queries for them."""

import warnings

import numpy as np

import idm

_SETTINGS = {"n_components": 6, "n_neighbors": 14, "n_landmarks": 40, "max_iter": 2, "random_state": 0}


def _data():
    X, _, y = idm.datasets.make_annulus(60, feature="radius", random_state=0)
    return X, y


def _iterated(feature=None, **settings):
    X, y = _data()
    return idm.IteratedDiffusionMap(**{**_SETTINGS, **settings}).fit(X, y[:, 0] if feature is None else feature(X, y))


def _classifier(labels):
    X, y = _data()
    return idm.IteratedDiffusionMapClassifier(**_SETTINGS).fit(X, labels[(y[:, 0] > np.median(y)).astype(int)])


def _unrelated(X, y):
    return np.random.default_rng(5).normal(size=len(y))


def _named():
    model = _iterated()
    model.feature_names_in_ = np.array(["x", "y\u2032"], dtype=object)  # as a data frame would set it
    return model


def _averaged():
    X, _, y = idm.datasets.make_annulus(900, feature="radius", random_state=0)
    noisy = y[:, 0] + y.std() * np.random.default_rng(5).normal(size=len(y))
    return idm.IteratedDiffusionMap(**_SETTINGS, subsample=100, store_embedding=False).fit(X, noisy)


def _wide():
    X = np.random.default_rng(0).normal(size=(40, 60))
    return idm.IteratedDiffusionMap(**_SETTINGS).fit(X, X[:, 0] ** 2)


def _plain(**settings):
    return idm.DiffusionMap(**{"n_components": 4, "n_neighbors": 14, **settings})


def _precomputed():
    X, _ = _data()
    return _plain(precomputed_knn=idm.nearest_neighbors(X, 14)).fit(X).set_params(precomputed_knn=None)


def _not_euclidean():
    X, _ = _data()
    found = idm.nearest_neighbors(X, 14)
    return _plain(precomputed_knn=(found.indices, 2 * found.distances)).fit(X).set_params(precomputed_knn=None)


def _with_copies():
    X, _ = _data()
    return _plain().fit(np.vstack([X, X[:5]]))


def _local_kernel_map(feature):
    X, y = _data()
    return idm.LocalKernelMap(5, n_neighbors=20, regularization=np.float32(0.001)).fit(X, feature(X, y))


MODELS = {
    "differences": _iterated,
    "two features": lambda: _iterated(lambda X, y: np.column_stack([y, X[:, 0]])),
    "affine derivatives": lambda: _iterated(lambda X, y: np.hstack([y, X]), feature_change="derivative"),
    "derivatives": lambda: _iterated(feature_change="derivative", derivative="regression", early_stopping=False),
    "means of cells": _averaged,
    "unrelated feature": lambda: _iterated(_unrelated),
    "named columns": _named,
    "more columns than rows": _wide,
    "int labels": lambda: _classifier(np.array([7, -3])),
    "bool labels": lambda: _classifier(np.array([True, False])),
    "float labels": lambda: _classifier(np.array([3.0, 1.0], dtype=np.float32)),
    "str labels": lambda: _classifier(np.array(["outer \u00e9", "inner"])),
    "object labels": lambda: _classifier(np.array(["outer", "inner \u2603"], dtype=object)),
    "diffusion map": lambda: _plain(n_landmarks=40, random_state=0).fit(_data()[0]),
    "precomputed": _precomputed,
    "not Euclidean": _not_euclidean,
    "copies": _with_copies,
    "local kernel map": lambda: _local_kernel_map(lambda X, y: 2 * X),
    "local kernel map of one feature": lambda: _local_kernel_map(lambda X, y: X[:, 0]),
}


def fitted(name):
    """The model of that name, and queries: rows of the fit, near them, and far away."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name]()
    X = np.random.default_rng(0).normal(size=(40, 60)) if name == "more columns than rows" else _data()[0]
    return model, np.vstack([X[:10], X[10:30] + 0.05, X[:1] + 100])


METHODS = ("transform", "predict", "predict_proba", "supported")
OTHERS = ("diffusion_distances", "heat_spectrum", "get_feature_names_out", "feature_map_", "feature_map_residual_")


def results(model, X, names=METHODS + OTHERS):
    """What methods and lazily computed attributes give; the name of the error if it is one."""
    found = {}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = getattr(model, name)
                if callable(value):
                    value = value() if name in ("heat_spectrum", "get_feature_names_out") else value(X)
            except Exception as error:
                value = type(error).__name__
        found[name] = value
    return found
