"""What this installation is made of and how it would run now."""

import platform
from importlib.metadata import version
from typing import Literal

import numpy
import scipy
import sklearn

from idm import _core
from idm._threads import n_threads


def show_config(mode: Literal["stdout", "dicts"] = "stdout") -> dict[str, str] | None:
    """Print version, chosen instruction set, compiler, Eigen, OpenMP and threads.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Where to: "dicts" returns a dictionary, as `numpy.show_config` does.

    Returns
    -------
    dict or None
        The same names and values, with ``mode="dicts"``.

    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"mode must be 'stdout' or 'dicts', got {mode!r}")
    build = _core.build_info()
    config = {
        "idm": version("iterated-diffusion-map"),
        "instruction set": f"{_core.isa} (built: {', '.join(_core.variants)}; IDM_ISA forces one)",
        "compiler": build["compiler"],
        "Eigen": f"{build['eigen']} ({build['eigen_simd']})",
        "OpenMP": build["openmp"],
        "threads": str(n_threads(None)),
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    if mode == "dicts":
        return config
    for name, value in config.items():
        print(f"{name + ':':<17}{value}")
    return None
