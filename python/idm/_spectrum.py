"""Step 8 (c): the leading eigenpairs of the normalised kernel. The only caller of ARPACK."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse.linalg
from numpy.typing import NDArray

from idm._block_lanczos import BLOCK, BlockLanczos, Filter, NotConverged, Wanted, random_block
from idm._dense_eigenpairs import dense_eigenpairs
from idm._kernel import Kernel
from idm._threads import one_blas_thread
from idm._warnings import SILENT, Advice
from idm.exceptions import EigenpairError

EigenSolver: TypeAlias = Literal["auto", "block", "arpack", "dense"]
EIGEN_SOLVERS: tuple[EigenSolver, ...] = get_args(EigenSolver)
_Array: TypeAlias = NDArray[np.float64]

# Residuals, absolute: the largest eigenvalue is 1.
TOLERANCE = 1e-9
# Up to this many points a dense matrix is as fast, and cannot fail to converge.
_DENSE = 500
# Steps after which a search for missed eigenvalues gives up.
_PROBE = 6
SPARE = 400  # vectors in the basis of the block method beyond two per pair
# Up to this many pairs a polynomial filter widens the gaps, steeper so many times at most.
_MOST_FILTERED, _MOST_FILTERS = 128, 5
# Up to this many points a dense matrix is the last resort.
DENSE_AFTER_ALL = 5000


@dataclass(frozen=True, kw_only=True)
class SolverInfo:
    """What the eigensolver did."""

    solver: str  # "block", "arpack", "dense", or "none" if all eigenvectors were known
    n_products: int  # of the kernel with a vector
    n_restarts: int | None  # None: ARPACK does not tell
    residuals: _Array  # |Khat v - xi v| of each pair that was searched for


@dataclass(frozen=True, kw_only=True)
class Eigenpairs:
    """Eigenvalues by decreasing size, and orthonormal eigenvectors as the columns of an (N, n) array."""

    values: _Array
    vectors: _Array
    parts: NDArray[np.intp]  # the connected part of each point, numbered by decreasing size
    info: SolverInfo


@dataclass(kw_only=True)
class _Found:
    """The eigenpairs of a connected part, without the first."""

    values: _Array
    vectors: _Array
    solver: str = "dense"
    n_products: int = 0
    n_restarts: int | None = 0
    residuals: _Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, kw_only=True)
class _Problem:
    """A connected part, its first eigenvector (n, 1), and what is wanted of the others."""

    kernel: Kernel
    known: _Array
    wanted: Wanted
    tolerance: float
    threads: int


def leading_eigenpairs(
    kernel: Kernel,
    n_pairs: int,
    threads: int,
    *,
    solver: EigenSolver = "auto",
    tolerance: float = TOLERANCE,
    least_share: float = 0.0,
    order: NDArray[np.intp] | None = None,
    most_constant: int | None = None,
    advice: Advice = SILENT,
) -> Eigenpairs:
    """The `n_pairs` algebraically largest eigenpairs of Khat, in a result that repeats to the bit on one machine.

    Those below `least_share` of the largest after the first are left out. 1 is an eigenvalue once per connected
    component, and its eigenvectors are known: Dh, cut to each, of which `most_constant` are given. The others are
    sought in each component by itself, where eigenvalues have few copies; they are checked, and tried again with a
    larger basis and another start. In an `order` of the points in which near ones follow each other, products with the
    kernel are faster.
    """
    labels = kernel.components()
    known = _constant_vectors(kernel, labels, n_pairs if most_constant is None else most_constant)
    c = int(labels.max()) + 1
    most = n_pairs - known.shape[1]
    parts: list[tuple[NDArray[np.intp], _Found]] = []
    for label in range(c if most > 0 else 0):
        rows = np.flatnonzero(labels == label) if order is None else order[labels[order] == label]
        part = kernel if c == 1 and order is None else kernel.part(rows, threads)
        # Relative to 1, if that is among those after the first; else to the largest of each part, and of all later.
        wanted = Wanted(most=min(most, len(rows) - 1), share=least_share, reference=1.0 if known.shape[1] > 1 else None)
        if wanted.most == 0:
            continue
        first = (part.Dh / np.linalg.norm(part.Dh))[:, np.newaxis]
        problem = _Problem(kernel=part, known=first, wanted=wanted, tolerance=tolerance, threads=threads)
        with one_blas_thread():
            parts.append((rows, _solve(problem, solver, advice)))
    return _merged(known, parts, Wanted(most=most, share=least_share), labels)


def _merged(
    known: _Array, parts: list[tuple[NDArray[np.intp], _Found]], wanted: Wanted, labels: NDArray[np.intp]
) -> Eigenpairs:
    """The known eigenvectors, and the leading ones of all parts."""
    values = np.concatenate([np.zeros(0), *(found.values for _, found in parts)])
    order = np.argsort(-values, kind="stable")
    most = wanted.most if known.shape[1] > 1 or len(values) == 0 else wanted.count(values[order])
    order = order[:most]
    vectors = np.zeros((len(known), known.shape[1] + len(order)))
    vectors[:, : known.shape[1]] = known
    start = 0
    for rows, found in parts:
        chosen = np.flatnonzero((order >= start) & (order < start + len(found.values)))
        vectors[rows[:, np.newaxis], known.shape[1] + chosen] = found.vectors[:, order[chosen] - start]
        start += len(found.values)
    restarts = [found.n_restarts for _, found in parts if found.n_restarts is not None]
    info = SolverInfo(
        solver=parts[0][1].solver if parts else "none",
        n_products=sum(found.n_products for _, found in parts),
        n_restarts=sum(restarts) if len(restarts) == len(parts) else None,
        residuals=np.concatenate([np.zeros(0), *(found.residuals for _, found in parts)])[order],
    )
    return Eigenpairs(
        values=np.append(np.ones(known.shape[1]), values[order]),
        vectors=_with_sign(vectors),
        parts=labels,
        info=info,
    )


def _constant_vectors(kernel: Kernel, labels: NDArray[np.intp], most: int) -> _Array:
    """An orthonormal basis of the eigenvectors of eigenvalue 1, Dh itself first; at most `most` of them.

    The others tell parts apart, large ones first.
    """
    c = int(labels.max()) + 1
    norms = np.sqrt(np.bincount(labels, weights=kernel.Dh**2))
    # A reflection that takes the first unit vector to the direction of Dh among the components.
    mirror = norms / np.linalg.norm(norms)
    mirror[0] -= 1
    length = mirror @ mirror
    basis = np.eye(c, min(c, most))
    if length > 0:
        basis -= np.outer(mirror, mirror[: basis.shape[1]]) * (2 / length)
    return basis[labels] * (kernel.Dh / norms[labels])[:, np.newaxis]


def _solve(problem: _Problem, solver: EigenSolver, advice: Advice) -> _Found:
    n, most = len(problem.kernel), problem.wanted.most
    if solver == "auto":
        solver = "dense" if n <= max(_DENSE, 2 * most) else "block"
    # A Krylov space needs room beyond the pairs that are wanted.
    attempts: Sequence[Callable[[], _Found]]
    if solver == "dense" or n < most + 1 + 8 * BLOCK:
        attempts = [functools.partial(_dense, problem)]
    else:
        one = _arpack if solver == "arpack" else _block
        attempts = [functools.partial(one, problem, enlarged, seed) for enlarged, seed in ((1, 0), (2, 0), (2, 1))]
        attempts += [functools.partial(_dense, problem)] if n <= DENSE_AFTER_ALL else []
    n_converged = 0
    for attempt in attempts:
        try:
            found = attempt()
        except NotConverged as failure:
            n_converged = max(n_converged, failure.n_converged)
            continue
        image = problem.kernel.multiply(found.vectors, problem.threads)
        found.residuals = np.linalg.norm(image - found.vectors * found.values, axis=0)
        accurate = found.residuals <= 10 * max(problem.tolerance, n * np.finfo(float).eps)
        overlaps = np.abs(found.vectors.T @ found.vectors - np.eye(len(found.values))).max(initial=0)
        if accurate.all() and overlaps <= 1e-8:
            return found
        n_converged = max(n_converged, min(int(np.count_nonzero(accurate)), most - 1))
    message = (
        f"only {n_converged} of {most} eigenpairs of the kernel converged ({n} points, solver {solver!r}), because "
        "its eigenvalues are too close to each other"
    )
    raise EigenpairError(advice.with_remedy(EigenpairError, message))


def _with_missed_copies(problem: _Problem, found: _Found, *, thorough: bool) -> _Found:
    """The leading pairs after a search for eigenvalues with more copies than a Krylov space of few vectors sees.

    A few steps from a random block that is orthogonal to all vectors found show whether a larger eigenvalue is left, if
    gaps are not small. `thorough` goes on until the largest value there is known, as a space of one vector needs it. If
    what is left does not converge, the set is known to be incomplete: NotConverged.
    """
    seed = 1  # that of the last attempt
    while True:
        seed += 1  # another start each time: of the last, nothing is left outside of what was found
        outside = np.column_stack([problem.known, found.vectors])
        if len(found.values) == 0 or len(problem.kernel) - outside.shape[1] < 8 * BLOCK:
            return found
        complete = len(found.values) == problem.wanted.most
        least = found.values[-1] + problem.tolerance if complete else problem.wanted.least(found.values)
        probe = _krylov(problem, outside, 2 * BLOCK + SPARE, seed)
        undecided = True
        while undecided and not probe.full:
            probe.step()
            if probe.dimension >= _PROBE * BLOCK:
                value, residual = probe.ritz_pair(0)
                undecided = thorough and value <= least < value + residual
        found.n_products += probe.n_products
        if probe.ritz_pair(0)[0] <= least:
            return found
        more, vectors = probe.converge(Wanted(most=BLOCK), problem.tolerance)
        values = np.append(found.values, more)
        order = np.argsort(-values, kind="stable")
        order = order[: problem.wanted.count(values[order])]
        found.values = values[order]
        found.vectors = np.ascontiguousarray(np.column_stack([found.vectors, vectors])[:, order])


def _with_sign(vectors: _Array) -> _Array:
    """In each column the entry of largest magnitude (the first, if several are equal within 1e-6) is positive."""
    magnitudes = np.abs(vectors)
    rows = np.argmax(magnitudes >= (1 - 1e-6) * magnitudes.max(axis=0), axis=0)
    return np.ascontiguousarray(vectors * np.sign(vectors[rows, np.arange(vectors.shape[1])]))


def _dense(problem: _Problem) -> _Found:
    n, most, matrix = len(problem.kernel), problem.wanted.most, problem.kernel.matrix
    dense = np.zeros((n, n))
    dense[np.repeat(np.arange(n), np.diff(matrix.row_start)), matrix.columns] = matrix.values
    # The known eigenvector goes from eigenvalue 1 to -2, below all others.
    dense -= 3 * np.outer(problem.known, problem.known)
    values, vectors = dense_eigenpairs(dense, most)
    kept = problem.wanted.count(values)
    return _Found(values=values[:kept], vectors=np.ascontiguousarray(vectors[:, :kept]))


def _arpack(problem: _Problem, enlarged: int, seed: int) -> _Found:
    n, n_products, known, most = len(problem.kernel), 0, problem.known, problem.wanted.most

    def product(x: _Array) -> _Array:
        nonlocal n_products
        n_products += 1
        column = np.ascontiguousarray(x, dtype=np.float64).reshape(n, 1)
        return problem.kernel.multiply(column, problem.threads)[:, 0] - 3 * (known @ (known.T @ column[:, 0]))

    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=product, dtype=np.float64)
    try:
        values, vectors = scipy.sparse.linalg.eigsh(
            operator,
            most,
            which="LA",
            v0=random_block(n, 1, seed)[:, 0],
            ncv=min(n, enlarged * max(2 * most + 1, 20)),
            tol=problem.tolerance,
        )
    except scipy.sparse.linalg.ArpackNoConvergence as failure:
        raise NotConverged(len(failure.eigenvalues)) from None
    values = values[::-1]
    kept = problem.wanted.count(values)
    found = _Found(
        values=values[:kept],
        vectors=np.ascontiguousarray(vectors[:, ::-1][:, :kept]),
        solver="arpack",
        n_products=n_products,
        n_restarts=None,
    )
    return _with_missed_copies(problem, found, thorough=True)


def _krylov(
    problem: _Problem, outside: _Array, most_vectors: int, seed: int, chosen: Filter | None = None
) -> BlockLanczos:
    kernel, threads = problem.kernel, problem.threads
    product = functools.partial(kernel.multiply, threads=threads)
    if chosen is not None:
        low, high, degree = chosen.low, chosen.high, chosen.degree
        product = functools.partial(kernel.chebyshev, low=low, high=high, degree=degree, threads=threads)
    return BlockLanczos(product, outside, most_vectors, seed, threads, chosen)


def _block(problem: _Problem, enlarged: int, seed: int) -> _Found:
    solve = _unfiltered if problem.wanted.most > _MOST_FILTERED else _filtered
    values, vectors, n_products, n_restarts = solve(problem, enlarged, seed)
    found = _Found(values=values, vectors=vectors, solver="block", n_products=n_products, n_restarts=n_restarts)
    return _with_missed_copies(problem, found, thorough=False)


def _unfiltered(problem: _Problem, enlarged: int, seed: int) -> tuple[_Array, _Array, int, int]:
    """Eigenvalues, vectors, and how many products and restarts it took: one large space."""
    space = _krylov(problem, problem.known, enlarged * (2 * problem.wanted.most + SPARE), seed)
    values, vectors = space.converge(problem.wanted, problem.tolerance)
    return values, vectors, space.n_products, space.n_restarts


def _filtered(problem: _Problem, enlarged: int, seed: int) -> tuple[_Array, _Array, int, int]:
    """Eigenvalues, vectors, and how many products and filters it took: small spaces, of steeper and steeper filters.

    Where gaps are small, a Krylov space needs many vectors, and they cost more than the products. A Chebyshev
    polynomial of the matrix that is small where nothing is wanted widens the gaps, as far as they are known.
    """
    wanted, chosen, n_products, n_filters = problem.wanted, None, 0, 0
    # As many vectors as cost about what a product does.
    n_vectors = max(3 * wanted.most + 12 * BLOCK, problem.kernel.matrix.values.size // len(problem.kernel))
    while True:
        space = _krylov(problem, problem.known, enlarged * n_vectors, seed, chosen)
        try:
            values, vectors = space.converge(wanted, problem.tolerance, restarts=n_filters == _MOST_FILTERS)
            break
        except NotConverged:
            if n_filters == _MOST_FILTERS:
                raise
        finally:
            n_products += space.n_products
        chosen, n_filters = space.steeper(wanted.most + BLOCK), n_filters + 1
    if chosen is not None:  # values of p(A) have the rounding errors of its largest
        values = np.sum(vectors * problem.kernel.multiply(vectors, problem.threads), axis=0)
        order = np.argsort(-values, kind="stable")
        values, vectors = values[order], np.ascontiguousarray(vectors[:, order])
        n_products += len(values)
    return values, vectors, n_products, n_filters
