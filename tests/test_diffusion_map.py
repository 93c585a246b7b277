"""The diffusion map as an estimator: known spectra, new points, hard input."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse
import scipy.stats
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import SpectralEmbedding
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import idm
from idm import DiffusionMap, _core
from idm._kernel import global_bandwidth, warn_if_cut
from idm._variable_bandwidth import BANDWIDTHS, scaled_lengths
from idm._warnings import Advice
from idm.exceptions import (
    KernelCutWarning,
    NarrowKernelWarning,
    SpectrumWarning,
    UnderflowWarning,
)

# Of small k and of copies; what it says has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore::idm.exceptions.KernelCutWarning")


@parametrize_with_checks([DiffusionMap()])
@pytest.mark.filterwarnings("ignore::idm.exceptions.DisconnectedGraphWarning")
@pytest.mark.filterwarnings("ignore::idm.exceptions.SpectrumWarning")
@pytest.mark.filterwarnings("ignore::idm.exceptions.ExtrapolationWarning")
@pytest.mark.filterwarnings("ignore::idm.exceptions.OutlierWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def sphere(n, seed, lower=1.0):
    """Random points, those of the lower half kept with a probability."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[(X[:, 2] > 0) | (rng.uniform(size=4 * n) < lower)][:n]


@pytest.mark.large
@pytest.mark.parametrize(("lower", "bound"), [(1.0, 0.06), (1 / 3, 0.13)])
def test_sphere(lower, bound):
    """-l (l + 1), 2 l + 1 times: the first 16, with the constant. The median of five random samples."""
    exact = np.repeat([-2.0, -6.0, -12.0], [3, 5, 7])
    errors = []
    for seed in range(5):
        found = DiffusionMap(15, n_neighbors=512, bandwidth="global").fit(sphere(5000, seed, lower)).eigenvalues_
        errors.append(np.abs(found / exact - 1).max())
    assert np.median(errors) < bound


@pytest.mark.large
def test_flat_torus():
    g = 2 * np.pi * np.arange(70) / 70
    a, b = (angle.ravel() for angle in np.meshgrid(g, g))
    X = np.column_stack([np.cos(a), np.sin(a), np.cos(b), np.sin(b)])
    found = DiffusionMap(20, n_neighbors=300).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, -np.repeat([1, 2, 4, 5], [4, 4, 4, 8]), rtol=0.025)
    assert found.dimension_ == pytest.approx(2, abs=0.05)
    np.testing.assert_allclose(found.density_, 1 / (2 * np.pi) ** 2, rtol=0.05)


def test_interval():
    """Neumann boundary: -j^2 with cos(j x), for [0, pi]."""
    x = np.linspace(0, np.pi, 2000)
    found = DiffusionMap(5, n_neighbors=256).fit(x[:, np.newaxis])
    np.testing.assert_allclose(found.eigenvalues_, -(np.arange(1.0, 6) ** 2), rtol=0.015)
    for j, function in enumerate(found.eigenvectors_.T, start=1):
        assert abs(np.corrcoef(function, np.cos(j * x))[0, 1]) > 0.9995


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_alpha_1_alone_ignores_the_density(alpha):
    # Equal in angle and uneven: the first eigenvalue is that of the circle for alpha = 1 only.
    t = 2 * np.pi * np.arange(2000) / 2000
    t = t + 0.6 * np.sin(t)
    model = DiffusionMap(2, n_neighbors=200, epsilon=5e-4, alpha=alpha, bandwidth="global")
    found = model.fit(np.column_stack([np.cos(t), np.sin(t)]))
    error = np.abs(found.eigenvalues_ + 1).max()
    assert error < 0.001 if alpha == 1 else error > 0.2


