"""Where the decision boundary lies in a representation of the records: a figure, and what is distinctive."""

from __future__ import annotations

from functools import partial

from discreet.core.numbers import p_value
from discreet.report.charts import Mark, Panel, datum, dot, drawn, panels
from discreet.report.figure import Figure
from discreet.report.summary import Record, Section, Text, blocks, tabled, words_of

LEVEL = 0.05
SETS = {"random": ("control", 6.0, 0.55), "boundary non-members": ("oracle hollow", 9.0, 1.0),
        "boundary members": ("target", 9.0, 1.0)}


def section(found: Record | None) -> Section | None:
    """The figure and the diagnostics with their p; None where there is neither."""
    figure = embedding(found)
    if found is None or (figure is None and not found.get("diagnostics")):
        return None
    words = words_of("embedding")
    rows = [{**one, "name": diagnostic_name(one, found)} for one in found.get("diagnostics", ())]
    table = tabled(words["columns"], rows)
    return Section(f"Where the boundary lies, in {found['representation']}", blocks(
        figure, table, Text(_distinctive(found)) if rows else None), name="where", terminal=bool(rows))


def diagnostic_name(one: Record, found: Record) -> str:
    """What a diagnostic of a representation asks."""
    names = words_of("embedding")["diagnostics"]
    return str(names.get(one["name"], str(one["name"]).replace("_", " ")).format(k=found["neighbours"]))


def _distinctive(found: Record) -> str:
    words = words_of("embedding")
    known = [one for one in found["diagnostics"] if one["p"]["value"] is not None]
    if not known:
        return str(words["untested"])
    names = [diagnostic_name(one, found) for one in known if one["p"]["value"] < LEVEL]
    least = p_value(min(float(one["p"]["value"]) for one in known))
    return str(words["distinctive" if names else "none"].format(names="; ".join(names), p=least, looks=len(known)))


def embedding(record: Record | None) -> Figure | None:
    """`{representation, points: [{set, x, y}]}` as a scatter plot; None where there is none.

    With `explained`, as of a PCA, the caption says how it was made, and both axes have one scale.
    """
    if not record or not record["points"]:
        return None
    made, marks = "", list[Mark]([lambda axes: axes.margins(0.02)])
    if record.get("explained"):
        first, second = record["explained"][:2]
        made = f" (the two directions of most variance, {first:.0%} and {second:.0%} of it)"
        marks.append(lambda axes: axes.set_aspect("equal", adjustable="datalim"))
    for name, (role, size, alpha) in SETS.items():
        x, y = ([point[axis] for point in record["points"] if point["set"] == name] for axis in "xy")
        marks.append(dot(x, y, role, size, alpha))
    panel = Panel(marks=marks, axes={"xticks": [], "yticks": []})
    return drawn("embedding", partial(panels, [panel], columns=1, side=420, top=30, legend=[
        (role, name) for name, (role, _, _) in SETS.items()]),
        [datum(point, "set x y") for point in record["points"]], representation=record["representation"],
        made=made)
