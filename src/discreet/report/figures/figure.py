"""A figure: its drawing, what it says in a sentence, and the data it was drawn from."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from discreet.core.files import write_atomic
from discreet.core.records import Estimate

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = Mapping[str, Cell]

SHOWN_ROWS = 40
MARGIN = 16
"""Around a drawing that stands alone."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a report.

    Attributes
    ----------
    name : str
        A file name without its suffix; distinct within a report.
    title, caption : str
        What is drawn, and what to read from it, in sentences.
    body : str
        The elements inside the `<svg>`, coloured by the classes of `templates/figures.css` only.
    width, height : float
        Of the drawing, in its own units.
    data : tuple of Row
        What was drawn, with the same keys in every row.
    table : tuple of Row
        What stands in for the drawing where it cannot be seen; `data` where there is none of its own.
    """

    name: str
    title: str
    caption: str
    body: str
    width: float
    height: float
    data: tuple[Row, ...]
    table: tuple[Row, ...] = ()

    def named(self, prefix: str) -> Figure:
        """The same figure under `prefix` and its own name."""
        return replace(self, name=f"{prefix}{self.name}")

    @property
    def inline(self) -> str:
        """The drawing for a page that has the style sheet."""
        return self._svg("", "")

    @property
    def standalone(self) -> str:
        """The drawing as a file of its own, which follows the light or dark scheme of who looks at it."""
        style = files("discreet.report").joinpath("templates", "figures.css").read_text(encoding="utf-8")
        width, height = self.width + 2 * MARGIN, self.height + 2 * MARGIN
        ground = f'<rect x="-{MARGIN}" y="-{MARGIN}" width="{width:g}" height="{height:g}" class="ground"/>'
        drawn = self._svg(' xmlns="http://www.w3.org/2000/svg"', f"<style>{style}</style>{ground}", MARGIN)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}\n'

    def _svg(self, space: str, first: str, margin: int = 0) -> str:
        name, width, height = escape(self.name), self.width + 2 * margin, self.height + 2 * margin
        return (f'<svg{space} class="figure" viewBox="{-margin} {-margin} {width:g} {height:g}" '
                f'role="img" aria-labelledby="{name}-title {name}-desc">'
                f'<title id="{name}-title">{escape(self.title)}</title><desc id="{name}-desc">{escape(self.caption)}'
                f"</desc>{first}{self.body}</svg>")

    @property
    def csv(self) -> str:
        """`data` with a header; figures in full, empty where there is none."""
        written = io.StringIO()
        if self.data:
            writer = csv.DictWriter(written, list(self.data[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.data)
        return written.getvalue()

    @property
    def csv_link(self) -> str:
        """`csv` inside a link, so that a page alone has it too."""
        return "data:text/csv;charset=utf-8," + quote(self.csv)

    @property
    def shown(self) -> tuple[Row, ...]:
        """The rows that a page prints."""
        return (self.table or self.data)[:SHOWN_ROWS]

    @property
    def left_out(self) -> int:
        """How many rows a page does not print."""
        return len(self.table or self.data) - len(self.shown)


def save_figures(figures: Iterable[Figure], folder: Path) -> None:
    """Write each figure as SVG and its data as CSV into `folder`."""
    for figure in figures:
        write_atomic(folder / f"{figure.name}.svg", figure.standalone)
        write_atomic(folder / f"{figure.name}.csv", figure.csv)


def ends(name: str, estimate: Mapping[str, Any] | None) -> dict[str, Cell]:
    """An estimate as the three columns `name`, `name_low` and `name_high` of a row."""
    one = estimate or {}
    return {name: one.get("value"), f"{name}_low": one.get("low"), f"{name}_high": one.get("high")}


def spoken(value: float | None, digits: int = 2) -> str:
    """".52"; "unresolved" for None."""
    if value is None:
        return "unresolved"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def bracketed(estimate: Mapping[str, Any] | None, digits: int = 3) -> str:
    """".520 [.500, .550]", as in the columns of a terminal."""
    if estimate is None or estimate["value"] is None:
        return "unresolved"
    said, low, high = spoken(estimate["value"], digits), estimate["low"], estimate["high"]
    return said if low is None or high is None else f"{said} [{spoken(low, digits)}, {spoken(high, digits)}]"


def span(estimate: Mapping[str, Any] | None, digits: int = 2) -> str:
    """".52 (.50 to .55)"."""
    if estimate is None or estimate["value"] is None:
        return "unresolved"
    one = Estimate.from_json(estimate)
    said = spoken(one.value, digits)
    return said if one.low is None or one.high is None else (
        f"{said} ({spoken(one.low, digits)} to {spoken(one.high, digits)})")
