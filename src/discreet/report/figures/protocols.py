"""The published protocol beside ours, each on the model and on its placebo: why the former may convict the innocent."""

from __future__ import annotations

from discreet.report.audited import Audited
from discreet.report.figures.dots import Line, dots
from discreet.report.figures.figure import Figure, Row, ends, span, spoken


def protocols(one: Audited) -> Figure | None:
    """Four rows; None where there is no published figure, no primary endpoint, or no placebo."""
    paper, primary = one.paper, one.primary
    if paper is None or primary is None or None in (paper["auc"]["value"], paper["placebo_auc"]["value"]):
        return None
    lines, data = [], list[Row]()
    for title, row, kind in (("published protocol", paper, "dot-oracle"), ("this audit", primary, "dot-target")):
        lines.append(Line(title, [], heading=True, space=True))
        for who, estimate, mark in (("your model", row["auc"], kind),
                                    ("a model trained on neither side", row["placebo_auc"], "hollow dot-placebo")):
            lines.append(Line(who, [(mark, estimate)], note=spoken(estimate["value"])))
            data.append({"protocol": title, "model": who, **ends("auc", estimate)})
    body, width, height = dots(lines, tolerance=one.tolerance, notes=60)
    caption = (f"The published protocol gives {span(paper['auc'])} on your model and {span(paper['placebo_auc'])} on a "
               f"model that never saw either side; what both have in common cannot be your model's memory.")
    return Figure("protocols", "The published protocol and this audit, on your model and on a placebo", caption, body,
                  width, height, tuple(data))
