"""What reaches the compiled steps is checked there: no array that does not fit is read beyond its end."""

import numpy as np
import pytest

import idm
from idm import _core

pytestmark = pytest.mark.usefixtures("variant")

N, Q, K, M = 40, 12, 9, 3


def calls():
    """Every function that takes arrays, with arguments that fit; and which of their sizes are free to change."""
    rng = np.random.default_rng(0)
    X, queries, Y, Y_new = (rng.normal(size=s) for s in ((N, M), (Q, M), (N, 2), (Q, 2)))
    own, found = idm.nearest_neighbors(X, K), idm.nearest_neighbors(X, K, queries=queries)
    eps, eps_new = np.full((N, 1), 0.5), np.full((Q, 1), 0.5)
    index = _core.NeighborIndex(X)
    kernel = _core.nearest_kernel(*own, 0.5, 1)
    scales, unit, reach = _core.local_scales(*own, 3, 1)
    neighbors, near = own._asdict(), found._asdict()
    flow = {"tau": 0.5, "mixing": "lengths", "change": "difference", "n_threads": 2}
    rows, columns, both = {"rows"}, {"columns"}, {"rows", "columns"}
    return {
        "NeighborIndex": (_core.NeighborIndex, {"points": X}, {"points": both}),
        "nearest": (index.nearest, {"queries": queries, "n_neighbors": K, "n_threads": 2}, {"queries": rows}),
        "pair_distances": (
            _core.pair_distances,
            {"points": X, "indices": own.indices, "n_threads": 2},
            {"points": columns, "indices": columns},
        ),
        "local_geometry": (
            _core.local_geometry,
            {"points": X, **neighbors, "tuning": "svd", "n_bandwidths": 20, "n_threads": 2},
            {"points": columns},
        ),
        "scaling_laws": (
            _core.scaling_laws,
            {
                "points": X,
                "base": X[:1].copy(),
                **idm.nearest_neighbors(X, N, queries=X[:1])._asdict(),
                "bandwidths": np.full((1, 5), 0.5),
                "n_threads": 2,
            },
            {"bandwidths": columns, "points": {"more rows"}},
        ),
        "tangent_spaces": (
            _core.tangent_spaces,
            {"points": X, **neighbors, "bandwidths": eps, "n_components": 2, "n_threads": 2},
            {"points": columns},
        ),
        "local_derivatives": (
            _core.local_derivatives,
            {
                "points": X,
                "values": Y,
                "bases": queries,
                "base_values": Y_new,
                **near,
                "bandwidths": eps_new,
                "method": "regression",
                "regularization": 0.1,
                "n_threads": 2,
            },
            {},
        ),
        "local_estimates": (
            _core.local_estimates,
            {
                "points": X,
                "values": Y,
                "counts": np.ones((N, 1)),
                "bases": queries,
                **near,
                "bandwidths": eps_new,
                "left_out": found.indices[:, 2:3].copy(),
                "factors": np.ones((1, 2)),
                "gammas": np.ones((1, 3)),
                "n_threads": 2,
            },
            {"values": columns, "factors": columns, "gammas": columns},
        ),
        "farthest_points": (
            _core.farthest_points,
            {"points": X, "n_given": 1, "n_landmarks": N - 1},
            {"points": both},
        ),
        "metric_neighbors": (
            _core.metric_neighbors,
            {"points": X, "values": Y, **neighbors, "n_neighbors": 5, **flow},
            {"points": columns, "values": columns},
        ),
        "local_scales": (_core.local_scales, {**neighbors, "n_near": 3, "n_threads": 2}, {}),
        "scale_lengths": (_core.scale_lengths, {**neighbors, "bandwidths": eps, "n_threads": 2}, {}),
        "symmetric_kernel": (_core.symmetric_kernel, {**neighbors, "epsilon": 0.5, "n_threads": 2}, {}),
        "nearest_kernel": (_core.nearest_kernel, {**neighbors, "epsilon": 0.5, "n_threads": 2}, {}),
        "kernel_dimensions": (
            _core.kernel_dimensions,
            {"distances": own.distances, "epsilon": 0.5, "n_threads": 2},
            {"distances": both},
        ),
        "multiply": (_core.multiply, {"matrix": kernel, "x": X, "n_threads": 2}, {"x": columns}),
        "chebyshev": (
            _core.chebyshev,
            {"matrix": kernel, "x": X, "low": -1.0, "high": 0.5, "degree": 3, "n_threads": 2},
            {"x": columns},
        ),
        "submatrix": (
            _core.submatrix,
            {"matrix": kernel, "rows": np.arange(N)[::-1].reshape(N, 1).copy(), "n_threads": 2},
            {"rows": {"fewer rows"}},
        ),
        "connected_components": (_core.connected_components, {"matrix": kernel, "least": 0.0}, {}),
        "normalize": (_core.normalize, {"matrix": kernel, "alpha": 1.0, "n_threads": 2}, {}),
        "project_out": (
            _core.project_out,
            {"basis": rng.normal(size=(N, 4)), "n_columns": 4, "block": rng.normal(size=(N, 3)), "n_threads": 2},
            {"block": columns, "basis": {"more columns"}},
        ),
        "extend": (
            _core.extend,
            {
                "index": index,
                "values": Y,
                "pool_radii": own.distances[:, -1:].copy(),
                "radii": own.distances[:, -1:].copy(),
                "bases": queries,
                "base_values": Y_new,
                "pool_size": K,
                "n_neighbors": 5,
                "epsilon": 0.5,
                "weights": eps,
                "functions": Y,
                "scales": scales,
                "unit": unit,
                "reach": reach,
                "n_near": 3,
                **flow,
            },
            {"functions": columns},
        ),
    }


