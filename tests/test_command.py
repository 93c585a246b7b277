"""The command line: what is read and written, what is printed, and how it fails."""

import csv
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import idm
from idm import _command
from idm._command import main
from idm._model_commands import ESTIMATORS

PAGE = Path(__file__).parents[1] / "docs" / "command_line.md"
SMALL = ("--n-components", "6", "--n-neighbors", "14", "--n-landmarks", "40", "--max-iter", "2")


@pytest.fixture(scope="module")
def data():
    X, _, y = idm.datasets.make_annulus(60, feature="radius", random_state=0)
    return X, y[:, 0]


@pytest.fixture(scope="module")
def labels(data):
    return np.where(data[1] > np.median(data[1]), "outer \u00e9", "inner")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, data, labels):
    """An empty folder to work in, but for tables of the data in every format."""
    monkeypatch.chdir(tmp_path)
    X, y = data
    np.save("X.npy", X)
    np.save("y.npy", y)
    np.savez("data.npz", X=X, y=y)
    np.savez("only.npz", anything=X)
    write_csv("X.csv", X)
    write_csv("y.csv", y[:, np.newaxis])
    rows = [(repr(a), repr(b), label, repr(f)) for (a, b), label, f in zip(X.tolist(), labels, y.tolist(), strict=True)]
    write_csv("named.csv", rows, "east,north,label,radius")
    write_csv("turned.csv", [(f, b, a) for a, b, _, f in rows], "radius,north,east")
    return tmp_path


@pytest.fixture(scope="module")
def models(data, labels, tmp_path_factory):
    """A file of each kind; `named` knows the names of its columns."""
    X, y = data
    settings = {"n_components": 6, "n_neighbors": 14, "n_landmarks": 40, "random_state": 0}
    iterated = idm.IteratedDiffusionMap(**settings, max_iter=2)
    fitted = {
        "iterated": iterated.fit(X, y),
        "named": idm.IteratedDiffusionMap(**settings, max_iter=2).fit(X, y),
        "classifier": idm.IteratedDiffusionMapClassifier(**settings, max_iter=2).fit(X, labels),
        "scored": idm.IteratedDiffusionMap(**settings, max_iter=2, early_stopping=True).fit(X, y),
        "diffusion-map": idm.DiffusionMap(n_components=4, n_neighbors=60).fit(X),
        "local-kernel-map": idm.LocalKernelMap(5, n_neighbors=20).fit(X, 2 * X),
    }
    fitted["named"].feature_names_in_ = np.array(["east", "north"], dtype=object)
    folder = tmp_path_factory.mktemp("models")
    for name, model in fitted.items():
        idm.save(model, folder / f"{name}.idm")
    return {name: str(folder / f"{name}.idm") for name in fitted}


def write_csv(path, rows, names=None):
    lines = [",".join(map(str, row)) for row in rows]
    text = "\n".join([*([] if names is None else [names]), *lines, ""])
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read_csv(path):
    with open(path, encoding="utf-8") as file:
        names, *rows = file.read().splitlines()
    return names, rows


def succeeds(*arguments):
    assert main(list(map(str, arguments))) == 0


def fails(capsys, status, *arguments):
    """The one line that is printed."""
    try:
        found = main(list(map(str, arguments)))
    except SystemExit as error:  # wrong usage that argparse finds
        found = error.code
    assert found == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n")
    lines = [line for line in captured.err.splitlines() if not line.startswith(("fitting ", "iteration "))]
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("idm")
    return lines[0]


def in_a_process(*arguments, stdin=b"", shell_tail="", **environment):
    command = [sys.executable, "-m", "idm", *map(str, arguments)]
    if shell_tail:
        command = ["bash", "-c", f'"$@" {shell_tail}', "bash", *command]
    return subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **environment}, timeout=120)


# Fits.


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ("X.npy", "y.npy"),
        ("data.npz:X", "data.npz:y"),
        ("only.npz", "y.npy"),
        ("X.csv", "y.csv"),
        ("named.csv:east,north", "named.csv:radius"),
        ("X.csv:0,1", "named.csv:radius"),
    ],
)
def test_a_fit_of_files_is_that_of_the_arrays(X, y, data):
    succeeds("fit", X, y, "-o", "model.idm", *SMALL, "--seed", 3)
    expected = idm.IteratedDiffusionMap(6, n_neighbors=14, n_landmarks=40, max_iter=2, random_state=3).fit(*data)
    loaded = idm.load("model.idm")
    np.testing.assert_array_equal(loaded.embedding_, expected.embedding_)
    assert loaded.get_params() == expected.get_params()
    assert loaded._one_feature
    assert hasattr(loaded, "feature_names_in_") == X.startswith("named")


@pytest.mark.parametrize("arguments", [(), ("--seed", "0"), ("--random-state", "0"), ("--set", "random_state=0")])
def test_fits_repeat_without_a_seed(arguments):
    succeeds("fit", "X.npy", "y.npy", "-o", "a.idm", *SMALL)
    succeeds("fit", "X.npy", "y.npy", "-o", "b.idm", *SMALL, *arguments)
    np.testing.assert_array_equal(idm.load("a.idm").embedding_, idm.load("b.idm").embedding_)
    succeeds("fit", "X.npy", "y.npy", "-o", "b.idm", *SMALL, "--seed", 1)
    assert not np.array_equal(idm.load("a.idm").embedding_, idm.load("b.idm").embedding_)


