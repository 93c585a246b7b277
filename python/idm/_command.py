"""The command line. Exit status: 0, 1 for errors (one line says which), 2 for wrong usage, 130 after Ctrl-C.

Commands import what they need when they run, so that help and wrong usage need not wait for scikit-learn.
"""

import argparse
import contextlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from idm._command_error import CommandError
from idm._demo import EXAMPLES, demo
from idm._whole_file import check_writable

_ESTIMATORS = ("iterated", "classifier", "diffusion-map", "local-kernel-map")
_TABLES = """\
Tables are files that end in .npy, .npz, .csv or .parquet, with a row for each
point. FILE.npz:NAME is one of several arrays; FILE.csv:NAME,NAME and
FILE.parquet:NAME,NAME are some of the columns. "-" reads a table from a pipe,
and writes .csv to one.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `idm`; the result is its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files that the locale has no letters for
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _short_warnings():
            options = _parser().parse_args(arguments)
            options.run(options)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except BrokenPipeError:  # as in `idm demo | head -1`: whoever reads has seen enough
        _discard_output()
        return 1
    except CommandError as error:
        return _failed(error, error.status)
    except OSError as error:
        _discard_output()
        reason = error.strerror or error
        return _failed(reason if error.filename is None else f"{error.filename}: {reason}", 1)
    except MemoryError as error:
        return _failed(str(error) or "out of memory", 1)
    except RuntimeError as error:
        from idm.exceptions import EigenpairError  # with scikit-learn, which `idm --help` does not wait for

        if not isinstance(error, EigenpairError):
            raise
        return _failed(error, 1)
    return 0


class _Parser(argparse.ArgumentParser):
    """Errors on one line; help in the lines that we wrote."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        """Wrong usage."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    from importlib.metadata import version

    parser = _Parser(
        prog="idm",
        description="Iterated diffusion maps: the variable that matters in data that hide it.",
        epilog="example:\n  idm fit X.npy y.npy -o model.idm && idm transform model.idm Xnew.npy -o Z.npy",
    )
    parser.add_argument("--version", action="version", version=f"idm {version('iterated-diffusion-map')}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    for add in (_add_demo, _add_fit, _add_transform, _add_predict, _add_info, _add_plot):
        add(commands)
    return parser


def _add(commands: Any, name: str, help: str, run: Callable[[Any], None], *, examples: str, more: str = "") -> _Parser:
    description = f"{help[0].upper()}{help[1:]}.\n\n{more}".strip()
    indented = "\n".join(f"  {line}" for line in examples.splitlines())
    parser: _Parser = commands.add_parser(name, help=help, description=description, epilog=f"examples:\n{indented}")
    parser.set_defaults(run=run, parser=parser)
    return parser


def _add_demo(commands: Any) -> None:
    parser = _add(
        commands,
        "demo",
        "fit an example of the paper, print its iterations, save a picture",
        _demo,
        examples="idm demo\nidm demo torus-phi -n 1000 -o torus.png",
    )
    parser.add_argument(
        "example",
        nargs="?",
        default="annulus-radius",
        choices=list(EXAMPLES),
        metavar="example",
        help=f"one of {', '.join(EXAMPLES)} (default annulus-radius)",
    )
    parser.add_argument("-n", "--n-samples", type=int, default=2000, help="points (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="of the points (default 0)")
    parser.add_argument("-o", "--output", help="where the picture goes (default idm-<example>.png)")


def _add_fit(commands: Any) -> None:
    parser = _add(
        commands,
        "fit",
        "fit a model to points and their features, and save it",
        _fit,
        more=_TABLES,
        examples="idm fit X.npy y.npy -o model.idm\n"
        "idm fit data.npz:X data.npz:y -o model.idm --n-components 20 --tau 0.9\n"
        "idm fit flowers.csv flowers.csv:species -o flowers.idm --estimator classifier\n"
        "idm fit X.csv -o plain.idm --estimator diffusion-map --set alpha=0",
    )
    parser.add_argument("X", help="points; if it is also the table of y, all columns but those")
    parser.add_argument("y", nargs="?", help="features, or labels for a classifier; none for a diffusion-map")
    parser.add_argument("-o", "--output", required=True, help="the model, a file that ends in .idm")
    parser.add_argument(
        "--estimator",
        default="iterated",
        choices=_ESTIMATORS,
        metavar="NAME",
        help=f"one of {', '.join(_ESTIMATORS)} (default iterated)",
    )
    for name, kind, help in (
        ("n-components", int, "the most coordinates"),
        ("tau", float, "the step of the flow, from 0 to 1"),
        ("max-iter", int, "the most iterations"),
        ("n-landmarks", _value, "rows that carry the geometry: a number, auto, or none for all"),
        ("n-neighbors", _value, "neighbours of each point: a number, or auto"),
        ("n-jobs", int, "threads, -1 for all processors"),
    ):
        # Without a default: the estimator has it, and None is a value of some.
        parser.add_argument(f"--{name}", type=kind, default=argparse.SUPPRESS, metavar="VALUE", help=help)
    parser.add_argument("--seed", "--random-state", type=int, default=0, help="of random choices (default 0)")
    parser.add_argument(
        "--set",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other parameter of the estimator, as often as you like",
    )
    _add_quiet(parser)


def _add_transform(commands: Any) -> None:
    parser = _add(
        commands,
        "transform",
        "write the coordinates of new points",
        _transform,
        more=_TABLES,
        examples="idm transform model.idm Xnew.npy -o Z.npy\nidm transform model.idm Xnew.csv -o - | head",
    )
    _add_new_points(parser, "the coordinates")


def _add_predict(commands: Any) -> None:
    parser = _add(
        commands,
        "predict",
        "write the features or labels of new points",
        _predict,
        more=_TABLES,
        examples="idm predict model.idm Xnew.npy -o y.npy\nzcat Xnew.csv.gz | idm predict model.idm - -o y.csv",
    )
    _add_new_points(parser, "the features or labels")


def _add_new_points(parser: _Parser, what: str) -> None:
    parser.add_argument("model", help="a file of idm fit or idm.save")
    parser.add_argument("X", help="points; columns with the names of the fit are found, whatever their order")
    parser.add_argument("-o", "--output", required=True, help=f"the table of {what}")
    _add_quiet(parser)


def _add_info(commands: Any) -> None:
    parser = _add(commands, "info", "print what is in a model file", _info, examples="idm info model.idm")
    parser.add_argument("model", help="a file of idm fit or idm.save")


def _add_plot(commands: Any) -> None:
    parser = _add(
        commands,
        "plot",
        "draw the iterations of a model, how distances changed, and its spectrum",
        _plot,
        more="With the data of the fit (--X and --y), the picture is that of idm demo: the\n"
        "data and each iteration, and the neighbours of one point.",
        examples="idm plot model.idm -o picture.png\nidm plot model.idm -o picture.pdf --X X.npy --y y.npy",
    )
    parser.add_argument("model", help="a file of idm fit or idm.save")
    parser.add_argument("-o", "--output", required=True, help="the picture, in the format of its ending")
    parser.add_argument("--X", help="the points that the model was fitted to")
    parser.add_argument("--y", help="their features or labels")
    _add_quiet(parser)


def _add_quiet(parser: _Parser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but warnings and errors")


def _value(text: str) -> Any:
    """A number, a truth value, none, or a word."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name.replace("-", "_"), _value(value)


def _demo(options: Any) -> None:
    if options.n_samples < 20:
        options.parser.error(f"--n-samples must be at least 20, got {options.n_samples}")
    _check_seed(options)
    try:
        path = _picture_path(options.parser, options.output or f"idm-{options.example}.png")
    except CommandError as error:
        print(f"idm: {error}; there will be none", file=sys.stderr)
        path = None
    demo(options.example, options.n_samples, options.seed, path)


def _check_seed(options: Any) -> None:
    if not 0 <= options.seed < 2**32:
        options.parser.error(f"--seed must be between 0 and {2**32 - 1}, got {options.seed}")


def _fit(options: Any) -> None:
    from idm._model_commands import fit

    _check_seed(options)
    names = ("n_components", "tau", "max_iter", "n_landmarks", "n_neighbors", "n_jobs")
    parameters = {**{name: vars(options)[name] for name in names if name in options}, **dict(options.set)}
    fit(
        options.X,
        options.y,
        options.output,
        estimator=options.estimator,
        parameters=parameters,
        seed=options.seed,
        quiet=options.quiet,
    )


def _transform(options: Any) -> None:
    from idm._model_commands import transform

    transform(options.model, options.X, options.output, quiet=options.quiet)


def _predict(options: Any) -> None:
    from idm._model_commands import predict

    predict(options.model, options.X, options.output, quiet=options.quiet)


def _info(options: Any) -> None:
    from idm._info import info

    info(options.model)


def _plot(options: Any) -> None:
    path = _picture_path(options.parser, options.output)
    from idm._model_commands import plot

    plot(options.model, path, options.X, options.y, quiet=options.quiet)


def _picture_path(parser: argparse.ArgumentParser, output: str) -> Path:
    """Where the picture will be written, checked before anything is computed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CommandError("a picture needs matplotlib (pip install 'iterated-diffusion-map[plot]')") from error
    formats = sorted(Figure().canvas.get_supported_filetypes())
    path = Path(output)
    if path.is_dir():
        parser.error(f"--output {path} is a folder; name a file in it")
    path = path if path.suffix else Path(f"{path}.png")
    if path.suffix[1:].lower() not in formats:
        parser.error(f"--output {path}: there is no such format of pictures; choose from {', '.join(formats)}")
    check_writable(path)
    return path


@contextlib.contextmanager
def _short_warnings() -> Iterator[None]:
    """A line for each warning, without the line of our code that it comes from."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"idm: warning: {_one_line(message)}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _one_line(message: object) -> str:
    return " ".join(line.strip() for line in str(message).splitlines())


def _failed(reason: object, status: int) -> int:
    print(f"idm: {_one_line(reason)}", file=sys.stderr)
    return status


def _discard_output() -> None:
    """What is left in the buffer of an output that cannot be written: the interpreter would try and fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
