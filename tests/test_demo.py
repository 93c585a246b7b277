"""The command line and the pictures."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import idm
from idm._command import main
from idm._demo import EXAMPLES, recall


def run_command(*arguments, cwd=None, shell_tail="", **environment):
    """`idm` in a process of its own; `shell_tail` is what its output goes to."""
    command = [sys.executable, "-m", "idm", *map(str, arguments)]
    if shell_tail:
        command = ["bash", "-c", f'"$@" {shell_tail}', "bash", *command]
    environment = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment, timeout=120)


@pytest.mark.large
@pytest.mark.parametrize("example", list(EXAMPLES))
def test_every_example_is_tabled_and_drawn(example, tmp_path, capsys):
    path = tmp_path / "picture.png"
    assert main(["demo", example, "-n", "400", "-o", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "iteration" in printed
    assert "kept iteration" in printed
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_unknown_examples_are_named():
    done = run_command("demo", "other")
    assert done.returncode == 2
    assert "annulus-radius" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seed", "-1"), "--seed must be between 0 and 4294967295, got -1"),
        (("--seed", str(2**32)), "--seed must be between 0 and 4294967295, got 4294967296"),
        (("-n", "19"), "--n-samples must be at least 20, got 19"),
        (("-o", "x.foo"), "x.foo: there is no such format of pictures; choose from"),
        (("-o", "."), "--output . is a folder"),
    ],
)
def test_wrong_usage_has_status_2_and_computes_nothing(arguments, words, tmp_path):
    done = run_command("demo", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("output", ["no-such-folder/x.png", "file/x.png"])
def test_a_picture_that_cannot_be_written_is_told_before_the_fit(output, tmp_path):
    (tmp_path / "file").touch()
    done = run_command("demo", "-o", output, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("idm: ")
    assert output in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_name_without_ending_is_that_of_the_file(tmp_path):
    done = run_command("demo", "-n", 60, "-o", "name", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "saved name.png"
    assert [path.name for path in tmp_path.iterdir()] == ["name.png"]


@pytest.mark.parametrize(
    "environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_a_name_outside_ascii_in_an_ascii_locale(environment, tmp_path):
    done = run_command("demo", "-n", 60, "-o", "Fläche.png", cwd=tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("saved Fl\\")
    assert [path.name for path in tmp_path.iterdir()] == ["Fläche.png"]


@pytest.mark.skipif(os.name == "nt", reason="bash")
@pytest.mark.parametrize("tail", ["| head -0", "| head -1"])
def test_whoever_reads_may_stop(tail, tmp_path):
    done = run_command("demo", "-n", 60, cwd=tmp_path, shell_tail=f"{tail}; exit ${{PIPESTATUS[0]}}")
    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_output_that_is_full_is_one_line(tmp_path):
    done = run_command("demo", "-n", 60, cwd=tmp_path, shell_tail="> /dev/full")
    assert done.returncode == 1
    assert done.stderr.startswith("idm: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_is_one_line_and_status_130(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "idm", "demo", "-n", "20000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background
    ) as process:
        for _ in range(3):  # the table's head is there, and the fit begins
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "idm: interrupted\n"


def test_the_recall_of_few_points_means_something(rng):
    y = rng.normal(size=(200, 1))
    assert recall(y, y) == 1
    assert recall(rng.normal(size=(200, 2)), y) < 0.3


def test_without_matplotlib_there_is_a_table_and_a_hint(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("matplotlib", "matplotlib.figure"):  # another test may have loaded it
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["demo", "annulus-radius", "-n", "200"]) == 0
    captured = capsys.readouterr()
    assert "kept iteration" in captured.out
    assert "needs matplotlib" in captured.err
    assert not list(tmp_path.iterdir())


def test_plot_comes_with_the_package_and_says_what_it_needs(run_python):
    script = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.figure"] = None
import idm
X, _, y = idm.datasets.make_annulus(60, feature="radius", random_state=0)
model = idm.IteratedDiffusionMap(max_iter=1, early_stopping=False).fit(X, y)
try:
    idm.plot.iterations(model, X, y)
except ImportError as error:
    print(error)
"""
    assert run_python(script).strip() == "idm.plot needs matplotlib: pip install 'iterated-diffusion-map[plot]'"


def test_the_picture_has_a_panel_per_iteration_and_marks_the_neighbors():
    from idm import plot

    X, _, y = idm.datasets.make_annulus(400, feature="radius", random_state=0)
    model = idm.IteratedDiffusionMap(max_iter=2, tol=0.0).fit(X, y)
    figure = plot.iterations(model, X, y, point=3)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["data", "iteration 1", "iteration 2"]
    star = figure.axes[1].collections[-1].get_offsets()
    np.testing.assert_allclose(star, X[3:4])


def test_pictures_are_of_the_landmarks():
    X, _, y = idm.datasets.make_annulus(150, feature="radius", random_state=0)
    model = idm.IteratedDiffusionMap(max_iter=1, n_landmarks=100, random_state=0).fit(X, y)
    figure = idm.plot.iterations(model, X, y, point=model.landmarks_[7])
    assert len(figure.axes[0].collections[0].get_offsets()) == 100
    others = np.setdiff1d(np.arange(150), model.landmarks_)
    for row in others[[0, -1]]:
        with pytest.raises(ValueError, match=rf"point must be one of landmarks_, got {row}; one near it is \d+"):
            idm.plot.iterations(model, X, y, point=row)
    with pytest.raises(ValueError, match="X must be the 150 rows that the model was fitted to, got 149"):
        idm.plot.iterations(model, X[1:], y[1:])


def test_there_is_no_picture_of_a_model_that_was_not_fitted(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(NotFittedError, match="IteratedDiffusionMap"):
        idm.plot.iterations(idm.IteratedDiffusionMap(), X, X[:, 0])
