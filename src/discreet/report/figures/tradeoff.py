"""Figure 4 (right) of the membership paper rerun: accuracy against the boundary attack as Laplace noise grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.report.figures.figure import Figure, Row, ends
from discreet.report.figures.panels import WIDTH, Panel, places
from discreet.report.figures.svg import Scale, dot, key, path, text
from discreet.report.reproduced import at_boundary

Record = Mapping[str, Any]

DEFINITIONS: Mapping[str, str] = {
    "paper": "paper's definition", "honest": "honest: neutral reference, logit scale"}
TOP, SIDE, BETWEEN = 84.0, 200.0, 104.0
MANY = "dot-second"


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (strength, accuracy, AUC, placebo's AUC) of one mechanism and number of queries, by strength."""

    name: str
    kind: str
    points: tuple[tuple[float, float, float, float | None], ...]


def tradeoff(rows: Sequence[Record]) -> Figure | None:
    """Two panels a model and regime, one per definition; `rows` are those of item "figure 4"."""
    drawn, data, top = list[str](), list[Row](), TOP
    most = max((point["queries"] for row in rows for point in row["frontier"]["points"]), default=1)
    legend = [("dot-target", "fresh noise, one query: the paper's"), (MANY, f"fresh, {most} queries"),
              ("dot-oracle", f"keyed, {most} queries"), ("hollow dot-placebo", "placebo, one query")]
    for row in rows:
        found = {said: _curves(row, name, most) for name, said in DEFINITIONS.items()}
        points = [point for curves in found.values() for curve in curves for point in curve.points]
        if not points:
            continue
        for (name, curves), (left, right) in zip(found.items(), places(2), strict=True):
            panel, ticks = _panel(points, left, right, top)
            drawn.append(panel.frame(f"{row['model']}, {row['regime']}", beside=name, x_ticks=ticks,
                                     x_title="accuracy"))
            drawn.append(panel.across(0.5, "chance"))
            drawn += [part for curve in curves for part in _drawn(panel, curve)]
        data += _data(row)
        top += SIDE + BETWEEN
    if not data:
        return None
    caption = ("Each line goes from no noise (σ 0, marked) to the strongest, with the boundary of σ 0: to the left "
               "answers are worse, down the attack is. Fresh noise averages out over queries, keyed noise does not. "
               "Where the placebo lies as high, there was nothing to defend.")
    return Figure("figure-4-noise", "The Laplace frontier", caption, key(44, 14, legend) + "".join(drawn), WIDTH,
                  top - BETWEEN + 44, tuple(data))


def _curves(row: Record, definition: str, most: int) -> list[Curve]:
    found = []
    for name, mechanism, queries, mark in (
            ("fresh", "laplace", 1, "dot-target"), ("fresh, many", "laplace", most, MANY),
            ("keyed, many", "keyed", most, "dot-oracle")):
        points = []
        for point in row["frontier"]["points"]:
            if point["queried"] != "same" or point["mechanism"] not in ("none", mechanism) \
                    or point["queries"] != queries:
                continue
            figure = at_boundary(point, definition)
            accuracy = point["utility"]["accuracy"]["value"]
            if figure is not None and figure["auc"]["value"] is not None and accuracy is not None:
                points.append((float(point["strength"] or 0.0), accuracy, figure["auc"]["value"],
                               figure["placebo_auc"]["value"]))
        if points:
            found.append(Curve(name, mark, tuple(sorted(points))))
    return found


def _panel(points: Sequence[tuple[float, float, float, float | None]], left: float, right: float, top: float
           ) -> tuple[Panel, list[tuple[float, str]]]:
    across = [point[1] for point in points]
    up = [one for point in points for one in point[2:] if one is not None]
    low, high = min(across), max(across)
    edge = max(0.005, (high - low) * 0.08)
    x = Scale(max(0.0, low - edge), min(1.0, high + edge), left, right)
    y = Scale(max(0.0, min([0.4, *up]) - 0.02), min(1.0, max([0.6, *up]) + 0.02), top + SIDE, top)
    step = next(step for step in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if (x.high - x.low) / step <= 6 or step == 0.2)
    return Panel(x, y), [(tick, f"{100 * tick:.4g}%") for tick in x.ticks(step)]


def _drawn(panel: Panel, curve: Curve) -> list[str]:
    places_ = [panel.at(accuracy, auc) for _, accuracy, auc, _ in curve.points]
    found = [path(places_, curve.kind.replace("dot", "line")), *(dot(*one, curve.kind, 3) for one in places_)]
    if curve.kind != "dot-target":
        return found
    beside = [panel.at(accuracy, placebo) for _, accuracy, _, placebo in curve.points if placebo is not None]
    first = places_[0]
    return [path(beside, "line-placebo"), *(dot(*one, "hollow dot-placebo", 2.5) for one in beside), *found,
            text(first[0] - 6, first[1] - 8, "σ 0", "soft", "end")]


def _data(row: Record) -> list[Row]:
    found: list[Row] = []
    for point in row["frontier"]["points"]:
        for name in DEFINITIONS:
            figure = at_boundary(point, name)
            if figure is not None and point["queried"] == "same":
                found.append({"model": row["model"], "regime": row["regime"], "definition": name,
                              "mechanism": point["mechanism"], "sigma": point["strength"] or 0.0,
                              "queries": point["queries"], **ends("auc", figure["auc"]),
                              **ends("placebo_auc", figure["placebo_auc"]),
                              **ends("accuracy", point["utility"]["accuracy"])})
    return found
