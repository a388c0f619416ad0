"""A figure as part of a page and as a file; what Matplotlib draws keeps text and colours by role, and repeats."""

from __future__ import annotations

import csv
import io
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from discreet.core.errors import MissingExtraError
from discreet.report.charts import Line, Panel, curve, datum, dots, panels, reach, upright
from discreet.report.figure import COLOURS, Figure, save_figures
from discreet.report.render import to_html
from discreet.report.summary import Summary

SPACE = "{http://www.w3.org/2000/svg}"
KNOWN = {"value": 0.8824, "low": 0.84, "high": 0.91}
NONE = {"value": None, "low": None, "high": None}
LINES = [Line("a heading", heading=True), Line("x < y", [("control hollow", NONE), ("target", KNOWN)], note="1.000"),
         Line("joined", [("oracle hollow", KNOWN | {"low": None}), ("oracle", KNOWN)], joined=True, band=(0.45, 0.55)),
         Line("nothing", [("target", NONE)], soft=True)]
LEGEND = [("target", "your model"), ("null area", "a band"), ("control dashed", "a line"), ("second hollow", "a ring")]
DRAW = partial(dots, LINES, tolerance=0.55, legend=LEGEND, notes=60, note_title="notes")
FIGURE = Figure("a-name", "A & B", "x < y, said in a sentence.", DRAW,
                tuple({"name": f"row {i}, \"quoted\"", "value": i / 3, "none": None} for i in range(45)))


def test_the_file_is_a_drawing_of_its_own_for_light_and_dark() -> None:
    root = ET.fromstring(FIGURE.standalone)
    assert root.tag == f"{SPACE}svg"
    assert str(root.get("viewBox")).startswith("-16 -16 992 ")
    assert root.findtext(f"{SPACE}title") == "A & B"
    assert root.findtext(f"{SPACE}desc") == "x < y, said in a sentence."
    style = root.findtext(f"{SPACE}style") or ""
    assert "prefers-color-scheme: dark" in style
    assert not re.search(r"https?:|@import|url\(", style)


def test_text_is_text_and_every_number_stays_whole() -> None:
    said = [one.text for one in ET.fromstring(FIGURE.standalone).iter(f"{SPACE}text")]
    for words in ("x < y", "1.000", "unresolved", "tolerance .55", "chance", "your model", "notes", ".6"):
        assert any(words in str(one) for one in said), words


def test_every_colour_is_a_variable_of_the_style_sheet() -> None:
    drawn = FIGURE.inline
    assert not re.search(r"#[0-9a-f]{6}", drawn)
    used = set(re.findall(r"var\(--fig-(\w+)\)", drawn))
    assert {"target", "control", "oracle", "tolerance", "second", "null", "ink", "soft", "grid", "ground"} == used
    assert used <= set(COLOURS)
    style = FIGURE.standalone.split("</style>")[0]
    # Once light, once dark, and dark on screens alone; paper only has another ground.
    assert all(style.count(f"--fig-{role}:") == 2 + (role == "ground") for role in COLOURS)
    assert "@media screen and (prefers-color-scheme: dark)" in style


def test_the_same_figure_is_the_same_text() -> None:
    assert FIGURE.standalone == FIGURE.standalone
    assert "dc:date" not in FIGURE.standalone
    assert "font-family" not in FIGURE.inline


def test_ids_are_those_of_the_figure_and_lead_somewhere() -> None:
    drawn = FIGURE.named("b-").inline
    ids = re.findall(r' id="([^"]+)"', drawn)
    assert len(ids) == len(set(ids))
    assert all(name.startswith("b-a-name") for name in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn)) <= set(ids)
    assert "http" not in drawn


def test_a_compact_drawing_has_its_labels_and_points_on_a_small_screen() -> None:
    compact = replace(FIGURE, draw=partial(DRAW, compact=True), compact=True).inline
    assert 'class="figure compact"' in compact
    assert 'viewBox="0 0 400 ' in compact
    assert "joined" in compact
    xs = [float(x) for x in re.findall(r'<use href="[^"]+" x="([\d.]+)"', compact)]
    assert xs
    assert max(xs) < 400


def test_panels_stand_side_by_side_in_rows() -> None:
    marks = [curve([(0, 0.5), (1, 0.6), (2, None)], "control"), *(upright(0.5, one, "target") for one in (NONE, KNOWN))]
    first = Panel(title="a title", under="under it", x="across", y="up", marks=marks)
    canvas = panels([first, *[Panel(marks=())] * 3], legend=LEGEND)
    boxes = [one.get_position() for one in canvas.axes]
    assert [round(box.x0, 3) for box in boxes[:2]] == [round(box.x0, 3) for box in boxes[2:]]
    assert boxes[0].x1 < boxes[1].x0
    assert boxes[2].y1 < boxes[0].y0
    drawn = Figure("p", "P", "p.", lambda: canvas, ()).inline
    assert all(said in drawn for said in ("a title", "under it", "across", "up"))
    assert list(reach([0.3, None, 0.9])) == pytest.approx([0.28, 0.92])
    assert reach([0.001, 1.0]) == (0.0, 1.0)


def test_the_data_comes_back_from_the_table_and_from_the_link(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(FIGURE.csv)))
    assert [row["name"] for row in rows] == [row["name"] for row in FIGURE.data]
    assert [float(row["value"]) for row in rows] == [row["value"] for row in FIGURE.data]
    assert {row["none"] for row in rows} == {""}
    page = to_html(Summary("a", "b", figure=FIGURE))
    [link] = re.findall(r'href="(data:[^"]*)"', page)
    assert unquote(link.split(",", 1)[1]) == FIGURE.csv
    assert (page.count("<td>row "), "5 further rows" in page) == (40, True)
    save_figures([FIGURE], tmp_path)
    assert (tmp_path / "a-name.svg").read_text(encoding="utf-8") == FIGURE.standalone
    assert (tmp_path / "a-name.csv").read_text(encoding="utf-8") == FIGURE.csv
    assert datum({"b": {"c": KNOWN}, "d": [1, 2]}, "a*=b.c d=d.1 none*", e=3) == {
        "e": 3, "a": 0.8824, "a_low": 0.84, "a_high": 0.91, "d": 2, "none": None, "none_low": None, "none_high": None}


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[report\]"):
        FIGURE.inline  # noqa: B018
