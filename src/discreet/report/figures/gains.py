"""Dumbbells of a rerun of the membership paper: from all records to the boundary, and under copies (figure 2, §8.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.report.figures.dots import Line, Marks, dots
from discreet.report.figures.figure import Figure, Row, ends, spoken

Record = Mapping[str, Any]

KINDS: Mapping[str, str] = {"paper": "dot-oracle", "honest, logit": "dot-target"}
NAMES: Mapping[str, str] = {"paper": "paper's definition", "honest, logit": "honest, logit scale"}
LEGEND = [("dot-oracle", "paper's definition"), ("dot-target", "honest"), ("dot-placebo", "its placebo")]


def gains(rows: Sequence[Record], corpus: str, *, paper: bool) -> Figure | None:
    """A dumbbell per model, regime, label and definition, the placebo's under it; None without a figure.

    `rows` are those of item "figure 2" of one corpus; with `paper`, the paper's gains stand beside.
    """
    lines, data = [], list[Row]()
    before = None
    for row in rows:
        kind = KINDS.get(row["definition"])
        if kind is None or row["boundary_auc"]["value"] is None or row["global_auc"]["value"] is None:
            continue
        where = (row["model"], row["regime"])
        if where != before:
            lines.append(Line(f"{row['model']}, {row['regime']}", [], heading=True, space=True))
        before = where
        lines.append(Line(f"{row['label']}, {NAMES[row['definition']]}",
                          _ends(row["global_auc"], row["boundary_auc"], kind), joined=True, space=True,
                          note=_gain(row["gain"], row.get("paper") if paper else None)))
        if row["boundary_placebo"]["value"] is not None:
            lines.append(Line("placebo", _ends(row["global_placebo"], row["boundary_placebo"], "dot-placebo"),
                              kind="placebo-text", joined=True, note=_gain(row["placebo_gain"], None)))
        data.append({**{name: row[name] for name in ("model", "regime", "label", "definition")},
                     **_ends_of(row, "global_auc", "boundary_auc", "global_placebo", "boundary_placebo", "gain",
                                "placebo_gain")})
    if not data:
        return None
    body, width, height = dots(lines, tolerance=None, legend=[("hollow dot-target", "all records"), *LEGEND],
                               notes=220, note_title="gain" + (" (paper's)" if paper else ""), labels=270)
    caption = ("From all records (hollow) to the 20 least likely of each label and side (filled), by label. A gain "
               "that the placebo under it shows too comes from the definition, not from memory. Thin lines are 95% "
               "intervals at the boundary.")
    return Figure(f"figure-2-{corpus}", f"From all records to the boundary: {corpus}", caption, body, width, height,
                  tuple(data))


def copies(rows: Sequence[Record], *, paper: bool) -> Figure | None:
    """A dumbbell per training set, from records off the boundary to those on it, the placebo's under it."""
    lines, data = [], list[Row]()
    before = None
    for row in sorted(rows, key=lambda row: (row["model"], row["regime"], list(KINDS).index(row["definition"]))):
        kind = KINDS[row["definition"]]
        off = row.get("non_boundary_auc")
        if off is None or row["boundary_auc"]["value"] is None:
            continue
        where = (row["model"], row["regime"], row["definition"])
        if where != before:
            lines.append(Line(f"{row['model']}, {row['regime']}: {NAMES[row['definition']]}", [], heading=True,
                              space=True))
        before = where
        lines.append(Line(row["variant"], _ends(off, row["boundary_auc"], kind), joined=True, space=True,
                          note=_gain(row.get("boundary_change"), row.get("paper") if paper else None)))
        lines.append(Line("placebo", _ends(row["non_boundary_placebo"], row["boundary_placebo"], "dot-placebo"),
                          kind="placebo-text", joined=True, note=_gain(row.get("boundary_placebo_change"), None)))
        data.append({**{name: row[name] for name in ("model", "regime", "variant", "definition")},
                     **_ends_of(row, "boundary_auc", "boundary_placebo", "non_boundary_auc", "non_boundary_placebo",
                                "accuracy")})
    if not data:
        return None
    legend = [("hollow dot-target", "off the boundary"), *LEGEND]
    body, width, height = dots(lines, tolerance=None, legend=legend, notes=260, labels=330,
                               note_title="change at the boundary" + (" (paper's)" if paper else ""))
    caption = ("The reference attack off the boundary (hollow) and at it (filled) when every row of the training set "
               "stands there several times, or beside paraphrases of it; epochs are equal, so copies also mean more "
               "steps. To the right, the change at the boundary against the plain training set.")
    return Figure("section-8.2", "Duplicated and paraphrased training sets", caption, body, width, height, tuple(data))


def sizes(rows: Sequence[Record]) -> Figure | None:
    """A row per size of the training set, the placebo beside."""
    lines, data = [], list[Row]()
    before = None
    for row in sorted(rows, key=lambda row: (row["model"], row["regime"], row["definition"])):
        kind = KINDS.get(row["definition"])
        if row["attack"] != "reference" or kind is None or row["auc"]["value"] is None:
            continue
        where = (row["model"], row["regime"], row["definition"])
        if where != before:
            lines.append(Line(f"{row['model']}, {row['regime']}: {NAMES[row['definition']]}", [], heading=True,
                              space=True))
        before = where
        lines.append(Line(row["variant"], [("hollow dot-placebo", row["placebo"]), (kind, row["auc"])]))
        data.append({**{name: row[name] for name in ("model", "regime", "variant", "definition")},
                     **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo"])})
    if not data:
        return None
    body, width, height = dots(lines, tolerance=None, legend=LEGEND, labels=330)
    return Figure("size", "Training-set size", "The reference attack on all records by the size of the training set; "
                  "evaluation sets are of one size.", body, width, height, tuple(data))


def _ends(first: Record, last: Record, kind: str) -> Marks:
    # Two intervals on one line would cover each other; the data has both.
    return [(f"hollow {kind}", {**first, "low": None, "high": None}), (kind, last)]


def _ends_of(row: Record, *names: str) -> Row:
    return {key: value for name in names for key, value in ends(name, row.get(name)).items()}


def _gain(found: Record | None, paper: Record | None) -> str:
    """"+.025 (paper's +.12 to +.16)"."""
    if found is None or found["value"] is None:
        return ""
    said = signed(found["value"], 3)
    if not paper:
        return said
    if paper["low"] is None:
        return f"{said} (up to {signed(paper['high'], 2)})"
    ends_ = [signed(one, 2) for one in (paper["low"], paper["high"])]
    return f"{said} ({ends_[0] if ends_[0] == ends_[1] else ' to '.join(ends_)})"


def signed(value: float, digits: int) -> str:
    """"+.025"; what rounds to nought has no minus."""
    said = spoken(abs(value), digits)
    return ("+" if value >= 0 or not said.strip(".0") else "−") + said
