"""What releasing less buys: each mechanism after one query and after many, with what it costs."""

from __future__ import annotations

from discreet.report.audited import Record
from discreet.report.figures.dots import Line, dots
from discreet.report.figures.figure import Figure, Row, bracketed, ends
from discreet.report.released import Released, attacked, released

SELECTIONS = {"global": ("frontier", "What releasing less would buy"),
              "boundary": ("frontier-boundary", "What releasing less would buy at the decision boundary")}


def frontier(record: Record, selection: str = "global") -> Figure | None:
    """A row per mechanism and strength, from one query to the most, its placebo under it; None without a figure.

    `selection` is "global" (all judged examples) or "boundary".
    """
    lines, data, before = [], list[Row](), None
    for one in released(record):
        rows = [row for point in one.points if (row := attacked(record, point, selection)) is not None]
        if not rows or rows[0]["auc"]["value"] is None:
            continue
        first, last = rows[0], rows[-1]
        utility = one.points[0]["utility"]
        costs = f"{bracketed(utility['accuracy'])} / {bracketed(utility['missed_positives'])}"
        lines.append(Line(one.words, _marks(first["auc"], last["auc"], "dot-target"), joined=True, note=costs,
                          space=before is not None and before != one.mechanism))
        if first["placebo_auc"]["value"] is not None:
            lines.append(Line("placebo", _marks(first["placebo_auc"], last["placebo_auc"], "dot-placebo"), joined=True,
                              kind="placebo-text"))
        before = one.mechanism
        data += _data(record, one, selection)
    if not lines:
        return None
    most = max(point["queries"] for point in record["points"])
    legend = [("hollow dot-target", "one query"), ("dot-target", f"{most} queries")]
    if any(line.label == "placebo" for line in lines):
        legend.append(("dot-placebo", "the same, placebo"))
    body, width, height = dots(lines, tolerance=None, notes=262, note_title="accuracy / missed, 95% intervals",
                               labels=282, legend=legend)
    name, title = SELECTIONS[selection]
    where = " at the decision boundary" if selection == "boundary" else ""
    caption = (f"The deciding attack{where} when less is released: after one query (hollow) and after {most} (filled); "
               f"fresh noise averages out, keyed noise does not unless near-duplicates are asked for. What the "
               f"placebo, under the same mechanism, has too is no memory. Thin lines are 95% intervals. To the right, "
               f"what users get: accuracy, and the share of class {record['positive']} that is missed.")
    return Figure(name, title, caption, body, width, height, tuple(data))


def _marks(first: Record, last: Record, kind: str) -> list[tuple[str, Record]]:
    # Two intervals on one line would cover each other; the data has both.
    return [(f"hollow {kind}", {**first, "low": None, "high": None}), (kind, last)]


def _data(record: Record, one: Released, selection: str) -> list[Row]:
    found: list[Row] = []
    for point in one.points:
        row = attacked(record, point, selection)
        assert row is not None
        found.append({
            "mechanism": one.mechanism, "strength": one.strength, "queried": one.queried, "queries": point["queries"],
            **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo_auc"]),
            **ends("accuracy", point["utility"]["accuracy"]),
            **ends("missed_positives", point["utility"]["missed_positives"]), "local_epsilon": point["local_epsilon"]})
    return found
