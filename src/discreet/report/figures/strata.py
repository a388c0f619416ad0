"""The deciding attack by category and by input structure, each beside its placebo."""

from __future__ import annotations

from discreet.report.audited import Audited, Record
from discreet.report.figures.dots import Line, dots
from discreet.report.figures.figure import Figure, Row, ends


def strata(one: Audited) -> Figure | None:
    """A row per category and structure; None where there are none."""
    if one.primary is None:
        return None
    base = [row for row in one.like(one.primary, selection="global") if row["decile"] is None]
    parts: list[tuple[str, list[tuple[str, Record]]]] = [
        ("categories", [(row["category"], row) for row in base if row["category"] is not None]),
        ("input structures", [(row["structure"], row) for row in base
                              if row["structure"] in one.structures and row["label"] is None]),
    ]
    lines, data = [], list[Row]()
    for title, rows in parts:
        if rows:
            lines.append(Line(title, [], heading=True, space=True))
        for name, row in sorted(rows, key=lambda pair: (-(pair[1]["auc"]["value"] or 0.0), pair[0])):
            lines.append(Line(name if len(name) <= 36 else name[:35] + "…",
                              [("hollow dot-placebo", row["placebo_auc"]), ("dot-target", row["auc"])],
                              note=f"{row['n_members']:,} / {row['n_nonmembers']:,}"))
            data.append({"kind": title, "name": name, **ends("auc", row["auc"]),
                         **ends("placebo_auc", row["placebo_auc"]), "members": row["n_members"],
                         "nonmembers": row["n_nonmembers"], "reason": row["auc"]["reason"]})
    if not data:
        return None
    body, width, height = dots(lines, tolerance=one.tolerance, notes=120, note_title="members / others",
                               legend=[("dot-target", "your model"), ("hollow dot-placebo", "placebo")])
    caption = ("The deciding attack within each part of the data, the most exposed first; a record may have several "
               "categories, and with many parts some will lie off chance by accident.")
    return Figure("strata", "Parts of the data", caption, body, width, height, tuple(data))
