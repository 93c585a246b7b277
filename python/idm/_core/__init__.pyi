"""What both extension modules offer. Arrays are C-ordered; nothing is converted on the way down."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Array: TypeAlias = NDArray[np.float64]
_IndexArray: TypeAlias = NDArray[np.intp]

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
) -> _Array: ...
def symmetric_kernel(
    indices: _IndexArray, distances: _Array, epsilon: float, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], _Array]: ...
def multiply(
    row_start: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: _Array,
    x: _Array,
    y: _Array,
    n_threads: int,
) -> None: ...
def normalize(
    row_start: NDArray[np.int64], columns: NDArray[np.int32], values: _Array, alpha: float, n_threads: int
) -> _Array: ...
