"""Steps 4 to 11: the diffusion map of neighbours, and the rescaled coordinates that its eigenfunctions make."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._kernel import global_bandwidth, n_near_of, normalized_kernel, warn_if_cut
from idm._linear_map import linear_map
from idm._neighbors import Neighbors
from idm._parts import placed
from idm._spectrum import TOLERANCE, EigenSolver, SolverInfo, leading_eigenpairs
from idm._validation import SMALLEST_BANDWIDTH
from idm._variable_bandwidth import Bandwidth, LocalScales, scaled_lengths
from idm._warnings import SILENT, Advice
from idm.exceptions import SpectrumWarning, UnderflowWarning

Rescaling: TypeAlias = Literal["isometric", "global", "local"]
RESCALINGS: tuple[Rescaling, ...] = get_args(Rescaling)
_Array: TypeAlias = NDArray[np.float64]

# Eigenvalues of the kernel below this are rounding errors of 0.
_LEAST_XI = 1e-13
# "auto" diffusion time, in units of the mean squared length of the last neighbour: the map is isometric up to about
# the square root of the time, and the neighbours of the next iteration have to lie within. For points that are evenly
# spread on a line it is 12, since the last neighbour is four times as far as those that decide on epsilon, whose mean
# square is a third; 14 has been seen. Where it would be more, the last neighbour is across a gap.
_AUTO_TIME, _MOST_TIME = 0.25, 16.0


@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """How a diffusion map is made of neighbours, and what is said about it."""

    n_components: int
    n_neighbors_bandwidth: int = 32  # decide on epsilon; the near pairs whose distances "isometric" preserves
    bandwidth: Bandwidth = "variable"  # a scale of its own for each point, or one for all
    epsilon: float | None = None  # None: the mean of squared distances
    least_epsilon: float = SMALLEST_BANDWIDTH  # points coincide if epsilon is not above
    alpha: float = 1.0
    diffusion_time: float | None = None  # in units of epsilon; None: by the last neighbour
    rescaling: Rescaling = "isometric"
    least_weight: float = 0.0  # (xi / xi_1)^(2 s / eps), below which a coordinate is left out
    eigen_solver: EigenSolver = "auto"
    tolerance: float = TOLERANCE  # of the residuals of eigenpairs
    advice: Advice = SILENT


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """A diffusion map of N points with M coordinates at one diffusion time, and what its extension needs."""

    epsilon: float
    diffusion_time: float  # s, in units of epsilon
    xi: _Array  # (M,), the eigenvalues of the kernel after the first, which is 1
    functions: _Array  # (N, M), the eigenfunctions phi; before these, the places of parts, if the graph has any
    heat: _Array  # (M,), exp(lambda s) = xi^(2 s / eps) up to a common factor; 0 where xi is not positive
    scale: _Array  # (N,), what heat * functions is multiplied by
    weights: _Array  # (N,), D^-alpha
    dimension: _Array  # (N,)
    density: _Array  # (N,), with respect to the scaled lengths
    local_scales: LocalScales | None  # None: one bandwidth for all
    axes: _Array | None  # (M, M'), that the parts share; None: each eigenfunction is a coordinate
    parts: NDArray[np.intp]  # (N,), the connected part of each point, numbered by decreasing size
    solver: SolverInfo

    @property
    def eigenvalues(self) -> _Array:
        """Of the Laplacian: lambda = 2 log(xi) / eps, since exp(-d^2 / (2 eps)) is the heat kernel at time eps / 2."""
        logarithms = np.log(self.xi, out=np.full_like(self.xi, -np.inf), where=self.xi > _LEAST_XI)
        return logarithms * (2 / self.epsilon)

    @property
    def density_of_points(self) -> _Array:
        """(N,), with respect to distances that are not scaled: by those that are, volumes are rho^-d as large."""
        if self.local_scales is None:
            return self.density
        density: _Array = self.density * self.local_scales.scales[:, 2] ** -self.dimension
        return density

    @property
    def embedding(self) -> _Array:
        """(N, M'), the rescaled diffusion coordinates of the points."""
        return self._along_axes(self.functions * self.heat * self.scale[:, np.newaxis])

    @property
    def extension(self) -> _Array:
        """(N, M'), what one step of the diffusion from new points averages: heat / xi times the eigenfunctions."""
        weights = np.divide(self.heat, self.xi, out=np.zeros_like(self.xi), where=self.xi > _LEAST_XI)
        return self._along_axes(self.functions * weights)

    def _along_axes(self, functions: _Array) -> _Array:
        return functions if self.axes is None else linear_map(functions, self.axes)


def diffusion_coordinates(
    neighbors: Neighbors,
    options: MapOptions,
    threads: int,
    *,
    exact: bool,
    order: NDArray[np.intp] | None = None,
    places: _Array | None = None,
) -> Coordinates:
    """The diffusion map of neighbours with any distances; `exact` if they are those that a search finds.

    An `order` of the points in which near ones follow each other makes it faster. Where the graph falls into parts, the
    first coordinates only tell these apart; with `places` (N, p), parts lie where their points have them on the whole.

    The dimension is that of the kernel, d = 2 dlog D / dlog eps at the global eps, and the density is
    q = D / N (2 pi eps)^(-d/2), with respect to the metric of the distances.
    """
    n, advice = len(neighbors.indices), options.advice
    n_near = n_near_of(options.n_neighbors_bandwidth, neighbors.indices.shape[1])
    local_scales = None
    if options.bandwidth == "variable":
        neighbors, local_scales = scaled_lengths(neighbors, n_near, threads)
    epsilon = options.epsilon
    if epsilon is None:
        epsilon = global_bandwidth(
            neighbors.distances,
            n_near,
            scaled=local_scales is not None,
            least=options.least_epsilon,
            advice=advice,
        )
    warn_if_cut(neighbors.distances, epsilon, advice)
    time = options.diffusion_time
    if time is None:
        time = _AUTO_TIME * float(np.mean(neighbors.distances[:, -1] ** 2)) / epsilon
        time = time if local_scales is None else min(time, _MOST_TIME)
    exact = exact and local_scales is None
    kernel = normalized_kernel(neighbors, epsilon, options.alpha, threads, exact=exact)
    dimension = _core.kernel_dimensions(neighbors.distances, epsilon, threads)[:, 0]
    if options.rescaling != "local":
        dimension = np.full(n, np.average(dimension, weights=kernel.D))
    near = neighbors.first(options.n_neighbors_bandwidth)
    del neighbors  # the eigenpairs need their memory
    n_pairs = min(options.n_components, n - 1) + 1
    isometric = options.rescaling == "isometric"
    placed_parts = isometric and places is not None
    pairs = leading_eigenpairs(
        kernel,
        n_pairs,
        threads,
        solver=options.eigen_solver,
        tolerance=options.tolerance,
        least_share=options.least_weight ** (1 / (2 * time)) if time > 0 else 0.0,
        order=order,
        most_constant=1 if placed_parts else None,
        advice=advice,
    )
    density = _density(kernel.D, epsilon, dimension)
    functions = pairs.vectors / kernel.Dh[:, np.newaxis]
    functions *= np.sqrt(n / np.sum(functions**2 / density[:, np.newaxis], axis=0))
    xi = pairs.values[1:]
    n_not_positive = int(np.count_nonzero(xi <= _LEAST_XI))
    if n_not_positive:
        advice.warn(
            SpectrumWarning,
            f"{n_not_positive} of {len(xi)} eigenvalues of the kernel are not positive, as happens where it is cut at "
            "n_neighbors; their coordinates are 0",
        )
    # Whose power would underflow for long times.
    reference = max(float(xi[0]), _LEAST_XI) if isometric and len(xi) else 1.0
    heat = np.where(xi > _LEAST_XI, (np.maximum(xi, _LEAST_XI) / reference) ** (2 * time), 0.0)
    unscaled = Coordinates(
        epsilon=epsilon,
        diffusion_time=time,
        xi=xi,
        functions=np.ascontiguousarray(functions[:, 1:]),
        heat=heat,
        scale=np.ones(n),
        weights=kernel.D**-options.alpha,
        dimension=dimension,
        density=density,
        local_scales=local_scales,
        axes=None,
        parts=pairs.parts,
        solver=pairs.info,
    )
    if isometric:
        scaled = replace(unscaled, scale=np.full(n, _isometric_scale(unscaled.embedding, near, threads)))
        if places is not None and pairs.parts.any():
            return _with_parts(scaled, places, kernel.Dh**2, options.n_components)
        return scaled
    power = dimension / 4 + 0.5
    scaled = replace(unscaled, scale=np.exp(dimension / 4 * np.log(2 * np.pi) + power * np.log(4 * time * epsilon)))
    if not scaled.embedding.any():
        advice.warn(UnderflowWarning, f"all coordinates are 0: at diffusion_time = {time:g} exp(lambda s) underflows")
    return scaled


def _with_parts(within: Coordinates, places: _Array, masses: _Array, most: int) -> Coordinates:
    """Coordinates of the parts of a graph, each by itself, with parts where their places are."""
    where, axes = placed(within.parts, within.embedding, places, masses, most)
    q = where.shape[1]
    return replace(
        within,
        xi=np.append(np.ones(q), within.xi),
        functions=np.hstack([where, within.functions]),
        heat=np.append(np.ones(q) / within.scale[0], within.heat),
        axes=np.vstack([np.eye(q, axes.shape[1]), axes]),
    )


def _density(D: _Array, epsilon: float, dimension: _Array) -> _Array:
    logarithm = np.log(D / len(D)) - dimension / 2 * np.log(2 * np.pi * epsilon)
    limits = np.finfo(np.float64)
    density: _Array = np.exp(np.clip(logarithm, np.log(limits.tiny), np.log(limits.max)))
    return density


def _isometric_scale(embedding: _Array, near: Neighbors, threads: int) -> float:
    """1 over the median of |Phi_i - Phi_j| / d(i, j) over near pairs that are apart.

    Pairs that the coordinates hardly tell apart, as within the components of a graph where they are constant, say
    nothing; if all are such, the coordinates keep the scale that the eigenfunctions have.
    """
    if embedding.shape[1] == 0:
        return 1.0
    mapped = _core.pair_distances(embedding, near.indices, threads)
    apart = near.distances > 1e-6 * np.quantile(near.distances, 0.99)  # others are copies, but for rounding
    told_apart = apart & (mapped > 1e-9 * np.abs(embedding).max())
    if not told_apart.any():
        return 1.0
    ratios = mapped[told_apart] / near.distances[told_apart]
    return 1 / float(np.median(ratios[ratios > 1e-3 * np.quantile(ratios, 0.99)]))
