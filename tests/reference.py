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
