"""ROC curves on two logarithmic axes, each with its placebo's beside."""

from __future__ import annotations

from discreet.report.audited import Audited, Record, attack_words
from discreet.report.figures.figure import Cell, Figure, Row, span
from discreet.report.figures.panels import WIDTH, Panel, places
from discreet.report.figures.svg import Scale, key, path, percent

TOP, SIDE = 80.0, 218.0
LEGEND = (("line-target", "your model"), ("line-placebo", "the same attack on the placebo"),
          ("line-oracle", "published protocol"), ("diagonal", "chance"))
NAMED = ("attack", "scale", "reference_kind", "nonmembers")


def roc(one: Audited) -> Figure | None:
    """The primary endpoint, the strongest other honest attack, the loss, the published figure; None without curves."""
    chosen = _chosen(one)
    if not chosen:
        return None
    # Half a person is where the axes begin: no rate but zero lies below.
    left_end, low_end = (0.5 / max(row[side] for _, row, _, _ in chosen) for side in ("n_nonmembers", "n_members"))
    spans = places(4)
    drawn, data, table = [], list[Row](), list[Row]()
    for (title, row, curve, kind), (left, right) in zip(chosen, spans, strict=False):
        panel = Panel(Scale(left_end, 1, left, right, log=True), Scale(low_end, 1, TOP + SIDE, TOP, log=True))
        start = max(left_end, low_end)
        ticks = [(tick, percent(tick)) for tick in panel.x.ticks()]
        drawn.append(panel.frame(title, x_ticks=ticks, x_title="FPR", y_title="TPR",
                                 beside=attack_words(row, scale=False)))
        drawn.append(path([panel.at(start, start), panel.at(1, 1)], "diagonal"))
        for who, points, mark in (("placebo", curve["placebo"], "line-placebo"), ("your model", curve["curve"], kind)):
            if points is not None:
                drawn.append(path(_steps(panel, points), mark))
                data += [{"panel": title, "model": who, "fpr": x, "tpr": y}
                         for x, y in zip(points["fpr"], points["tpr"], strict=True)]
        table.append(_facts(title, row))
    there = {kind for _, _, _, kind in chosen} | {
        "line-placebo" for _, _, curve, _ in chosen if curve["placebo"] is not None} | {"diagonal"}
    legend = [(mark, words) for mark, words in LEGEND if mark in there]
    caption = ("How many members an attacker finds (TPR) while being wrong about few others (FPR), both axes in "
               "powers of ten: a leak lifts the solid line over the dashed one on the left, where accusations are "
               "nearly always right.")
    return Figure("roc", "Members found at few false accusations", caption, key(44, 14, legend) + "".join(drawn), WIDTH,
                  TOP + SIDE + 44, tuple(data), tuple(table))


def _chosen(one: Audited) -> list[tuple[str, Record, Record, str]]:
    curves = {tuple(curve[name] for name in NAMED): curve for curve in one.facts["curves"]}
    rows = [row for row in one.whole(selection="global") if tuple(row[name] for name in NAMED) in curves]
    primary = one.primary
    wanted: list[tuple[str, Record | None, str]] = [("deciding attack", primary, "line-target")]
    honest = [row for row in rows if not row["oracle"] and row["auc"]["value"] is not None
              and (primary is None or row["attack"] != primary["attack"]) and row["attack"] != "loss"]
    wanted.append(("strongest other", max(honest, key=lambda row: row["auc"]["value"], default=None), "line-target"))
    loss = one.first(attack="loss", selection="global", nonmembers="clean")
    if primary is None or primary["attack"] != "loss":
        wanted.append(("loss alone", loss, "line-target"))
    wanted.append(("published protocol", one.paper, "line-oracle"))
    return [(title, row, curves[tuple(row[name] for name in NAMED)], kind)
            for title, row, kind in wanted if row is not None and tuple(row[name] for name in NAMED) in curves]


def _steps(panel: Panel, points: Record) -> list[tuple[float, float]]:
    """The curve as a staircase from the first rate on the axis; what lies under the axis is left out."""
    drawn: list[tuple[float, float]] = []
    for fpr, tpr in zip(points["fpr"], points["tpr"], strict=True):
        if tpr <= 0:
            continue
        place = panel.at(fpr, tpr)
        if drawn:
            drawn.append((place[0], drawn[-1][1]))
        drawn.append(place)
    return drawn


def _facts(title: str, row: Record) -> dict[str, Cell]:
    return {"panel": title, "attack": attack_words(row), "TPR at 1% FPR": span(row["tpr_at_1pct_fpr"], 3),
            "TPR at 5% FPR": span(row["tpr_at_5pct_fpr"], 3), "AUC": span(row["auc"], 3),
            "placebo AUC": span(row["placebo_auc"], 3)}
