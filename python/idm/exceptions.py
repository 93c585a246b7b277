"""The warnings of this library, each a class of its own so that it can be filtered."""


class ForkedProcessWarning(RuntimeWarning):
    """A step runs on one thread because this process was forked from one that had loaded idm."""


class ExtrapolationWarning(RuntimeWarning):
    """Some queries are so far from all points that their result says little: one point has all the weight."""


class DegenerateNeighborhoodWarning(RuntimeWarning):
    """All neighbours of some points coincide with them, so that their bandwidth is borrowed from others."""