def test_parameters_by_option_and_by_name():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        succeeds(
            *("fit", "X.npy", "y.npy", "-o", "model.idm", "--n-components", 5, "--tau", 0.8, "--max-iter", 3),
            *("--n-landmarks", "none", "--n-neighbors", "auto", "--n-jobs", 1, "--set", "mixing=metric"),
            *("--set", "early_stopping=TRUE", "--set", "validation-fraction=0.2", "--set", "tol=0"),
        )
    parameters = idm.load("model.idm").get_params()
    wanted = {
        "n_components": 5,
        "tau": 0.8,
        "max_iter": 3,
        "n_landmarks": None,
        "n_neighbors": "auto",
        "n_jobs": 1,
        "mixing": "metric",
        "early_stopping": True,
        "validation_fraction": 0.2,
        "tol": 0,
        "random_state": 0,
    }
    assert {name: parameters[name] for name in wanted} == wanted
    others = idm.IteratedDiffusionMap().get_params()
    assert {name: value for name, value in parameters.items() if name not in wanted} == {
        name: value for name, value in others.items() if name not in wanted
    }


def test_every_estimator_can_be_fitted(data, labels):
    np.save("labels.npy", labels)
    for name, y in (("classifier", "labels.npy"), ("diffusion-map", None), ("local-kernel-map", "X.npy")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few points are far apart
            y_arguments = [] if y is None else [y]
            succeeds("fit", "X.npy", *y_arguments, "-o", f"{name}.idm", "--estimator", name, "--n-neighbors", 20)
        assert type(idm.load(f"{name}.idm")) is ESTIMATORS[name]


def test_the_help_names_every_estimator():
    assert list(_command._ESTIMATORS) == list(ESTIMATORS)


@pytest.mark.parametrize("path", ["named.csv", "./named.csv"])
def test_columns_of_y_are_not_in_X(path, folder):
    (folder / "numbers.csv").write_text(
        re.sub(",(inner|outer é),", ",", (folder / "named.csv").read_text("utf-8")).replace("label,", "")
    )
    succeeds("fit", path.replace("named", "numbers"), "numbers.csv:radius", "-o", "model.idm", *SMALL)
    assert list(idm.load("model.idm").feature_names_in_) == ["east", "north"]


def test_several_columns_are_several_features(data):
    succeeds("fit", "X.csv", "named.csv:radius,east", "-o", "model.idm", *SMALL)
    assert idm.load("model.idm").predict(data[0]).shape == (60, 2)


def test_a_fit_tells_its_progress_and_its_result(capsys):
    succeeds("fit", "X.npy", "y.npy", "-o", "model.idm", *SMALL)
    captured = capsys.readouterr()
    first, *iterations = captured.err.splitlines()
    assert first == "fitting IteratedDiffusionMap to 60 rows, 2 columns"
    assert [line.split(":")[0] for line in iterations] == ["iteration 1", "iteration 2"]
    assert all(re.search(r"epsilon \S+, \d+ coordinates, change \d\.\d{3}, \d+\.\d s$", line) for line in iterations)
    model = idm.load("model.idm")
    size, kept, coordinates, saved = captured.out.splitlines()
    assert re.fullmatch(r"IteratedDiffusionMap: 60 rows, 2 columns, \d+\.\d s", size)
    assert kept == f"kept iteration {model.n_iter_} of {len(model.iterations_)} ({model.stop_reason_})"
    assert coordinates == f"{model.embedding_.shape[1]} coordinates from 40 landmarks"
    assert saved == "saved model.idm"


def test_quiet_commands_print_nothing(models, capsys):
    for arguments in (
        ("fit", "X.npy", "y.npy", "-o", "model.idm", *SMALL),
        ("transform", models["iterated"], "X.npy", "-o", "Z.npy"),
        ("predict", models["iterated"], "X.npy", "-o", "out.npy"),
        ("plot", models["iterated"], "-o", "picture.png"),
    ):
        succeeds(*arguments, "--quiet")
    assert capsys.readouterr() == ("", "")


def test_the_ending_of_a_model_may_be_left_out(capsys, folder):
    succeeds("fit", "X.npy", "y.npy", "-o", "model", *SMALL)
    assert capsys.readouterr().out.endswith("saved model.idm\n")
    assert (folder / "model.idm").exists()
    for command in (
        ("transform", "X.npy", "-o", "Z.npy"),
        ("predict", "X.npy", "-o", "Z.csv"),
        ("info",),
        ("plot", "-o", "x.png"),
    ):
        succeeds(command[0], "model", *command[1:])
    assert "file        model.idm, " in capsys.readouterr().out
    os.rename("model.idm", "model")
    succeeds("info", "model")
    assert "file        model, " in capsys.readouterr().out
    assert fails(capsys, 1, "info", "none") == "idm: none.idm: No such file or directory"
    (folder / "sub").mkdir()
    assert "--output sub must end in .idm" in fails(capsys, 2, "fit", "X.npy", "y.npy", "-o", "sub")


# New points, in every format.


@pytest.mark.parametrize("X", ["X.npy", "data.npz:X", "X.csv", "named.csv:east,north"])
@pytest.mark.parametrize("command", ["transform", "predict"])
def test_new_points_of_every_format(command, X, models, data, capsys):
    succeeds(command, models["iterated"], X, "-o", "out.npy")
    expected = getattr(idm.load(models["iterated"]), command)(data[0])
    np.testing.assert_array_equal(np.load("out.npy"), expected)
    n_columns = 1 if command == "predict" else expected.shape[1]
    assert capsys.readouterr().out == f"saved out.npy: 60 rows, {n_columns} column{'s'[: n_columns - 1]}\n"


@pytest.mark.parametrize("output", ["Z.npy", "Z.npz", "Z.csv", "Z.CSV"])
def test_outputs_have_the_format_of_their_ending(output, models, data):
    expected = idm.load(models["iterated"]).transform(data[0])
    succeeds("transform", models["iterated"], "X.npy", "-o", output)
    if output.endswith(".npy"):
        found = np.load(output)
    elif output.endswith(".npz"):
        with np.load(output) as archive:
            assert archive.files == ["z"]
            found = archive["z"]
    else:
        names, rows = read_csv(output)
        assert names == ",".join(f"z{i}" for i in range(expected.shape[1]))
        found = np.array([row.split(",") for row in rows], dtype=float)
    np.testing.assert_array_equal(found, expected)  # to the bit, in text too


def test_parquet_goes_in_and_out(models, data, labels):
    parquet, table_of = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow").table

    X, y = data
    table = table_of(
        {"label": labels, "north": X[:, 1], "east": X[:, 0], "radius": y, "__index_level_0__": np.arange(60)}
    )
    parquet.write_table(table, "data.parquet")
    succeeds("transform", models["named"], "data.parquet", "-o", "Z.parquet")
    parquet.write_table(table.select(["east", "north", "__index_level_0__"]), "indexed.parquet")
    succeeds("transform", models["iterated"], "indexed.parquet", "-o", "Z.parquet")
    found = parquet.read_table("Z.parquet")
    expected = idm.load(models["iterated"]).transform(X)
    assert found.column_names == [f"z{i}" for i in range(expected.shape[1])]
    np.testing.assert_array_equal(np.column_stack([column.to_numpy() for column in found.columns]), expected)
    succeeds("fit", "data.parquet:east,north", "data.parquet:label", "-o", "c.idm", "--estimator", "classifier", *SMALL)
    np.testing.assert_array_equal(idm.load("c.idm").embedding_, idm.load(models["classifier"]).embedding_)
    succeeds("predict", "c.idm", "data.parquet", "-o", "labels.parquet")
    found = parquet.read_table("labels.parquet")["y"].to_pylist()
    assert found == idm.load(models["classifier"]).predict(X).tolist()


def test_parquet_that_cannot_be_read(models, capsys, folder):
    parquet, table_of = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow").table

    arguments = ("transform", models["iterated"], "data.parquet", "-o", "Z.npy")
    parquet.write_table(table_of({"a": [1.0, None], "b": [1, 2]}), "data.parquet")
    assert "data.parquet has 1 NaN or infinite value, the first in row 1, column 0" in fails(capsys, 1, *arguments)
    parquet.write_table(table_of({"a": [1.0, 2.0], "b": ["p", "q"]}), "data.parquet")
    assert "data.parquet has string and not numbers in column 'b'" in fails(capsys, 1, *arguments)
    (folder / "data.parquet").write_bytes(b"PAR1 is how it begins")
    assert "data.parquet is damaged, or not what its name says: " in fails(capsys, 1, *arguments)


def test_parquet_without_pyarrow_says_what_to_install(models, capsys, monkeypatch, folder):
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    (folder / "X.parquet").touch()
    wanted = "idm: parquet files need pyarrow: pip install 'iterated-diffusion-map[parquet]'"
    assert fails(capsys, 1, "transform", models["iterated"], "X.parquet", "-o", "Z.npy") == wanted
    assert fails(capsys, 1, "transform", models["iterated"], "X.npy", "-o", "Z.parquet") == wanted


def test_columns_are_found_by_their_names(models, data):
    expected = idm.load(models["iterated"]).transform(data[0])
    for X in ("named.csv", "turned.csv", "turned.csv:north,east", "X.npy"):
        succeeds("transform", models["named"], X, "-o", "Z.npy")
        np.testing.assert_array_equal(np.load("Z.npy"), expected)
    succeeds("transform", models["named"], "turned.csv:north,radius", "-o", "Z.npy")  # as it is told
    turned = np.column_stack([data[0][:, 1], data[1]])
    np.testing.assert_array_equal(np.load("Z.npy"), idm.load(models["iterated"]).transform(turned))


def test_a_column_that_is_missing_is_named(models, capsys, folder):
    (folder / "other.csv").write_text("east,south\n1,2\n")
    line = fails(capsys, 1, "transform", models["named"], "other.csv", "-o", "Z.npy")
    assert "other.csv has no column 'north', to which" in line
    assert line.endswith("it has east, south")


def test_labels_come_back_as_they_were(data, folder):
    for kind, texts in {
        "int": ("7", "-3"),
        "text": ("outer é", 'in,n"er'),
        "code": ("007", "010"),
        "point": ("1.0", "2.0"),
    }.items():
        labels = np.array(texts)[(data[1] > np.median(data[1])).astype(int)]
        quoted = [label.replace('"', '""') for label in labels]
        (folder / "labels.csv").write_text("\n".join(["label", *(f'"{label}"' for label in quoted), ""]), "utf-8")
        succeeds("fit", "X.csv", "labels.csv", "-o", "c.idm", "--estimator", "classifier", *SMALL)
        assert idm.load("c.idm").classes_.dtype.kind == ("i" if kind == "int" else "U")
        succeeds("predict", "c.idm", "X.csv", "-o", "found.csv")
        succeeds("predict", "c.idm", "X.csv", "-o", "found.npy")
        found = np.load("found.npy")
        assert set(map(str, found)) == set(texts)
        with open("found.csv", encoding="utf-8", newline="") as file:
            assert [row[0] for row in csv.reader(file)] == ["y", *map(str, found)]


@pytest.mark.parametrize("name", ["X.npy", "only.npz", "X.csv"])
def test_tables_come_through_a_pipe(name, models, data, monkeypatch, folder):
    content = (folder / name).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    succeeds("predict", models["iterated"], "-", "-o", "out.npy")
    np.testing.assert_array_equal(np.load("out.npy"), idm.load(models["iterated"]).predict(data[0]))


def test_tables_go_through_a_pipe_as_csv_and_nothing_else_does(models, data, capsysbinary):
    succeeds("transform", models["iterated"], "X.npy", "-o", "-")
    captured = capsysbinary.readouterr()
    names, *rows = captured.out.decode().splitlines()
    expected = idm.load(models["iterated"]).transform(data[0])
    assert names.split(",") == [f"z{i}" for i in range(expected.shape[1])]
    np.testing.assert_array_equal(np.array([row.split(",") for row in rows], dtype=float), expected)
    assert captured.err == b""


@pytest.mark.skipif(os.name == "nt", reason="bash")
def test_commands_in_a_pipe(models, folder):
    done = in_a_process(
        "predict",
        models["classifier"],
        "-",
        "-o",
        "-",
        stdin=(folder / "X.csv").read_bytes(),
        shell_tail="| sort | uniq -c | sort -n",
    )
    assert done.stderr == b""
    predicted = idm.load(models["classifier"]).predict(np.load("X.npy"))
    counts = {"y": 1, **{name: int(np.sum(predicted == name)) for name in ("inner", "outer é")}}
    found = dict(reversed(line.split(maxsplit=1)) for line in done.stdout.decode().splitlines())
    assert {name: int(n) for name, n in found.items()} == counts


@pytest.mark.skipif(os.name == "nt", reason="bash")
def test_whoever_reads_a_table_may_stop(models, data):
    np.save("many.npy", np.tile(data[0], (200, 1)))
    done = in_a_process(
        "transform", models["iterated"], "many.npy", "-o", "-", shell_tail="| head -1; exit ${PIPESTATUS[0]}"
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"z0,z1")


# Model files.


def test_info_tells_what_is_in_a_file(models, capsys):
    succeeds("info", models["scored"])
    model = idm.load(models["scored"])
    head, table = capsys.readouterr().out.split("\n\n")
    facts = {line[:12].strip(): line[12:] for line in head.splitlines()}
    size = os.path.getsize(models["scored"])
    assert facts == {
        "file": f"{models['scored']}, {size:,} bytes, format version 1, written by idm {idm.__version__}",
        "estimator": "IteratedDiffusionMap",
        "parameters": "early_stopping=True, max_iter=2, n_components=6, n_landmarks=40, n_neighbors=14, random_state=0 "
        "(others as by default)",
        "data": "60 rows, 2 columns",
        "landmarks": "40",
        "coordinates": str(model.embedding_.shape[1]),
        "stopped": f"after iteration {len(model.iterations_)}: {model.stop_reason_}; kept iteration {model.n_iter_}",
    }
    names, *rows = table.splitlines()
    assert names.split() == ["iteration", "coordinates", "epsilon", "change", "score"]
    assert len(rows) == len(model.iterations_)
    for row, record in zip(rows, model.iterations_, strict=True):
        iteration, n_coordinates, epsilon, change, score, *kept = row.split()
        assert (int(iteration), int(n_coordinates)) == (record.iteration, record.n_coordinates)
        np.testing.assert_allclose(float(epsilon), record.epsilon, rtol=0.05)
        np.testing.assert_allclose(float(change), record.distance_change, atol=0.0005)
        np.testing.assert_allclose(float(score), record.validation_score, atol=0.00005)
        assert kept == (["kept"] if record.iteration == model.n_iter_ else [])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("named", "2 columns (east, north)"),
        ("classifier", "2: inner, outer é"),
        ("diffusion-map", "dimension   "),
        ("local-kernel-map", "60 rows, 2 columns"),
        ("iterated", " -"),  # no score
    ],
)
def test_info_of_every_estimator(name, words, models, capsys):
    succeeds("info", models[name])
    printed = capsys.readouterr().out
    assert type(idm.load(models[name])).__name__ in printed
    assert words in printed


