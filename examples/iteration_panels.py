"""What figures 1, 7, 8 and 9 share: numbers of every iteration, and two rows of panels."""

import matplotlib.pyplot as plt
import numpy as np

import idm

N_BINS = 24  # of the irrelevant variable


def print_iterations(name, model, X, y, irrelevant, n_nearest):
    """Print, for the data and each iteration, what the nearest points are, and the median of the local dimension.

    Recall is the share of the nearest points in the coordinates that is among the nearest in the feature, in the mean
    over all points; coverage how much of the irrelevant variable they reach, of what the latter do. Returns the
    recalls.
    """
    true = idm.nearest_neighbors(y, n_nearest).indices
    low, high = irrelevant.min(), irrelevant.max()
    bins = np.minimum((irrelevant - low) / (high - low) * N_BINS, N_BINS - 1).astype(int)
    print(f"{name}\n{'':>12}{'recall':>8}{'coverage':>10}{'dimension':>11}")
    recalls = []
    for stage, Z in _stages(model, X):
        found = idm.nearest_neighbors(Z, n_nearest).indices
        recall = np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, true, strict=True)]) / n_nearest
        reached, reachable = (np.mean([len(set(bins[row])) for row in rows]) for rows in (found, true))
        dimension = np.median(idm.local_geometry(Z, n_neighbors=100).dimension)
        print(f"{stage:>12}{recall:>8.2f}{reached / reachable:>10.2f}{dimension:>11.2f}")
        recalls.append(recall)
    return recalls


def draw_iterations(figure, model, X, y, *, label, row, n_nearest, recalls):
    """Draw the data and each iteration, coloured by the feature; below, the data with the points nearest to a row."""
    stages = _stages(model, X)
    angles = y.shape[1] == 2
    colours = np.arctan2(y[:, 0], y[:, 1]) if angles else y[:, 0]
    upper = []
    for column, (name, Z) in enumerate(stages):
        above = _panel(figure, len(stages), column, Z)
        drawn = above.scatter(*Z[:, :3].T, c=colours, s=2, cmap="twilight" if angles else "viridis")
        above.set_title(name, fontsize="medium")
        upper.append(above)
        below = _panel(figure, len(stages), len(stages) + column, X)
        idm.plot.neighbors(X, row, coordinates=Z, n_neighbors=n_nearest, ax=below)
        handles, names = below.get_legend_handles_labels()
        below.get_legend().remove()
        below.set_title(f"mean recall {recalls[column]:.2f}", fontsize="medium")
        for axes, points in ((above, Z), (below, X)):
            _bare(axes, points)
    bar = figure.colorbar(drawn, ax=upper, label=label, shrink=0.9, pad=0.01)
    if angles:
        bar.set_ticks([-np.pi, 0, np.pi], labels=[r"$-\pi$", "0", r"$\pi$"])
    names[-1] = "the point"
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, markerscale=1.5)


def new_figure(n_examples=1):
    """One figure, with a part for each example, above each other."""
    figure = plt.figure(figsize=(10, 4.3 * n_examples), layout="constrained")
    return figure.subfigures(n_examples, 1, squeeze=False)[:, 0]


def _stages(model, X):
    return [("data", X), *((f"iteration {r.iteration}", r.embedding) for r in model.iterations_)]


def _panel(figure, n_columns, number, points):
    return figure.add_subplot(2, n_columns, number + 1, projection="3d" if points.shape[1] > 2 else None)


def _bare(axes, points):
    """Equal lengths and no axes: what counts is the shape."""
    axes.set_axis_off()
    if points.shape[1] > 2:
        ranges = np.ptp(points[:, :3], axis=0)
        zoom = 1.45 if points.shape[1] == 3 else 1.15  # the data are round, maps reach into corners
        axes.set_box_aspect(np.maximum(ranges, 1e-3 * ranges.max()), zoom=zoom)
    else:
        axes.set_aspect("equal")
