"""Step 3 of Algorithm 2: neighbours by lengths in the metric of the flow."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._neighbors import Neighbors

_Array: TypeAlias = NDArray[np.float64]
Mixing: TypeAlias = Literal["lengths", "metric"]
FeatureChange: TypeAlias = Literal["difference", "derivative"]
MIXINGS: tuple[Mixing, ...] = get_args(Mixing)
FEATURE_CHANGES: tuple[FeatureChange, ...] = get_args(FeatureChange)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A step of the flow: lengths (1 - tau) |dx| + tau |dy|, or the same of squares with mixing="metric".

    |dy| is the difference of features, or DH dx with the derivative of the point that the length starts from.
    """

    tau: float
    mixing: Mixing
    change: FeatureChange


def metric_neighbors(
    points: _Array, values: _Array, pool: Neighbors, flow: Flow, n_neighbors: int, threads: int
) -> Neighbors:
    """The `n_neighbors` nearest of each point by the lengths of the flow, out of its pool, itself first.

    `values` are what |dy| needs of the points (N, m): features (N, n), or derivatives (N, n m).
    """
    found = _core.metric_neighbors(
        points, values, *pool, tau=flow.tau, mixing=flow.mixing, change=flow.change, n_neighbors=n_neighbors,
        n_threads=threads,
    )  # fmt: skip
    return Neighbors(*found)
