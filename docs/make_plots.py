"""Make the pictures of plots.md with its code: after each block, its axes are saved as the picture that follows."""

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent


def main() -> None:
    """Run the page."""
    plt.rcParams.update({"figure.figsize": (4, 3), "savefig.dpi": 100})
    (DOCS / "plots").mkdir(exist_ok=True)
    page = (DOCS / "plots.md").read_text()
    names: dict[str, Any] = {}
    for code, picture in re.findall(r"```python\n(.*?)```(?:\s*!\[[^\]]*\]\((.*?)\))?", page, flags=re.DOTALL):
        exec(compile(code, "plots.md", "exec"), names)
        if picture:
            names["ax"].figure.savefig(DOCS / picture)
            plt.close("all")


if __name__ == "__main__":
    main()
