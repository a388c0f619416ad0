"""Dumbbells from all records to those at the decision boundary, per label, with the placebo's under each."""

from __future__ import annotations

from discreet.report.audited import Audited, Record, attack_words
from discreet.report.figures.dots import Line, dots
from discreet.report.figures.figure import Figure, Row, ends


def boundary(one: Audited) -> Figure | None:
    """For the primary endpoint and the published figure; None where no boundary has a figure."""
    lines, data, found = [], list[Row](), False
    for title, row, kind in (("this audit", one.primary, "dot-target"),
                             ("published protocol", one.paper, "dot-oracle")):
        if row is None:
            continue
        lines.append(Line(f"{title}: {attack_words(row)}", [], heading=True, space=True))
        for label in [None, *sorted({r["label"] for r in one.like(row) if r["label"] is not None})]:
            whole, edge = (_picked(one, row, label, selection, n) for selection, n in (("global", None),
                                                                                      ("boundary", 20)))
            if whole is None or edge is None or edge["auc"]["value"] is None:
                continue
            found = True
            name = "all labels" if label is None else f"label {label}"
            for who, figure, mark, text in (("your model", "auc", kind, ""),
                                            ("placebo", "placebo_auc", "dot-placebo", "placebo-text")):
                lines.append(Line(name if who == "your model" else "placebo", _marks(whole[figure], edge[figure], mark),
                                  kind=text, joined=True, space=who == "your model"))
                data.append({"protocol": title, "label": label, "model": who, **ends("global_auc", whole[figure]),
                             **ends("boundary_auc", edge[figure]), "members_at_boundary": edge["n_members"],
                             "nonmembers_at_boundary": edge["n_nonmembers"]})
    if not found:
        return None
    legend = [("hollow dot-target", "all records"), ("dot-target", "the 20 least likely per label and side"),
              ("dot-placebo", "the same, placebo")]
    body, width, height = dots(lines, tolerance=one.tolerance, legend=legend, labels=352)
    caption = ("From all records (hollow) to the decision boundary (filled): where a dumbbell points right and its "
               "placebo's does not, records at the boundary are more exposed than the rest.")
    return Figure("boundary", "From all records to the decision boundary", caption, body, width, height, tuple(data))


def _picked(one: Audited, row: Record, label: int | None, selection: str, n: int | None) -> Record | None:
    if label is None:
        return one.first(**{name: row[name] for name in ("attack", "scale", "reference_kind", "nonmembers")},
                         selection=selection, n=n)
    return next(iter(one.like(row, label=label, selection=selection, n=n)), None)


def _marks(whole: Record, edge: Record, mark: str) -> list[tuple[str, Record]]:
    # The interval of all records would lie over that of the boundary; the data has it.
    return [(f"hollow {mark}", {**whole, "low": None, "high": None}), (mark, edge)]
