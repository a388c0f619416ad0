from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from discreet.report.figures.figure import Figure, ends, save_figures, span, spoken

FIGURE = Figure("a-name", "A & B", "x < y, said in a sentence.", '<circle cx="1" cy="1" r="1" class="dot-target"/>', 10,
                20, tuple({"name": f"row {i}, \"quoted\"", "value": i / 3, "none": None} for i in range(45)))


def test_the_file_is_a_drawing_of_its_own_for_light_and_dark() -> None:
    root = ET.fromstring(FIGURE.standalone)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert root.get("viewBox") == "-16 -16 42 52"
    assert 'viewBox="0 0 10 20"' in FIGURE.inline
    assert root.findtext(f"{space}title") == "A & B"
    assert root.findtext(f"{space}desc") == "x < y, said in a sentence."
    style = root.findtext(f"{space}style") or ""
    assert "prefers-color-scheme: dark" in style
    assert not re.search(r"https?:|@import|url\(", style)


def test_what_names_the_drawing_is_in_it() -> None:
    named = re.search(r'aria-labelledby="([^"]+)"', FIGURE.inline)
    assert named is not None
    for name in named.group(1).split():
        assert f'id="{name}"' in FIGURE.inline
    assert "http" not in FIGURE.inline
    assert FIGURE.named("b-").inline.count('id="b-a-name') == 2


def test_every_colour_is_one_of_the_style_sheet(innocent: dict[str, object]) -> None:
    from discreet.report.membership import membership_figures

    used = {name for figure in membership_figures(innocent)
            for classes in re.findall(r'class="([^"]*)"', figure.body) for name in classes.split()}
    style = membership_figures(innocent)[0].standalone.split("</style>")[0]
    lacking = {name for name in used if f".{name}" not in style}
    assert lacking == set()


def test_the_data_comes_back_from_the_table_and_from_the_link() -> None:
    rows = list(csv.DictReader(io.StringIO(FIGURE.csv)))
    assert [row["name"] for row in rows] == [row["name"] for row in FIGURE.data]
    assert [float(row["value"]) for row in rows] == [row["value"] for row in FIGURE.data]
    assert {row["none"] for row in rows} == {""}
    assert unquote(FIGURE.csv_link.split(",", 1)[1]) == FIGURE.csv


def test_a_page_prints_some_rows_and_says_how_many_it_left_out() -> None:
    assert len(FIGURE.shown) == 40
    assert FIGURE.left_out == 5


def test_saves_a_drawing_and_its_data(tmp_path: Path) -> None:
    save_figures([FIGURE], tmp_path)
    assert (tmp_path / "a-name.svg").read_text(encoding="utf-8") == FIGURE.standalone
    assert (tmp_path / "a-name.csv").read_text(encoding="utf-8") == FIGURE.csv


def test_figures_in_words() -> None:
    estimate = {"value": 0.5234, "low": 0.4, "high": 1.0, "level": 0.95, "n": 3, "n_pos": None, "n_neg": None,
                "unit": "example", "method": "", "reason": None}
    assert span(estimate) == ".52 (.40 to 1.00)"
    assert span({**estimate, "low": None}, 3) == ".523"
    assert span({**estimate, "value": None, "reason": "few"}) == "unresolved"
    assert span(None) == "unresolved"
    assert [spoken(v) for v in (-0.5, 0.0, 10.04, None)] == ["-.50", ".00", "10.04", "unresolved"]
    assert ends("a", estimate) == {"a": 0.5234, "a_low": 0.4, "a_high": 1.0}
    assert ends("a", None) == {"a": None, "a_low": None, "a_high": None}
