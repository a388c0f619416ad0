"""Rows of dots with intervals on one axis: what most figures of an audit are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.report.figures.svg import Scale, box, dot, key, line, shown_tick, text

WIDTH = 960.0
LABELS = 300.0
ROW = 24.0
GAP = 12.0
TOP = 34.0

Marks = Sequence[tuple[str, Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True)
class Line:
    """A row: words, the marks on it (a class and an estimate as JSON), and whether space goes before it.

    Where `joined`, a line goes from the first mark to the last. `band` is drawn behind, `note` to the right.
    """

    label: str
    marks: Marks
    kind: str = ""
    joined: bool = False
    space: bool = False
    heading: bool = False
    note: str = ""
    band: tuple[float, float] | None = None


def dots(
    lines: Sequence[Line], *, tolerance: float | None, legend: Sequence[tuple[str, str]] = (), axis: str = "AUC",
    labels: float = LABELS, notes: float = 0.0, note_title: str = "", chance: float | None = 0.5,
    bounds: tuple[float, float] | None = None,
) -> tuple[str, float, float]:
    """The drawing, its width and height."""
    values = [mark[end] for one in lines for _, mark in one.marks if mark for end in ("value", "low", "high")
              if mark[end] is not None]
    low, high = bounds or (min([0.4, *values]) - 0.02, max([0.7, *values]) + 0.02)
    scale = Scale(max(0.0, low), min(1.0, high), labels, WIDTH - 24 - notes)
    top = TOP + (22 if legend else 0)
    places: list[float] = []
    y = top
    for one in lines:
        y += GAP if one.space and places else 0
        places.append(y + ROW / 2)
        y += ROW
    drawn = [key(labels, 14, legend)] if legend else []
    drawn += _frame(scale, top, y, tolerance, chance, axis)
    if note_title:
        drawn.append(text(WIDTH - 8, top - 10, note_title, "soft", "end"))
    for one, place in zip(lines, places, strict=True):
        drawn += _row(one, place, scale, labels)
    return "".join(drawn), WIDTH, y + 34


def _frame(scale: Scale, top: float, bottom: float, tolerance: float | None, chance: float | None, axis: str
           ) -> list[str]:
    drawn = []
    for tick in scale.ticks():
        x = scale(tick)
        drawn += [line(x, top, x, bottom, "grid"), text(x, bottom + 16, shown_tick(tick), "soft", "middle")]
    drawn.append(text(scale.end, bottom + 32, axis, "soft", "end"))
    if chance is not None and scale.low <= chance <= scale.high:
        x = scale(chance)
        drawn += [line(x, top - 4, x, bottom, "chance"), text(x - 5, top - 10, "chance", "soft", "end")]
    if tolerance is not None and scale.low <= tolerance <= scale.high:
        x = scale(tolerance)
        drawn += [line(x, top - 4, x, bottom, "tolerance"),
                  text(x + 5, top - 10, f"tolerance {shown_tick(tolerance)}", "tolerance-text")]
    return drawn


def _row(one: Line, y: float, scale: Scale, labels: float) -> list[str]:
    drawn = [text(0 if one.heading else 14, y + 4, one.label, one.kind or ("strong" if one.heading else ""))]
    if one.band is not None:
        left, right = scale(one.band[0]), scale(one.band[1])
        drawn.append(box(left, y - 8, right - left, 16, "area-null"))
    known = [(kind, mark) for kind, mark in one.marks if mark and mark["value"] is not None]
    if one.marks and not known:
        drawn.append(text(labels + 6, y + 4, "unresolved", "soft"))
    if one.joined and len(known) > 1:
        first, last = scale(known[0][1]["value"]), scale(known[-1][1]["value"])
        drawn.append(line(first, y, last, y, "join " + known[-1][0].replace("dot", "line", 1)))
    for kind, mark in known:
        if mark["low"] is not None and mark["high"] is not None:
            drawn.append(line(scale(mark["low"]), y, scale(mark["high"]), y,
                              "whisker " + kind.replace("dot", "line", 1)))
        drawn.append(dot(scale(mark["value"]), y, kind))
    if one.note:
        drawn.append(text(WIDTH - 8, y + 4, one.note, "soft", "end"))
    return drawn
