"""The code of the documentation runs as it stands, page by page, and prints what the page says."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import idm

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```(python|pycon)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE
# These run in their own tests: with a shell, with pictures, and to warn.
ELSEWHERE = {"command_line", "plots", "warnings"}

pages = sorted(page for page in DOCS.glob("*.md") if page.stem not in ELSEWHERE and FENCE.search(page.read_text()))
modules = [info.name for info in pkgutil.iter_modules(idm.__path__, "idm.") if not info.name.endswith("__main__")]


@pytest.mark.skipif(not DOCS.exists(), reason="the tests run outside the repository")
@pytest.mark.parametrize("page", pages, ids=lambda page: page.stem)
def test_the_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names = {}
    if page.stem == "model_files":
        X, _, y = idm.datasets.make_annulus(200, random_state=0)
        names = {"idm": idm, "model": idm.IteratedDiffusionMap(random_state=0).fit(X, y)}
    for kind, code in FENCE.findall(page.read_text()):
        if kind == "python":
            exec(compile(code, str(page), "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, clear_globs=False)
        names = test.globs
        assert runner.failures == 0


@pytest.mark.parametrize("name", modules)
def test_the_examples_of_the_docstrings_run(name):
    assert doctest.testmod(importlib.import_module(name), optionflags=FLAGS).failed == 0