def test_a_model_of_defaults_has_no_parameters_to_tell(data, capsys):
    idm.save(idm.DiffusionMap().fit(data[0]), "model.idm")
    succeeds("info", "model.idm")
    assert "parameters  all as by default\n" in capsys.readouterr().out


# Pictures.


@pytest.fixture
def figures(monkeypatch):
    """The figures that were saved."""
    from matplotlib.figure import Figure

    found, save = [], Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *args, **kw: (found.append(self), save(self, *args, **kw)))
    return found


SPECTRUM = r"$-\lambda$ (1 / squared length)"
SCORE = "$R^2$ of y at held-out rows"


def titles(figure):
    return [axes.get_title() for axes in figure.axes]


def test_a_model_is_drawn_by_itself(models, figures, capsys, folder):
    succeeds("plot", models["scored"], "-o", "picture.png")
    assert capsys.readouterr().out == "saved picture.png\n"
    assert (folder / "picture.png").read_bytes()[:4] == b"\x89PNG"
    model = idm.load(models["scored"])
    kept = model.n_iter_
    drawn = {axes.get_title() or axes.get_ylabel(): axes for axes in figures[0].axes}
    iterations = [f"iteration {i + 1}" for i in range(kept)]
    assert list(drawn) == [*iterations, "y", SCORE, SPECTRUM]
    points = drawn[iterations[-1]].collections[0]
    np.testing.assert_array_equal(np.column_stack(points._offsets3d), model.iterations_[kept - 1].embedding[:, :3])
    np.testing.assert_array_equal(points.get_array(), model._placing[:, 0])
    scores = drawn[SCORE].lines[0].get_ydata()
    np.testing.assert_array_equal(scores, [r.validation_score for r in model.iterations_])
    spectrum = drawn[SPECTRUM].lines[kept - 1].get_ydata()
    np.testing.assert_array_equal(spectrum, -model.iterations_[kept - 1].eigenvalues)


