"""Writes bench/README.md, and its picture, from the records of the scripts; --run measures them anew.

python bench/report.py            from the records in bench/results
python bench/report.py --run      all of them first, one after the other (about 15 minutes on two cores, alone)
python bench/report.py --run growth load
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import harness  # noqa: F401 (the standard module `profile` is loaded before the one beside this)
import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
RECORDS = HERE / "results"
RUNS = {
    "straightforward": ["straightforward.py"],
    "growth": ["growth.py"],
    "growth_50": ["growth.py", "--sizes", "10000", "1000000", "--n-columns", "50", "--dtype", "float32"],
    "scale": ["scale.py"],
    "load": ["load.py"],
    "threads": ["threads.py"],
    "profile": ["profile.py", "--n-samples", "40000"],
    "diffusion_map": ["diffusion_map.py"],
    "neighbors": ["neighbors.py"],
    "local_geometry": ["local_geometry.py"],
}


def markdown(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ratios(record):
    rows = [[r["case"].strip(), f"{r['ours']:.3g} s", f"{r['peer']:.3g} s", f"{r['ratio']:.3f}", r["aim"]]
            for r in record["rows"]]  # fmt: skip
    return markdown(["case", "ours", "peer", "ratio", "aim"], rows)


def growth(record):
    header = ["rows", "seconds", "us / row", "peak, MB", "estimate, MB", "recall", "coordinates", "transform, rows / s"]
    rows = [
        [f"{r['n']:,}", f"{r['seconds']:.2f}", f"{1e6 * r['seconds'] / r['n']:.0f}", f"{r['peak'] / 1e6:.0f}",
         f"{r['estimated'] / 1e6:.0f}", f"{r['recall']:.3f}", str(r["n_coordinates"]),
         f"{r['transform_per_second']:,.0f}"]
        for r in record["growth"]
    ]  # fmt: skip
    return markdown(header, rows)


def scale(record):
    """From a disk and with Dask, and what follows for many rows on many machines."""
    disk = record["disk"]
    passes, bytes_moved = [], []
    for r in record["dask"]:
        data = [str(r["workers"]), f"{r['rows']:,} x {r['columns']}"]
        seconds = [r["sample"]["seconds"], r["fit"], r["noisy_fit"]]
        each = [1e6 * s / r["rows"] for s in (r["sums"]["seconds"], r["transform"], r["predict"])]
        passes.append([*data, *(f"{s:.1f}" for s in seconds), *(f"{s:.0f}" for s in each)])
        sizes = [r["sample"]["bytes"], r["sums"]["bytes"], r["between_in_noisy_fit"], r["model"], r["between_workers"]]
        bytes_moved.append(
            [*data, str(8 * r["columns"]), str(r["result_per_row"]), *(f"{size / 1e6:.1f}" for size in sizes)]
        )
    data = ["workers", "data"]
    times = [*data, "sample, s", "fit, s", "fit with noise, s", "sums, us / row", "transform, us / row",
             "predict, us / row"]  # fmt: skip
    sizes = [*data, "X, B / row", "result, B / row", "sample to client, MB", "sums to client, MB",
             "between workers in a fit with noise, MB", "model, MB", "between workers in transform, MB"]  # fmt: skip
    one = {r["columns"]: r for r in record["dask"] if r["workers"] == 1}
    estimates = " and ".join(
        f"{1e8 * r['transform'] / r['rows'] / 64:.0f} s with {m} columns (and the sums of a fit with noise "
        f"{1e8 * r['sums']['seconds'] / r['rows'] / 64:.0f} s)"
        for m, r in one.items()
    )
    return (
        f"From a file of {disk['rows']:,} x {disk['columns']} float32: fit {disk['fit']:.1f} s, "
        f"{disk['fit_peak'] / 1e6:.0f} MB beyond what there was; with noise in y {disk['noisy_fit']:.1f} s, "
        f"{disk['noisy_fit_peak'] / 1e6:.0f} MB; transform of {disk['mapped']:,} rows into a file "
        f"{disk['transform']:.1f} s, {disk['transform_peak'] / 1e6:.0f} MB.\n\n"
        f"Passes over all rows with Dask, workers with one thread each:\n\n{markdown(times, passes)}\n\n"
        f"What they move:\n\n{markdown(sizes, bytes_moved)}\n\n"
        "At the time of a row on one core, `transform` of 100 million rows on 32 machines of two cores takes "
        f"{estimates}, if reading, writing and the scheduler keep up (not measured)."
    )


def stages(record):
    parts = []
    for table in record["tables"]:
        rows = [
            [r["stage"], str(r["calls"]), f"{r['seconds']:.3f}", f"{r['share']:.0%}",
             *([f"{r['bound']:.4f}", f"{r['reached']:.0%}", r["by"]] if "bound" in r else [""] * 3)]
            for r in table["rows"]
        ]  # fmt: skip
        header = ["stage", "calls", "seconds", "share", "bound", "reached", "by"]
        parts.append(f"**{table['title']}: {table['seconds']:.3f} s**\n\n{markdown(header, rows)}")
    return "\n\n".join(parts)


def picture(record):
    rows = record["growth"]
    n = np.array([r["n"] for r in rows])
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, key, label in ((axes[0], "seconds", "seconds of a fit"), (axes[1], "peak", "peak memory, bytes")):
        values = np.array([r[key] for r in rows])
        axis.loglog(n, values, "o-", color="tab:blue", label="measured")
        axis.loglog(n, values[-1] * n / n[-1], ":", color="0.5", label="in proportion")
        axis.set_xlabel("rows")
        axis.set_ylabel(label)
        axis.legend(frameon=False)
        axis.grid(alpha=0.3)
    figure.savefig(HERE / "growth.png", dpi=110)


def on(machine):
    return f"{machine['processor']}, {machine['cpus']} processors, {machine['system']}"


def section(record, machine):
    kinds = {"growth": growth, "tables": stages, "dask": scale}
    body = next((write for kind, write in kinds.items() if kind in record), ratios)(record)
    notes = "".join(f"\n\n{note}" for note in record.get("notes", []))
    shown = "\n\n![time and memory by rows](growth.png)" if record["command"] == "python bench/growth.py" else ""
    where = "" if record["machine"] == machine else f", on another machine: {on(record['machine'])}"
    return f"## {record['title']}\n\n`{record['command']}`, {record['date']}{where}\n\n{body}{notes}{shown}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", nargs="*", choices=RUNS, metavar="NAME", help=f"of {', '.join(RUNS)}; without: all")
    arguments = parser.parse_args()
    RECORDS.mkdir(exist_ok=True)
    if arguments.run is not None:
        for name in arguments.run or RUNS:
            script, *given = RUNS[name]
            command = [sys.executable, str(HERE / script), *given, "--json", str(RECORDS / f"{name}.json")]
            subprocess.run(command, check=True)
    records = [json.loads(path.read_text()) for name in RUNS if (path := RECORDS / f"{name}.json").exists()]
    picture(json.loads((RECORDS / "growth.json").read_text()))
    machine, versions = records[0]["machine"], records[0]["versions"]
    first = f"""# Benchmarks

Written by `python bench/report.py` from the records of the scripts; no figure is typed by hand. Ratios are of the best
of interleaved rounds in one run, ours over the peer's: machines are shared and noisy, and a time by itself says little.

Machine: {on(machine)}.
{", ".join(f"{name} {value}" for name, value in versions.items())}."""
    (HERE / "README.md").write_text("\n\n".join([first, *(section(record, machine) for record in records)]) + "\n")


if __name__ == "__main__":
    main()
