"""The method in plain NumPy, one function per step, written to be read: the oracle of the other tests."""

import numpy as np


def pairwise_distances(X, Y):
    """|x_i - y_j| from the differences, as a full matrix."""
    return np.sqrt(((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=-1))


def nearest_neighbors(X, k, queries=None):
    """Indices and distances of the k nearest rows of X; self first, ties by index."""
    distances = pairwise_distances(X if queries is None else queries, X)
    order_by = distances.copy()
    if queries is None:
        np.fill_diagonal(order_by, -1)
    indices = np.argsort(order_by, axis=1, kind="stable")[:, :k]
    return indices, np.take_along_axis(distances, indices, axis=1)


def bandwidth_grid(distances, n_bandwidths):
    """Bandwidths evenly spaced in log eps from r_min^2 / (2 |log machine eps|) to 10 r_k^2."""
    r_min, r_k = distances[distances > 0][0], distances[-1]
    low = r_min**2 / (2 * -np.log(np.finfo(float).eps))
    return np.exp(np.linspace(np.log(low), np.log(10 * r_k**2), n_bandwidths))


def d1_at(distances, eps):
    """D and d1 = 2 dlog D / dlog eps, for each eps."""
    x = distances**2 / (2 * eps[:, None])
    w = np.exp(-x)
    D = w.sum(axis=1)
    return D, 2 * (w * x).sum(axis=1) / D


@np.errstate(invalid="ignore", divide="ignore", over="ignore")  # where only the base point has weight, C is 0
def laws_at(dx, eps):
    """Singular values, exponents, D, d1, d2 and M of one neighbourhood at one bandwidth, from the matrices."""
    x = (dx**2).sum(axis=1) / (2 * eps)
    w = np.exp(-x)
    D = w.sum()
    w = w / D
    e, e2 = w @ x, w @ x**2
    C, B, A = ((dx * (w * x**p)[:, None]).T @ dx for p in (0, 1, 2))
    dC = B - e * C
    ddC = A - (1 + 2 * e) * B - (e2 - e - 2 * e**2) * C

    values, V = np.linalg.eigh(C)
    values, V = values[::-1], V[:, ::-1]
    first, second = V.T @ dC @ V, V.T @ ddC @ V
    alpha = np.diag(first) / (2 * values)

    d1, d1_change = 2 * e, 2 * (e2 - e**2 - e)
    m, whole = len(values), min(int(d1), len(values))
    c = np.where(np.arange(m) < whole, 1.0, 0.0)
    c[whole : whole + 1] = d1 - whole
    d2 = 2 * c @ alpha
    d2_change = c @ (np.diag(second) / values - (np.diag(first) / values) ** 2)
    d2_change += 2 * d1_change * alpha[whole : whole + 1].sum()
    for i in range(m):
        for j in range(i):
            d2_change += 2 * first[i, j] ** 2 * (c[i] / values[i] - c[j] / values[j]) / (values[i] - values[j])
    M = abs(d1 - d2) / ((d1 + d2) / 2) + abs(d1_change / d1) + abs(d2_change / d2) if d2 > 0 else np.inf
    return np.sqrt(values), alpha, D, d1, d2, M


def local_geometry(points, indices, distances, tuning, n_bandwidths, least_weight=12, X=None):
    """Bandwidth, dimension and log density of every point, or of the first of the rows of X."""
    X = points if X is None else X
    N, k = len(X), indices.shape[1]
    result = []
    for i in range(len(points)):
        grid = bandwidth_grid(distances[i], n_bandwidths)
        if tuning == "d1":
            D, dimension = d1_at(distances[i], grid)
            best = dimension.argmax()
        else:
            laws = [laws_at(X[indices[i]] - X[i], eps) for eps in grid]
            D, d1, d2, M = np.array([law[2:] for law in laws]).T
            dimension = (d1 + d2) / 2
            best = np.where((min(least_weight, k / 2) <= D) & ~np.isnan(M), M, np.inf).argmin()
        eps, d = grid[best], dimension[best]
        result.append([eps, d, np.log(D[best] / N) - d / 2 * np.log(2 * np.pi * eps)])
    return np.array(result).T


def local_derivatives(X, Y, indices, distances, eps, method, gamma):
    """DH at every point, with the regression written out."""
    result = []
    for i, neighbors in enumerate(indices):
        w = np.exp(-(distances[i] ** 2) / (2 * eps[i]))
        w = w / w.sum()
        dx, dy = X[neighbors] - X[i], Y[neighbors] - Y[i]
        if method == "affine":
            dx, dy = dx - w @ dx, dy - w @ dy
        cross = (dy * w[:, None]).T @ dx
        if method == "correlation":
            result.append(cross / eps[i])
        elif gamma == 0:
            root = np.sqrt(w)[:, None]
            result.append(np.linalg.lstsq(root * dx, root * dy, rcond=None)[0].T)
        else:
            C = (dx * w[:, None]).T @ dx + gamma * eps[i] * np.eye(X.shape[1])
            result.append(np.linalg.solve(C, cross.T).T)
    return np.array(result)


def affine_regression(X, Y, base, neighbors, distances, eps, gamma):
    """DH and the fitted value of one affine regression at a base point."""
    w = np.exp(-(distances**2) / (2 * eps))
    w = w / w.sum()
    x_mean, y_mean = w @ X[neighbors], w @ Y[neighbors]
    dx, dy = X[neighbors] - x_mean, Y[neighbors] - y_mean
    C = (dx * w[:, None]).T @ dx + gamma * eps * np.eye(X.shape[1])
    DH = np.linalg.solve(C, (dx * w[:, None]).T @ dy).T
    return DH, y_mean + DH @ (base - x_mean)


def feature_estimate(X, Y, queries):
    """The feature at the rows of the fit, each without its own y, and at new points: section 10, all rows left out."""
    (n, m), A, shrink, best = X.shape, np.eye(X.shape[1]), 0.5, None
    k = min(300, n - 1)

    def fits(Z, bases, indices, distances, f, g):
        units = distances[:, distances.shape[1] // 2] ** 2
        found = [affine_regression(Z, Y, base, *neighbors, f * unit, g)
                 for base, *neighbors, unit in zip(bases, indices, distances, units, strict=True)]  # fmt: skip
        return [np.array(part) for part in zip(*found, strict=True)]

    for _ in range(9):
        Z = X @ A
        others = [array[:, 1:] for array in nearest_neighbors(Z, k + 1)]
        errors = {}

        def error(f, g, Z=Z, others=others, errors=errors):
            errors[f, g] = np.mean(np.sum((fits(Z, Z, *others, f, g)[1] - Y) ** 2, axis=1))
            return errors[f, g]

        f, g = min(((f, g) for f in 2.0 ** np.arange(-8, 3) for g in (1e-6, 1e-3, 0.1, 1.0, 10.0)),
                   key=lambda pair: error(*pair))  # fmt: skip
        f = min((f, f * 2**-0.5, f * 2**0.5), key=lambda f: error(f, g))
        gain = 1 if best is None else 1 - errors[f, g] / best[0]
        if gain > m / n:
            best = errors[f, g], A, f, g
        if gain < 0.01 + m / n or errors[f, g] < 0.003**2 * Y.var(axis=0).sum():
            break
        DH = fits(Z, Z, *others, f, g)[0] @ A.T
        values, V = np.linalg.eigh(np.einsum("inm,inp->mp", DH, DH))
        A, shrink = (V * np.sqrt(values / values[-1] + shrink**2 / 5)) @ V.T, shrink / 4
    _, A, f, g = best
    Z, at_new = X @ A, queries @ A
    left_out = fits(Z, Z, *[array[:, 1:] for array in nearest_neighbors(Z, k + 1)], f, g)[1]
    return left_out, fits(Z, at_new, *nearest_neighbors(Z, min(300, n), at_new), f, g)[1]


def root_mean_square(lengths):
    return np.sqrt(np.mean(lengths**2, axis=-1))


def median_of_positive(values):
    """The upper middle element of the sorted positive values; 1 if there are none."""
    positive = np.sort(values[values > 0])
    return positive[len(positive) // 2] if len(positive) else 1.0


def first_scale(near, unit):
    """The scale a, of the lengths to the first neighbours."""
    return np.sqrt(np.maximum(root_mean_square(near) / unit, 1e-3))


def eighth_neighbor(n_near, k):
    """The neighbour that the bridge leads to; with few first neighbours a third of them."""
    return min(8, max(1, n_near // 3), k - 1)


def bridged(scale, length, scale_of_other, reach):
    """A scale made such that the eighth neighbour comes nearer, if it is farther than `reach`."""
    return scale * np.maximum(1, length / np.sqrt(scale * scale_of_other) / reach)


def local_scales(indices, lengths, n_near):
    """a, b and rho of each point, the median r, and R: self first, lengths that increase."""
    unit = median_of_positive(root_mean_square(lengths[:, :n_near]))
    a = first_scale(lengths[:, :n_near], unit)
    s = scaled_lengths(indices, lengths, a)
    reach = median_of_positive(root_mean_square(s[:, :n_near]))
    eighth = eighth_neighbor(n_near, lengths.shape[1])
    j, d = indices[:, eighth], lengths[:, eighth]
    b = bridged(a, d, a[j], reach)
    rho = bridged(b, d, b[j], reach)
    return np.column_stack([a, b, rho]), unit, reach


def scale_of_new_points(indices, lengths, n_near, scales, unit, reach):
    """The scale rho of new points, whose neighbours are the data nearest to them, in their order."""
    eighth = eighth_neighbor(n_near, lengths.shape[1])
    j, d = indices[:, eighth], lengths[:, eighth]
    a = first_scale(lengths[:, :n_near], unit)
    b = bridged(a, d, scales[j, 0], reach)
    return bridged(b, d, scales[j, 1], reach)


def scaled_lengths(indices, lengths, rho):
    """s_ij = d_ij / (rho_i rho_j)^(1/2)."""
    return lengths / np.sqrt(rho[:, None] * rho[indices])


class Iteration:
    """One iteration of Algorithm 2 with full matrices, and its extension to new points."""

    def __init__(self, X, Y, k, tau, mixing, change, n_components, n_near=32, gamma=0.05, bandwidth="variable"):
        n = len(X)
        self.X, self.Y, self.tau, self.mixing, self.gamma, self.k = X, Y, tau, mixing, gamma, k
        self.pool_size = min(n, int(np.ceil(5 / 3 * k)))
        indices, distances = nearest_neighbors(X, self.pool_size)
        if change == "derivative":
            self.eps = local_geometry(X, indices[:, :k], distances[:, :k], "d1", 100)[0]
            self.DH = local_derivatives(X, Y, indices[:, :k], distances[:, :k], self.eps, "affine", gamma)
            dY = np.einsum("inm,ijm->ijn", self.DH, X[None] - X[:, None])
        else:
            self.DH = None
            dY = Y[None] - Y[:, None]
        dH = self.length(pairwise_distances(X, X), np.linalg.norm(dY, axis=2))
        near = self.nearest(dH, indices, self_first=True)
        lengths = np.take_along_axis(dH, near, axis=1)
        self.pool_radius, self.radius = distances[:, -1], lengths[:, -1]

        # Lengths in units of a scale of both points, or as they are.
        self.n_near, self.scales, self.rho = max(2, min(n_near, k // 4)), None, np.ones(n)
        variable = bandwidth == "variable"
        if variable:
            self.scales = local_scales(near, lengths, self.n_near)
            self.rho = self.scales[0][:, 2]
        s = scaled_lengths(near, lengths, self.rho)

        # The kernel, both normalisations, eigenpairs.
        squares = np.mean(s[:, : self.n_near] ** 2, axis=1)
        self.epsilon = np.mean(np.minimum(squares, 100 * np.median(squares[squares > 0])) if variable else squares)
        J = np.zeros((n, n))
        np.put_along_axis(J, near, np.exp(-(s**2) / (2 * self.epsilon)), axis=1)
        own = np.take_along_axis(J, near, axis=1)
        d = np.sum(own * s**2, axis=1) / (self.epsilon * own.sum(axis=1))
        J = (J + J.T) / 2
        D = J.sum(axis=1)
        K = J / np.outer(D, D)
        Dh = np.sqrt(K.sum(axis=1))
        xi, vectors = np.linalg.eigh(K / np.outer(Dh, Dh))
        time = 0.25 * np.mean(s[:, -1] ** 2) / self.epsilon
        time = min(time, 16) if variable else time
        weight = np.maximum(xi[:-1] / xi[-2], 0) ** (2 * time)
        wanted = slice(1, 1 + min(n_components, np.count_nonzero(weight >= 1e-3)))
        xi, phi = xi[::-1][wanted], vectors[:, ::-1][:, wanted] / Dh[:, None]
        self.eigenvalues = 2 * np.log(xi) / self.epsilon

        # Coordinates, isometric in the median over near pairs.
        dimension = np.average(d, weights=D)
        q = D / n * (2 * np.pi * self.epsilon) ** (-dimension / 2)
        phi *= np.sqrt(n / np.sum(phi**2 / q[:, None], axis=0))
        unscaled = phi * xi ** (2 * time)
        apart = s[:, 1:n_near] > 0
        mapped = np.linalg.norm(unscaled[near[:, 1:n_near]] - unscaled[:, None], axis=2)
        ratios = mapped[apart] / s[:, 1:n_near][apart]
        scale = 1 / np.median(ratios[ratios > 1e-3 * np.quantile(ratios, 0.99)])
        self.embedding = scale * unscaled
        self.averaged = scale * phi * xi ** (2 * time - 1) / D[:, None]
        self.weights = 1 / D

    def length(self, dx, dy):
        """DH from |dx| and |dy|."""
        if self.mixing == "lengths":
            return (1 - self.tau) * dx + self.tau * dy
        return np.sqrt((1 - self.tau) * dx**2 + self.tau * dy**2)

    def nearest(self, dH, pool, self_first=False):
        """The k smallest dH of each row among its pool."""
        order_by = np.full_like(dH, np.inf)
        np.put_along_axis(order_by, pool, np.take_along_axis(dH, pool, axis=1), axis=1)
        if self_first:
            np.fill_diagonal(order_by, -1)
        return np.argsort(order_by, axis=1, kind="stable")[:, : self.k]

    def extend(self, queries, features):
        """The coordinates of new points, none of which is one of the data."""
        dx = pairwise_distances(queries, self.X)
        pool, distances = nearest_neighbors(self.X, self.pool_size, queries)
        if self.DH is None:
            there = back = np.linalg.norm(features[:, None] - self.Y[None], axis=2)
        else:
            k = self.k
            DH = np.array([affine_regression(self.X, self.Y, q, pool[i, :k], distances[i, :k], self.eps[pool[i, 0]],
                                             self.gamma)[0] for i, q in enumerate(queries)])  # fmt: skip
            step = self.X[None] - queries[:, None]
            there = np.linalg.norm(np.einsum("qnm,qjm->qjn", DH, step), axis=2)
            back = np.linalg.norm(np.einsum("jnm,qjm->qjn", self.DH, -step), axis=2)
        there, back = self.length(dx, there), self.length(dx, back)
        near = self.nearest(there, pool)
        mine = np.zeros(dx.shape, dtype=bool)
        np.put_along_axis(mine, near, True, axis=1)
        theirs = (dx < self.pool_radius) & (back < self.radius)
        rho = np.ones(len(queries))
        if self.scales is not None:
            rho = scale_of_new_points(near, np.take_along_axis(there, near, axis=1), self.n_near, *self.scales)
        two_eps = 2 * self.epsilon * np.outer(rho, self.rho)
        J = (mine * np.exp(-(there**2) / two_eps) + theirs * np.exp(-(back**2) / two_eps)) / 2
        return J @ self.averaged / (J @ self.weights)[:, None]
