"""The fit of IteratedDiffusionMap as one writes it with NumPy, SciPy and scikit-learn, vectorised, against ours.

python bench/straightforward.py [--n-samples 10000] [--rounds 8] [--json FILE]

Same defaults, same random choices, same result: the distances of random pairs in both embeddings are compared.
"""

import argparse

import numpy as np
import scipy.sparse
from harness import Report, best_times
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import idm

N_NEAR, N_PAIRS, FIRST_PART = 300, 20_000, 10_000
FACTORS, GAMMAS = 2.0 ** np.arange(-8, 3), np.array([1e-6, 1e-3, 1e-1, 1.0, 10.0])


def farthest(points, n_given, n):
    chosen = list(range(n_given))
    nearest = cdist(points, points[:n_given], "sqeuclidean").min(axis=1)
    while len(chosen) < n:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.sum((points - points[chosen[-1]]) ** 2, axis=1))
    return np.array(chosen)


def affine_regressions(Z, y, bases, indices, distances, factors, gammas):
    """DH for the last pair, and the fitted values (B, F, G, n)."""
    m, unit = Z.shape[1], distances[:, distances.shape[1] // 2] ** 2
    fitted = np.empty((len(bases), len(factors), len(gammas), y.shape[1]))
    for f, factor in enumerate(factors):
        eps = factor * unit
        w = np.exp(-(distances**2) / (2 * eps[:, None]))
        w /= w.sum(axis=1, keepdims=True)
        x_mean, y_mean = np.einsum("bk,bkm->bm", w, Z[indices]), np.einsum("bk,bkn->bn", w, y[indices])
        dx, dy = Z[indices] - x_mean[:, None], y[indices] - y_mean[:, None]
        weighted = np.swapaxes(dx * w[:, :, None], 1, 2)
        C, cross = weighted @ dx, weighted @ dy
        for g, gamma in enumerate(gammas):
            DH = np.linalg.solve(C + (gamma * eps)[:, None, None] * np.eye(m), cross)
            fitted[:, f, g] = y_mean + np.einsum("bm,bmn->bn", bases - x_mean, DH)
    return np.swapaxes(DH, 1, 2), fitted


def in_batches(function, n, size=500):
    return np.concatenate([function(slice(start, start + size)) for start in range(0, n, size)])


def others(tree, Z, rows, k):
    """The k nearest points of some rows, without themselves."""
    distances, indices = tree.query(Z[rows], k + 1, workers=2)
    other = indices != rows[:, None]
    other[other.all(axis=1), -1] = False
    return indices[other].reshape(-1, k), distances[other].reshape(-1, k)


def adapted(X, y, random, A, shrink):
    """Rounds of structural adaptation, from the map A on: the best of them."""
    n, m = X.shape
    k, spread = min(N_NEAR, n - 1), np.sum(np.var(y, axis=0))
    rows = np.sort(random.permutation(n)[:2000])
    best = None
    for _ in range(9):
        Z = (X - X.mean(axis=0)) @ A
        tree = cKDTree(Z)
        indices, distances = others(tree, Z, rows, k)

        def errors(factors, gammas, Z=Z, indices=indices, distances=distances):
            def squares(part):
                fitted = affine_regressions(Z, y, Z[rows[part]], indices[part], distances[part], factors, gammas)[1]
                return np.sum((fitted - y[rows[part], None, None]) ** 2, axis=3)

            return in_batches(squares, len(rows)).mean(axis=0)

        coarse = errors(FACTORS, GAMMAS)
        f, g = np.unravel_index(coarse.argmin(), coarse.shape)
        candidates = FACTORS[f] * 2.0 ** np.array([0, -0.5, 0.5])
        found = np.append(coarse[f, g], errors(candidates[1:], GAMMAS[[g]])[:, 0])
        error, factor, gamma = found.min(), candidates[found.argmin()], GAMMAS[g]
        gain = 1 if best is None else 1 - error / best[0]
        if best is None or gain > m / n:
            DH = affine_regressions(Z, y, Z[rows], indices, distances, [factor], [gamma])[0] @ A.T
            best = error, Z, tree, factor, gamma, A, shrink
        if error <= 0.003**2 * spread or gain < 0.01 + m / n:
            break
        values, V = np.linalg.eigh(np.einsum("inm,inp->mp", DH, DH))
        A, shrink = (V * np.sqrt(np.maximum(values, 0) / values[-1] + shrink**2 / 5)) @ V.T, shrink / 4
    return best


def feature_estimate(X, y, random):
    """Of every row, without its own y: local affine regression after a linear map."""
    n, A, shrink = len(X), np.eye(X.shape[1]), 0.5
    if n > 2 * FIRST_PART:
        some = np.sort(random.permutation(n)[:FIRST_PART])
        A, shrink = adapted(X[some], y[some], random, A, shrink)[-2:]
    _, Z, tree, factor, gamma, _, _ = adapted(X, y, random, A, shrink)

    def left_out(part):
        near = others(tree, Z, np.arange(n)[part], min(N_NEAR, n - 1))
        return affine_regressions(Z, y, Z[part], *near, [factor], [gamma])[1][:, 0, 0]

    return in_batches(left_out, n)


def median_of_positive(values):
    """The upper middle one, as std::nth_element finds it."""
    positive = np.sort(values[values > 0])
    return positive[len(positive) // 2]


def bridged(scale, length, scale_of_other, reach):
    """A scale that is larger where the eighth neighbour is out of reach."""
    return scale * np.maximum(1, length / np.sqrt(scale * scale_of_other) / reach)


class Scales:
    """A scale of each landmark, by the lengths d to its neighbours."""

    def __init__(self, near, d):
        self.m, self.eighth = d.shape[1] // 4, min(8, d.shape[1] - 1)
        r = np.sqrt(np.mean(d[:, : self.m] ** 2, axis=1))
        self.unit = median_of_positive(r)
        self.a = np.sqrt(np.maximum(r / self.unit, 1e-3))
        s = d[:, : self.m] / np.sqrt(self.a[:, None] * self.a[near[:, : self.m]])
        self.reach = median_of_positive(np.sqrt(np.mean(s**2, axis=1)))
        far, other = d[:, self.eighth], near[:, self.eighth]
        self.b = bridged(self.a, far, self.a[other], self.reach)
        self.rho = bridged(self.b, far, self.b[other], self.reach)

    def of_new(self, near, d):
        """Of new points, by the lengths to their neighbours, in any order."""
        first = np.argsort(d, axis=1, kind="stable")[:, : max(self.m, self.eighth + 1)]
        near, d = np.take_along_axis(near, first, axis=1), np.take_along_axis(d, first, axis=1)
        r = np.sqrt(np.mean(d[:, : self.m] ** 2, axis=1))
        far, other = d[:, self.eighth], near[:, self.eighth]
        b = bridged(np.sqrt(np.maximum(r / self.unit, 1e-3)), far, self.a[other], self.reach)
        return bridged(b, far, self.b[other], self.reach)


class Iteration:
    """One iteration on the landmarks Z with features y."""

    def __init__(self, Z, y, k, tau=0.95, n_components=100):
        n = len(Z)
        self.Z, self.y, self.k, self.tau, self.p = Z, y, k, tau, min(n, int(np.ceil(5 / 3 * k)))
        dx, pool = cKDTree(Z).query(Z, self.p, workers=2)
        dH = (1 - tau) * dx + tau * np.linalg.norm(y[pool] - y[:, None], axis=2)
        order = np.argsort(dH, axis=1, kind="stable")[:, :k]
        near, d = np.take_along_axis(pool, order, axis=1), np.take_along_axis(dH, order, axis=1)
        self.pool_radius, self.radius = dx[:, -1], d[:, -1]
        self.scales = Scales(near, d)
        d = d / np.sqrt(self.scales.rho[:, None] * self.scales.rho[near])
        self.epsilon = eps = np.mean(d[:, : k // 4] ** 2)
        time = min(16, 0.25 * np.mean(d[:, -1] ** 2) / eps)
        entries = np.exp(-(d**2) / (2 * eps))
        J = scipy.sparse.csr_matrix((entries.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
        dimension = np.sum(entries * d**2, axis=1) / (eps * entries.sum(axis=1))
        J = (J + J.T) / 2
        D = np.asarray(J.sum(axis=1)).ravel()
        K = scipy.sparse.diags(1 / D) @ J @ scipy.sparse.diags(1 / D)
        Dh = np.sqrt(np.asarray(K.sum(axis=1)).ravel())
        Khat = scipy.sparse.diags(1 / Dh) @ K @ scipy.sparse.diags(1 / Dh)
        xi, V = eigsh(Khat, n_components + 1, which="LA", tol=1e-10, v0=np.random.default_rng(0).normal(size=n))
        xi, V = xi[::-1][1:], V[:, ::-1][:, 1:]
        heat = (xi / xi[0]) ** (2 * time)
        xi, V, heat = xi[heat >= 1e-3], V[:, heat >= 1e-3], heat[heat >= 1e-3]
        q = D / n * (2 * np.pi * eps) ** (-np.average(dimension, weights=D) / 2)
        phi = V / Dh[:, None]
        phi *= np.sqrt(n / np.sum(phi**2 / q[:, None], axis=0))
        unscaled = phi * heat
        first = slice(0, k // 4)
        mapped = np.linalg.norm(unscaled[near[:, first]] - unscaled[:, None], axis=2)
        apart = (d[:, first] > 1e-6 * np.quantile(d[:, first], 0.99)) & (mapped > 1e-9 * np.abs(unscaled).max())
        ratios = mapped[apart] / d[:, first][apart]
        scale = 1 / np.median(ratios[ratios > 1e-3 * np.quantile(ratios, 0.99)])
        self.embedding, self.averaged, self.weights = scale * unscaled, scale * phi * heat / xi, 1 / D

    def extend(self, queries, features):
        """To new points: the kernel rows as full matrices, a batch at a time."""

        def rows(part):
            dx = cdist(queries[part], self.Z)
            dH = (1 - self.tau) * dx + self.tau * cdist(features[part], self.y)
            pool = np.argpartition(dx, self.p - 1, axis=1)[:, : self.p]
            of_pool = np.take_along_axis(dH, pool, axis=1)
            chosen = np.argpartition(of_pool, self.k - 1, axis=1)[:, : self.k]
            counts = 1.0 * ((dx < self.pool_radius) & (dH < self.radius))
            mine = np.take_along_axis(pool, chosen, axis=1)
            np.put_along_axis(counts, mine, np.take_along_axis(counts, mine, axis=1) + 1, axis=1)
            rho = self.scales.of_new(mine, np.take_along_axis(of_pool, chosen, axis=1))
            s = np.where(counts > 0, dH / np.sqrt(rho[:, None] * self.scales.rho), np.inf)
            J = counts * np.exp(-(s**2 - s.min(axis=1, keepdims=True) ** 2) / (2 * self.epsilon)) * self.weights
            return J @ self.averaged / J.sum(axis=1, keepdims=True)

        return in_batches(rows, len(queries))


def fit(X, y, seed=0, n_landmarks=2000):
    """The embedding of all rows, and the number of iterations."""
    random, n = np.random.RandomState(seed), len(X)
    L = min(n_landmarks, n)
    landmarks = np.arange(n)
    if n > L:
        sample = random.permutation(n)[: 4 * L]
        landmarks = np.sort(sample[farthest(X[sample], L // 2, L)])
    k = min(1000, max(100, round(0.15 * L)))
    estimated = feature_estimate(X, y, random)
    Z, F = X[landmarks], estimated[landmarks]
    i, j = random.randint(L, size=(2, N_PAIRS))
    scale = np.median(np.linalg.norm(Z[i] - Z[j], axis=1)) / np.median(np.linalg.norm(F[i] - F[j], axis=1))
    i, j = random.randint(L, size=(2, N_PAIRS))
    before, iterations = np.linalg.norm(Z[i] - Z[j], axis=1), []
    while len(iterations) < 10:
        iterations.append(Iteration(Z, scale * F, k))
        Z = iterations[-1].embedding
        now = np.linalg.norm(Z[i] - Z[j], axis=1)
        change = np.linalg.norm(now - (now @ before) / (before @ before) * before) / np.linalg.norm(now)
        before = now
        if change < 0.02:
            break
    others = np.setdiff1d(np.arange(n), landmarks)
    new = X[others]
    for iteration in iterations:
        new = iteration.extend(new, scale * estimated[others]) if len(new) else new
    embedding = np.empty((n, Z.shape[1]))
    embedding[landmarks], embedding[others] = Z, new
    return embedding, len(iterations)


def largest_difference(a, b):
    """Of the distances of random pairs in two embeddings, in units of the largest."""
    i, j = np.random.default_rng(0).integers(len(a), size=(2, 100_000))
    first, second = (np.linalg.norm(Z[i] - Z[j], axis=1) for Z in (a, b))
    return np.abs(first - second).max() / first.max()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    n = arguments.n_samples
    X, _, y = idm.datasets.make_torus(n, feature="theta", random_state=0)
    results = {}

    def ours():
        model = idm.IteratedDiffusionMap(random_state=0, n_jobs=2).fit(X, y)
        results["ours"] = model.embedding_, model.n_iter_

    def straightforward():
        results["peer"] = fit(X, y)

    times = best_times({"ours": ours, "peer": straightforward}, arguments.rounds)
    report = Report("Fits of IteratedDiffusionMap and of the same with NumPy, SciPy and eigsh (torus, theta)")
    report.add(f"N = {n:,}", times["ours"], times["peer"], "<= 1 / 8, aim 1 / 15")
    (ours_embedding, n_iter), (embedding, n_iter_peer) = results["ours"], results["peer"]
    difference = largest_difference(ours_embedding, embedding)
    report.note(
        f"{n_iter} and {n_iter_peer} iterations; distances differ by {difference:.1e} of the largest (aim 1e-6)"
    )
    if arguments.json:
        report.save(arguments.json)


if __name__ == "__main__":
    main()
