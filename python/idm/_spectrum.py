"""Step 8 (c): the leading eigenpairs of the normalised kernel. The only caller of ARPACK."""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from idm import _core
from idm._kernel import Kernel
from idm._threads import one_blas_thread
from idm.exceptions import DisconnectedGraphWarning, EigenpairError

EigenSolver: TypeAlias = Literal["auto", "block", "arpack", "dense"]
_Array: TypeAlias = NDArray[np.float64]

# Residuals, absolute: the largest eigenvalue is 1.
TOLERANCE = 1e-9
# Up to this many points a dense matrix is as fast, and cannot fail to converge.
_DENSE = 500
_BLOCK = 8
# Steps after which a search for missed eigenvalues gives up.
_PROBE = 6
_SPARE = 400  # vectors in the basis beyond two per pair
_MOST_RESTARTS = 15
# Up to this many points a dense matrix is the last resort.
_DENSE_AFTER_ALL = 5000


class Eigenpairs(NamedTuple):
    """Eigenvalues by decreasing size, and orthonormal eigenvectors as the columns of an (N, n) array."""

    values: _Array
    vectors: _Array


class _NotConverged(Exception):
    def __init__(self, n_converged: int) -> None:
        self.n_converged = n_converged


def leading_eigenpairs(
    kernel: Kernel,
    n_pairs: int,
    threads: int,
    *,
    solver: str = "auto",
    tolerance: float = TOLERANCE,
    quiet: bool = False,
) -> Eigenpairs:
    """The `n_pairs` algebraically largest eigenpairs of Khat, in a result that repeats to the bit.

    1 is an eigenvalue once per connected component, and its eigenvectors are known: Dh, cut to each. The solvers get
    what is orthogonal to these. Those after it are checked, and tried again with a larger basis and another start.
    """
    known = _constant_vectors(kernel, n_pairs, quiet)
    n_wanted = n_pairs - known.shape[1]
    values, vectors = np.ones(known.shape[1]), known
    if n_wanted > 0:
        with one_blas_thread():
            found = _solve(kernel, known, n_wanted, threads, solver, tolerance)
        values, vectors = np.append(values, found.values), np.column_stack([known, found.vectors])
    return Eigenpairs(values, _with_sign(vectors))


