"""All honest attacks on all judged records, each beside its placebo and its null band."""

from __future__ import annotations

from discreet.report.audited import Audited, attack_words
from discreet.report.figures.dots import Line, dots
from discreet.report.figures.figure import Figure, Row, ends


def attacks(one: Audited) -> Figure | None:
    """A row per attack; None where nothing has a figure."""
    rows = [row for row in one.whole(selection="global", oracle=False) if row["auc"]["value"] is not None]
    if not rows:
        return None
    lines, data = [], list[Row]()
    for row in rows:
        band = row["null_band"]
        lines.append(Line(attack_words(row), [("hollow dot-placebo", row["placebo_auc"]), ("dot-target", row["auc"])],
                          band=None if band is None else (band[0], band[1])))
        data.append({"attack": row["attack"], "scale": row["scale"], "reference_kind": row["reference_kind"],
                     **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo_auc"]),
                     "null_low": band and band[0], "null_high": band and band[1], "p": row["null_p"]["value"]})
    legend = [("dot-target", "your model"), ("hollow dot-placebo", "placebo"),
              ("area-null", "95% of dealings at random")]
    body, width, height = dots(lines, tolerance=one.tolerance, legend=legend)
    caption = ("Every attack that an outsider could run, over all judged records: a leak shows as a dot outside the "
               "grey band and away from its placebo.")
    return Figure("attacks", "Every honest attack beside its placebo", caption, body, width, height, tuple(data))