@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
def test_agrees_with_spectral_embedding(rng, bandwidth):
    # alpha = 0 and the same affinity: eigenvectors of the random walk. scikit-learn leaves out the step from a point to
    # itself, which weighs little where there are many neighbours.
    X = np.sort(rng.uniform(size=(800, 1)), axis=0)
    neighbors = idm.nearest_neighbors(X, 300)
    mine = DiffusionMap(5, n_neighbors=300, epsilon=2e-3, alpha=0.0, bandwidth=bandwidth).fit(X)
    if bandwidth == "variable":
        neighbors, _ = scaled_lengths(neighbors, 32, 1)
    kernel = _core.symmetric_kernel(*neighbors, 2e-3, 1)
    affinity = scipy.sparse.csr_matrix((kernel.values, kernel.columns, kernel.row_start), shape=(800, 800)).toarray()
    theirs = SpectralEmbedding(5, affinity="precomputed", random_state=0).fit_transform(affinity)
    for a, b in zip(mine.eigenvectors_.T, theirs.T, strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) > 0.99999


@pytest.fixture(scope="module")
def torus():
    X, _, _ = idm.datasets.make_torus(3000, feature="phi", random_state=0)
    return X


@pytest.mark.parametrize("rescaling", ["isometric", "global", "local"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_transform_of_the_training_points_is_the_embedding(torus, rescaling, alpha):
    fitted = DiffusionMap(40, n_neighbors=200, rescaling=rescaling, alpha=alpha).fit(torus)
    again = fitted.transform(torus)
    np.testing.assert_array_equal(again, fitted.embedding_)
    assert fitted.supported(torus).all()


@pytest.mark.parametrize(("bandwidth", "shorter"), [("global", 0.0), ("variable", 1.233e-6)])
def test_new_points_follow_the_eigenfunctions(bandwidth, shorter):
    # A scale of its own: half-way, the first 25 neighbours are farther in the mean square, 52.24 steps^2 instead of 52.
    # The kernel is wider than it is at the points, the bandwidth by the ratio to the power of 1 / 4.
    t = 2 * np.pi * np.arange(1000) / 1000
    model = DiffusionMap(2, n_neighbors=101, diffusion_time=0.0, bandwidth=bandwidth)
    fitted = model.fit(np.column_stack([np.cos(t), np.sin(t)]))
    new = t + np.pi / 1000
    found = fitted.transform(np.column_stack([np.cos(new), np.sin(new)]))
    radius = np.linalg.norm(fitted.embedding_, axis=1).mean()
    lengths = np.linalg.norm(found, axis=1)
    np.testing.assert_allclose(lengths, radius * (1 - shorter), rtol=2e-11 if bandwidth == "global" else 1e-9)
    half_way = fitted.embedding_ + np.roll(fitted.embedding_, -1, axis=0)
    half_way /= np.linalg.norm(half_way, axis=1, keepdims=True)
    np.testing.assert_allclose(found / lengths[:, np.newaxis], half_way, rtol=0, atol=3e-10)


def test_rows_are_extended_in_batches(torus, monkeypatch):
    fitted = DiffusionMap(5, n_neighbors=50).fit(torus[:500])
    once = fitted.transform(torus)
    monkeypatch.setattr("idm._batches._MOST_ROWS", 700)
    np.testing.assert_array_equal(fitted.transform(torus), once)


@pytest.mark.parametrize("form", ["pair", "graph", "graph with selves", "scikit-learn"])
def test_precomputed_neighbors(torus, form):
    X = torus[:1000]
    pair = idm.nearest_neighbors(X, 60)
    given = {
        "pair": tuple(pair),
        "graph": kneighbors_graph(X, 59, mode="distance"),
        "graph with selves": kneighbors_graph(X, 60, mode="distance", include_self=True),
        "scikit-learn": NearestNeighbors(n_neighbors=60).fit(X).kneighbors(X)[::-1],
    }[form]
    expected = DiffusionMap(8, n_neighbors=60).fit(X)
    found = DiffusionMap(8, n_neighbors=999, precomputed_knn=given).fit(X)
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)
    np.testing.assert_array_equal(found.transform(X), found.embedding_)


def test_precomputed_neighbors_that_do_not_fit(torus):
    X, (indices, distances) = torus[:100], idm.nearest_neighbors(torus[:100], 10)
    wrong = {
        "pair of indices and distances": 3,
        r"shape \(100, k\)": (indices[:50], distances[:50]),
        "integer indices and float": (distances, distances),
        "itself first": (indices[:, ::-1], distances[:, ::-1]),
        "sorted along each row": (indices, np.column_stack([distances[:, :1], distances[:, :0:-1]])),
        "indices from 0 to 100 must be rows": (np.column_stack([indices[:, :-1], np.full(100, 100)]), distances),
        "occurs twice": (np.column_stack([indices[:, :-1], indices[:, 1]]), distances),
        "same number": scipy.sparse.csr_matrix(np.triu(np.ones((100, 100)))),
    }
    for words, value in wrong.items():
        with pytest.raises((TypeError, ValueError), match=words):
            DiffusionMap(2, precomputed_knn=value).fit(X)


def test_other_distances_have_a_map_and_no_extension(torus):
    X = torus[:300]
    indices, distances = idm.nearest_neighbors(X, 40)
    fitted = DiffusionMap(3, precomputed_knn=(indices, np.sqrt(distances))).fit(X)
    assert np.isfinite(fitted.embedding_).all()
    with pytest.raises(ValueError, match=r"precomputed_knn.* not the Euclidean distances"):
        fitted.transform(X)


def test_diffusion_distances_and_heat_spectrum(torus):
    fitted = DiffusionMap(6, n_neighbors=80, diffusion_time=3.0).fit(torus[:800])
    distances = fitted.diffusion_distances(torus[:10], torus[10:30])
    expected = np.linalg.norm(fitted.embedding_[:10, np.newaxis] - fitted.embedding_[10:30], axis=2)
    np.testing.assert_allclose(distances, expected, rtol=1e-14)
    assert fitted.diffusion_distances(torus[:10]).shape == (10, 10)
    np.testing.assert_allclose(fitted.heat_spectrum(), np.exp(fitted.eigenvalues_ * 3 * fitted.epsilon_), rtol=1e-14)
    np.testing.assert_allclose(fitted.heat_spectrum(1.0), np.exp(fitted.eigenvalues_ * fitted.epsilon_), rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_components", 0, "n_components must be at least 1, got 0"),
        ("n_neighbors", 1, "n_neighbors must be at least 2"),
        ("epsilon", -1.0, "epsilon must be positive"),
        ("epsilon", "other", "epsilon must be 'auto' or a positive number, got 'other'"),
        ("n_landmarks", "other", "n_landmarks must be None, 'auto' or an integer >= 2, got 'other'"),
        ("alpha", np.nan, "alpha must be finite"),
        ("diffusion_time", -1.0, "diffusion_time must be finite and at least 0"),
        ("rescaling", "other", "rescaling must be one of 'isometric', 'global', 'local', got 'other'"),
        ("eigen_solver", "other", "eigen_solver must be one of"),
        ("n_neighbors_bandwidth", 1, "n_neighbors_bandwidth must be at least 2"),
        ("n_jobs", 0, "n_jobs must not be 0"),
        ("alpha", 3, "alpha must be finite and between -2 and 2"),
    ],
)
def test_wrong_parameters(torus, name, value, words):
    with pytest.raises(ValueError, match=words):
        DiffusionMap(**{name: value}).fit(torus[:50])


