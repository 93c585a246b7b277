"""The command line and the pictures."""

import subprocess
import sys

import numpy as np
import pytest

import idm
from idm._command import main
from idm._demo import EXAMPLES


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
    done = subprocess.run([sys.executable, "-m", "idm", "demo", "other"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "annulus-radius" in done.stderr


def test_without_matplotlib_there_is_a_table_and_a_hint(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
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
