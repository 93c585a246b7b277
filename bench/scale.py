"""Rows from a disk, and Dask with one and two worker processes: times, memory and bytes moved.

python bench/scale.py [--n-samples 5000000] [--n-columns 50] [--n-mapped 200000] [--n-dask 200000] [--json FILE]

From the disk: a fit of float32 rows in a file, with coordinates left to `transform`, which then writes those of the
first `n-mapped` rows into another file. The memory is the largest anonymous one (that of files is the system's, to take
back) beyond what there was before. With Dask: rows are made on the workers, so that only what we move is moved. A fit
has one pass over all rows for a sample, and another for sums over cells if y has noise, here of 30 %.
"""

import argparse
import pickle
import tempfile
import threading
import time
from pathlib import Path
from unittest import mock

import numpy as np
from harness import memory, save

import idm
from idm import _dask, _sample


class Peak:
    """The largest anonymous memory while it is entered, beyond that before."""

    def __enter__(self):
        self._before, self.bytes, self._done = memory("RssAnon"), 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._done.wait(0.02):
            self.bytes = max(self.bytes, memory("RssAnon") - self._before)

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()


def torus(n, m, seed):
    """Points of a torus turned into m columns, and theta as two features."""
    X, _, y = idm.datasets.make_torus(n, feature="theta", random_state=seed)
    return X @ np.linalg.qr(np.random.default_rng(0).normal(size=(m, 3)))[0].T, y


def with_noise(y, seed):
    return y + 0.3 * y.std() * np.random.default_rng(seed).normal(size=y.shape)


def timed(function):
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def from_disk(n, m, n_mapped, folder):
    """Seconds and bytes of a fit of n x m float32 in a file, and of mapping some of its rows."""
    X = np.memmap(folder / "X", dtype=np.float32, mode="w+", shape=(n, m))
    y, noisy = (np.memmap(folder / name, dtype=np.float32, mode="w+", shape=(n, 2)) for name in ("y", "noisy"))
    for start in range(0, n, 500_000):
        part = slice(start, min(n, start + 500_000))
        X[part], y[part] = torus(part.stop - part.start, m, start)
        noisy[part] = with_noise(y[part], start)
    model = idm.IteratedDiffusionMap(random_state=0, store_embedding=False)
    idm.IteratedDiffusionMap(max_iter=1).fit(X[:500], y[:500])  # libraries are loaded
    with Peak() as noisy_peak:
        _, noisy_fit = timed(lambda: model.fit(X, noisy))
    with Peak() as fit_peak:
        _, fit = timed(lambda: model.fit(X, y))
    out = np.memmap(folder / "out", dtype=np.float32, mode="w+", shape=(n_mapped, model.iterations_[-1].n_coordinates))
    with Peak() as transform_peak:
        _, transform = timed(lambda: model.transform(X[:n_mapped], out=out))
    return {"rows": n, "columns": m, "fit": fit, "fit_peak": fit_peak.bytes, "noisy_fit": noisy_fit,
            "noisy_fit_peak": noisy_peak.bytes, "mapped": n_mapped, "transform": transform,
            "transform_peak": transform_peak.bytes}  # fmt: skip


def made_on_a_worker(m, block_info=None):
    """X, y, and y with noise."""
    (start, stop), _ = block_info[None]["array-location"]
    X, y = torus(stop - start, m, start)
    return np.hstack([X, y, with_noise(y, start)])