def test_in_a_pipeline(torus):
    pipeline = make_pipeline(StandardScaler(), clone(DiffusionMap(3, n_neighbors=50))).set_output(transform="default")
    assert pipeline.fit_transform(torus[:300]).shape == (300, 3)
    assert list(pipeline.get_feature_names_out()) == ["diffusionmap0", "diffusionmap1", "diffusionmap2"]


def test_a_later_change_of_the_data_changes_nothing(torus):
    X = torus[:300].copy()
    fitted = DiffusionMap(3, n_neighbors=50).fit(X)
    before = fitted.transform(torus[:5])
    X[:] = 0
    np.testing.assert_array_equal(fitted.transform(torus[:5]), before)


# --- what cannot be right is told


def test_rotated_and_permuted_data_have_the_same_map(torus, rng):
    X = torus[:1000]
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    order = rng.permutation(1000)
    plain = DiffusionMap(6, n_neighbors=100).fit(X)
    moved = DiffusionMap(6, n_neighbors=100).fit((X @ rotation + 5.0)[order])
    np.testing.assert_allclose(moved.eigenvalues_, plain.eigenvalues_, rtol=2e-13)
    distances = [np.linalg.norm(e - e[0], axis=1) for e in (plain.embedding_[order], moved.embedding_)]
    np.testing.assert_allclose(*distances, rtol=0, atol=5e-9)