@pytest.mark.parametrize("name", ["classifier", "diffusion-map", "local-kernel-map"])
def test_every_model_is_drawn(name, models, figures, folder):
    succeeds("plot", models[name], "-o", "picture.svg")
    assert b"<svg" in (folder / "picture.svg").read_bytes()
    assert SPECTRUM in [axes.get_ylabel() for axes in figures[0].axes]


@pytest.mark.parametrize(
    ("name", "X", "y"),
    [
        ("iterated", "X.npy", "y.npy"),
        ("classifier", "X.csv", "named.csv:label"),
        ("named", "named.csv", "named.csv:radius"),
    ],
)
def test_a_model_is_drawn_with_its_data(name, X, y, models, figures):
    succeeds("plot", models[name], "--X", X, "--y", y, "-o", "picture.png")
    n = idm.load(models[name]).n_iter_
    assert [title for title in titles(figures[0]) if title] == ["data", *(f"iteration {i + 1}" for i in range(n))]


def test_pictures_that_are_refused(models, capsys, folder):
    picture = ("plot", models["iterated"], "-o")
    assert "x.foo: there is no such format of pictures; choose from" in fails(capsys, 2, *picture, "x.foo")
    assert "no/x.png: No such file or directory" in fails(capsys, 1, *picture, "no/x.png")
    assert "--X and --y go together" in fails(capsys, 2, *picture, "x.png", "--X", "X.npy")
    line = fails(capsys, 2, "plot", models["diffusion-map"], "-o", "x.png", "--X", "X.npy", "--y", "y.npy")
    assert "--X and --y are for iterated maps" in line
    np.save("few.npy", np.load("X.npy")[1:])
    line = fails(capsys, 1, *picture, "x.png", "--X", "few.npy", "--y", "y.npy")
    assert "few.npy has 59 rows, and" in line
    assert not (folder / "x.png").exists()