def moved(client):
    """Bytes that workers have sent to others so far."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def fitted(X, y):
    """A model, the seconds of its fit, and those of its passes over all rows with the bytes that the client got."""
    passes = {}

    def watched(name, function, size):
        def call(*given, **options):
            result, seconds = timed(lambda: function(*given, **options))
            passes[name] = {"seconds": seconds, "bytes": size(result)}
            return result

        return call

    sample = watched("sample", _sample.dask_sample, lambda found: found["X"].nbytes + found["y"].nbytes)
    sums = watched("sums", _dask._total, lambda total: total.nbytes)
    with mock.patch.object(_sample, "dask_sample", sample), mock.patch.object(_dask, "_total", sums):
        model, seconds = timed(lambda: idm.IteratedDiffusionMap(random_state=0, n_jobs=1).fit(X, y))
    return model, seconds, passes


def with_dask(n_workers, n, m, folder):
    """Seconds of each pass over the rows on so many worker processes, and bytes that these moved."""
    import dask.array as da
    from distributed import Client, LocalCluster

    options = {"processes": True, "dashboard_address": ":0", "local_directory": str(folder)}
    with LocalCluster(n_workers=n_workers, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
        client.wait_for_workers(n_workers)
        chunk = n // 20
        data = da.map_blocks(made_on_a_worker, m, chunks=((chunk,) * 20, (m + 4,)), dtype=float, meta=np.empty((0, 0)))
        data = data.persist()
        client.run(lambda: __import__("idm").IteratedDiffusionMap)  # libraries are loaded
        data[:, 0].sum().compute()
        X, y, noisy = data[:, :m], data[:, m : m + 2], data[:, m + 2 :]
        model, fit, passes = fitted(X, y)
        before = moved(client)
        sums = model.transform(X).map_blocks(np.sum, axis=1, drop_axis=1, dtype=float)
        _, transform = timed(lambda: sums.sum().compute())
        between_workers = moved(client) - before
        _, predict = timed(lambda: model.predict(X).sum().compute())
        before = moved(client)
        _, noisy_fit, noisy_passes = fitted(X, noisy)
        between_in_fit = moved(client) - before
    return {"workers": n_workers, "rows": 20 * chunk, "columns": m, "fit": fit, "noisy_fit": noisy_fit,
            **passes, **noisy_passes, "transform": transform, "predict": predict, "model": len(pickle.dumps(model)),
            "between_workers": between_workers, "between_in_noisy_fit": between_in_fit,
            "result_per_row": 8 * model.iterations_[-1].n_coordinates}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-samples", type=int, default=5_000_000)
    parser.add_argument("--n-columns", type=int, default=50)
    parser.add_argument("--n-mapped", type=int, default=200_000)
    parser.add_argument("--n-dask", type=int, default=200_000)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    record = {"title": "Rows from a disk, and with Dask", "dask": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        disk = from_disk(arguments.n_samples, arguments.n_columns, arguments.n_mapped, folder)
        record["disk"] = disk
        print(f"disk, {disk['rows']:,} x {disk['columns']}: fit {disk['fit']:.1f} s, {disk['fit_peak'] / 1e6:.0f} MB; "
              f"with noise {disk['noisy_fit']:.1f} s, {disk['noisy_fit_peak'] / 1e6:.0f} MB; "
              f"transform of {disk['mapped']:,}: {disk['transform']:.1f} s, "
              f"{1e6 * disk['transform'] / disk['mapped']:.0f} us / row, {disk['transform_peak'] / 1e6:.0f} MB",
              flush=True)  # fmt: skip
        for m in (3, arguments.n_columns):
            for n_workers in (1, 2):
                row = with_dask(n_workers, arguments.n_dask, m, folder)
                record["dask"].append(row)
                each = {name: 1e6 * row[name] / row["rows"] for name in ("transform", "predict")}
                each["sums"] = 1e6 * row["sums"]["seconds"] / row["rows"]
                print(f"{n_workers} workers, {row['rows']:,} x {m}: fit {row['fit']:.1f} s, with noise "
                      f"{row['noisy_fit']:.1f} s, sample {row['sample']['seconds']:.1f} s; us / row: "
                      f"{', '.join(f'{name} {seconds:.0f}' for name, seconds in each.items())}; to the client "
                      f"{row['sample']['bytes'] / 1e6:.1f} + {row['sums']['bytes'] / 1e6:.1f} MB, between workers "
                      f"{row['between_in_noisy_fit'] / 1e6:.1f} MB in the fit, "
                      f"{row['between_workers'] / 1e6:.1f} MB in transform; model "
                      f"{row['model'] / 1e6:.1f} MB, result {row['result_per_row']} B / row",
                      flush=True)  # fmt: skip
    if arguments.json:
        save(arguments.json, record)


if __name__ == "__main__":
    main()
