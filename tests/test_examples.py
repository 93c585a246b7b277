"""The scripts of the gallery run as they stand, and print the numbers that their texts give."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

# For each script: what stands before a number that it prints, and the limits of that number.
NUMBERS = {
    "plot_class_labels": (r"idm +11 +", 0.96, 0.99),
    "plot_figure_1_annulus_radius": (r"as in the paper[\s\S]*?iteration 4 +", 0.60, 0.75),
    "plot_figure_2_circle": (r"eigenvalues (?:\S+ ){6}", -16.002, -15.998),
    "plot_figure_3_scaling_laws": (r"clean +\S+ +", 2.004, 2.007),
    "plot_figure_4_derivatives": (r"svd, regression +", 0.014, 0.015),
    "plot_figure_5_singular_values": (r"standard deviation 1/50 +\S+ +", 3.0, 3.2),
    "plot_figure_6_tuning": (r"30-D, clean +(?:\S+ +){4}", 2.008, 2.010),
    "plot_figure_7_annulus_angle": (r"as in the paper[\s\S]*?iteration 2 +", 0.90, 0.95),
    "plot_figure_8_torus": (r"phi, as in the paper[\s\S]*?iteration 3 +", 0.92, 0.97),
    "plot_figure_9_sphere": (r"twisted, defaults[\s\S]*?iteration 3 +", 0.94, 0.99),
    "plot_lorenz": (r"recall at new rows, idm +: ", 0.78, 0.84),
    "plot_noise_and_relevance": (r" 0\.2 +\S+ +", 0.78, 0.88),
    "plot_parameters": (r"tau=0\.95: recall ", 0.94, 0.97),
    "plot_rotated_digits": (r"idm +", 1.0, 3.0),
    "plot_two_objects": (r"idm +", 0.90, 0.96),
}

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="the tests run outside the repository")


def test_every_script_has_a_number():
    assert {path.stem for path in EXAMPLES.glob("plot_*.py")} == set(NUMBERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_the_script_runs_and_prints_its_number(name, tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    before, low, high = NUMBERS[name]
    number = re.search(before + r"(-?\d+\.\d+)", done.stdout)
    assert number is not None, done.stdout
    assert low <= float(number.group(1)) <= high
    assert list(tmp_path.iterdir()) == []