def test_a_picture_without_matplotlib_says_what_to_install(models, capsys, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    line = fails(capsys, 1, "plot", models["iterated"], "-o", "x.png")
    assert line == "idm: a picture needs matplotlib (pip install 'iterated-diffusion-map[plot]')"


# What is refused: one line, and nothing is written.


def spoilt(name):
    X = np.load("X.npy")
    if name == "nan.npy":
        X[3, 1], X[5, 0] = np.nan, np.inf
    elif name == "three.npy":
        X = np.hstack([X, X[:, :1]])
    elif name == "vector.npy":
        X = X[:, 0]
    elif name == "texts.npy":
        X = X.astype(str)
    elif name == "objects.npy":
        X = X.astype(object)
    elif name == "cube.npy":
        X = X[np.newaxis]
    np.save(name, X)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nan.npy", "nan.npy has 2 NaN or infinite values, the first in row 3, column 1 (counted from 0)"),
        ("three.npy", "three.npy has 3 columns, and {model} was fitted to 2"),
        ("vector.npy", "vector.npy has shape (60,); it needs a row for each point and a column for each coordinate"),
        ("texts.npy", "texts.npy must hold numbers, got dtype <U"),
        ("objects.npy", "objects.npy holds Python objects, which only pickle reads"),
        ("cube.npy", "cube.npy has shape (1, 60, 2); it needs a row for each point"),
    ],
)
def test_arrays_that_are_refused(name, words, models, capsys, folder):
    spoilt(name)
    line = fails(capsys, 1, "transform", models["iterated"], name, "-o", "Z.npy")
    assert words.format(model=models["iterated"]) in line
    assert not (folder / "Z.npy").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n", "has shape (0, 2)"),
        (b"a,b\n1,2\n1,two\n", "has the text 'two' in line 3, column 'b'; choose columns of numbers"),
        (b"1,2\n\n3,x\n", "has the text 'x' in line 3, column '1'"),
        (b"a,b\n1,\n", "has an empty field in line 2, column 'b'"),
        (b"a,b\n1,nan\n", "has 1 NaN or infinite value, the first in row 0, column 1"),
        (b"a,b\n1,2\n1,2,3\n", "has 3 fields in line 3, and 2 in the first"),
        (b"a;b\n1,5;2,5\n", "has semicolons or tabs between its fields"),
        (b",a,b\n0,1,2\n", "has a column without a name, as pandas writes its index"),
        (b"\xff\xfea\x00", "is not text in UTF-8"),
    ],
)
def test_texts_that_are_refused(content, words, models, capsys, folder):
    (folder / "new.csv").write_bytes(content)
    assert f"idm: new.csv {words}" in fails(capsys, 1, "transform", models["iterated"], "new.csv", "-o", "Z.npy")
    assert not (folder / "Z.npy").exists()


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbf1.5,-2e0\r\n", b'"a","b"\n"1.5", -2\n\n', b"1.5,-2", b"\na,b\n1.5,-2\n"]
)
def test_texts_that_other_programs_write(content, models, folder):
    (folder / "new.csv").write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        succeeds("transform", models["iterated"], "new.csv", "-o", "Z.npy")
        expected = idm.load(models["iterated"]).transform([[1.5, -2]])
    np.testing.assert_array_equal(np.load("Z.npy"), expected)


