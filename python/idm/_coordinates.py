"""Steps 9 to 11: eigenfunctions, and the rescaled diffusion coordinates that they make."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from idm import _core
from idm._kernel import Kernel, normalized_kernel
from idm._neighbors import Neighbors
from idm._spectrum import leading_eigenpairs

Rescaling: TypeAlias = Literal["isometric", "global", "local"]
_Array: TypeAlias = NDArray[np.float64]


# Eigenvalues of the kernel below this are rounding errors of 0.
_LEAST_XI = 1e-13


class Coordinates(NamedTuple):
    """A diffusion map of N points with M coordinates, and what its extension to new points needs."""

    epsilon: float
    xi: _Array  # (M,), the eigenvalues of the kernel after the first, which is 1
    functions: _Array  # (N, M), the eigenfunctions phi
    scale: _Array  # (N,), what the coordinates exp(lambda s) phi are multiplied by
    reference: float  # xi_1 for "isometric", which puts its power into the scale before it underflows; else 1
    weights: _Array  # (N,), D^-alpha
    dimension: _Array  # (N,)
    density: _Array  # (N,)

    @property
    def n_not_positive(self) -> int:
        """How many xi are not, but for rounding; a kernel that is cut at k neighbours may have such."""
        return int(np.count_nonzero(self.xi <= _LEAST_XI))

    @property
    def eigenvalues(self) -> _Array:
        """Of the Laplacian: lambda = 2 log(xi) / eps, since exp(-d^2 / (2 eps)) is the heat kernel at time eps / 2."""
        logarithms = np.log(self.xi, out=np.full_like(self.xi, -np.inf), where=self.xi > _LEAST_XI)
        return logarithms * (2 / self.epsilon)

    def heat(self, diffusion_time: float, *, per_step: float = 0) -> _Array:
        """(xi / reference)^(2 s / eps) / xi^per_step, with s in units of eps; 0 where xi is not positive."""
        positive = self.xi > _LEAST_XI
        xi = np.where(positive, self.xi, 1.0)
        return np.where(positive, (xi / self.reference) ** (2 * diffusion_time) / xi**per_step, 0.0)

    def embedding(self, diffusion_time: float) -> _Array:
        """(N, M), the rescaled diffusion coordinates of the points."""
        return self.functions * self.heat(diffusion_time) * self.scale[:, np.newaxis]


def diffusion_coordinates(
    neighbors: Neighbors,
    epsilon: float,
    n_components: int,
    threads: int,
    *,
    alpha: float,
    diffusion_time: float,
    rescaling: str,
    n_near: int,
    eigen_solver: str,
    exact: bool,
    quiet: bool = False,
) -> Coordinates:
    """The diffusion map of neighbours with any distances.

    The dimension is that of the kernel, d = 2 dlog D / dlog eps at the global eps, and the density is
    q = D / N (2 pi eps)^(-d/2), with respect to the metric of the distances. `n_near` neighbours of each point are the
    near pairs whose distances "isometric" preserves in the median. `exact` as for `normalized_kernel`; `quiet` leaves
    out warnings about the graph.
    """
    n = len(neighbors.indices)
    kernel = normalized_kernel(neighbors, epsilon, alpha, exact, threads)
    dimension = _core.kernel_dimensions(neighbors.distances, epsilon, threads)[:, 0]
    if rescaling != "local":
        dimension = np.full(n, np.average(dimension, weights=kernel.D))
    near = Neighbors(neighbors.indices[:, 1:n_near].copy(), neighbors.distances[:, 1:n_near].copy())
    del neighbors  # the eigenpairs need their memory
    values, vectors = leading_eigenpairs(kernel, n_components + 1, threads, solver=eigen_solver, quiet=quiet)
    density = _density(kernel, epsilon, dimension)
    vectors /= kernel.Dh[:, np.newaxis]
    vectors *= np.sqrt(n / np.sum(vectors**2 / density[:, np.newaxis], axis=0))
    result = Coordinates(
        epsilon,
        values[1:],
        np.ascontiguousarray(vectors[:, 1:]),
        np.ones(n),
        max(float(values[1]), _LEAST_XI) if rescaling == "isometric" else 1.0,
        kernel.D**-alpha,
        dimension,
        density,
    )
    if rescaling == "isometric":  # the scale belongs to the power that `reference` divides by
        scale = np.full(n, _isometric_scale(result.embedding(diffusion_time), near, threads))
    else:
        s = diffusion_time * epsilon
        scale = np.exp(dimension / 4 * np.log(2 * np.pi) + (dimension / 4 + 0.5) * np.log(4 * s))
    return result._replace(scale=scale)


def _density(kernel: Kernel, epsilon: float, dimension: _Array) -> _Array:
    logarithm = np.log(kernel.D / kernel.n_rows) - dimension / 2 * np.log(2 * np.pi * epsilon)
    limits = np.finfo(np.float64)
    density: _Array = np.exp(np.clip(logarithm, np.log(limits.tiny), np.log(limits.max)))
    return density


def _isometric_scale(embedding: _Array, near: Neighbors, threads: int) -> float:
    """1 over the median of |Phi_i - Phi_j| / d(i, j) over near pairs that are apart.

    Pairs that the coordinates hardly tell apart, as within the components of a graph where they are constant, say
    nothing; if all are such, the coordinates keep the scale that the eigenfunctions have.
    """
    mapped = _core.pair_distances(embedding, near.indices, threads)
    told_apart = (near.distances > 0) & (mapped > 1e-9 * np.abs(embedding).max())
    if not told_apart.any():
        return 1.0
    ratios = mapped[told_apart] / near.distances[told_apart]
    return 1 / float(np.median(ratios[ratios > 1e-3 * np.quantile(ratios, 0.99)]))