def _constant_vectors(kernel: Kernel, most: int, quiet: bool) -> _Array:
    """An orthonormal basis of the eigenvectors of eigenvalue 1, Dh itself first; at most `most` of them."""
    labels = kernel.components()
    sizes = np.bincount(labels)
    c = len(sizes)
    if c > 1 and not quiet:
        shown = ", ".join(map(str, sizes[:5])) + (", ..." if c > 5 else "")
        warnings.warn(
            f"the graph of neighbours has {c} connected components, of {shown} points; the first {min(c, most) - 1} "
            "coordinates only tell them apart. Raise n_neighbors or the bandwidth, or fit the components one by one",
            DisconnectedGraphWarning,
            stacklevel=5,
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


def _solve(kernel: Kernel, known: _Array, n_pairs: int, threads: int, solver: str, tolerance: float) -> Eigenpairs:
    n = kernel.n_rows
    if solver == "auto":
        solver = "dense" if n <= max(_DENSE, 2 * n_pairs) else "block"
    dense = functools.partial(_dense, kernel, known, n_pairs)
    # A Krylov space needs room beyond the pairs that are wanted.
    attempts: Sequence[Callable[[], Eigenpairs]]
    if solver == "dense" or n - known.shape[1] < n_pairs + 8 * _BLOCK:
        attempts = [dense]
    else:
        one = _arpack if solver == "arpack" else _block_lanczos
        attempts = [
            functools.partial(one, kernel, known, n_pairs, enlarged, seed, threads, tolerance)
            for enlarged, seed in ((1, 0), (2, 0), (2, 1))
        ] + ([dense] if n <= _DENSE_AFTER_ALL else [])
    n_converged = 0
    for attempt in attempts:
        try:
            found = attempt()
            if attempt is not dense:
                found = _with_missed_copies(kernel, known, found, threads, tolerance)
        except _NotConverged as failure:
            n_converged = max(n_converged, failure.n_converged)
            continue
        residuals = kernel.multiply(found.vectors, threads) - found.vectors * found.values
        overlaps = np.abs(found.vectors.T @ found.vectors - np.eye(n_pairs)).max()
        accurate = np.linalg.norm(residuals, axis=0) <= 10 * max(tolerance, n * np.finfo(float).eps)
        if accurate.all() and overlaps <= 1e-8:
            return found
        n_converged = max(n_converged, int(np.count_nonzero(accurate)))
    raise EigenpairError(
        f"only {n_converged} of {n_pairs} eigenpairs of the kernel converged ({n} points, solver {solver!r}); its "
        "eigenvalues are too close to each other: raise epsilon, lower n_components, or use eigen_solver='dense'"
    )


def _with_missed_copies(kernel: Kernel, known: _Array, found: Eigenpairs, threads: int, tolerance: float) -> Eigenpairs:
    """The leading pairs after a search for eigenvalues with more copies than a Krylov space of few vectors sees.

    A few steps from a random block that is orthogonal to all vectors found show whether a larger eigenvalue is left.
    """
    n_pairs = len(found.values)
    while True:
        outside = np.column_stack([known, found.vectors])
        if kernel.n_rows - outside.shape[1] < 8 * _BLOCK:
            return found
        try:
            more = _block_lanczos(kernel, outside, _BLOCK, 1, 2, threads, tolerance, above=float(found.values[-1]))
        except _NotConverged:
            return found
        values = np.append(found.values, more.values)
        order = np.argsort(-values, kind="stable")[:n_pairs]
        vectors = np.column_stack([found.vectors, more.vectors])
        found = Eigenpairs(values[order], np.ascontiguousarray(vectors[:, order]))


def _with_sign(vectors: _Array) -> _Array:
    """In each column the entry of largest magnitude (the first, if several are equal within 1e-6) is positive."""
    magnitudes = np.abs(vectors)
    rows = np.argmax(magnitudes >= (1 - 1e-6) * magnitudes.max(axis=0), axis=0)
    return np.ascontiguousarray(vectors * np.sign(vectors[rows, np.arange(vectors.shape[1])]))


def _start(n: int, width: int, seed: int) -> _Array:
    """Random: a constant start is an eigenvector of regular graphs."""
    return np.random.default_rng(seed).normal(size=(n, width))


def _dense(kernel: Kernel, known: _Array, n_pairs: int) -> Eigenpairs:
    n = kernel.n_rows
    matrix = np.zeros((n, n))
    matrix[np.repeat(np.arange(n), np.diff(kernel.row_start)), kernel.columns] = kernel.values
    # The known eigenvectors go from eigenvalue 1 to -2, below all others.
    matrix -= 3 * (known @ known.T)
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[n - n_pairs, n - 1], overwrite_a=True)
    return Eigenpairs(values[::-1], np.ascontiguousarray(vectors[:, ::-1]))


def _arpack(
    kernel: Kernel, known: _Array, n_pairs: int, enlarged: int, seed: int, threads: int, tolerance: float
) -> Eigenpairs:
    n = kernel.n_rows

    def product(x: _Array) -> _Array:
        column = np.ascontiguousarray(x, dtype=np.float64).reshape(n, 1)
        return kernel.multiply(column, threads)[:, 0] - 3 * (known @ (known.T @ column[:, 0]))

    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=product, dtype=np.float64)
    try:
        values, vectors = scipy.sparse.linalg.eigsh(
            operator,
            n_pairs,
            which="LA",
            v0=_start(n, 1, seed)[:, 0],
            ncv=min(n, enlarged * max(2 * n_pairs + 1, 20)),
            tol=tolerance,
        )
    except scipy.sparse.linalg.ArpackNoConvergence as failure:
        raise _NotConverged(len(failure.eigenvalues)) from None
    return Eigenpairs(values[::-1], np.ascontiguousarray(vectors[:, ::-1]))