NAMES = list(calls())


def arrays(arguments):
    return {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}


def test_every_function_is_called():
    functions = {name for name in dir(_core) if not name.startswith("_") and callable(getattr(_core, name))}
    without_arrays = {"build_info", "cpu_has_v3", "in_forked_child", "max_threads", "parallel_probe"}
    assert functions - without_arrays == set(NAMES) - {"nearest"} | {"SparseMatrix"}  # has its own tests


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_fit_are_taken(name):
    function, arguments, _ = calls()[name]
    function(**arguments)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", ["rows", "columns"])
@pytest.mark.parametrize("change", ["cut", "repeated", "none left"])
def test_arrays_of_another_size_are_refused(name, axis, change):
    function, arguments, free = calls()[name]
    for argument, array in arrays(arguments).items():
        count = array.shape[0 if axis == "rows" else 1]
        take = {"cut": range(count - 1), "repeated": [*range(count), 0], "none left": []}[change]
        wrong = np.ascontiguousarray(np.take(array, list(take), axis=0 if axis == "rows" else 1))
        if {axis, f"{'more' if change == 'repeated' else 'fewer'} {axis}"} & set(free.get(argument, ())):
            if len(take) > 0:
                function(**{**arguments, argument: wrong})  # another size that fits
        else:
            with pytest.raises(ValueError, match=r"must|needed"):
                function(**{**arguments, argument: wrong})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [N, N + 10**6, -2, np.iinfo(np.intp).max, np.iinfo(np.intp).min])
def test_indices_out_of_range_are_refused(name, value):
    function, arguments, _ = calls()[name]
    for argument, array in arrays(arguments).items():
        if array.dtype != np.intp or argument.endswith("last"):  # `last` is compared, never looked up
            continue
        wrong = array.copy()
        wrong[-1, -1] = value
        with pytest.raises(ValueError, match="rows of the points"):
            function(**{**arguments, argument: wrong})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan, np.inf])
