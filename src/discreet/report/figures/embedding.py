"""Where boundary members and non-members lie among the rest, in a plane."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.report.audited import Record
from discreet.report.figures.figure import Figure
from discreet.report.figures.svg import Scale, dot, key

SIDE, HEIGHT, TOP, EDGE = 960.0, 520.0, 30.0, 12.0
KINDS = {"random": "dot-placebo faint", "boundary non-members": "hollow dot-oracle",
         "boundary members": "dot-target"}
RADIUS = {"random": 3.0}


def embedding(record: Record | None) -> Figure | None:
    """`{representation, points: [{set, x, y}]}` as a scatter plot; None where there is none.

    With `method` and `explained` (see `audit.membership.embedding.picture`) the caption says how it was made, and both
    axes of a PCA have one scale.
    """
    if not record or not record["points"]:
        return None
    points = record["points"]
    xs, ys = [float(p["x"]) for p in points], [float(p["y"]) for p in points]
    across, down = _scales(xs, ys, even=record.get("method") == "pca")
    drawn = [key(12, 14, [(kind, name) for name, kind in KINDS.items()])]
    for name, kind in KINDS.items():
        drawn += [dot(across(float(p["x"])), down(float(p["y"])), kind, RADIUS.get(name, 4.5))
                  for p in points if p["set"] == name]
    caption = (f"Records in two dimensions of {record['representation']}{_made(record)}: where members and non-members "
               f"of the boundary mix, the representation does not tell them apart. Two dimensions can hide what "
               f"the others hold.")
    return Figure("embedding", "Where the boundary lies", caption, "".join(drawn), SIDE, HEIGHT,
                  tuple({"set": p["set"], "x": p["x"], "y": p["y"]} for p in points))


def _scales(xs: Sequence[float], ys: Sequence[float], *, even: bool) -> tuple[Scale, Scale]:
    """Scales for x and y; `even` gives a unit the same length on both, the drawing in the middle."""
    width, height = SIDE - 2 * EDGE, HEIGHT - TOP - 2 * EDGE
    ends = [(min(values), max(values)) for values in (xs, ys)]
    if even:
        unit = max((ends[0][1] - ends[0][0]) / width, (ends[1][1] - ends[1][0]) / height)
        ends = [((low + high - unit * size) / 2, (low + high + unit * size) / 2)
                for (low, high), size in zip(ends, (width, height), strict=True)]
    (left, right), (low, high) = ((first, last if last > first else first + 1.0) for first, last in ends)
    return Scale(left, right, EDGE, SIDE - EDGE), Scale(low, high, HEIGHT - EDGE, TOP + EDGE)


def _made(record: Record) -> str:
    if record.get("method") == "tsne":
        return " (t-SNE; distances are not to scale)"
    explained = record.get("explained")
    if record.get("method") != "pca" or not explained:
        return ""
    return f" (the two directions of most variance, {explained[0]:.0%} and {explained[1]:.0%} of it)"