def _block_lanczos(
    kernel: Kernel,
    known: _Array,
    n_pairs: int,
    enlarged: int,
    seed: int,
    threads: int,
    tolerance: float,
    above: float | None = None,
) -> Eigenpairs:
    """Thick-restart block Lanczos with full orthogonalisation.

    With `above`, it gives up (_NotConverged) unless a Ritz value exceeds that after a few steps.

    The basis V = [known, kept, blocks] and the projection T of Khat on [kept, blocks] obey Khat V = V T + Q R, with Q
    the next block: the residual of a Ritz vector V y is \\|R y_last\\|, where y_last belongs to the last block.
    """
    n, c, b = kernel.n_rows, known.shape[1], _BLOCK
    most = min(enlarged * (2 * n_pairs + _SPARE), n - c) // b * b
    V = np.empty((n, c + most))
    V[:, :c] = known
    T = np.zeros((most, most))
    Q, _ = _orthonormal(_start(n, b, seed), V, c, threads)
    d, check, R, previous = 0, n_pairs + n_pairs // 2 + 4 * b, None, None
    n_restarts = n_converged = 0
    progress: list[tuple[int, float]] = []  # the largest residual by dimension, at the checks so far
    while True:
        V[:, c + d : c + d + b] = Q
        W = kernel.multiply(Q, threads)
        if R is not None and previous is not None:
            T[d : d + b, d - b : d] = R
            T[d - b : d, d : d + b] = R.T
            W -= previous @ R.T
        diagonal = Q.T @ W
        T[d : d + b, d : d + b] = (diagonal + diagonal.T) / 2
        W -= Q @ diagonal
        d += b
        previous, (Q, R) = Q, _orthonormal(W, V, c + d, threads)
        full = d + b > most
        if above is not None and d == _PROBE * b:
            largest = scipy.linalg.eigvalsh(T[:d, :d], check_finite=False)[-1]
            if largest <= above + tolerance:
                raise _NotConverged(0)
        if d < check and not full:
            continue
        values, Y = scipy.linalg.eigh(T[:d, :d], check_finite=False, driver="evd")
        values, Y = values[::-1], Y[:, ::-1]
        residuals = np.linalg.norm(R @ Y[d - b :, :n_pairs], axis=0)
        n_converged = int(np.count_nonzero(residuals <= tolerance))
        if n_converged == n_pairs:
            return Eigenpairs(values[:n_pairs].copy(), V[:, c : c + d] @ Y[:, :n_pairs])
        check = _next_check(d, progress, float(residuals.max()), tolerance)
        if not full:
            continue
        keep = n_pairs + 4 * b
        n_restarts += 1
        if n_restarts > _MOST_RESTARTS or keep + b > d:
            raise _NotConverged(n_converged)
        V[:, c : c + keep] = V[:, c : c + d] @ Y[:, :keep]
        T[:] = 0
        np.fill_diagonal(T[:keep, :keep], values[:keep])
        T[keep : keep + b, :keep] = R @ Y[d - b :, :keep]
        T[:keep, keep : keep + b] = T[keep : keep + b, :keep].T
        d, R, previous = keep, None, None
        progress.clear()


def _next_check(d: int, progress: list[tuple[int, float]], residual: float, tolerance: float) -> int:
    """The dimension at which the residual will have reached the tolerance, if its logarithm goes on as it went."""
    progress.append((d, np.log(residual)))
    ahead = d // 4
    if len(progress) > 1:
        (d0, r0), (d1, r1) = progress[-2:]
        if r1 < r0:
            ahead = min(ahead, int((r1 - np.log(tolerance)) * (d1 - d0) / (r0 - r1)))
    return d + max(_BLOCK, ahead)


def _orthonormal(W: _Array, V: _Array, n_columns: int, threads: int) -> tuple[_Array, _Array]:
    """Q R = W after W is made orthogonal to the first columns of V, with Q orthonormal and orthogonal to them too."""
    _core.project_out(V, n_columns, W, threads)
    Q, R = scipy.linalg.qr(W, mode="economic", check_finite=False)
    Q = np.ascontiguousarray(Q)
    lost = np.abs(np.diag(R)) < 1e-10
    if lost.any():  # an invariant subspace: go on with any vectors outside it
        Q[:, lost] = _start(len(W), int(np.count_nonzero(lost)), n_columns)
        R[lost] = 0
    # Rounding errors of W count more, the smaller R is.
    for _ in range(3 if np.abs(np.diag(R)).min() < 1e-4 else 0):
        _core.project_out(V, n_columns, Q, threads)
        Q, again = scipy.linalg.qr(Q, mode="economic", check_finite=False)
        Q, R = np.ascontiguousarray(Q), again @ R
        if np.abs(np.diag(again)).min() > 0.5:
            break
    return Q, R
