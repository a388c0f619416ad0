"""AUC over n, the least likely records per label, with the band where it lies when membership is dealt at random."""

from __future__ import annotations

from discreet.report.audited import Audited, Record
from discreet.report.figures.figure import Cell, Figure, Row, ends
from discreet.report.figures.panels import WIDTH, Panel, places
from discreet.report.figures.svg import Scale, area, dot, key, path

TOP, SIDE = 62.0, 240.0
LAST_TICK = 50.0
"""Room that the words of the last tick take."""

NAMED = ("attack", "scale", "reference_kind", "nonmembers")


def sizes(one: Audited) -> Figure | None:
    """Panels for the primary endpoint and the published figure; None where fewer than two sizes have a figure."""
    panels = []
    for title, row, kind in (("deciding attack", one.primary, "target"), ("published protocol", one.paper, "oracle")):
        if row is None:
            continue
        curve = [r for r in one.whole(selection="boundary", **{name: row[name] for name in NAMED})
                 if r["auc"]["value"] is not None]
        if len(curve) > 1:
            panels.append((title, sorted(curve, key=lambda r: r["n"]), kind))
    if not panels:
        return None
    values = [v for _, curve, _ in panels for r in curve for v in (r["auc"]["low"], r["auc"]["high"]) if v is not None]
    low, high = max(0.0, min([0.4, *values]) - 0.02), min(1.0, max([0.7, *values]) + 0.02)
    drawn, data = [], list[Row]()
    for (title, curve, kind), (left, right) in zip(panels, places(2), strict=False):
        ns = [r["n"] for r in curve]
        panel = Panel(Scale(ns[0] / 1.15, ns[-1] * 1.15, left, right, log=True), Scale(low, high, TOP + SIDE, TOP))
        drawn += _panel(panel, title, curve, kind, one.tolerance)
        data += [_facts(title, r) for r in curve]
    legend = [("line-target", "your model, with its 95% interval"), ("line-placebo", "placebo"),
              ("area-null", "95% of dealings at random"), ("tolerance", "tolerance")]
    caption = ("The attack on only the n records per label and side that another model finds least likely, from few "
               "to all: a leak at the boundary is a line that leaves the grey band on the left.")
    return Figure("sizes", "How far into the boundary", caption, key(44, 14, legend) + "".join(drawn), WIDTH,
                  TOP + SIDE + 44, tuple(data))


def _panel(panel: Panel, title: str, curve: list[Record], kind: str, tolerance: float) -> list[str]:
    last = curve[-1]["n"]
    ticks = [(r["n"], f"{r['n']:,}") for r in curve if panel.x(last) - panel.x(r["n"]) > LAST_TICK]
    ticks.append((last, f"{last:,} (all)"))
    banded = [r for r in curve if r["null_band"] is not None]
    drawn = [area([panel.at(r["n"], r["null_band"][1]) for r in banded],
                  [panel.at(r["n"], r["null_band"][0]) for r in banded], "area-null")]
    drawn.append(panel.frame(title, x_ticks=ticks, x_title="n per label and side", y_title="AUC"))
    drawn += [panel.across(0.5, "chance"), panel.across(tolerance, "tolerance")]
    framed = [r for r in curve if r["auc"]["low"] is not None]
    drawn.append(area([panel.at(r["n"], r["auc"]["high"]) for r in framed],
                      [panel.at(r["n"], r["auc"]["low"]) for r in framed], f"area-{kind}"))
    beside = [panel.at(r["n"], r["placebo_auc"]["value"]) for r in curve if r["placebo_auc"]["value"] is not None]
    points = [panel.at(r["n"], r["auc"]["value"]) for r in curve]
    drawn += [path(beside, "line-placebo"), path(points, f"line-{kind}"), *(dot(*p, f"dot-{kind}", 4) for p in points)]
    return drawn


def _facts(title: str, row: Record) -> dict[str, Cell]:
    band = row["null_band"]
    return {"panel": title, "n": row["n"], **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo_auc"]),
            "null_low": band and band[0], "null_high": band and band[1], "members": row["n_members"],
            "nonmembers": row["n_nonmembers"]}