def test_no_time_has_a_formula_of_zeros(torus):
    with pytest.raises(ValueError, match="diffusion_time=0 makes all coordinates 0 with rescaling='global'"):
        DiffusionMap(3, diffusion_time=0.0, rescaling="global").fit(torus[:300])


def test_a_kernel_that_is_cut_is_told(rng):
    X = rng.normal(size=(1500, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    with pytest.warns(KernelCutWarning, match=r"still 0\.\d+ of its peak at the last of 100 neighbours"):
        DiffusionMap(3, n_neighbors=100).fit(X)


def circle(n, seed):
    t = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t)])


@pytest.mark.parametrize(("k", "most"), [(10, 0.1), (15, 0.45), (20, 0.7), (32, 0.82)])
def test_a_narrow_kernel_is_told_and_its_eigenvalues_are_off(k, most):
    with pytest.warns(NarrowKernelWarning, match=r"make up \d+% or more .*raise n_neighbors \(to 64 or more\)"):
        fitted = DiffusionMap(3, n_neighbors=k, bandwidth="global").fit(sphere(1000, 0))
    assert np.median(fitted.eigenvalues_ / -2) < most
    with pytest.warns(NarrowKernelWarning):
        DiffusionMap(3, n_neighbors=256, epsilon=fitted.epsilon_, bandwidth="global").fit(sphere(1000, 0))


@pytest.mark.parametrize(
    ("bandwidth", "k"), [("global", 10), ("global", 20), ("global", 100), ("variable", 64), ("variable", 100)]
)
def test_a_grid_needs_few_neighbors(bandwidth, k):
    t = 2 * np.pi * np.arange(500) / 500
    model = DiffusionMap(4, n_neighbors=k, bandwidth=bandwidth)
    found = model.fit(np.column_stack([np.cos(t), np.sin(t)])).eigenvalues_
    np.testing.assert_allclose(found, [-1, -1, -4, -4], rtol=0.05)


@pytest.mark.parametrize("n", [500, 2000, 10000])
@pytest.mark.parametrize("k", [64, 100, 256])
@pytest.mark.parametrize("name", ["circle", "sphere", "torus", "swiss roll"])
def test_kernels_of_64_neighbors_are_not_narrow(name, n, k):
    X = {
        "circle": lambda: circle(n, 0),
        "sphere": lambda: sphere(n, 0),
        "torus": lambda: idm.datasets.make_torus(n, random_state=0).X,
        "swiss roll": lambda: make_swiss_roll(n, random_state=0)[0],
    }[name]()
    distances = idm.nearest_neighbors(X, k).distances
    heard = Advice(remedies={NarrowKernelWarning: "an error in this test"})
    warn_if_cut(distances, global_bandwidth(distances, 32), heard)


@pytest.mark.parametrize(("f", "exact"), [(circle, [1, 1]), (sphere, [2, 2, 2])])
def test_eigenvalues_with_64_neighbors(f, exact):
    found = DiffusionMap(len(exact), n_neighbors=64, bandwidth="global").fit(f(500, 1)).eigenvalues_
    np.testing.assert_allclose(found, -np.array(exact, float), rtol=0.25)