@pytest.mark.parametrize("name", ["X.npy", "data.npz"])
def test_arrays_that_are_cut_short(name, models, capsys, folder):
    (folder / name).write_bytes((folder / name).read_bytes()[:-100])
    line = fails(
        capsys, 1, "transform", models["iterated"], "data.npz:X" if name == "data.npz" else name, "-o", "Z.npy"
    )
    assert f"idm: {name} is damaged, or not what its name says" in line


def test_files_that_are_no_models(models, capsys, folder):
    transform = lambda model: ("transform", model, "X.npy", "-o", "Z.npy")  # noqa: E731
    assert fails(capsys, 1, *transform("none.idm")) == "idm: none.idm: No such file or directory"
    assert "'X.npy' cannot be loaded: the file is not a model file of idm.save" in fails(capsys, 1, *transform("X.npy"))
    with open(models["iterated"], "rb") as file:
        content = file.read()
    for damaged in (content[:-1], content[:100], content[:3000] + b"x" + content[3001:]):
        (folder / "damaged.idm").write_bytes(damaged)
        for command in (transform("damaged.idm"), ("info", "damaged.idm"), ("plot", "damaged.idm", "-o", "x.png")):
            assert "idm: 'damaged.idm' cannot be loaded: " in fails(capsys, 1, *command)
    line = fails(capsys, 1, "predict", models["diffusion-map"], "X.npy", "-o", "Z.npy")
    assert line.endswith("is a DiffusionMap, which cannot predict; use idm transform")
    line = fails(capsys, 1, *transform(models["local-kernel-map"]))
    assert line.endswith("is a LocalKernelMap, which cannot transform; use idm predict")


@pytest.mark.parametrize(
    ("status", "X", "y", "words"),
    [
        (1, "none.npy", "y.npy", "idm: none.npy: No such file or directory"),
        (2, "X.txt", "y.npy", "idm: X.txt must end in .npy, .npz, .csv or .parquet, or be '-' for a pipe"),
        (2, "X.npy:east", "y.npy", "idm: X.npy:east: a .npy file has nothing to choose from"),
        (1, "data.npz", "y.npy", "idm: data.npz has 2 arrays (X, y); name one, as in FILE.npz:NAME"),
        (1, "data.npz:Y", "y.npy", "idm: data.npz has no array 'Y'; it has X, y"),
        (1, "named.csv:up", "y.npy", "idm: named.csv has no column 'up'; it has east, north, label, radius"),
        (1, "named.csv", "y.npy", "idm: named.csv has the text 'inner' in line 2, column 'label'"),
        (1, "y.csv", "y.csv:0", "idm: y.csv has no columns but those of y"),
        (1, "X.npy", "few.npy", "idm: X.npy has 60 rows, and few.npy has 59; they must be equal"),
        (2, "X.npy", None, "idm: --estimator iterated needs y"),
        (2, "-", "-", "idm: X and y cannot both be '-'"),
    ],
)
def test_fits_that_are_refused(status, X, y, words, capsys, folder):
    np.save("few.npy", np.load("y.npy")[1:])
    line = fails(capsys, status, "fit", X, *([] if y is None else [y]), "-o", "model.idm")
    assert line.startswith(words)
    assert not (folder / "model.idm").exists()


