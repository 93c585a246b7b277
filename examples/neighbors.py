"""What was installed, and the nearest neighbours of a small data set."""

import numpy as np

import idm

idm.show_config()

# Twelve points on a circle: the neighbours of each are the point itself, then those beside it.
angle = 2 * np.pi * np.arange(12) / 12
X = np.c_[np.cos(angle), np.sin(angle)]
neighbors = idm.nearest_neighbors(X, 5)

print("\npoint  its five nearest   their distances")
for i, (indices, distances) in enumerate(zip(*neighbors, strict=True)):
    print(f"{i:>5}  {' '.join(f'{j:>2}' for j in indices)}   {'  '.join(f'{d:.3f}' for d in distances)}")
