"""Eigenpairs that one can trust: residuals, orthogonality, multiplicities, repeatability."""

import math
import threading

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import threadpoolctl

import idm
from idm import DiffusionMap, _block_lanczos, _spectrum
from idm._kernel import global_bandwidth, normalized_kernel
from idm._spectrum import leading_eigenpairs
from idm._warnings import Advice
from idm.exceptions import DisconnectedGraphWarning, EigenpairError

SOLVERS = ["block", "arpack", "dense"]
EPS = np.finfo(float).eps  # eigenvalues near 1 of N points are right to about N times that
ADVICE = Advice(remedies={DisconnectedGraphWarning: "raise n_neighbors", EigenpairError: "raise epsilon"})


def make_kernel(X, k, epsilon=None, alpha=1.0):
    neighbors = idm.nearest_neighbors(X, k)
    epsilon = global_bandwidth(neighbors.distances, 32) if epsilon is None else epsilon
    return normalized_kernel(neighbors, epsilon, alpha, 2, exact=True)


def dense(kernel):
    n, matrix = len(kernel), kernel.matrix
    return scipy.sparse.csr_matrix((matrix.values, matrix.columns, matrix.row_start), shape=(n, n)).toarray()


def solve(*args, **kwargs):
    pairs = leading_eigenpairs(*args, **kwargs)
    return pairs.values, pairs.vectors


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_pairs", [1, 2, 12, 90])
def test_agrees_with_a_dense_decomposition(rng, solver, n_pairs):
    kernel = make_kernel(rng.normal(size=(1200, 2)), 60)
    values, vectors = solve(kernel, n_pairs, 2, solver=solver)
    matrix = dense(kernel)
    expected = np.sort(scipy.linalg.eigvalsh(matrix))[::-1][:n_pairs]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13)
    assert np.abs(matrix @ vectors - vectors * values).max() < 5e-10
    assert np.abs(vectors.T @ vectors - np.eye(n_pairs)).max() < 1e-10
    # The first is known: Dh, of eigenvalue 1.
    assert values[0] == 1
    np.testing.assert_allclose(vectors[:, 0], kernel.Dh / np.linalg.norm(kernel.Dh), rtol=1e-14)


@pytest.mark.parametrize("solver", SOLVERS)
def test_algebraically_largest_where_negative_ones_are_larger_in_magnitude(solver):
    # A kernel that hardly decays before it is cut has large negative eigenvalues.
    t = 2 * np.pi * np.arange(1000) / 1000
    kernel = make_kernel(np.column_stack([np.cos(t), np.sin(t)]), 41, epsilon=10.0)
    expected = np.sort(scipy.linalg.eigvalsh(dense(kernel)))[::-1]
    by_magnitude = expected[np.argsort(-np.abs(expected))]
    assert (by_magnitude[:160] < 0).any()
    values, _ = solve(kernel, 160, 2, solver=solver)
    np.testing.assert_allclose(values, expected[:160], rtol=0, atol=1e-13)


@pytest.mark.parametrize("solver", SOLVERS)
def test_double_eigenvalues_of_a_circle_are_all_found(solver):
    # With 100 neighbours, rounding decides which of two points at one distance is the last, and pairs are 2e-9 apart.
    t = 2 * np.pi * np.arange(1500) / 1500
    values, _ = solve(make_kernel(np.column_stack([np.cos(t), np.sin(t)]), 101), 41, 2, solver=solver)
    np.testing.assert_allclose(values[1::2], values[2::2], rtol=0, atol=1500 * EPS)
    assert (np.diff(values[1::2]) < -1e-5).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_identical_far_clusters_have_every_eigenvalue_three_times(rng, solver):
    cluster = rng.uniform(size=(400, 2))
    kernel = make_kernel(np.vstack([cluster, cluster + 1e3, cluster - 1e3]), 50)
    pairs = leading_eigenpairs(kernel, 30, 2, solver=solver)  # who asks says that there are parts: test_parts.py
    values, vectors = pairs.values, pairs.vectors
    np.testing.assert_array_equal(pairs.parts, np.repeat([0, 1, 2], 400))
    np.testing.assert_array_equal(values[:3], 1)
    np.testing.assert_allclose(values[0::3], values[2::3], rtol=0, atol=1e-13)
    assert (np.diff(values[0::3]) < -1e-4).all()
    # The first three are constant, times Dh, on each cluster.
    functions = (vectors[:, :3] / kernel.Dh[:, np.newaxis]).reshape(3, 400, 3)
    assert np.ptp(functions, axis=1).max() < 1e-14 * np.abs(functions).max()


