"""AUC by tenths of the target's confidence and of the selector's."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.report.audited import Audited, Record
from discreet.report.figures.figure import Cell, Figure, Row, ends
from discreet.report.figures.panels import WIDTH, Panel, places
from discreet.report.figures.svg import Scale, box, dot, key, line

TOP, SIDE = 62.0, 210.0
TITLES = {"target": "by your model's own confidence", "selector": "by another model's (the selector's)"}


def deciles(one: Audited) -> Figure | None:
    """The primary endpoint in each tenth; None where no tenth has a figure."""
    if one.primary is None:
        return None
    rows = [row for row in one.like(one.primary, selection="global")
            if row["decile"] is not None and row["auc"]["value"] is not None]
    by = [name for name in TITLES if any(row["decile_by"] == name for row in rows)]
    if not by:
        return None
    ends_ = [row[which][end] for row in rows for which in ("auc", "placebo_auc") for end in ("low", "high", "value")]
    known = [end for end in ends_ if end is not None]
    low, high = max(0.0, min([0.3, *known]) - 0.02), min(1.0, max([0.7, *known]) + 0.02)
    drawn, data = [], list[Row]()
    for name, (left, right) in zip(by, places(2), strict=False):
        panel = Panel(Scale(-0.6, 9.6, left, right), Scale(low, high, TOP + SIDE, TOP))
        of = sorted((row for row in rows if row["decile_by"] == name), key=lambda row: row["decile"])
        reach = {row["decile"]: _reach(one, row) for row in of}
        drawn += _panel(panel, TITLES[name], of, one.tolerance, reach)
        data += [_facts(name, row, reach[row["decile"]]) for row in of]
    legend = [("dot-target", "your model"), ("hollow dot-placebo", "placebo"), ("tolerance", "tolerance")]
    if one.peers:
        legend.append(("area-target", "least to most over all models audited"))
    caption = ("The deciding attack within each tenth of the records, from those whose true class is found least "
               "likely (1) to most likely (10): leaks usually sit on the left, and a placebo off chance in one tenth "
               "warns that the tenth itself, not memory, makes the figure.")
    return Figure("deciles", "Tenths by confidence", caption, key(44, 14, legend) + "".join(drawn), WIDTH,
                  TOP + SIDE + 44, tuple(data))


def _reach(one: Audited, row: Record) -> tuple[float, float]:
    """The least and the greatest AUC of all targets in this tenth."""
    same = one.beside(row, selection="global", decile=row["decile"], decile_by=row["decile_by"])
    values = [other["auc"]["value"] for other in (row, *same) if other["auc"]["value"] is not None]
    return min(values), max(values)


def _panel(
    panel: Panel, title: str, rows: list[Record], tolerance: float, reach: Mapping[int, tuple[float, float]]
) -> list[str]:
    ticks = [(place, str(place + 1)) for place in range(10)]
    drawn = [panel.frame(title, x_ticks=ticks, x_title="tenth", y_title="AUC"), panel.across(0.5, "chance"),
             panel.across(tolerance, "tolerance")]
    for row in rows:
        low, high = reach[row["decile"]]
        if high > low:
            (left, top), (right, bottom) = panel.at(row["decile"] - 0.32, high), panel.at(row["decile"] - 0.02, low)
            drawn.append(box(left, top, right - left, bottom - top, "area-target"))
        for figure, mark, shift in (("placebo_auc", "hollow dot-placebo", 0.17), ("auc", "dot-target", -0.17)):
            estimate, place = row[figure], row["decile"] + shift
            if estimate["value"] is None:
                continue
            if estimate["low"] is not None and estimate["high"] is not None:
                kind = "whisker " + mark.replace("dot", "line")
                drawn.append(line(*panel.at(place, estimate["low"]), *panel.at(place, estimate["high"]), kind))
            drawn.append(dot(*panel.at(place, estimate["value"]), mark, 4))
    return drawn


def _facts(by: str, row: Record, reach: tuple[float, float]) -> dict[str, Cell]:
    return {"by": by, "tenth": row["decile"] + 1, **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo_auc"]),
            "members": row["n_members"], "nonmembers": row["n_nonmembers"], "least_of_all_models": reach[0],
            "most_of_all_models": reach[1]}
