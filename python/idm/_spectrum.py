"""Step 8 (c): the leading eigenpairs of the normalised kernel. The only caller of ARPACK."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from idm._block_lanczos import BLOCK, BlockLanczos, NotConverged, random_block
from idm._kernel import Kernel
from idm._threads import one_blas_thread
from idm._warnings import SILENT, Advice
from idm.exceptions import DisconnectedGraphWarning, EigenpairError

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
    info: SolverInfo


@dataclass(kw_only=True)
class _Found:
    values: _Array
    vectors: _Array
    n_products: int = 0
    n_restarts: int | None = 0


def leading_eigenpairs(
    kernel: Kernel,
    n_pairs: int,
    threads: int,
    *,
    solver: EigenSolver = "auto",
    tolerance: float = TOLERANCE,
    advice: Advice = SILENT,
) -> Eigenpairs:
    """The `n_pairs` algebraically largest eigenpairs of Khat, in a result that repeats to the bit on one machine.

    1 is an eigenvalue once per connected component, and its eigenvectors are known: Dh, cut to each. The solvers get
    what is orthogonal to these. Those after it are checked, and tried again with a larger basis and another start.
    """
    known = _constant_vectors(kernel, n_pairs, advice)
    n_wanted = n_pairs - known.shape[1]
    values, vectors = np.ones(known.shape[1]), known
    info = SolverInfo(solver="none", n_products=0, n_restarts=0, residuals=np.zeros(0))
    if n_wanted > 0:
        with one_blas_thread():
            found, info = _solve(kernel, known, n_wanted, threads, solver, tolerance, advice)
        values, vectors = np.append(values, found.values), np.column_stack([known, found.vectors])
    return Eigenpairs(values=values, vectors=_with_sign(vectors), info=info)


def _constant_vectors(kernel: Kernel, most: int, advice: Advice) -> _Array:
    """An orthonormal basis of the eigenvectors of eigenvalue 1, Dh itself first; at most `most` of them."""
    labels = kernel.components()
    sizes = np.bincount(labels)
    c = len(sizes)
    if c > 1:
        shown = ", ".join(map(str, sizes[:5])) + (", ..." if c > 5 else "")
        advice.warn(
            DisconnectedGraphWarning,
            f"the graph of neighbours has {c} connected components, of {shown} points; the first {min(c, most) - 1} "
            "coordinates only tell them apart",
        )
    norms = np.sqrt(np.bincount(labels, weights=kernel.Dh**2))
    # A reflection that takes the first unit vector to the direction of Dh among the components.
    mirror = norms / np.linalg.norm(norms)
    mirror[0] -= 1
    length = mirror @ mirror
    basis = np.eye(c, min(c, most))
    if length > 0:
        basis -= np.outer(mirror, mirror[: basis.shape[1]]) * (2 / length)
    return basis[labels] * (kernel.Dh / norms[labels])[:, np.newaxis]


def _solve(
    kernel: Kernel, known: _Array, n_pairs: int, threads: int, solver: EigenSolver, tolerance: float, advice: Advice
) -> tuple[_Found, SolverInfo]:
    n = len(kernel)
    if solver == "auto":
        solver = "dense" if n <= max(_DENSE, 2 * n_pairs) else "block"
    dense = functools.partial(_dense, kernel, known, n_pairs)
    # A Krylov space needs room beyond the pairs that are wanted.
    attempts: Sequence[Callable[[], _Found]]
    if solver == "dense" or n - known.shape[1] < n_pairs + 8 * BLOCK:
        attempts = [dense]
    else:
        one = _arpack if solver == "arpack" else _block
        attempts = [
            functools.partial(one, kernel, known, n_pairs, enlarged, seed, threads, tolerance)
            for enlarged, seed in ((1, 0), (2, 0), (2, 1))
        ] + ([dense] if n <= DENSE_AFTER_ALL else [])
    n_converged = 0
    for attempt in attempts:
        try:
            found = attempt()
            if attempt is not dense:
                found = _with_missed_copies(kernel, known, found, threads, tolerance)
        except NotConverged as failure:
            n_converged = max(n_converged, failure.n_converged)
            continue
        residuals = np.linalg.norm(kernel.multiply(found.vectors, threads) - found.vectors * found.values, axis=0)
        overlaps = np.abs(found.vectors.T @ found.vectors - np.eye(n_pairs)).max()
        accurate = residuals <= 10 * max(tolerance, n * np.finfo(float).eps)
        if accurate.all() and overlaps <= 1e-8:
            return found, SolverInfo(
                solver="dense" if attempt is dense else solver,
                n_products=found.n_products,
                n_restarts=found.n_restarts,
                residuals=residuals,
            )
        n_converged = max(n_converged, int(np.count_nonzero(accurate)))
    message = (
        f"only {n_converged} of {n_pairs} eigenpairs of the kernel converged ({n} points, solver {solver!r}), because "
        "its eigenvalues are too close to each other"
    )
    raise EigenpairError(advice.with_remedy(EigenpairError, message))


def _with_missed_copies(kernel: Kernel, known: _Array, found: _Found, threads: int, tolerance: float) -> _Found:
    """The leading pairs after a search for eigenvalues with more copies than a Krylov space of few vectors sees.

    A few steps from a random block that is orthogonal to all vectors found show whether a larger eigenvalue is left.
    """
    n_pairs = len(found.values)
    while True:
        outside = np.column_stack([known, found.vectors])
        if len(kernel) - outside.shape[1] < 8 * BLOCK:
            return found
        probe = _krylov(kernel, outside, BLOCK, 1, 2, threads)
        while probe.dimension < _PROBE * BLOCK:
            probe.step()
        found.n_products += probe.n_products
        if probe.largest_value() <= found.values[-1] + tolerance:
            return found
        try:
            more, vectors = probe.converge(BLOCK, tolerance)
        except NotConverged:
            return found
        values = np.append(found.values, more)
        order = np.argsort(-values, kind="stable")[:n_pairs]
        found.values = values[order]
        found.vectors = np.ascontiguousarray(np.column_stack([found.vectors, vectors])[:, order])


def _with_sign(vectors: _Array) -> _Array:
    """In each column the entry of largest magnitude (the first, if several are equal within 1e-6) is positive."""
    magnitudes = np.abs(vectors)
    rows = np.argmax(magnitudes >= (1 - 1e-6) * magnitudes.max(axis=0), axis=0)
    return np.ascontiguousarray(vectors * np.sign(vectors[rows, np.arange(vectors.shape[1])]))


def _dense(kernel: Kernel, known: _Array, n_pairs: int) -> _Found:
    n = len(kernel)
    matrix = np.zeros((n, n))
    matrix[np.repeat(np.arange(n), np.diff(kernel.matrix.row_start)), kernel.matrix.columns] = kernel.matrix.values
    # The known eigenvectors go from eigenvalue 1 to -2, below all others.
    matrix -= 3 * (known @ known.T)
    try:
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[n - n_pairs, n - 1])
    except scipy.linalg.LinAlgError:  # eigenvalues of many copies; all of them by another way are slower, and found
        values, vectors = (a[..., n - n_pairs :] for a in scipy.linalg.eigh(matrix, driver="ev"))
    return _Found(values=values[::-1], vectors=np.ascontiguousarray(vectors[:, ::-1]))


def _arpack(
    kernel: Kernel, known: _Array, n_pairs: int, enlarged: int, seed: int, threads: int, tolerance: float
) -> _Found:
    n, n_products = len(kernel), 0

    def product(x: _Array) -> _Array:
        nonlocal n_products
        n_products += 1
        column = np.ascontiguousarray(x, dtype=np.float64).reshape(n, 1)
        return kernel.multiply(column, threads)[:, 0] - 3 * (known @ (known.T @ column[:, 0]))

    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=product, dtype=np.float64)
    try:
        values, vectors = scipy.sparse.linalg.eigsh(
            operator,
            n_pairs,
            which="LA",
            v0=random_block(n, 1, seed)[:, 0],
            ncv=min(n, enlarged * max(2 * n_pairs + 1, 20)),
            tol=tolerance,
        )
    except scipy.sparse.linalg.ArpackNoConvergence as failure:
        raise NotConverged(len(failure.eigenvalues)) from None
    vectors = np.ascontiguousarray(vectors[:, ::-1])
    return _Found(values=values[::-1], vectors=vectors, n_products=n_products, n_restarts=None)


def _krylov(kernel: Kernel, outside: _Array, n_pairs: int, enlarged: int, seed: int, threads: int) -> BlockLanczos:
    return BlockLanczos(
        functools.partial(kernel.multiply, threads=threads), outside, enlarged * (2 * n_pairs + SPARE), seed, threads
    )


def _block(
    kernel: Kernel, known: _Array, n_pairs: int, enlarged: int, seed: int, threads: int, tolerance: float
) -> _Found:
    space = _krylov(kernel, known, n_pairs, enlarged, seed, threads)
    values, vectors = space.converge(n_pairs, tolerance)
    return _Found(values=values, vectors=vectors, n_products=space.n_products, n_restarts=space.n_restarts)
