"""The command line. Exit status: 0, 1 for errors (one line says which), 2 for wrong usage, 130 after Ctrl-C."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from idm.exceptions import EigenpairError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `idm`; the result is its exit status."""
    try:
        _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except BrokenPipeError:  # as in `idm demo | head -1`: whoever reads has seen enough
        _discard_output()
        return 1
    except (OSError, MemoryError, EigenpairError) as error:
        _discard_output()
        return _failed(error, 1)
    return 0


def _run(arguments: Sequence[str] | None) -> None:
    from idm._demo import EXAMPLES, demo

    parser = argparse.ArgumentParser(prog="idm", description="Iterated diffusion maps.")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("demo", help="fit an example of the paper, print its iterations, save a picture")
    show.add_argument("example", nargs="?", default="annulus-radius", choices=list(EXAMPLES))
    show.add_argument("-n", "--n-samples", type=int, default=2000, help="points (default 2000)")
    show.add_argument("--seed", type=int, default=0, help="of the points (default 0)")
    show.add_argument("-o", "--output", help="where the picture goes (default idm-<example>.png)")
    options = parser.parse_args(arguments)
    if options.n_samples < 20:
        show.error(f"--n-samples must be at least 20, got {options.n_samples}")
    if not 0 <= options.seed < 2**32:
        show.error(f"--seed must be between 0 and {2**32 - 1}, got {options.seed}")
    path = _picture_path(show, options.output or f"idm-{options.example}.png")
    demo(options.example, options.n_samples, options.seed, path)


def _picture_path(parser: argparse.ArgumentParser, output: str) -> Path | None:
    """Where the picture will be written, tried before anything is computed; None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'iterated-diffusion-map[plot]')", file=sys.stderr)
        return None
    formats = sorted(Figure().canvas.get_supported_filetypes())
    path = Path(output)
    if path.is_dir():
        parser.error(f"--output {path} is a folder; name a file in it")
    path = path if path.suffix else Path(f"{path}.png")
    if path.suffix[1:].lower() not in formats:
        parser.error(f"--output {path}: there is no such format of pictures; choose from {', '.join(formats)}")
    is_new = not path.exists()
    with path.open("ab"):
        pass
    if is_new:
        path.unlink()
    return path


def _failed(reason: object, status: int) -> int:
    print(f"idm: {reason}", file=sys.stderr)
    return status


def _discard_output() -> None:
    """What is left in the buffer of an output that cannot be written: the interpreter would try and fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
