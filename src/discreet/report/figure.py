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
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element, SubElement

from discreet.core.errors import need
from discreet.core.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Row: TypeAlias = Mapping[str, Any]

COLOURS: Mapping[str, str] = {
    "ground": "#fbfaf7", "ink": "#22252a", "soft": "#5d636b", "grid": "#e3e0d8", "null": "#e9e5db", "target": "#1f6f80",
    "control": "#8d8a83", "oracle": "#b98317", "tolerance": "#b4442f", "second": "#6a5d93"}
"""By role; `figures.css` has a variable for each."""
REFERRED = re.compile(r"(?<=#)[^)\"]+(?=\)$)|(?<=^#).+")
"""What an attribute of a shape refers to: "url(#a)", "#a"."""
MARGIN = 16
"""Around a drawing that stands alone, in its units."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a report, under a file name without suffix that is distinct within the report.

    `draw` draws `data`, rows of the same keys, with Matplotlib, one unit (1/72 inch) a pixel of the page; a `compact`
    drawing fits a screen of 400 pixels. `table` is shown where the drawing cannot be seen, by default `data`.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], Canvas]
    data: tuple[Row, ...]
    table: tuple[Row, ...] = ()
    compact: bool = False

    def named(self, prefix: str) -> Figure:
        """The same figure under `prefix` and its own name."""
        return replace(self, name=f"{prefix}{self.name}")

    @property
    def inline(self) -> str:
        """The drawing for a page that has the style sheet."""
        return ET.tostring(self._drawing(0), encoding="unicode")

    @property
    def standalone(self) -> str:
        """The drawing as a file of its own, which follows the light or dark scheme of who looks at it."""
        drawing = self._drawing(MARGIN)
        drawing.set("xmlns", "http://www.w3.org/2000/svg")
        style, ground = Element("style"), Element(
            "rect", x=f"-{MARGIN}", y=f"-{MARGIN}", width="100%", height="100%", style="fill: var(--fig-ground)")
        style.text = css("figures")
        drawing[2:2] = [style, ground]
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(drawing, encoding="unicode")}\n'

    def _drawing(self, margin: int) -> Element:
        canvas = self.draw()
        width, height = (72 * side + 2 * margin for side in canvas.get_size_inches())
        drawing = Element("svg", {
            "class": "figure compact" if self.compact else "figure", "role": "img",
            "viewBox": f"{-margin} {-margin} {width:g} {height:g}",
            "aria-labelledby": f"{self.name}-title {self.name}-desc"})
        for part, said in (("title", self.title), ("desc", self.caption)):
            SubElement(drawing, part, id=f"{self.name}-{part}").text = said
        drawing.extend(shapes(canvas, self.name))
        return drawing

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


def shapes(canvas: Canvas, name: str) -> list[Element]:
    """What a drawing's `<svg>` holds: text as text, colours as CSS variables, ids that begin with `name`.

    The same drawing gives the same shapes.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    written = io.StringIO()
    # A glyph that Matplotlib's font lacks is in one of the reader's: text stays text.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "discreet"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        draw: Any = FigureCanvasSVG(canvas).print_svg
        draw(written, metadata={"Date": None, "Creator": None})
    root = ET.fromstring(written.getvalue())
    used = {found for one in root.iter() for value in one.attrib.values() for found in REFERRED.findall(value)}
    for one in root.iter():
        one.tag = one.tag.rpartition("}")[2]
        one.text, one.tail = (one.text or "").strip(), None
        kept = {key: value for key, value in one.attrib.items() if key != "id" or value in used}
        one.attrib.clear()
        one.attrib.update((key.rpartition("}")[2], _attribute(key, value, name)) for key, value in kept.items())
    _metadata, _style, *found = root
    return found


def _attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    value = REFERRED.sub(lambda found: f"{name}-{found[0]}", re.sub(r"(\d\.\d\d)\d+", r"\1", value))
    for role, colour in COLOURS.items():
        value = value.replace(colour, f"var(--fig-{role})")
    return re.sub(r" ?font-family: [^;]*;?| ?rotate\(-0 [^)]*\)", "", value).strip()


def save_figures(figures: Iterable[Figure], folder: Path) -> None:
    """Write each figure as SVG and its data as CSV into `folder`. Raises MissingExtraError without Matplotlib."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        write_atomic(folder / f"{figure.name}.svg", figure.standalone)
        write_atomic(folder / f"{figure.name}.csv", figure.csv)


def can_draw() -> None:
    """Raise MissingExtraError where Matplotlib is not installed."""
    need("matplotlib", "a figure", "report")


def name_of(words: str) -> str:
    """Words as part of a file name."""
    return "-".join("".join(c if c.isalnum() else " " for c in words.lower()).split())
