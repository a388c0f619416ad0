from __future__ import annotations

import re
from typing import Any

import pytest

from discreet.report.figures.dots import WIDTH, Line, dots


def estimate(value: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high}


def circles(body: str) -> list[tuple[str, float]]:
    return [(kind, float(x)) for x, kind in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="[\d.]+" class="([^"]+)"',
                                                       body)]


def test_equal_steps_of_auc_are_equal_steps_on_the_axis() -> None:
    lines = [Line("a", [("dot-target", estimate(v))]) for v in (0.5, 0.6, 0.7)]
    places = [x for _, x in circles(dots(lines, tolerance=0.55)[0])]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)
    assert 300 < places[0] < places[2] < WIDTH


def test_chance_and_tolerance_are_where_their_values_are() -> None:
    body, _, _ = dots([Line("a", [("dot-target", estimate(0.5)), ("dot-second", estimate(0.55))])], tolerance=0.55)
    (_, half), (_, tolerated) = circles(body)
    assert re.search(rf'<line x1="{half:.1f}" [^>]*class="chance"', body)
    assert re.search(rf'<line x1="{tolerated:.1f}" [^>]*class="tolerance"', body)


def test_an_interval_is_as_wide_as_it_says() -> None:
    body, _, _ = dots([Line("a", [("dot-target", estimate(0.5, 0.45, 0.6))])], tolerance=None)
    found = re.search(r'<line x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)" y2="[\d.]+" class="whisker line-target"', body)
    assert found is not None
    (_, value), left, right = circles(body)[0], float(found.group(1)), float(found.group(2))
    assert (right - value) / (value - left) == pytest.approx(2.0, abs=0.02)


def test_a_row_without_a_figure_says_so() -> None:
    body, _, _ = dots([Line("a", [("dot-target", estimate(None)), ("dot-placebo", None)])], tolerance=0.55)
    assert circles(body) == []
    assert "unresolved" in body


def test_a_heading_is_not_unresolved() -> None:
    body, _, _ = dots([Line("title", [], heading=True), Line("a", [("dot-target", estimate(0.6))])], tolerance=0.55)
    assert "unresolved" not in body
    assert 'class="strong"' in body


def test_only_rows_that_are_joined_are() -> None:
    marks = [("hollow dot-target", estimate(0.5)), ("dot-target", estimate(0.7))]
    assert "join" in dots([Line("a", marks, joined=True)], tolerance=None)[0]
    assert "join" not in dots([Line("a", marks)], tolerance=None)[0]


def test_every_row_takes_room() -> None:
    heights = [dots([Line("a", [("dot-target", estimate(0.5))])] * n, tolerance=None)[2] for n in (1, 2, 5)]
    assert heights[1] - heights[0] == pytest.approx((heights[2] - heights[1]) / 3)
