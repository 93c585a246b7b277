"""What each parameter does to the picture
=======================================

800 points of an annulus whose feature is the radius, mapped with one parameter changed at a time. Above, the first two
coordinates, coloured by the radius. The map should be one curve along which the colour changes steadily; its shape does
not matter. Below, the 80 points that are nearest to the star in all coordinates, drawn in the data: they should be the
ring of its radius. *Recall* is the share of the nearest 80 points in the map that is nearest by the radius, too, in the
mean over all points; in the data it is 0.18.

Most pictures are alike: the defaults are meant to be left alone. If a picture of yours is bad, look at the warnings and
at `stop_reason_` first.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import idm

X, _, y = idm.datasets.make_annulus(800, feature="radius", random_state=0)


def recall(Z, y):
    n = len(y) // 10
    found, true = (idm.nearest_neighbors(points, n).indices for points in (Z, y))
    pairs = zip(found, true, strict=True)
    return np.mean([len(np.intersect1d(a, b)) for a, b in pairs]) / n


def compare(name, values, X=X, y=y):
    """A map for each value of a parameter, side by side."""
    size = {"figsize": (7.2, 4.4), "layout": "constrained"}
    figure, panels = plt.subplots(2, len(values), **size)
    star = int(np.argmin(np.abs(y[:, 0] - np.quantile(y, 0.9))))
    default = idm.IteratedDiffusionMap().get_params()[name]
    for (above, below), value in zip(panels.T, values, strict=True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = idm.IteratedDiffusionMap(random_state=0, **{name: value})
            Z = model.fit_transform(X, y)
        told = sorted({warning.category.__name__ for warning in caught})
        share = f"recall {recall(Z, y):.2f}"
        print(f"{name}={value!r}: {share}, iteration {model.n_iter_},", Z.shape[1], "coordinates", *told)
        above.scatter(*Z[:, :2].T, c=y[:, 0], s=3)
        shown = f"{value!r} (default)" if value == default else f"{value!r}"
        above.set_title(f"{shown}\n{share}", fontsize=10)
        near = idm.nearest_neighbors(Z, len(y) // 10).indices[star]
        below.plot(*X[:, :2].T, ".", color="0.8", markersize=3)
        below.plot(*X[near, :2].T, ".", color="#0072B2", markersize=4)
        below.plot(*X[star, :2], "*", color="#D55E00", markersize=11)
        for panel in (above, below):
            panel.set(xticks=[], yticks=[])
            panel.set_aspect("equal", adjustable="datalim")
    figure.suptitle(name, family="monospace")
    plt.show()


print(f"recall in the data {recall(X, y):.2f}")

# %%
# tau
# ---
# The step of an iteration: how much lengths are those of the feature instead of the data. With a small step the
# irrelevant direction shrinks slowly, and the map tears into pieces before it is a curve, which a
# `DisconnectedGraphWarning` tells. With 1 the data count only where the feature is estimated.
compare("tau", [0.5, 0.95, 1.0])

# %%
# max_iter
# --------
# After one iteration the nearest points are an arc of the ring, not all of it. Fits end by themselves when distances
# no longer change, here after the third iteration, so that a larger number costs nothing.
compare("max_iter", [1, 2, 10])

# %%
# n_neighbors
# -----------
# The reach of the kernel, in landmarks. With too few the map tears into pieces; with more the curve is smoother and
# has fewer coordinates. "auto" is 15 % of the landmarks, here 120.
compare("n_neighbors", [40, "auto", 400])

# %%
# n_neighbors_bandwidth
# ---------------------
# The neighbours whose lengths are the unit of the kernel; "auto" is a quarter of `n_neighbors`. With few the kernel
# sees the gaps between points, and the map tears.
compare("n_neighbors_bandwidth", [8, "auto", 60])

# %%
# n_landmarks
# -----------
# The rows that carry the geometry; all others are placed by them. Fewer are faster and coarser. "auto" is 2000, here
# all.
compare("n_landmarks", [100, 400, "auto"])

# %%
# n_components
# ------------
# The most coordinates. Those without weight are not computed, so that a large number costs little. The first two look
# the same whatever it is, but distances need the others too.
compare("n_components", [2, 10, 100])

# %%
# diffusion_time
# --------------
# The squared length up to which distances of the map are right, in units of the bandwidth. A short time keeps many
# coordinates of nearly equal size (76 instead of 21), in which points that are not close are all equally far.
compare("diffusion_time", [1.0, "auto", 20.0])

# %%
# mixing
# ------
# Whether lengths are mixed, or their squares. It changes little.
compare("mixing", ["lengths", "metric"])

# %%
# rescaling
# ---------
# How the coordinates are scaled: so that near distances are right, by the paper's formula with one dimension for all
# points, or with the dimension of each point as printed, whose errors make the curve ragged.
compare("rescaling", ["isometric", "global", "local"])

# %%
# feature_scale
# -------------
# Units of y: "auto" makes them irrelevant, and factors between wide limits change nothing.
compare("feature_scale", [0.3, "auto", 30.0])

# %%
# feature_change
# --------------
# On the twisted sphere, most values of the feature belong to pieces that do not touch. Differences of features join
# them in one place of a curve. Derivatives, the paper's way, are local: such pieces stay separate, and here the map
# stays a surface. It does not converge, so that rows are held out to decide when to stop.
sphere, _, twist = idm.datasets.make_sphere(1500, feature="twist", random_state=0)
compare("feature_change", ["difference", "derivative"], X=sphere, y=twist)

# %%
# The others
# ----------
# `feature_estimator` is for features that local regression cannot estimate, such as those that jump: give it a
# regressor that can. `bandwidth`, `derivative` and `regularization` belong to ``feature_change="derivative"``.
# `early_stopping`, `validation_fraction`, `n_iter_no_change` and `tol` say when to stop. `callback` is called after
# each iteration, `random_state` makes a fit repeatable, `n_jobs` and `verbose` change no result.
