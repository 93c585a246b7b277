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
def nearest_neighbors(
    points: _Array,
    queries: _Array | None,
    n_neighbors: int,
    n_threads: int,
    method: Literal["auto", "tree", "blocked"] = "auto",
) -> tuple[_IndexArray, _Array]: ...
def local_geometry(
    points: _Array, indices: _IndexArray, distances: _Array, svd: bool, n_bandwidths: int, n_threads: int
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
def pair_distances(points: _Array, indices: _IndexArray, n_threads: int) -> _Array: ...
def metric_neighbors(
    points: _Array,
    derivatives: _Array | None,
    features: _Array | None,
    bases: _Array | None,
    base_derivatives: _Array | None,
    base_features: _Array | None,
    candidates: _IndexArray,
    distances: _Array,
    tau: float,
    mixing: str,
    n_neighbors: int,
    n_threads: int,
) -> tuple[_IndexArray, _Array]: ...
def reverse_metric_neighbors(
    points: _Array,
    derivatives: _Array | None,
    features: _Array | None,
    pool_radii: _Array,
    pool_last: _IndexArray,
    radii: _Array,
    last: _IndexArray,
    bases: _Array,
    base_derivatives: _Array | None,
    base_features: _Array | None,
    twins: _IndexArray,
    tau: float,
    mixing: str,
    n_threads: int,
) -> tuple[_RowStart, _Columns, _Array]: ...
def symmetric_kernel(
    indices: _IndexArray, distances: _Array, epsilon: float, exact: bool, n_threads: int
) -> tuple[_RowStart, _Columns, _Array]: ...
def kernel_dimensions(distances: _Array, epsilon: float, n_threads: int) -> _Array: ...
def connected_components(
    row_start: _RowStart, columns: _Columns, values: _Array, least: float
) -> tuple[int, _IndexArray]: ...
def multiply(row_start: _RowStart, columns: _Columns, values: _Array, x: _Array, y: _Array, n_threads: int) -> None: ...
def normalize(row_start: _RowStart, columns: _Columns, values: _Array, alpha: float, n_threads: int) -> _Array: ...
def project_out(basis: _Array, n_columns: int, block: _Array, n_threads: int) -> None: ...
def reverse_neighbors(
    points: _Array, radii: _Array, last: _IndexArray, queries: _Array, twins: _IndexArray, n_threads: int
) -> tuple[_RowStart, _Columns, _Array]: ...
def extend(
    indices: _IndexArray,
    distances: _Array,
    row_start: _RowStart,
    columns: _Columns,
    reverse: _Array,
    epsilon: float,
    weights: _Array,
    values: _Array,
    n_threads: int,
) -> tuple[_Array, _Array]: ...
