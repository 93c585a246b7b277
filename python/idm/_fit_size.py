"""What a fit takes of memory, and whether there is as much."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

# Arrays of so many rows that are handled at a time, with their neighbours: what is there besides the rows themselves.
_FIXED = 60_000_000


@dataclass(frozen=True, kw_only=True)
class FitSize:
    """What decides on the memory of a fit."""

    n_samples: int
    n_fitted: int  # of them, whose features are used
    n_stored: int  # of them, whose coordinates are kept
    n_features: int
    n_targets: int
    n_landmarks: int
    n_neighbors: int
    pool_size: int
    n_components: int
    estimated: bool  # whether the feature of every row is estimated

    def bytes(self, n_components: int | None = None) -> int:
        """About the peak, besides X and y: measured with `python bench/growth.py`, and by the arrays that there are.

        Of each row that is fitted: a copy of X, and for the estimate two trees with two copies each; y and its
        estimates; if these are a sample, half as many cells with sums and two trees. Of each row that is kept:
        coordinates. Of each landmark: pool and neighbours, the kernel, the basis of the eigensolver, five iterations.
        """
        M = self.n_components if n_components is None else min(n_components, self.n_components)
        copies = 1 if not self.estimated else 6 if self.n_fitted == self.n_samples else 10
        per_row = copies * self.n_features + 8 * self.n_targets
        per_landmark = 2 * self.pool_size + 4 * self.n_neighbors + 22 * M + 400
        return _FIXED + 8 * (self.n_fitted * per_row + self.n_stored * M + self.n_landmarks * per_landmark)

    def check(self) -> None:
        """Raise MemoryError if there is less than the fit needs, even if it keeps ten coordinates only."""
        needed, available = self.bytes(10), available_memory()
        if available is not None and needed > available:
            raise MemoryError(
                f"a fit of {self.n_samples:,} rows, {self.n_features} columns, {self.n_landmarks:,} landmarks and "
                f"{self.n_neighbors} neighbours takes about {needed / 1e9:.2g} GB, of {available / 1e9:.2g} GB left; "
                "lower n_landmarks, n_neighbors or subsample, or take store_embedding=False and transform parts"
            )


def available_memory() -> int | None:
    """Bytes that this process may still get, by the system, its control group and its limits; None if unknown."""
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found.append(1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]))
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        found.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            found.append(limit - pages * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)
