"""Eigenpairs of a dense symmetric matrix by LAPACK, in steps that Ctrl-C need not wait for."""

import ctypes
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack
from numpy.typing import NDArray

_Array: TypeAlias = NDArray[np.float64]

# Columns that are reduced, and vectors that are transformed back, between two chances for Ctrl-C.
_PANEL = 32
# What is left of the matrix then is reduced at once.
_SMALL = 256


def dense_eigenpairs(matrix: _Array, n_largest: int) -> tuple[_Array, _Array]:
    """The largest eigenvalues by decreasing size, and their vectors (N, n_largest).

    By A = Q T Q^T with a tridiagonal T. SciPy's `eigh` does it in one call, which holds the interpreter's lock for
    seconds if there are thousands of points. Here only the vectors of T come from one call, which takes as long for a
    thousand of them.
    """
    n = len(matrix)
    reduced = np.array(matrix, order="F")
    diagonal, below, tau = _tridiagonal(reduced)
    try:
        values, vectors = scipy.linalg.eigh_tridiagonal(
            diagonal, below, select="i", select_range=(n - n_largest, n - 1), lapack_driver="stemr"
        )
    except scipy.linalg.LinAlgError:  # eigenvalues of many copies; all pairs by another way are slower, and found
        values, vectors = (a[..., n - n_largest :] for a in scipy.linalg.eigh(matrix, driver="ev"))
        return values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])
    vectors = np.asfortranarray(vectors[:, ::-1])
    work, info = np.empty(64 * _PANEL + 4160), np.zeros(1, dtype=np.intc)  # as much as dormqr uses
    for start in range(0, n_largest, _PANEL):
        width = min(_PANEL, n_largest - start)
        _call(
            _LAPACK, "dormqr", b"L", b"N", n - 1, width, n - 1, reduced[1:], n, tau, vectors[1:, start:], n, work,
            len(work), info,
        )  # fmt: skip
    return values[::-1].copy(), np.ascontiguousarray(vectors)


def _tridiagonal(a: _Array) -> tuple[_Array, _Array, _Array]:
    """The diagonal of T, the one below it, and tau; with tau, the columns of `a` below that define Q.

    As LAPACK's dsytrd, a panel of columns at a time: V and W of a panel change what is right of it by -V W^T - W V^T.
    """
    n = len(a)
    below, tau = np.zeros(n - 1), np.zeros(n - 1)
    W = np.empty((n, _PANEL), order="F")
    start = 0
    while n - start > _SMALL:
        left, end = n - start - _PANEL, start + _PANEL
        _call(
            _LAPACK, "dlatrd", b"L", n - start, _PANEL, a[start:, start:], n, below[start:], tau[start:], W, n
        )  # fmt: skip
        _call(
            _BLAS, "dsyr2k", b"L", b"N", left, _PANEL, -1.0, a[end:, start:], n, W[_PANEL:], n, 1.0, a[end:, end:], n
        )  # fmt: skip
        columns = np.arange(start, end)
        a[columns + 1, columns] = below[columns]
        start = end
    rest, _, e, t, _ = scipy.linalg.lapack.dsytrd(a[start:, start:], lower=1)
    a[start:, start:], below[start:], tau[start:] = rest, e, t
    return a.diagonal().copy(), below, tau


_LAPACK, _BLAS = scipy.linalg.cython_lapack.__pyx_capi__, scipy.linalg.cython_blas.__pyx_capi__


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _call(library: dict[str, Any], name: str, *arguments: Any) -> None:
    """Call a routine with pointers to numbers, letters and parts of arrays, which SciPy's wrappers would copy."""
    signature = _capsule_name(library[name])
    assert b"int *" in signature, signature
    address: Any = _capsule_pointer(library[name], signature)
    ctypes.CFUNCTYPE(None)(address)(*map(_pointer, arguments))


def _pointer(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.ctypes.data_as(ctypes.c_void_p)
    if isinstance(argument, bytes):
        return ctypes.c_char_p(argument)
    return ctypes.byref(ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_double(argument))
