"""Fitted models in notebooks: scikit-learn's diagram, and below it what the fit came to."""

from collections.abc import Callable, Iterable
from html import escape
from typing import Any, cast

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted


class ShownInNotebooks:
    """Goes before BaseEstimator, and overrides nothing but what IPython itself asks for."""

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = cast(Any, super())._repr_html_  # an AttributeError with set_config(display="text"), as it must be
        return lambda: diagram() + _fitted(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = cast(Any, super())._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += _fitted(self)
        return bundle


def _fitted(model: Any) -> str:
    """Tables without colours of their own, which would not suit every theme; nothing before the fit."""
    from idm._facts import facts, table  # which import the estimators
    from idm._iterated_map import IteratedMap

    try:
        check_is_fitted(model)
    except NotFittedError:
        return ""
    tables = [_table(facts(model), "left")]
    if isinstance(model, IteratedMap):
        tables.append(_table(table(model), "right", headings=True))
    return (
        f'<div class="idm-fit" style="display: flex; flex-wrap: wrap; gap: 2em; margin: 0.5em">{"".join(tables)}</div>'
    )


def _table(rows: Iterable[tuple[str, ...]], align: str, *, headings: bool = False) -> str:
    """Headings are the first row, or else the first column."""
    lines = []
    for number, row in enumerate(rows):
        tags = ["th" if (number if headings else place) == 0 else "td" for place in range(len(row))]
        cells = zip(tags, row, strict=True)
        lines.append("".join(f'<{tag} style="text-align: {align}">{escape(text)}</{tag}>' for tag, text in cells))
    return f'<table style="margin: 0"><tr>{"</tr><tr>".join(lines)}</tr></table>'
