"""A fitted diffusion map, plain or of the flow, and its extension to new points (section 7 of the method)."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm._batches import Rows, in_batches
from idm._coordinates import Coordinates
from idm._metric import Flow
from idm._neighbors import NeighborIndex, Neighbors
from idm._warnings import warn
from idm.exceptions import ExtrapolationWarning

_Array: TypeAlias = NDArray[np.float64]

# Lengths that are distances.
PLAIN = Flow(tau=0.0, mixing="lengths", change="difference")


@dataclass(frozen=True, kw_only=True)
class FittedMap:
    """A diffusion map of data and everything that takes new points through it."""

    index: NeighborIndex
    flow: Flow  # whose lengths choose the neighbours out of a pool; PLAIN: the nearest points are the neighbours
    values: _Array  # (N, n), of the flow: features, or derivatives; none for a plain map
    pool_size: int
    n_neighbors: int
    pool_radii: _Array  # (N, 1), how far the pool of each point reaches
    radii: _Array  # (N, 1), how far its neighbours do, by the lengths of the flow
    support: _Array  # (N,), up to where new points are near
    coordinates: Coordinates
    embedding: _Array  # (N, M), of the data

    def near(self, nearest: Neighbors) -> NDArray[np.bool_]:
        """Whether new points are among the first neighbours of the data that are nearest to them."""
        near: NDArray[np.bool_] = nearest.distances[:, 0] <= self.support[nearest.indices[:, 0]]
        return near

    def supported(self, queries: Rows, threads: int) -> NDArray[np.bool_]:
        """The same for any number of points, whose nearest data are not known yet."""
        return in_batches(lambda part: (self.near(self.index.nearest(part, 1, threads)),), queries)[0]


def support_radii(nearest: Neighbors, n_near: int) -> _Array:
    """How far from each of the data a new point may be: the distance of its `n_near`-th neighbour, or more.

    More where, as in many dimensions, even the nearest of the data are about as far from each other: twice what all
    but 1 % of them need. Copies of a point are not its neighbours.
    """
    distances = nearest.distances
    radii = distances[:, min(n_near, distances.shape[1]) - 1].copy()
    copies = distances[radii == 0]
    radii[radii == 0] = np.min(copies, axis=1, initial=np.inf, where=copies > 0)
    needed = np.quantile(distances[:, 1] / radii[nearest.indices[:, 1]], 0.99)
    return radii * max(1.0, 2 * float(needed))


def extend(fitted: FittedMap, queries: _Array, values: _Array, threads: int) -> tuple[_Array, Neighbors]:
    """The coordinates (Q, M) of new points, and their nearest data.

    Phi_r(x) = scale xi_r^(2 s / eps - 1) sum_j P(x, j) phi_r(x_j), with P the rows of the kernel as it was symmetrised
    in training, and the scale that of the nearest data. `values` are those of the flow at the new points.
    """
    coordinates, flow = fitted.coordinates, fitted.flow
    local = coordinates.local_scales
    extended, indices, distances = fitted.index.extend(
        values=fitted.values, pool_radii=fitted.pool_radii, radii=fitted.radii, bases=queries, base_values=values,
        tau=flow.tau, mixing=flow.mixing, change=flow.change, pool_size=fitted.pool_size,
        n_neighbors=fitted.n_neighbors, epsilon=coordinates.epsilon, weights=coordinates.weights.reshape(-1, 1),
        functions=coordinates.extension, scales=None if local is None else local.scales,
        unit=1.0 if local is None else local.unit, reach=1.0 if local is None else local.reach,
        n_near=1 if local is None else local.n_near, n_threads=threads,
    )  # fmt: skip
    extended *= coordinates.scale[indices]
    return extended, Neighbors(indices, distances)


def extend_rows(fitted: FittedMap, queries: _Array, threads: int) -> tuple[_Array, NDArray[np.bool_]]:
    """The coordinates of new points in a plain map, and whether the data support them.

    Data among them get their own coordinates, to the bit.
    """
    extended, nearest = extend(fitted, queries, np.empty((len(queries), 0)), threads)
    twins = nearest.twins()
    extended[twins >= 0] = fitted.embedding[twins[twins >= 0]]
    return extended, fitted.near(nearest)


def warn_unsupported(supported: NDArray[np.bool_]) -> None:
    """Say which rows the data do not support."""
    n_far = np.count_nonzero(~supported)
    if n_far:
        warn(
            f"{n_far} of {len(supported)} rows of X (the first: row {supported.argmin()}) are far from all training "
            "data, compared with the distances between these, and what is computed for them says little; supported(X) "
            "tells which rows these are",
            ExtrapolationWarning,
        )
