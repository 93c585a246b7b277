"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `idm`; the result is its exit status."""
    parser = argparse.ArgumentParser(prog="idm", description="Iterated diffusion maps.")
    commands = parser.add_subparsers(dest="command", required=True)

    from idm._demo import EXAMPLES, demo

    show = commands.add_parser("demo", help="fit an example of the paper, print its iterations, save a picture")
    show.add_argument("example", nargs="?", default="annulus-radius", choices=list(EXAMPLES))
    show.add_argument("-n", "--n-samples", type=int, default=2000, help="points (default 2000)")
    show.add_argument("--seed", type=int, default=0, help="of the points (default 0)")
    show.add_argument("-o", "--output", help="where the picture goes (default idm-<example>.png)")

    options = parser.parse_args(arguments)
    path = options.output or f"idm-{options.example}.png"
    if options.n_samples < 20:
        parser.error(f"--n-samples must be at least 20, got {options.n_samples}")
    if not Path(path).absolute().parent.is_dir():
        parser.error(f"--output {path}: its folder does not exist")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'iterated-diffusion-map[plot]')", file=sys.stderr)
        path = None
    demo(options.example, options.n_samples, options.seed, path)
    return 0
