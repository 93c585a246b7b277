"""What both extension modules offer. Arrays are C-ordered; nothing is converted on the way down."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Array: TypeAlias = NDArray[np.float64]
_IndexArray: TypeAlias = NDArray[np.intp]
# Compressed rows: where each begins, their columns, their values.
_RowStart: TypeAlias = NDArray[np.int64]
_Columns: TypeAlias = NDArray[np.int32]

isa: str
least_weight: float
variants: tuple[str, ...]

def cpu_has_v3() -> bool: ...
def build_info() -> dict[str, str]: ...
def max_threads() -> int: ...
def in_forked_child() -> bool: ...
def parallel_probe(n: int, seconds: float, fail_at: int, n_threads: int) -> int: ...

class SparseMatrix:
    def __init__(self, row_start: _RowStart, columns: _Columns, values: _Array, n_columns: int) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def row_start(self) -> _RowStart: ...
    @property
    def columns(self) -> _Columns: ...
    @property
    def values(self) -> _Array: ...

def multiply(matrix: SparseMatrix, x: _Array, n_threads: int) -> _Array: ...
def chebyshev(matrix: SparseMatrix, x: _Array, low: float, high: float, degree: int, n_threads: int) -> _Array: ...
def submatrix(matrix: SparseMatrix, rows: _IndexArray, n_threads: int) -> SparseMatrix: ...
def connected_components(matrix: SparseMatrix, least: float) -> tuple[int, _IndexArray]: ...

class NeighborIndex:
    def __init__(self, points: _Array) -> None: ...
    def order(self) -> _IndexArray: ...
    def nearest(
        self,
        queries: _Array | None,
        n_neighbors: int,
        n_threads: int,
        method: Literal["auto", "tree", "blocked"] = "auto",
    ) -> tuple[_IndexArray, _Array]: ...

def local_geometry(
    points: _Array, indices: _IndexArray, distances: _Array, tuning: str, n_bandwidths: int, n_threads: int
) -> tuple[_Array, int]: ...
def scaling_laws(
    points: _Array,
    base: _Array,
    indices: _IndexArray,
    distances: _Array,
    bandwidths: _Array,
    n_threads: int,
) -> tuple[_Array, _Array, _Array]: ...
def tangent_spaces(
    points: _Array,
    indices: _IndexArray,
    distances: _Array,
    bandwidths: _Array,
    n_components: int,
    n_threads: int,
) -> tuple[_Array, _Array]: ...
def local_derivatives(
    points: _Array,
    values: _Array,
    bases: _Array,
    base_values: _Array | None,
    indices: _IndexArray,
    distances: _Array,
    bandwidths: _Array,
    method: str,
    regularization: float,
    n_threads: int,
) -> tuple[_Array, _Array]: ...
def local_estimates(
    points: _Array,
    values: _Array,
    counts: _Array,
    bases: _Array,
    indices: _IndexArray,
    distances: _Array,
    bandwidths: _Array,
    left_out: _IndexArray | None,
    factors: _Array,
    gammas: _Array,
    n_threads: int,
) -> _Array: ...
def farthest_points(points: _Array, n_given: int, n_landmarks: int) -> _IndexArray: ...
def pair_distances(points: _Array, indices: _IndexArray, n_threads: int) -> _Array: ...
def metric_neighbors(
    points: _Array,
    values: _Array,
    indices: _IndexArray,
    distances: _Array,
    *,
    tau: float,
    mixing: str,
    change: str,
    n_neighbors: int,
    n_threads: int,
) -> tuple[_IndexArray, _Array]: ...
def local_scales(
    indices: _IndexArray, distances: _Array, n_near: int, n_threads: int
) -> tuple[_Array, float, float]: ...
def scale_lengths(indices: _IndexArray, distances: _Array, bandwidths: _Array, n_threads: int) -> _Array: ...
def symmetric_kernel(indices: _IndexArray, distances: _Array, epsilon: float, n_threads: int) -> SparseMatrix: ...
def nearest_kernel(indices: _IndexArray, distances: _Array, epsilon: float, n_threads: int) -> SparseMatrix: ...
def kernel_dimensions(distances: _Array, epsilon: float, n_threads: int) -> _Array: ...
def normalize(matrix: SparseMatrix, alpha: float, n_threads: int) -> _Array: ...
def project_out(basis: _Array, n_columns: int, block: _Array, n_threads: int) -> None: ...
def extend(
    index: NeighborIndex,
    *,
    values: _Array,
    pool_radii: _Array,
    radii: _Array,
    bases: _Array,
    base_values: _Array,
    tau: float,
    mixing: str,
    change: str,
    pool_size: int,
    n_neighbors: int,
    epsilon: float,
    weights: _Array,
    functions: _Array,
    scales: _Array | None,
    unit: float,
    reach: float,
    n_near: int,
    n_threads: int,
) -> tuple[_Array, _IndexArray, _Array]: ...
