"""Configuration of Sphinx: python -m sphinx -W -b html docs build/docs."""

import os
import re
import socket
import sys
import warnings
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import matplotlib as mpl

import idm

mpl.use("Agg")
DOCS = Path(__file__).parent
ROOT = DOCS.parent

project = "idm"
author = "the authors of idm"
copyright = f"{date.today().year}, {author}"
version = release = idm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["auto_examples/**.md5", "auto_examples/**.ipynb"]
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False  # "auto" is to be typed as it stands
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # sphinx_gallery_conf holds objects, which Sphinx cannot compare between builds

# What the docstrings link to. The inventories are fetched; without the net there are no such links, and no warning.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
    "matplotlib": ("https://matplotlib.org/stable", None),
}


def _reachable(address: str) -> bool:
    try:
        socket.create_connection((urlsplit(address).hostname, 443), timeout=3).close()
    except OSError:
        print(f"intersphinx: {address} cannot be reached; links to it are left out")
        return False
    return True


intersphinx_mapping = {name: entry for name, entry in intersphinx_mapping.items() if _reachable(entry[0])}

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings tell types
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "ignore_pattern": r"(first_steps|iteration_panels|__init__)\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "matplotlib_animations": False,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "min_reported_time": 5,
}
# Examples may warn: they show what happens. Figures that are not shown in a window are no concern here.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "idm"
html_static_path = ["_static"]
html_css_files = ["idm.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "idm"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "header_links_before_dropdown": 5,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}

# Files outside this folder that are pages of the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "developers.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "performance.md",
    "examples/README.md": "figures.md",
}


def _relinked(text: str, folder: Path) -> str:
    """Links of Markdown that lies in `folder`, as seen from here: to pages of the site, else to the file itself."""

    def target(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        name = os.path.relpath(folder / path, ROOT)
        if not (ROOT / name).exists():
            return match[0]
        return f"]({PAGES.get(name, os.path.relpath(ROOT / name, DOCS))}{anchor})"

    return re.sub(r"\]\(([^()#:\s]+)(#[^()\s]*)?\)", target, text)


def _read(app: object, name: str, content: list[str]) -> None:
    if (DOCS / f"{name}.md").exists():
        content[0] = _relinked(content[0], DOCS)


def _included(app: object, path: Path, parent: str, content: list[str]) -> None:
    content[0] = _relinked(content[0], (DOCS / path).resolve().parent)


def _skip(app: object, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Methods of scikit-learn are described there; attributes are in the list of the class."""
    if isinstance(member, property) or str(getattr(member, "__module__", "idm")).startswith("sklearn"):
        return True
    return None


def _bars(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """|dx| is a length, not a substitution."""
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else line.replace("|", r"\|") for line in lines]


def setup(app) -> None:
    app.connect("source-read", _read)
    app.connect("include-read", _included)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _bars, priority=400)
    sys.path.insert(0, str(ROOT / "examples"))  # iteration_panels
