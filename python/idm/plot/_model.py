"""The models that pictures are of."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from idm._diffusion_map import DiffusionMap
from idm._iterated_map import IteratedMap
from idm._local_kernel_map import LocalKernelMap

_NAMES: dict[type, str] = {
    DiffusionMap: "DiffusionMap",
    IteratedMap: "IteratedDiffusionMap, IteratedDiffusionMapClassifier",
    LocalKernelMap: "LocalKernelMap",
}


def check_model(model: Any, *kinds: type) -> None:
    """Refuse what is not a fitted model of these kinds."""
    if not isinstance(model, kinds):
        names = ", ".join(_NAMES[kind] for kind in kinds)
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise TypeError(f"model must be a fitted {' or '.join(names.rsplit(', ', 1))}, got {got}")
    check_is_fitted(model)
