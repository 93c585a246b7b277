"""Figure 5: singular values of a curved torus in 30 dimensions
============================================================

Section 3.3 of the paper: the torus of figure 3, with the third powers of its coordinates mapped to 27 more
dimensions, without noise (left) and with noise in all 30 (middle and right). The singular values at one point against
the bandwidth.

**As the paper says**, without noise two singular values follow the square root of epsilon, and all others are below
epsilon at every bandwidth.

**Where it cannot agree**: the noise has "covariance I / 50", and the text says that at epsilon = 0.01 there are more
than two dimensions, and that for epsilon between 0.02 and 0.1 the third singular value is larger than epsilon without
the exponent 1/2. With that variance (right) the nearest point is so far away that at 0.01 the base point has all the
weight: there is nothing to see below 0.1. With a *standard deviation* of 1/50 (middle) all of it is true, here and in
ten samples of ten: d1 = 3.10 at 0.01, and a third singular value that is larger than epsilon in the whole range, with
exponents from 0.04 to 0.14. So 1/50 seems to be the standard deviation. **Erratum**: trace(XXᵀ) is the sum of squared
singular values, not of singular values.
"""

import matplotlib.pyplot as plt
import numpy as np

import idm

BANDWIDTHS = 2 ** (-13 + np.arange(1, 231) / 10)
ROW = 25 * 100 + 1  # theta = pi / 2, phi = 2 pi / 100

noises = {"clean": 0.0, "standard deviation 1/50": 1 / 50, "variance 1/50": np.sqrt(1 / 50)}
samples = {
    name: idm.datasets.make_curved_torus(10_000, sampling="grid", noise=noise, random_state=0).X
    for name, noise in noises.items()
}
laws = {name: idm.scaling_laws(X, ROW, BANDWIDTHS) for name, X in samples.items()}

# %%
# What the paper says of the noisy data: at epsilon = 0.01 they have more than two dimensions, and for epsilon between
# 0.02 and 0.1 the third singular value is larger than epsilon, but does not scale as its square root.
print(f"{'':>24}{'at 0.01: weight':>17}{'d1':>6}{'   0.02 to 0.1: sigma_3 > epsilon':>36}{'its exponent':>16}")
at = np.argmin(np.abs(BANDWIDTHS - 0.01))
between = (BANDWIDTHS >= 0.02) & (BANDWIDTHS <= 0.1)
for name, law in laws.items():
    larger = np.mean(law.singular_values[between, 2] > BANDWIDTHS[between])
    exponents = law.exponents[between, 2]
    print(
        f"{name:>24}{law.weight[at]:>17.2f}{law.d1[at]:>6.2f}{f'for {larger:.0%} of them':>36}"
        f"{f'{exponents.min():.2f} to {exponents.max():.2f}':>16}"
    )

# %%
# Thick lines are epsilon, as which normal directions scale, and its square root, as which tangent ones do.
figure, panels = plt.subplots(1, 3, figsize=(10, 4), sharex=True, sharey=True, layout="constrained")
for panel, (name, X) in zip(panels, samples.items(), strict=True):
    panel.loglog(BANDWIDTHS, np.sqrt(BANDWIDTHS), color="0.7", linewidth=4, label=r"$\epsilon$ and $\sqrt{\epsilon}$")
    panel.loglog(BANDWIDTHS, BANDWIDTHS, color="0.7", linewidth=4)
    idm.plot.scaling_laws(X, ROW, bandwidths=BANDWIDTHS, show="singular_values", ax=panel)
    panel.set(title=name, xlim=(1e-3, 10), ylim=(1e-4, 10))
    panel.label_outer()
plt.show()
