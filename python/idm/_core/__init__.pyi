"""What both extension modules offer. Arrays are C-ordered; nothing is converted on the way down."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Array: TypeAlias = NDArray[np.float64]
_IndexArray: TypeAlias = NDArray[np.intp]

isa: str
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
