"""The parameters of the iterated map: what they are, what they must be, and the settings that follow from them."""

import numbers
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from idm._coordinates import RESCALINGS, MapOptions, Rescaling
from idm._fit_size import FitSize
from idm._iteration import Settings
from idm._iteration_record import IterationRecord
from idm._landmarks import n_landmarks_of
from idm._local_derivatives import DERIVATIVE_METHODS, DerivativeMethod
from idm._local_geometry import TUNINGS, Tuning
from idm._metric import FEATURE_CHANGES, MIXINGS, FeatureChange, Flow, Mixing
from idm._stopping import Stopping
from idm._threads import n_threads
from idm._validation import as_choice, as_integer, as_real, is_auto
from idm._warnings import Advice
from idm.exceptions import (
    CoincidentPointsError,
    DisconnectedGraphWarning,
    EigenpairError,
    OutlierWarning,
    UnderflowWarning,
)

_Rows: TypeAlias = NDArray[np.intp]
_Auto: TypeAlias = Literal["auto"]
_Automatic = TypeVar("_Automatic", float, None)

# n_neighbors="auto": a share of the landmarks, but not so few that the graph of a curve tears, nor too many for memory.
_NEIGHBORS_SHARE, _LEAST_NEIGHBORS, _MOST_NEIGHBORS = 0.15, 100, 1000
# tol="auto" for the change of distances; a change of 2 % after three iterations is one of 0.2 % in the next.
_TOLERANCE = 0.02

REMEDIES: dict[type[Exception], str] = {
    CoincidentPointsError: "most rows have copies in X, or in y if tau is 1; remove them, raise n_neighbors, lower tau",
    OutlierWarning: "remove those points from X and y, or lower n_neighbors_bandwidth",
    UnderflowWarning: "lower diffusion_time, or use rescaling='isometric'",
    DisconnectedGraphWarning: "raise n_neighbors or n_neighbors_bandwidth, or fit the components one by one",
    EigenpairError: "raise n_neighbors_bandwidth, or lower n_components or max_iter",
}


