"""Figures of the curves of `studies.ppe.curves`, from their rows as plain JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.report import charts
from discreet.report.figure import Figure, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

PARTS = (("auroc", "AUROC, unsafe against borderline"), ("fpr95", "FPR at 95% TPR, borderline"))
ROLES = ("target", "tolerance", "second", "oracle")


def augmentation(rows: Sequence[Row]) -> Figure:
    """AUROC and FPR95 over how many borderline texts are on the safe side, a line a detector, with intervals.

    Numbers stand at equal distances. `rows` are those of one domain.
    """
    sizes = sorted({row["borderline"] for row in rows})
    names = list(dict.fromkeys(row["detector"] for row in rows))
    roles = dict(zip(names, ROLES, strict=False))

    def draw() -> Canvas:
        shown = []
        for part, title in PARTS:
            marks: list[charts.Mark] = []
            for name in names:
                own = [row for row in rows if row["detector"] == name]
                marks.append(charts.curve(((sizes.index(row["borderline"]), row[part]["value"]) for row in own),
                                          roles[name]))
                marks += [charts.upright(sizes.index(row["borderline"]), row[part], roles[name], 7.0) for row in own]
            ends = charts.reach((row[part][end] for row in rows for end in ("low", "high")), 0.0, 1.0)
            shown.append(charts.Panel(marks=marks, title=title, x="borderline texts fitted on", axes={
                "xlim": (-0.3, len(sizes) - 0.7), "ylim": ends, "xticks": range(len(sizes)),
                "xticklabels": [f"{size:,}" for size in sizes]}))
        return charts.panels(shown, legend=[(roles[name], name) for name in names])

    data: list[dict[str, Any]] = [
        {"detector": row["detector"], "borderline": row["borderline"],
         **{f"{part}_{end}": row[part][end] for part, _ in PARTS for end in ("value", "low", "high")}} for row in rows]
    return charts.drawn("augmentation", draw, data, domain=rows[0]["domain"])
