"""Where boundary members and non-members lie among the rest, in a plane."""

from __future__ import annotations

from discreet.report.audited import Record
from discreet.report.figures.figure import Figure
from discreet.report.figures.svg import Scale, dot, key

SIDE, HEIGHT, TOP = 960.0, 460.0, 36.0
KINDS = {"random": "dot-placebo", "boundary non-members": "dot-oracle", "boundary members": "dot-target"}


def embedding(record: Record | None) -> Figure | None:
    """`{representation, points: [{set, x, y}]}` as a scatter plot; None where there is none."""
    if not record or not record["points"]:
        return None
    points = record["points"]
    xs, ys = [float(p["x"]) for p in points], [float(p["y"]) for p in points]
    across = Scale(min(xs), max(xs) + 1e-9, 12, SIDE - 12)
    down = Scale(min(ys), max(ys) + 1e-9, HEIGHT - 12, TOP + 12)
    drawn = [key(12, 14, [(kind, name) for name, kind in KINDS.items()])]
    for name, kind in KINDS.items():
        drawn += [dot(across(float(p["x"])), down(float(p["y"])), kind, 3 if name == "random" else 4)
                  for p in points if p["set"] == name]
    caption = (f"Records in two dimensions of {record['representation']}: where members and non-members of the "
               f"boundary mix, the representation does not tell them apart. Distances in such a picture are not to "
               f"scale.")
    return Figure("embedding", "Where the boundary lies", caption, "".join(drawn), SIDE, HEIGHT,
                  tuple({"set": p["set"], "x": p["x"], "y": p["y"]} for p in points))