@pytest.mark.parametrize("solver", SOLVERS)
def test_more_copies_of_an_eigenvalue_than_a_block_has_vectors(solver):
    # The corners of a cube in ten dimensions: ten times, then 45 times.
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * 10), axis=-1).reshape(-1, 10)
    values, _ = solve(make_kernel(corners, 1024), 30, 2, solver=solver)
    np.testing.assert_allclose(values[1:11], values[1], rtol=0, atol=5e-14)
    np.testing.assert_allclose(values[11:], values[1] ** 2, rtol=0, atol=5e-14)


@pytest.mark.parametrize("solver", SOLVERS)
def test_copies_down_to_a_share_are_all_found(solver):
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * 10), axis=-1).reshape(-1, 10)
    kernel = make_kernel(corners, 1024)
    first = solve(kernel, 2, 2)[0][1]
    values, _ = solve(kernel, 100, 2, solver=solver, least_share=first**1.5)  # between the second and the third
    np.testing.assert_allclose(values, np.repeat([1, first, first**2], [1, 10, 45]), rtol=0, atol=1e-10)


@pytest.mark.parametrize(("n", "n_pairs"), [(3, 2), (6, 3), (30, 6), (70, 30), (120, 119)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_few_points(rng, n, n_pairs, solver):
    kernel = make_kernel(rng.normal(size=(n, 2)), n)
    values, _ = solve(kernel, n_pairs, 1, solver=solver)
    np.testing.assert_allclose(
        values, np.sort(scipy.linalg.eigvalsh(dense(kernel)))[::-1][:n_pairs], rtol=0, atol=2e-14
    )


def test_more_components_than_pairs(rng):
    kernel = make_kernel(np.repeat(rng.normal(size=(40, 1)) * 1e3, 5, axis=0) + rng.normal(size=(200, 1)) * 1e-3, 3)
    values, vectors = solve(kernel, 7, 1)
    np.testing.assert_array_equal(values, 1)
    assert np.abs(dense(kernel) @ vectors - vectors).max() < 2e-15
    assert np.abs(vectors.T @ vectors - np.eye(7)).max() < 1e-14


@pytest.mark.parametrize("solver", SOLVERS)
def test_repeats_to_the_bit_for_all_threads(rng, solver):
    kernel = make_kernel(rng.normal(size=(900, 2)), 50)
    first = leading_eigenpairs(kernel, 20, 1, solver=solver)
    for n_threads, blas in ((1, 2), (2, 1), (3, 2)):
        with threadpoolctl.threadpool_limits(blas, user_api="blas"):
            again = leading_eigenpairs(kernel, 20, n_threads, solver=solver)
        np.testing.assert_array_equal(first.values, again.values)
        np.testing.assert_array_equal(first.vectors, again.vectors)


@pytest.mark.parametrize("apart", [0.0, 100.0])  # one component, and two
def test_an_order_changes_nothing_but_rounding(rng, apart):
    X = rng.normal(size=(900, 2))
    X[500:, 0] += apart
    kernel, order = make_kernel(X, 50), rng.permutation(900)
    expected, found = leading_eigenpairs(kernel, 12, 1), leading_eigenpairs(kernel, 12, 1, order=order)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.vectors, expected.vectors, rtol=0, atol=2e-7)


def test_repeats_to_the_bit_in_another_thread(rng):
    kernel = make_kernel(rng.normal(size=(900, 2)), 50)
    first, others = leading_eigenpairs(kernel, 20, 1), []
    workers = [threading.Thread(target=lambda: others.append(leading_eigenpairs(kernel, 20, 1))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for other in others:
        np.testing.assert_array_equal(first.vectors, other.vectors)


def test_signs_are_fixed(rng):
    _, vectors = solve(make_kernel(rng.normal(size=(300, 2)), 40), 10, 1)
    largest = np.abs(vectors).argmax(axis=0)
    assert (vectors[largest, np.arange(10)] > 0).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_solver_says_what_it_did(rng, solver):
    kernel = make_kernel(rng.normal(size=(1200, 2)), 60)
    pairs = leading_eigenpairs(kernel, 13, 2, solver=solver)
    assert pairs.info.solver == solver
    found, vectors = pairs.values[1:], pairs.vectors[:, 1:]
    np.testing.assert_allclose(
        pairs.info.residuals, np.linalg.norm(dense(kernel) @ vectors - vectors * found, axis=0), rtol=0, atol=2e-15
    )
    if solver == "dense":
        assert pairs.info.n_products == 0
    else:
        assert 12 < pairs.info.n_products < 1200
    assert pairs.info.n_restarts == {"arpack": None, "dense": 0, "block": 1}[solver]  # one filter


def test_a_thick_restart_gives_the_same_pairs(rng, monkeypatch):
    kernel = make_kernel(rng.normal(size=(1500, 2)), 40)
    expected = np.sort(scipy.linalg.eigvalsh(dense(kernel)))[::-1][:30]
    monkeypatch.setattr(_spectrum, "SPARE", 60)
    monkeypatch.setattr(_spectrum, "_MOST_FILTERED", 0)
    pairs = leading_eigenpairs(kernel, 30, 2, solver="block")
    assert pairs.info.n_restarts > 0
    np.testing.assert_allclose(pairs.values, expected, rtol=0, atol=1e-13)


def test_an_invariant_subspace_is_left(rng):
    # Four points that all are neighbours of each other and far clusters of one kind: Krylov spaces are tiny.
    X = np.repeat(np.array([[0.0], [1.0]]), 300, axis=0)
    kernel = make_kernel(X + 0.0, 600, epsilon=1.0)
    values, vectors = solve(kernel, 5, 2, solver="block")
    np.testing.assert_allclose(values, np.sort(scipy.linalg.eigvalsh(dense(kernel)))[::-1][:5], rtol=0, atol=2e-13)
    assert np.abs(vectors.T @ vectors - np.eye(5)).max() < 5e-14


@pytest.mark.parametrize("solver", ["block", "arpack"])
def test_failure_says_how_many_converged(rng, solver, monkeypatch):
    t = 2 * np.pi * np.arange(3000) / 3000
    kernel = make_kernel(np.column_stack([np.cos(t), np.sin(t)]), 20)
    attempts = []
    monkeypatch.setattr(_block_lanczos, "MOST_RESTARTS", 0)
    monkeypatch.setattr(_spectrum, "_MOST_FILTERS", 0)
    monkeypatch.setattr(_spectrum, "DENSE_AFTER_ALL", 0)
    eigsh = scipy.sparse.linalg.eigsh

    def few_iterations(*args, **kwargs):
        attempts.append((kwargs["ncv"], kwargs["v0"][0]))
        return eigsh(*args, **kwargs, maxiter=2)

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", few_iterations)
    with pytest.raises(EigenpairError, match=r"only \d+ of 20 eigenpairs .* raise epsilon"):
        leading_eigenpairs(kernel, 21, 2, solver=solver, advice=ADVICE)
    if solver == "arpack":  # a larger basis, then another start
        assert attempts[0][0] < attempts[1][0] == attempts[2][0]
        assert attempts[0][1] == attempts[1][1] != attempts[2][1]


def test_blas_gets_its_threads_back_when_two_fits_overlap(rng):
    def n_blas():
        return [i["num_threads"] for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"]

    before = n_blas()
    kernel = make_kernel(rng.normal(size=(1500, 2)), 40)
    workers = [threading.Thread(target=leading_eigenpairs, args=(kernel, n, 1)) for n in (40, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert n_blas() == before


# --- eigenvalues of many copies, and those that do not matter


def circles(n_circles, n, rng):
    """Random points of circles far from each other."""
    t = rng.uniform(0, 2 * np.pi, size=(n_circles, n))
    far = 100.0 * np.arange(n_circles)[:, np.newaxis]
    return np.column_stack([(np.cos(t) + far).ravel(), np.sin(t).ravel()])


@pytest.mark.parametrize("solver", ["block", "arpack"])
def test_pairs_of_random_points_of_a_circle_are_all_found(rng, solver):
    pairs = leading_eigenpairs(make_kernel(circles(1, 3000, rng), 256), 9, 2, solver=solver)
    epsilon = 2 * np.log(pairs.values[1])
    np.testing.assert_allclose(np.log(pairs.values[1:]) * 2 / epsilon, [1, 1, 4, 4, 9, 9, 16, 16], rtol=0.06)


@pytest.mark.parametrize("solver", ["block", "arpack"])
@pytest.mark.parametrize(
    ("points", "size", "k", "n_pairs"),
    [
        (lambda rng: circles(10, 600, rng), 600, 64, 49),
        (lambda rng: circles(20, 300, rng), 300, 32, 99),
        (lambda rng: np.vstack([c * 1e3 + X for X in [rng.normal(size=(120, 2))] for c in range(20)]), 120, 30, 80),
    ],
    ids=["ten circles", "twenty circles", "twenty copies"],
)
def test_many_components(rng, solver, points, size, k, n_pairs):
    kernel = make_kernel(points(rng), k)
    pairs = leading_eigenpairs(kernel, n_pairs, 2, solver=solver)
    parts = [kernel.part(np.arange(first, first + size), 1) for first in range(0, len(kernel), size)]
    expected = np.sort(np.concatenate([scipy.linalg.eigvalsh(dense(part)) for part in parts]))[::-1][:n_pairs]
    np.testing.assert_allclose(pairs.values, expected, rtol=0, atol=1e-12)
    assert np.abs(kernel.multiply(pairs.vectors, 2) - pairs.vectors * pairs.values).max() < 1e-8


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_components", [1, 3])
def test_pairs_below_a_share_are_left_out(rng, solver, n_components):
    kernel = make_kernel(np.vstack([rng.normal(size=(900, 2)) + 1e3 * c for c in range(n_components)]), 50)
    every = leading_eigenpairs(kernel, 60, 2, solver=solver)
    share = (every.values[30] + every.values[31]) / 2 / every.values[1]
    some = leading_eigenpairs(kernel, 60, 2, solver=solver, least_share=share)
    np.testing.assert_allclose(some.values, every.values[:31], rtol=0, atol=1e-12)
    if solver == "block":
        assert some.info.n_products < every.info.n_products


def corners(d):
    """Those of a cube, and how many neighbours are within two edges: complete shells, so that all are alike."""
    return np.stack(np.meshgrid(*[[0.0, 1.0]] * d), axis=-1).reshape(-1, d), 1 + d + d * (d - 1) // 2


def eigenvalues_of_corners(d, epsilon, n):
    """The kernel is a Cayley graph: (d - 2 j) and ((d - 2 j)^2 - d) / 2 are sums of signs over one and two edges."""
    j = np.repeat(np.arange(d + 1), [math.comb(d, j) for j in range(d + 1)])
    one, two = np.exp(-1 / (2 * epsilon)), np.exp(-2 / (2 * epsilon))
    values = 1 + one * (d - 2 * j) + two * ((d - 2 * j) ** 2 - d) / 2
    return np.sort(values / (1 + one * d + two * d * (d - 1) / 2))[::-1][:n]


@pytest.mark.parametrize(
    ("solver", "d"),
    [(solver, d) for solver in ("block", "arpack") for d in (9, 10, 11, 12)]
    + [("dense", 9), ("dense", 10), *(pytest.param("dense", d, marks=pytest.mark.slow) for d in (11, 12))],
)
@pytest.mark.parametrize("n_pairs", [31, 41, 61])
def test_corners_of_a_cube_miss_no_copy(solver, d, n_pairs):
    """One of d copies, then one of d (d - 1) / 2: more than a block has vectors, and cut anywhere."""
    X, k = corners(d)
    values, vectors = solve(make_kernel(X, k, epsilon=1.0), n_pairs, 2, solver=solver)
    np.testing.assert_allclose(values, eigenvalues_of_corners(d, 1.0, n_pairs), rtol=0, atol=len(X) * EPS)
    assert np.abs(vectors.T @ vectors - np.eye(n_pairs)).max() < 1e-8


@pytest.mark.filterwarnings("ignore::idm.exceptions.KernelCutWarning")
@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
def test_a_map_of_the_corners_of_a_cube_misses_no_copy(solver):
    X, k = corners(9)
    found = DiffusionMap(40, n_neighbors=k, bandwidth="global", eigen_solver=solver).fit(X)
    expected = eigenvalues_of_corners(9, found.epsilon_, 41)[1:]
    np.testing.assert_allclose(np.exp(found.eigenvalues_ * found.epsilon_ / 2), expected, rtol=0, atol=len(X) * EPS)


@pytest.mark.parametrize("n_failures", [0, 1, 99])
@pytest.mark.parametrize("dense_after_all", [True, False])
def test_a_set_that_is_known_to_be_incomplete_is_not_returned(rng, monkeypatch, n_failures, dense_after_all):
    """What ARPACK missed is found; if the search for it does not end, another attempt is made, or it is an error."""
    kernel = make_kernel(rng.normal(size=(900, 2)), 50)
    every, all_vectors = scipy.linalg.eigh(dense(kernel))  # the last is the constant
    starts, failures, converge = [], [], _block_lanczos.BlockLanczos.converge

    def forgetful(operator, n, **settings):  # without the fourth
        starts.append(settings["v0"][0])
        kept = np.r_[899 - 1 - n : 899 - 4, 899 - 3 : 899]
        return every[kept], all_vectors[:, kept]

    def not_yet(space, *args, **kwargs):
        if len(failures) < n_failures:
            failures.append(space)
            raise _block_lanczos.NotConverged(0)
        return converge(space, *args, **kwargs)

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", forgetful)
    monkeypatch.setattr(_block_lanczos.BlockLanczos, "converge", not_yet)
    monkeypatch.setattr(_spectrum, "DENSE_AFTER_ALL", 5000 if dense_after_all else 0)
    if n_failures == 99 and not dense_after_all:
        with pytest.raises(EigenpairError, match=r"only \d+ of 20 eigenpairs"):
            leading_eigenpairs(kernel, 21, 2, solver="arpack", advice=ADVICE)
        return
    pairs = leading_eigenpairs(kernel, 21, 2, solver="arpack", advice=ADVICE)
    np.testing.assert_allclose(pairs.values, every[: 899 - 21 : -1], rtol=0, atol=900 * EPS)
    assert pairs.info.solver == ("dense" if n_failures == 99 else "arpack")
    assert len(starts) == min(1 + n_failures, 3)
    assert len(failures) == min(n_failures, 3)
