"""The warnings of this library, each a class of its own so that it can be filtered."""


class ForkedProcessWarning(RuntimeWarning):
    """A step runs on one thread because this process was forked from one that had loaded idm."""


class DegenerateNeighborhoodWarning(RuntimeWarning):
    """All neighbours of some points coincide with them, so that their bandwidth is borrowed from others."""
