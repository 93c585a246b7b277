"""Figure 2 of the paper: distances, heat spectra and iterated eigenfunctions of a circle. Needs matplotlib."""

import numpy as np
from matplotlib.figure import Figure

import idm

N, EPSILON = 2000, 1e-4
angle = 2 * np.pi * np.arange(N) / N
X = np.column_stack([np.cos(angle), np.sin(angle)])


def diffusion_map(X, time):
    return idm.DiffusionMap(
        400, n_neighbors=300, epsilon=EPSILON, diffusion_time=time / EPSILON, rescaling="global"
    ).fit(X)


figure = Figure(figsize=(15, 4.5), layout="constrained")
distances, spectra, functions = figure.subplots(1, 3)
steps = np.arange(1, N // 2)
distances.plot(angle[steps], angle[steps], "k", label="geodesic")
distances.plot(angle[steps], np.linalg.norm(X[steps] - X[0], axis=1), "k--", label="Euclidean")
for time in (1e-4, 1e-3, 1e-2):
    fitted = diffusion_map(X, time)
    diffusion_distances = np.linalg.norm(fitted.embedding_[steps] - fitted.embedding_[0], axis=1)
    distances.plot(angle[steps], diffusion_distances, label=f"diffusion, t = {time:g}")
    spectra.semilogy(fitted.heat_spectrum(), label=f"t = {time:g}")
distances.set(
    xscale="log", yscale="log", xlabel="geodesic distance", ylabel="distance", title="Distances of two points"
)
spectra.set(ylim=(1e-12, 2), xlabel="eigenvalue", ylabel="exp(t lambda)", title="Spectra of the heat kernel")

again = diffusion_map(fitted.embedding_, 1e-2)  # the map of the map
a, b = fitted.eigenvectors_[:, :10], again.eigenvectors_[:, :10]
u, _, vt = np.linalg.svd(b.T @ a)
matched = b @ (u @ vt)  # eigenfunctions of equal eigenvalues differ by a rotation
for column in (0, 4, 8):
    line = functions.plot(angle, a[:, column], label=f"lambda = {fitted.eigenvalues_[column]:.2f}")[0]
    functions.plot(angle[::50], matched[::50, column], "o", color=line.get_color())
functions.set(xlabel="angle", title="Eigenfunctions (lines), iterated (dots)")
for axes in (distances, spectra, functions):
    axes.legend()
figure.savefig("circle.png", dpi=90)
worst = min(np.corrcoef(x, y)[0, 1] for x, y in zip(a.T, matched.T, strict=True))
print(f"eigenvalues {fitted.eigenvalues_[:6].round(3)}, least correlation {worst:.6f}; saved circle.png")