def test_labels_without_a_name_lose_their_first(capsys, labels):
    write_csv("labels.csv", [[label] for label in labels])
    line = fails(capsys, 1, "fit", "X.npy", "labels.csv", "-o", "c.idm", "--estimator", "classifier")
    assert "labels.csv has 59 (the first line of labels.csv, 'inner', was read as names)" in line


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((60, 2)), "labels.npy has shape (60, 2); labels are one column"),
        (np.zeros(60, "M8[D]"), "labels.npy has labels of dtype datetime64[D]; save numbers, or texts"),
        (np.linspace(0, 1, 60), "Unknown label type: continuous"),
    ],
)
def test_labels_that_are_refused(array, words, capsys):
    np.save("labels.npy", array)
    assert words in fails(capsys, 1, "fit", "X.npy", "labels.npy", "-o", "c.idm", "--estimator", "classifier")
    assert "has 4 columns, and labels are one" in fails(
        capsys, 1, "fit", "X.npy", "named.csv", "-o", "c.idm", "--estimator", "classifier"
    )


@pytest.mark.parametrize(
    ("status", "arguments", "words"),
    [
        (1, ("--tau", "3"), "idm: tau must be finite and between 0 and 1, got 3.0"),
        (1, ("--n-neighbors", "many"), "idm: n_neighbors must be 'auto' or an integer >= 2, got 'many'"),
        (1, ("--set", "mixing=soup"), "idm: mixing must be one of 'lengths', 'metric', got 'soup'"),
        (2, ("--tau", "x"), "idm fit: argument --tau: invalid float value: 'x' (see idm fit --help)"),
        (2, ("--seed", "-1"), "idm fit: --seed must be between 0 and 4294967295, got -1 (see idm fit --help)"),
        (2, ("--set", "tau"), "idm fit: argument --set: must be NAME=VALUE, got 'tau' (see idm fit --help)"),
        (2, ("--set", "colour=1"), "idm: --estimator iterated has no parameter 'colour'; it has bandwidth, "),
        (2, ("--set", "callback=1"), "idm: --estimator iterated has no parameter 'callback'"),
        (2, ("--estimator", "diffusion-map"), "idm: --estimator diffusion-map takes no y, got y.npy"),
        (2, ("--estimator", "classifier", "--set", "alpha=1"), "idm: --estimator classifier has no parameter 'alpha'"),
        (2, ("--estimator", "forest"), "idm fit: argument --estimator: invalid choice: 'forest'"),
        (2, ("--output", "model.pkl"), "idm: --output model.pkl must end in .idm, as model files do"),
        (2, ("--output", "-"), "idm: --output - must end in .idm"),
        (1, ("--output", "no/model.idm"), "idm: no/model.idm: No such file or directory"),
        (1, ("--output", "X.npy/model.idm"), "idm: X.npy/model.idm: Not a directory"),
        (1, ("--output", "folder.idm"), "idm: folder.idm is a folder; name a file in it"),
    ],
)
def test_arguments_that_are_refused(status, arguments, words, capsys, folder):
    (folder / "folder.idm").mkdir()
    before = sorted(os.listdir())
    assert fails(capsys, status, "fit", "X.npy", "y.npy", "-o", "model.idm", *arguments).startswith(words)
    assert sorted(os.listdir()) == before


def test_outputs_are_checked_before_the_fit(capsys, monkeypatch):
    def fit(*_):
        raise AssertionError("it was fitted")

    monkeypatch.setattr(idm.IteratedDiffusionMap, "fit", fit)
    for output in ("no/model.idm", "model.pkl"):
        fails(capsys, 1 if output.endswith("idm") else 2, "fit", "X.npy", "y.npy", "-o", output)
    with pytest.raises(AssertionError, match="it was fitted"):  # so that the test can fail
        main(["fit", "X.npy", "y.npy", "-o", "model.idm"])


@pytest.mark.parametrize("output", ["Z.txt", "Z", "no/Z.npy", "folder.npy"])
def test_tables_that_cannot_be_written_are_refused_before(output, models, capsys, monkeypatch, folder):
    (folder / "folder.npy").mkdir()
    monkeypatch.setattr(idm.IteratedDiffusionMap, "transform", None)
    status = 2 if output.startswith("Z") else 1
    assert output in fails(capsys, status, "transform", models["iterated"], "X.npy", "-o", output)


@pytest.mark.parametrize("output", ["Z.npy", "Z.npz", "Z.csv"])
def test_a_failure_leaves_the_old_file_and_no_other(output, models, capsys, monkeypatch, folder):
    def fail(*_):
        raise OSError(28, "No space left on device")

    (folder / output).write_bytes(b"old")
    before = sorted(os.listdir())
    monkeypatch.setattr(os, "fsync", fail)
    line = fails(capsys, 1, "transform", models["iterated"], "X.npy", "-o", output)
    assert line == f"idm: {output} cannot be written: No space left on device"
    assert sorted(os.listdir()) == before
    assert (folder / output).read_bytes() == b"old"


