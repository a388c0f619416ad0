"""Figure 3 of the membership paper rerun: AUC by tenths of confidence, and by category, placebos beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.report.figures.dots import Line, dots
from discreet.report.figures.figure import Cell, Figure, Row, ends
from discreet.report.figures.gains import KINDS, LEGEND, Record
from discreet.report.figures.panels import WIDTH, Panel, places
from discreet.report.figures.svg import Scale, dot, key, line, path

TITLES = {"target": "by the target's own confidence", "selector": "by the selector's P_S"}
TOP, SIDE, BETWEEN = 84.0, 180.0, 104.0


def tenths(rows: Sequence[Record]) -> Figure | None:
    """Two panels a model and regime; None where no tenth has a figure."""
    known = [row for row in rows if row["decile"] is not None and row["definition"] in KINDS
             and row["auc"]["value"] is not None]
    if not known:
        return None
    groups: dict[tuple[str, str], list[Record]] = {}
    for row in known:
        groups.setdefault((row["model"], row["regime"]), []).append(row)
    found = [one for row in known for one in (row["auc"]["value"], row["placebo"]["value"], row.get("least"),
                                              row.get("most")) if one is not None]
    low, high = max(0.0, min([0.4, *found]) - 0.02), min(1.0, max([0.7, *found]) + 0.02)
    drawn, top = [key(44, 14, [*LEGEND[:2], ("hollow dot-placebo", "their placebos")])], TOP
    for (model, regime), held in groups.items():
        for by, (left, right) in zip(TITLES, places(2), strict=True):
            panel = Panel(Scale(-0.6, 9.6, left, right), Scale(low, high, top + SIDE, top))
            drawn.append(panel.frame(f"{model}, {regime}", x_ticks=[(place, str(place + 1)) for place in range(10)],
                                     x_title="tenth", beside=TITLES[by]))
            drawn.append(panel.across(0.5, "chance"))
            for definition in KINDS:
                drawn += _line(panel, sorted((row for row in held if row["definition"] == definition
                                              and row["decile_by"] == by), key=lambda row: row["decile"]))
        top += SIDE + BETWEEN
    caption = ("The reference attack within each tenth of the records, from those whose true class is found least "
               "likely (1) to most likely (10). Vertical lines go from the least to the most of the two directions. "
               "A placebo off chance in a tenth means that the tenth, not memory, makes the figure.")
    data = tuple(_facts(row) for row in known)
    return Figure("figure-3-tenths", "Tenths by confidence", caption, "".join(drawn), WIDTH, top - BETWEEN + 44, data)


def _line(panel: Panel, rows: Sequence[Record]) -> list[str]:
    if not rows:
        return []
    mark = KINDS[rows[0]["definition"]]
    shift = -0.14 if rows[0]["definition"] == "paper" else 0.14
    placebo = [(row["decile"] + shift, row["placebo"]["value"]) for row in rows if row["placebo"]["value"] is not None]
    of = [(row["decile"] + shift, row["auc"]["value"]) for row in rows]
    hollow = "hollow dot-placebo" if shift > 0 else "hollow dot-oracle faint"
    drawn = [path([panel.at(*one) for one in placebo], "line-placebo" if shift > 0 else "line-oracle faint"),
             *(dot(*panel.at(*one), hollow, 2.5) for one in placebo)]
    for row in rows:
        if row.get("least") is not None:
            x = row["decile"] + shift
            drawn.append(line(*panel.at(x, row["least"]), *panel.at(x, row["most"]),
                              "whisker " + mark.replace("dot", "line")))
    return [*drawn, path([panel.at(*one) for one in of], mark.replace("dot", "line")),
            *(dot(*panel.at(*one), mark, 3.5) for one in of)]


def _facts(row: Record) -> dict[str, Cell]:
    return {"model": row["model"], "regime": row["regime"], "by": row["decile_by"], "tenth": row["decile"] + 1,
            "definition": row["definition"], **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo"]),
            "least": row.get("least"), "most": row.get("most")}


def categories(rows: Sequence[Record], model: str, regime: str) -> Figure | None:
    """Two lines a category: the paper's definition and the honest one, each with its placebo; None without any."""
    held: dict[str, dict[str, Record]] = {}
    for row in rows:
        if (row["model"], row["regime"]) == (model, regime) and row["category"] is not None \
                and row["definition"] in KINDS:
            held.setdefault(row["category"], {})[row["definition"]] = row
    if not any(row["auc"]["value"] is not None for of in held.values() for row in of.values()):
        return None
    lines, data = [], list[Row]()
    for category, of in sorted(held.items(), key=lambda one: (-_most(one[1]), one[0])):
        for place, (definition, row) in enumerate(of.items()):
            lines.append(Line(_short(category) if place == 0 else "", [
                ("hollow dot-placebo", row["placebo"]), (KINDS[definition], row["auc"])], space=place == 0))
            data.append({"category": category, "definition": definition, **ends("auc", row["auc"]),
                         **ends("placebo_auc", row["placebo"]), "reason": row["auc"]["reason"]})
    body, width, height = dots(lines, tolerance=None, legend=[*LEGEND[:2], ("hollow dot-placebo", "its placebo")])
    caption = (f"The reference attack within each category of {model}, {regime}, the highest by the paper's definition "
               f"first. A record may have several categories; with many, some lie off chance by accident.")
    return Figure(f"figure-3-categories-{name_of(model)}", f"Categories: {model}", caption, body, width, height,
                  tuple(data))


def _most(of: Mapping[str, Any]) -> float:
    return max((row["auc"]["value"] or 0.0 for row in of.values()), default=0.0)


def _short(category: str) -> str:
    said = category.replace("_", " ").replace(",", ", ")
    return said if len(said) <= 38 else said[:37] + "…"


def name_of(words: str) -> str:
    """Words as part of a file name."""
    return "-".join("".join(c if c.isalnum() else " " for c in words.lower()).split())
