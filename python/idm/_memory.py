"""How much memory a fit will take."""

from typing import Any

from idm._fit_size import FitSize
from idm._iterated_diffusion_map import IteratedDiffusionMap
from idm._validation import as_integer


def estimate_memory(n_samples: int, n_features: int, n_targets: int = 1, *, estimator: Any = None) -> int:
    """About how many bytes a fit takes at its peak, besides the X and y that it is given.

    Parameters
    ----------
    n_samples, n_features, n_targets : int
        Rows and columns of X, and columns of y.
    estimator : estimator of this package, optional
        Whose parameters count; by default `IteratedDiffusionMap()`. All its `n_components` are counted, of which
        iterations usually keep fewer than half.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> import idm
    >>> print(f"{idm.estimate_memory(1_000_000, 3) / 1e9:.1f} GB")
    1.0 GB

    """
    estimator = IteratedDiffusionMap() if estimator is None else estimator
    if not hasattr(estimator, "_fit_size"):
        raise TypeError(f"estimator must be one of this package, such as idm.DiffusionMap(), got {estimator!r}")
    sizes = {"n_samples": n_samples, "n_features": n_features, "n_targets": n_targets}
    size: FitSize = estimator._fit_size(*(as_integer(value, name, low=1) for name, value in sizes.items()))
    return size.bytes()
