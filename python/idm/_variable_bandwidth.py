"""A bandwidth of its own for each point, from the lengths to its neighbours: thin data are not cut off."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._neighbors import Neighbors

_Array: TypeAlias = NDArray[np.float64]
Bandwidth: TypeAlias = Literal["variable", "global"]
BANDWIDTHS: tuple[Bandwidth, ...] = get_args(Bandwidth)


@dataclass(frozen=True, kw_only=True)
class LocalScales:
    """The scale rho of each point, and what gives new points theirs: see cpp/include/idm/variable_bandwidth.hpp."""

    scales: _Array  # (N, 3): before the bridge to the eighth neighbour, halfway, and rho
    unit: float  # the median size of the first neighbourhoods
    reach: float  # the same of the scaled lengths
    n_near: int  # how many neighbours these are


def scaled_lengths(neighbors: Neighbors, n_near: int, threads: int) -> tuple[Neighbors, LocalScales]:
    """The same neighbours with lengths s_ij = d_ij / (rho_i rho_j)^(1/2), which need not increase, and the scales."""
    scales, unit, reach = _core.local_scales(*neighbors, n_near, threads)
    scaled = _core.scale_lengths(*neighbors, scales[:, 2:].copy(), threads)
    return Neighbors(neighbors.indices, scaled), LocalScales(scales=scales, unit=unit, reach=reach, n_near=n_near)
