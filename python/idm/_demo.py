"""The examples of section 4.3: fitted, tabled, and drawn like the paper's first figure."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import idm

if TYPE_CHECKING:  # the names of the examples are needed by `idm --help`, and nothing else
    import numpy as np
    from numpy.typing import NDArray

    from idm._iteration_record import IterationRecord

EXAMPLES: dict[str, Callable[[int, int], "idm.datasets.Dataset"]] = {
    "annulus-radius": lambda n, seed: idm.datasets.make_annulus(n, feature="radius", random_state=seed),
    "annulus-angle": lambda n, seed: idm.datasets.make_annulus(n, feature="angle", random_state=seed),
    "torus-phi": lambda n, seed: idm.datasets.make_torus(n, feature="phi", random_state=seed),
    "torus-theta": lambda n, seed: idm.datasets.make_torus(n, feature="theta", random_state=seed),
    "sphere-x": lambda n, seed: idm.datasets.make_sphere(n, feature="x", random_state=seed),
    "sphere-twist": lambda n, seed: idm.datasets.make_sphere(n, feature="twist", random_state=seed),
}


def recall(embedding: "NDArray[np.float64]", y: "NDArray[np.float64]") -> float:
    """Of the nearest tenth of some points in the embedding, the share that is so in the feature."""
    import numpy as np

    n, rows = len(y) // 10, np.random.default_rng(0).permutation(len(y))[:500]
    found = idm.nearest_neighbors(embedding, n, queries=embedding[rows]).indices
    true = idm.nearest_neighbors(y, n, queries=y[rows]).indices
    return float(np.mean([len(np.intersect1d(a, b)) / n for a, b in zip(found, true, strict=True)]))


def demo(example: str, n_samples: int, seed: int, path: Path | None) -> None:
    """Fit an example, print a table of its iterations, and save the picture."""
    X, _, y = EXAMPLES[example](n_samples, seed)
    print(f"{example}: {n_samples} points of R^{X.shape[1]}, {y.shape[1]} feature(s)")
    print(f"{'iteration':>9}{'seconds':>9}{'epsilon':>10}{'coordinates':>13}{'change':>8}{'recall':>8}")
    print(f"{'data':>9}{'':>9}{'':>10}{X.shape[1]:>13}{'':>8}{recall(X[:2000], y[:2000]):>8.2f}", flush=True)

    def tell(record: "IterationRecord") -> None:
        print(
            f"{record.iteration:>9}{record.seconds:>9.2f}{record.epsilon:>10.2g}{record.n_coordinates:>13}"
            f"{record.distance_change:>8.3f}{recall(record.embedding, y[record.landmarks]):>8.2f}",
            flush=True,
        )

    start = time.perf_counter()
    model = idm.IteratedDiffusionMap(random_state=seed, callback=tell).fit(X, y)
    seconds = time.perf_counter() - start
    print(f"kept iteration {model.n_iter_} ({model.stop_reason_}); {seconds:.1f} s with the figures of this table")
    if path is not None:
        from idm._model_commands import save_figure

        save_figure(idm.plot.iterations(model, X, y), path)
        print(f"saved {path}")