def test_bandwidths_that_are_not_positive_are_refused(name, value):
    function, arguments, _ = calls()[name]
    for argument in {"bandwidths", "epsilon", "unit", "reach"} & set(arguments):
        wrong = value
        if argument == "bandwidths":
            wrong = arguments[argument].copy()
            wrong.flat[-1] = value
        with pytest.raises(ValueError, match="positive"):
            function(**{**arguments, argument: wrong})


@pytest.mark.parametrize("name", NAMES)
def test_none_is_no_array(name):
    function, arguments, _ = calls()[name]
    for argument in [*arrays(arguments), *({"matrix", "index"} & set(arguments))]:
        if (name, argument) in {("nearest", "queries"), ("local_estimates", "left_out"), ("extend", "scales")}:
            continue  # the points themselves, none, one bandwidth for all
        with pytest.raises((TypeError, ValueError)):
            function(**{**arguments, argument: None})


@pytest.mark.parametrize("name", NAMES)
def test_other_types_and_orders_are_refused(name):
    function, arguments, _ = calls()[name]
    for argument, array in arrays(arguments).items():
        wrongs = [array.astype(np.float32), array.astype(object), array[0]]
        if min(array.shape) > 1:
            wrongs.append(np.asfortranarray(array))
        for wrong in wrongs:
            with pytest.raises((TypeError, ValueError)):
                function(**{**arguments, argument: wrong})


@pytest.mark.parametrize("name", NAMES)
def test_unknown_choices_are_named(name):
    function, arguments, _ = calls()[name]
    for argument, value in arguments.items():
        if isinstance(value, str):
            with pytest.raises(ValueError, match=f"{argument} must be one of .*'{value}'.*got 'other'"):
                function(**{**arguments, argument: "other"})


@pytest.mark.parametrize("name", NAMES)
def test_counts_out_of_range_are_refused(name):
    function, arguments, _ = calls()[name]
    most = {
        ("nearest", "n_neighbors"): N,
        ("metric_neighbors", "n_neighbors"): K,
        ("extend", "pool_size"): N,
        ("extend", "n_neighbors"): K,  # the candidates
        ("extend", "n_near"): 5,  # the neighbours
        ("local_scales", "n_near"): K,
    }
    for argument in {"pool_size", "n_neighbors", "n_near"} & set(arguments):
        largest = most[name, argument]
        fitting = {"n_near": min(largest, arguments.get("n_near", 1))}
        function(**{**arguments, **(fitting if "n_near" in arguments else {}), argument: largest})
        for wrong in (0, -1, largest + 1, np.iinfo(np.intp).max, np.iinfo(np.intp).min):
            with pytest.raises(ValueError, match=f"{argument} must be between"):
                function(**{**arguments, argument: wrong})


def test_points_that_are_not_finite_are_refused():
    for value in (np.nan, np.inf):
        X = np.ones((5, 2))
        X[3, 1] = value
        with pytest.raises(ValueError, match="points must be finite"):
            _core.NeighborIndex(X)
        with pytest.raises(ValueError, match="queries must be finite"):
            _core.NeighborIndex(np.ones((5, 2))).nearest(X, 2, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_lengths_that_are_not_finite_are_refused(value):
    for name, given in (("metric_neighbors", ("distances", "values")), ("extend", ("values", "bases", "base_values"))):
        function, arguments, _ = calls()[name]
        for argument in given:
            wrong = arguments[argument].copy()
            wrong[...] = value
            with pytest.raises(ValueError, match=r"must be finite|overflow"):
                function(**{**arguments, argument: wrong})


def test_a_matrix_that_is_not_square_has_no_components():
    matrix = _core.SparseMatrix(np.array([0, 1]), np.array([2], np.int32), np.ones(1), 3)
    with pytest.raises(ValueError, match="square"):
        _core.connected_components(matrix, 0.0)
    with pytest.raises(ValueError, match="square"):
        _core.normalize(matrix, 1.0, 1)