@pytest.mark.parametrize("rescaling", ["global", "local"])
def test_a_time_at_which_all_is_zero_is_told(torus, rescaling):
    with pytest.warns(UnderflowWarning, match=r"coordinates are 0: at diffusion_time = 1e\+09 .*lower diffusion_time"):
        fitted = DiffusionMap(3, diffusion_time=1e9, rescaling=rescaling).fit(torus[:300])
    assert not fitted.embedding_.any()
    assert DiffusionMap(3, diffusion_time=1e9).fit(torus[:300]).embedding_.any()


@pytest.mark.parametrize("name", ["embedding_", "eigenvectors_", "eigenvalues_", "density_", "landmarks_"])
@pytest.mark.parametrize("n_landmarks", [None, 200])
def test_writing_to_an_attribute_does_not_change_the_map(torus, name, n_landmarks):
    fitted = DiffusionMap(3, n_neighbors=100, n_landmarks=n_landmarks, random_state=0).fit(torus[:300])
    rows = np.vstack([torus[:9], torus[:9] + 0.01])
    before = fitted.transform(rows)
    getattr(fitted, name)[:] = 0
    np.testing.assert_array_equal(fitted.transform(rows), before)


def test_an_epsilon_at_which_nothing_is_seen_is_told(torus):
    with pytest.warns(SpectrumWarning, match="5 of 5 eigenvalues"):
        DiffusionMap(5, epsilon=1e20, n_neighbors=300).fit(torus[:300])


def test_a_failed_fit_leaves_the_model_as_it_was(torus):
    fitted = DiffusionMap(4, n_neighbors=50).fit(torus[:300])
    before = fitted.transform(torus[:9])
    with pytest.raises(ValueError, match="no two points apart"):
        fitted.fit(np.ones((300, 3)))
    np.testing.assert_array_equal(fitted.transform(torus[:9]), before)
    fitted.set_params(diffusion_time=-3.0)
    np.testing.assert_array_equal(fitted.transform(torus[:9]), before)


# --- known answers of uneven samples: bench/known_answers.py has more of them, and how they are found


UNEVEN = 0.8


