"""The warnings and errors of this library, each a class of its own so that it can be filtered or caught."""

import sklearn.exceptions


class ForkedProcessWarning(RuntimeWarning):
    """A step runs on one thread because this process was forked from one that had loaded idm."""


class ExtrapolationWarning(RuntimeWarning):
    """Some queries are so far from all points that their result says little: one point has all the weight."""


class DegenerateNeighborhoodWarning(RuntimeWarning):
    """All neighbours of some points coincide with them, so that their bandwidth is borrowed from others."""


class DisconnectedGraphWarning(RuntimeWarning):
    """The graph of neighbours falls apart, so that the first coordinates only tell its parts from each other."""


class SpectrumWarning(RuntimeWarning):
    """Some eigenvalues of the kernel are not positive, and their coordinates are 0."""


class KernelCutWarning(RuntimeWarning):
    """The kernel has not decayed where the neighbours end, so that the result depends on their number."""


class NarrowKernelWarning(RuntimeWarning):
    """The kernel reaches so few points that the gaps of the sample decide, and eigenvalues are far too small."""


class UnderflowWarning(RuntimeWarning):
    """All coordinates are 0, because their weights exp(lambda s) are below the smallest float64."""


class SpectraDifferWarning(RuntimeWarning):
    """The kernel on X does not see the geometry of y: the eigenvalues of both should agree and do not."""


class OutlierWarning(RuntimeWarning):
    """A few points far from all others dominate the bandwidth, so that the kernel sees no structure in the rest."""


class FeatureOutlierWarning(RuntimeWarning):
    """A few features are out of all proportion to the rest, and their rows are mapped as if these were not known."""


class ConstantFeatureWarning(RuntimeWarning):
    """All rows have the same feature, so that there is nothing to find."""


class UnpredictableFeatureWarning(RuntimeWarning):
    """The feature cannot be estimated from X better than by its mean, so that there is nothing to find."""


class NotConvergedWarning(sklearn.exceptions.ConvergenceWarning):  # type: ignore[misc]
    """The iterations end at `max_iter` while distances still change; one of scikit-learn's convergence warnings."""


class EigenpairWarning(RuntimeWarning):
    """The eigenpairs of a later iteration could not be computed, so that the fit ends with the one before."""


class CoincidentPointsError(ValueError):
    """All neighbours of all points coincide with them, so that there is no bandwidth."""


class EigenpairError(RuntimeError):
    """The eigenpairs of the kernel could not be computed to the accuracy that the method needs."""
