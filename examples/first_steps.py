"""What was installed, the neighbours of a small data set, and the local geometry of a torus."""

import numpy as np

import idm

idm.show_config()

# Twelve points on a circle: the neighbours of each are the point itself, then those beside it.
circle = idm.datasets.make_circle(12).X
neighbors = idm.nearest_neighbors(circle, 5)
print("\npoint  its five nearest   their distances")
for i, (indices, distances) in enumerate(zip(*neighbors, strict=True)):
    print(f"{i:>5}  {' '.join(f'{j:>2}' for j in indices)}   {'  '.join(f'{d:.3f}' for d in distances)}")

# A torus in R^3, and one bent into R^30: both have two dimensions.
print("\n                 dimension by d1   by singular values")
for name, make in (("torus in R^3", idm.datasets.make_torus), ("torus in R^30", idm.datasets.make_curved_torus)):
    X = make(2000, random_state=0).X
    neighbors = idm.nearest_neighbors(X, 200)
    d1, svd = (np.median(idm.local_geometry(X, neighbors=neighbors, bandwidth=b).dimension) for b in ("d1", "svd"))
    print(f"{name:<17}{d1:>15.2f}{svd:>21.2f}")