def bridge(m):
    """How far the eighth neighbour on a line is, over the root mean square of the first m."""
    return 4 / np.sqrt(np.mean((np.arange(1, m + 1) // 2) ** 2))


def metric_length(q, q_median, low, high, m):
    """The integral of 1 / rho, with rho^2 = q_median / q but for the bridge."""
    x = np.linspace(low, high, 20_001)
    root = np.sqrt(q(x) / q_median)
    return scipy.integrate.trapezoid(root * np.minimum(1, root / bridge(m)), x)


def uneven_circle(n, rng):
    t = rng.uniform(0, 2 * np.pi, 4 * n)
    t = t[(1 + UNEVEN) * rng.uniform(size=4 * n) < 1 + UNEVEN * np.cos(t)][:n]
    return np.column_stack([np.cos(t), np.sin(t)])


def uneven_sphere(n, rng):
    X = rng.normal(size=(4 * n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[(1 + UNEVEN) * rng.uniform(size=4 * n) < 1 + UNEVEN * X[:, 2]][:n]


def eigenvalues_of_samples(sample, n, n_components, **parameters):
    """The median of five random samples."""
    samples = [sample(n, np.random.default_rng(seed)) for seed in range(5)]
    return np.median([DiffusionMap(n_components, **parameters).fit(X).eigenvalues_ for X in samples], axis=0)


@pytest.mark.large
@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
def test_uneven_circle(bandwidth):
    """Length 2 pi, or that for the metric. Medians of five samples (15 tried) were off by up to 5 %."""
    length = 2 * np.pi
    if bandwidth == "variable":  # half of the points are within t = 0.8755 of the densest: t + 0.8 sin t = pi / 2
        median = scipy.optimize.brentq(lambda t: t + UNEVEN * np.sin(t) - np.pi / 2, 0, np.pi)
        length = metric_length(lambda t: 1 + UNEVEN * np.cos(t), 1 + UNEVEN * np.cos(median), -np.pi, np.pi, 128)
    found = eigenvalues_of_samples(
        uneven_circle, 3000, 6, n_neighbors=512, n_neighbors_bandwidth=128, bandwidth=bandwidth
    )
    np.testing.assert_allclose(found, -((2 * np.pi / length * np.repeat([1, 2, 3], 2)) ** 2), rtol=0.07)


@pytest.mark.large
@pytest.mark.parametrize(
    ("bandwidth", "exact"),
    [
        ("global", [2, 2, 2, 6, 6, 6, 6, 6]),
        # -Lap f = mu rho^-2 f, by spherical harmonics.
        ("variable", [2.2648, 2.2648, 2.4851, 6.7171, 6.7171, 7.1113, 7.1113, 7.4253]),
    ],
)
def test_uneven_sphere(bandwidth, exact):
    """Medians of five samples (15 tried) were off by up to 6 %."""
    found = eigenvalues_of_samples(
        uneven_sphere, 4000, 8, n_neighbors=512, n_neighbors_bandwidth=64, bandwidth=bandwidth
    )
    np.testing.assert_allclose(found, -np.array(exact), rtol=0.08)


def quantiles(n):
    """Of the normal distribution: a sample without chance."""
    return scipy.stats.norm.ppf((np.arange(n) + 0.5) / n)[:, np.newaxis]


def test_the_line_with_one_bandwidth_and_half_a_normalization_is_hermite():
    """Of f'' - x f': -1, -2, -3, ... and Hermite polynomials, as far as tails are not cut off. It is off by 1.4 %."""
    X = quantiles(2000)
    found = DiffusionMap(4, n_neighbors=2000, epsilon=0.02, alpha=0.5, bandwidth="global").fit(X)
    np.testing.assert_allclose(found.eigenvalues_, [-1, -2, -3, -4], rtol=0.02)
    middle = np.abs(X[:, 0]) < 2
    for degree, function in enumerate(found.eigenvectors_.T, start=1):
        hermite = np.polynomial.hermite_e.hermeval(X[middle, 0], np.eye(degree + 1)[degree])
        assert abs(np.corrcoef(function[middle], hermite)[0, 1]) > 0.9998


@pytest.mark.parametrize("m", [32, 64, 128])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_the_line_with_a_bandwidth_for_each_point(alpha, m):
    """Its metric length is finite; by half a normalisation -f'' = mu q f / q_median. They were off by up to 1.7 %.

    Medians of five random samples of 2000 are off by up to 7 %: the density of their tails is by chance.
    """
    found = DiffusionMap(4, n_neighbors=max(256, 4 * m), n_neighbors_bandwidth=m, alpha=alpha).fit(quantiles(2000))
    density = scipy.stats.norm.pdf
    length = metric_length(density, density(scipy.stats.norm.ppf(0.75)), -8, 8, m)
    exact = {0.5: [1.0690, 3.4447, 7.0875, 11.9902], 1.0: (np.pi * np.arange(1, 5) / length) ** 2}[alpha]
    np.testing.assert_allclose(found.eigenvalues_, -np.array(exact), rtol=0.025)


@pytest.mark.slow
def test_circles_of_many_points_end(rng):
    """Their gaps are tiny: once, neither ended in 110 s."""
    angle = rng.uniform(0, 2 * np.pi, 40_000)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    found = DiffusionMap(8, n_neighbors=256, bandwidth="global").fit(X).eigenvalues_
    np.testing.assert_allclose(found, np.repeat([-1, -4, -9, -16], 2), rtol=0.05)
    with pytest.warns(NarrowKernelWarning):
        narrow = DiffusionMap(8, n_neighbors=32, bandwidth="global").fit(X[:20_000])
    assert narrow._map.coordinates.solver.residuals.max() < 1e-8
