"""What is installed: variants, exported symbols, and what show_config says of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import idm
from idm import _core
from idm._core import _select


def test_show_config_names_what_was_chosen(capsys):
    assert idm.show_config() is None
    printed = capsys.readouterr().out
    for word in [idm.__version__, _core.isa, "Eigen", "OpenMP", "threads", "compiler"]:
        assert word in printed
    assert idm.show_config("dicts")["idm"] == idm.__version__
    with pytest.raises(ValueError, match="mode must be"):
        idm.show_config("json")


@pytest.mark.parametrize("isa", _select.runnable_variants())
def test_idm_isa_forces_a_variant(run_python, isa):
    assert run_python("from idm import _core; print(_core.isa)", IDM_ISA=isa).strip() == isa


def test_the_fastest_variant_is_the_default(run_python):
    expected = "v3" if "v3" in _core.variants and _core.cpu_has_v3() else "baseline"
    assert run_python("from idm import _core; print(_core.isa)", IDM_ISA="").strip() == expected


def test_an_unknown_variant_explains_itself(run_python):
    script = """
try:
    import idm
except ImportError as error:
    print(error)
"""
    printed = run_python(script, IDM_ISA="v9")
    assert "IDM_ISA='v9'" in printed
    assert "baseline" in printed
    assert "Unset" in printed


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF symbols")
@pytest.mark.parametrize("isa", _core.variants)
def test_only_pyinit_is_exported(isa):
    (library,) = Path(_core.__file__).parent.glob(f"_{isa}.*.so")
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in symbols.stdout.splitlines()] == [f"PyInit__{isa}"]


def test_waits_are_short_unless_the_user_says_otherwise(monkeypatch):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    with _select._short_waits():
        assert int(os.environ["GOMP_SPINCOUNT"]) <= 1000
    assert "GOMP_SPINCOUNT" not in os.environ
    for name, value in (("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "7")):
        monkeypatch.setenv(name, value)
        with _select._short_waits():
            assert os.environ[name] == value
        assert os.environ[name] == value
        monkeypatch.delenv(name)