def test_a_full_disk_leaves_the_old_file_and_no_other(models, folder):
    """Files that may not be longer than 8 kB stand for it."""
    resource = pytest.importorskip("resource")
    np.save("many.npy", np.tile(np.load("X.npy"), (20, 1)))
    (folder / "Z.npy").write_bytes(b"old")
    before = sorted(os.listdir())
    done = subprocess.run(
        [sys.executable, "-m", "idm", "transform", models["iterated"], "many.npy", "-o", "Z.npy"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: (
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)),
        ),
        timeout=60,
    )
    assert done.returncode == 1
    assert re.fullmatch("idm: Z.npy cannot be written: [^\n]+\n", done.stderr)
    assert sorted(os.listdir()) == before
    assert (folder / "Z.npy").read_bytes() == b"old"


def test_long_errors_are_one_line_too(models, capsys, monkeypatch):
    def refuse(*_):
        raise ValueError("X is odd.\n    Make it even.")

    monkeypatch.setattr(idm.IteratedDiffusionMap, "transform", refuse)
    line = fails(capsys, 1, "transform", models["iterated"], "X.npy", "-o", "Z.npy")
    assert line == "idm: X is odd. Make it even."


def test_mistakes_in_the_code_show_themselves(models, monkeypatch):
    def broken(*_):
        raise KeyError("a mistake")

    monkeypatch.setattr(idm.IteratedDiffusionMap, "transform", broken)
    with pytest.raises(KeyError, match="a mistake"):
        main(["transform", models["iterated"], "X.npy", "-o", "Z.npy"])


# Around it.


def test_a_warning_is_one_line_without_source(models, capsys):
    np.save("far.npy", np.array([[1000.0, 1000.0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        succeeds("transform", models["iterated"], "far.npy", "-o", "Z.npy", "--quiet")
    line = capsys.readouterr().err
    assert re.fullmatch(r"idm: warning: 1 of 1 rows of X \(the first: row 0\) are far from [^\n]*\n", line)


@pytest.mark.skipif(not PAGE.exists(), reason="the tests run outside the repository")
def test_the_page_of_the_documentation_runs_as_it_stands(monkeypatch, folder):
    """All but what is piped to, and with its last part written to a file."""
    blocks = re.findall(r"```(python|sh)\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    assert [language for language, _ in blocks] == ["python", "sh", "sh", "sh"]
    exec(compile(blocks[0][1], str(PAGE), "exec"), {})
    commands = [part for _, block in blocks[1:] for line in block.splitlines() for part in line.split(" | ")]
    commands = [shlex.split(command, comments=True) for command in commands if command.startswith("idm ")]
    assert len(commands) == 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for command in commands:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "Xnew.csv").read_bytes())))
            succeeds(*command[1:])
    model, Xnew = idm.load("radius.idm"), np.loadtxt("Xnew.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(np.linalg.norm(Xnew, axis=1), model.predict(Xnew), atol=0.1)


@pytest.mark.parametrize("command", [[], ["demo"], ["fit"], ["transform"], ["predict"], ["info"], ["plot"]])
def test_every_help_has_an_example_that_parses(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    examples = re.findall(r"^  (?:zcat \S+ \| )?(idm .*)$", printed.split("example")[-1], flags=re.MULTILINE)
    assert examples
    assert all(len(line) <= 80 for line in printed.splitlines())
    for example in examples:
        for part in re.split(r" && | \| ", example):
            words = part.split()
            if words[0] == "idm":
                assert _command._parser().parse_args(words[1:]).command == words[1]


def test_help_does_not_wait_for_scikit_learn(run_python):
    script = """
import sys
from idm._command import main
try:
    main(["fit", "--help"])
except SystemExit:
    print([name for name in ("numpy", "scipy", "sklearn", "matplotlib", "pyarrow") if name in sys.modules])
"""
    assert run_python(script).splitlines()[-1] == "[]"


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"idm {idm.__version__}\n"


@pytest.mark.skipif(os.name == "nt", reason="names of files are bytes elsewhere")
def test_names_outside_ascii_in_an_ascii_locale(folder, data, labels):
    write_csv("Fläche.csv", [(*x, label) for x, label in zip(data[0].tolist(), labels, strict=True)], "größe,n,art")
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    arguments = ("fit", "Fläche.csv:größe,n", "Fläche.csv:art", "-o", "Größe.idm", "--estimator", "classifier", *SMALL)
    done = in_a_process(*arguments, **locale)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(b"saved Gr\\")
    assert list(idm.load("Größe.idm").feature_names_in_) == ["größe", "n"]
    done = in_a_process("predict", "Größe.idm", "Fläche.csv", "-o", "-", **locale)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.decode("utf-8").splitlines()) == {"y", "inner", "outer é"}


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_leaves_nothing_behind(folder):
    X, _, y = idm.datasets.make_annulus(100_000, feature="radius", random_state=0)
    np.savez("large.npz", X=X, y=y)
    before = sorted(os.listdir())
    with subprocess.Popen(
        [sys.executable, "-m", "idm", "fit", "large.npz:X", "large.npz:y", "-o", "model.idm"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background
    ) as process:
        assert process.stderr.readline() == "fitting IteratedDiffusionMap to 100000 rows, 2 columns\n"
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "idm: interrupted\n"
    assert printed == ""
    assert sorted(os.listdir()) == before