class Parameters(BaseEstimator):  # type: ignore[misc]
    """Of the estimators of the iterated map, which all have the same."""

    _remedies: ClassVar = REMEDIES

    def __init__(
        self,
        n_components: int = 100,
        *,
        tau: float = 0.95,
        max_iter: int = 20,
        n_landmarks: _Auto | int | None = "auto",
        n_neighbors: _Auto | int = "auto",
        n_neighbors_bandwidth: _Auto | int = "auto",
        feature_estimator: Any = None,
        feature_scale: _Auto | float = "auto",
        feature_change: FeatureChange = "difference",
        bandwidth: Tuning = "d1",
        derivative: DerivativeMethod = "affine",
        regularization: float = 0.05,
        mixing: Mixing = "lengths",
        rescaling: Rescaling = "isometric",
        diffusion_time: _Auto | float = "auto",
        early_stopping: _Auto | bool = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 1,
        tol: _Auto | float = "auto",
        subsample: int | None = 100_000,
        store_embedding: bool = True,
        callback: Callable[[IterationRecord], bool | None] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.tau = tau
        self.max_iter = max_iter
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.n_neighbors_bandwidth = n_neighbors_bandwidth
        self.feature_estimator = feature_estimator
        self.feature_scale = feature_scale
        self.feature_change = feature_change
        self.bandwidth = bandwidth
        self.derivative = derivative
        self.regularization = regularization
        self.mixing = mixing
        self.rescaling = rescaling
        self.diffusion_time = diffusion_time
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.subsample = subsample
        self.store_embedding = store_embedding
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_size(self, n_samples: int, n_features: int, n_targets: int, *, store: bool | None = None) -> FitSize:
        most = None if self.subsample is None else as_integer(self.subsample, "subsample", low=2)
        n_fitted = n_samples if most is None else min(n_samples, most)
        n_landmarks = n_landmarks_of(self.n_landmarks, n_fitted)
        settings = self._settings(n_landmarks)
        return FitSize(
            n_samples=n_samples,
            n_fitted=n_fitted,
            n_stored=n_samples if (self.store_embedding if store is None else store) else 0,
            n_features=n_features,
            n_targets=n_targets,
            n_landmarks=n_landmarks,
            n_neighbors=settings.n_neighbors,
            pool_size=settings.pool_size(n_landmarks),
            n_components=min(settings.map.n_components, n_landmarks),
            estimated=settings.needs_features,
        )

    def _check_parameters(self) -> None:
        """All of them, before anything is read or computed."""
        n_threads(self.n_jobs)
        self._settings(n_landmarks_of(self.n_landmarks, _MOST_NEIGHBORS))
        self._stopping(held_out=False)
        self._given_scale()
        if not isinstance(self.store_embedding, bool | np.bool_):
            raise TypeError(f"store_embedding must be True or False, got {self.store_embedding!r}")
        if not isinstance(self.verbose, bool | np.bool_):
            as_integer(self.verbose, "verbose", low=0)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be a function of an IterationRecord or None, got {self.callback!r}")

    def _stopping(self, *, held_out: bool, flows: bool = True) -> Stopping:
        tol = _auto_or_real(self.tol, "tol", 0.0 if held_out else _TOLERANCE, low=0)
        return Stopping(
            max_iter=as_integer(self.max_iter, "max_iter", low=1),
            patience=as_integer(self.n_iter_no_change, "n_iter_no_change", low=1),
            least_gain=tol,
            least_change=tol if self.feature_change == "difference" else 0.0,
            flows=flows,
        )

    def _stops_early(self) -> bool:
        """Whether rows are held out to decide when to stop: "auto" is yes for derivatives, which do not converge."""
        if isinstance(self.early_stopping, bool | np.bool_):
            return bool(self.early_stopping)
        is_auto(self.early_stopping, "early_stopping", "'auto', True or False", bool)
        return self.feature_change == "derivative"

    def _given_scale(self) -> float | None:
        return _auto_or_real(self.feature_scale, "feature_scale", None, low=1e-100, high=1e100)

    def _settings(self, n_landmarks: int, rows: _Rows | None = None) -> Settings:
        """The parameters of an iteration, checked; `rows` are the landmarks."""
        diffusion_time = _auto_or_real(self.diffusion_time, "diffusion_time", None, low=0)
        if diffusion_time == 0 and self.rescaling != "isometric":
            raise ValueError(
                f"diffusion_time=0 makes all coordinates 0 with rescaling={self.rescaling!r}; raise it, or use "
                "'isometric'"
            )
        automatic = min(_MOST_NEIGHBORS, max(_LEAST_NEIGHBORS, round(_NEIGHBORS_SHARE * n_landmarks)))
        n_neighbors = min(n_landmarks, _auto_or_count(self.n_neighbors, "n_neighbors", automatic))
        tau = as_real(self.tau, "tau", low=0, high=1)
        # Derivatives are the paper's own way, which has one bandwidth for all. With local ones, far rows do no harm.
        variable = self.feature_change == "difference"
        remedies = {c: text for c, text in self._remedies.items() if c is not OutlierWarning or not variable}
        return Settings(
            n_neighbors=n_neighbors,
            flow=Flow(
                tau=tau,
                mixing=as_choice(self.mixing, "mixing", MIXINGS),
                change=as_choice(self.feature_change, "feature_change", FEATURE_CHANGES),
            ),
            map=MapOptions(
                bandwidth="variable" if variable else "global",
                n_components=as_integer(self.n_components, "n_components", low=1),
                n_neighbors_bandwidth=_auto_or_count(
                    self.n_neighbors_bandwidth, "n_neighbors_bandwidth", max(2, n_neighbors // 4)
                ),
                diffusion_time=diffusion_time,
                rescaling=as_choice(self.rescaling, "rescaling", RESCALINGS),
                advice=Advice(what=f"the lengths of the flow (tau={tau:g})", rows=rows, remedies=remedies),
            ),
            bandwidth=as_choice(self.bandwidth, "bandwidth", TUNINGS),
            derivative=as_choice(self.derivative, "derivative", DERIVATIVE_METHODS),
            regularization=as_real(self.regularization, "regularization", low=0),
        )

    def _split(self, n: int, random_state: np.random.RandomState) -> tuple[_Rows, _Rows]:
        """Rows that are fitted and rows that are held out; none of these in less than ten."""
        fraction = as_real(self.validation_fraction, "validation_fraction", low=0.001, high=0.9)
        if not self._stops_early() or n < 10:
            return np.arange(n), np.arange(0)
        order = random_state.permutation(n)
        n_held_out = min(max(2, round(fraction * n)), n - 2)
        return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _auto_or_count(value: Any, name: str, automatic: int) -> int:
    automatically = is_auto(value, name, "'auto' or an integer >= 2", numbers.Integral)
    return automatic if automatically else as_integer(value, name, low=2)


def _auto_or_real(
    value: Any, name: str, automatic: _Automatic, *, low: float, high: float = np.inf
) -> float | _Automatic:
    bounds = f">= {low:g}" if np.isinf(high) else f"from {low:g} to {high:g}"
    automatically = is_auto(value, name, f"'auto' or a number {bounds}", numbers.Real)
    return automatic if automatically else as_real(value, name, low=low, high=high)
