"""A figure: what it says in a sentence, the data it was drawn from, and its drawing as SVG.

Matplotlib draws, when the drawing is asked for and not before. Its colours are those of the light page; in the SVG each
becomes a CSS variable of `templates/figures.css`, so that a figure follows light, dark and print.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.core.errors import need
from discreet.core.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Row: TypeAlias = Mapping[str, Any]

COLOURS: Mapping[str, str] = {
    "ground": "#fbfaf7", "ink": "#22252a", "soft": "#5d636b", "grid": "#e3e0d8", "null": "#e9e5db", "target": "#1f6f80",
    "control": "#8d8a83", "oracle": "#b98317", "tolerance": "#b4442f", "second": "#6a5d93"}
"""By role; `figures.css` has a variable for each."""
MARGIN = 16
"""Around a drawing that stands alone, in its units."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a report, under a file name without suffix that is distinct within the report.

    `draw` draws `data`, rows of the same keys, with Matplotlib, one unit (1/72 inch) a pixel of the page; `narrow` does
    so for a screen of some 400 pixels. `table` is shown where the drawing cannot be seen, by default `data`.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], Canvas]
    data: tuple[Row, ...]
    table: tuple[Row, ...] = ()
    narrow: Callable[[], Canvas] | None = None

    def named(self, prefix: str) -> Figure:
        """The same figure under `prefix` and its own name."""
        return replace(self, name=f"{prefix}{self.name}")

    @property
    def inline(self) -> str:
        """The drawing for a page that has the style sheet; with `narrow`, both, of which the style sheet shows one."""
        if self.narrow is None:
            return self._svg(self.draw(), self.name, 'class="figure"')
        return (self._svg(self.draw(), self.name, 'class="figure broad"')
                + self._svg(self.narrow(), f"{self.name}-narrow", 'class="figure narrow"'))

    @property
    def standalone(self) -> str:
        """The drawing as a file of its own, which follows the light or dark scheme of who looks at it."""
        drawn = self._svg(self.draw(), self.name, 'xmlns="http://www.w3.org/2000/svg" class="figure"',
                          f'<style>{css("figures")}</style><rect x="-{MARGIN}" y="-{MARGIN}" width="100%" '
                          'height="100%" style="fill: var(--fig-ground)"/>', MARGIN)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}\n'

    def _svg(self, canvas: Canvas, name: str, attributes: str, first: str = "", margin: int = 0) -> str:
        name, (width, height) = escape(name), (72 * side for side in canvas.get_size_inches())
        return (f'<svg {attributes} viewBox="{-margin} {-margin} {width + 2 * margin:g} {height + 2 * margin:g}" '
                f'role="img" aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{escape(self.title)}'
                f'</title><desc id="{name}-desc">{escape(self.caption)}</desc>{first}{svg_body(canvas, name)}</svg>')

    @property
    def csv(self) -> str:
        """`data` with a header; figures in full, empty where there is none."""
        written = io.StringIO()
        if self.data:
            writer = csv.DictWriter(written, list(self.data[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.data)
        return written.getvalue()


def css(name: str) -> str:
    """A style sheet of `templates`."""
    return files("discreet.report").joinpath("templates", f"{name}.css").read_text(encoding="utf-8")


def svg_body(canvas: Canvas, name: str) -> str:
    """What a drawing's `<svg>` holds: text as text, colours as CSS variables, ids that begin with `name`.

    The same drawing gives the same text.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    written = io.StringIO()
    # A glyph that Matplotlib's font lacks is in one of the reader's: text stays text.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "discreet"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        draw: Any = FigureCanvasSVG(canvas).print_svg
        draw(written, metadata={"Date": None, "Creator": None})
    body = written.getvalue().partition("</metadata>")[2].rpartition("</svg>")[0]
    body = body.partition("</defs>")[2]
    for role, colour in COLOURS.items():
        body = body.replace(colour, f"var(--fig-{role})")
    body = re.sub(r" ?font-family: [^;\"]*;?", "", body).replace("xlink:href", "href")
    body = re.sub(r" transform=\"rotate\(-0 [^\"]*\"", "", body)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', body))
    body = re.sub(r' id="([^"]*)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", body)
    body = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", body)
    body = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), body)
    return re.sub(r"\s*\n\s*", " ", body).strip()


def save_figures(figures: Iterable[Figure], folder: Path) -> None:
    """Write each figure as SVG and its data as CSV into `folder`. Raises MissingExtraError without Matplotlib."""
    for figure in figures:
        write_atomic(folder / f"{figure.name}.svg", figure.standalone)
        write_atomic(folder / f"{figure.name}.csv", figure.csv)


def can_draw() -> None:
    """Raise MissingExtraError where Matplotlib is not installed."""
    need("matplotlib", "a figure", "report")


def name_of(words: str) -> str:
    """Words as part of a file name."""
    return "-".join("".join(c if c.isalnum() else " " for c in words.lower()).split())
