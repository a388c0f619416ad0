"""A saved defence frontier to its summary and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.core.numbers import REFERENCES, attack_name, counted, interval
from discreet.report.charts import Line, dots
from discreet.report.figure import Figure, Row, ends
from discreet.report.summary import Record, Section, Summary, Table, Text, blocks, facts, kicker, table
from discreet.report.words import words_of

WORDS = words_of("frontier")

TITLE = "The benefit of releasing less, and what it costs"
MECHANISMS = WORDS["mechanisms"]
ON = {"global": "on all judged examples", "boundary": "at the decision boundary"}
FIGURES = {"global": "frontier", "boundary": "frontier-boundary"}


@dataclass(frozen=True, slots=True)
class Released:
    """One mechanism at one strength, asked for the same input or for near-duplicates; its points, by queries."""

    name: str
    mechanism: str
    same: bool
    points: tuple[Record, ...]


def released(record: Record) -> list[Released]:
    """The mechanisms of a frontier in order, the undefended one first."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for point in record["points"]:
        found.setdefault(tuple(point[name] for name in ("mechanism", "knob", "strength", "queried")), []).append(point)
    made = []
    for (mechanism, knob, strength, queried), points in found.items():
        name = MECHANISMS.get(mechanism, mechanism.replace("_", " ")) + (
            "" if strength is None else f", {knob} {strength:g}") + (", near-duplicates" if queried != "same" else "")
        made.append(Released(name, mechanism, queried == "same", tuple(points)))
    return made


def attacked(record: Record, point: Record, selection: str = "global") -> Record | None:
    """The row of the attack that is shown first, on all judged examples or at the boundary; None without one."""
    wanted = {**record["primary"], "selection": selection}
    return next((row for row in point["attacks"] if all(row[name] == value for name, value in wanted.items())
                 and not row["oracle"]), None)


def missing(record: Record, selection: str) -> str:
    """Why there is no figure on a selection, empty where there is one."""
    row = attacked(record, record["points"][0], selection)
    return "the attack was not tried there" if row is None else (
        "" if row["auc"]["value"] is not None else str(row["auc"]["reason"]))


def summary(record: Record) -> Summary:
    """The summary of what `defend frontier` saves: `Frontier.to_json()` with `provenance`."""
    sections = [Section(on[0].upper() + on[1:], blocks(drawn(record, selection)), name=selection)
                for selection, on in ON.items() if drawn(record, selection) is not None]
    return Summary(
        kind="defend frontier", headline=TITLE, kicker=kicker(record, record["target"]), leads=_leads(record),
        sections=(*sections, Section("The figures behind it", blocks(*tables(record), *map(Text, notes(record))),
                                     name="numbers", terminal=True)),
        provenance=facts({"target": record["target"], "control model": record["placebo"],
                          "noise draws": record["draws"], "clip": record["clip"], **record["provenance"]}),
        footer="This page holds no text of any record. The attacks here do not adapt to a mechanism: a low AUC is what "
               "these attacks find. Only the local ε is about all attacks.")


def drawn(record: Record, selection: str = "global") -> Figure | None:
    """A row per mechanism and strength, from one query to the most, its control under it; None without a figure."""
    lines, data, before = list[Line](), list[Row](), None
    for one in released(record):
        rows = [row for point in one.points if (row := attacked(record, point, selection)) is not None]
        if not rows or rows[0]["auc"]["value"] is None:
            continue
        utility = one.points[0]["utility"]
        for label, name, role in ((one.name, "auc", "target"), ("control model", "placebo_auc", "placebo")):
            if rows[0][name]["value"] is None:
                continue
            mine = role == "target"
            # Two intervals on one line would cover each other; the data has both.
            lines.append(Line(label, [(f"{role} hollow", {**rows[0][name], "low": None, "high": None}),
                                      (role, rows[-1][name])], joined=True, soft=not mine,
                              space=mine and before not in (None, one.mechanism), note="" if not mine else " / ".join(
                                  interval(utility[part]) for part in ("accuracy", "missed_positives"))))
        before = one.mechanism
        data += [{"mechanism": one.mechanism, "strength": point["strength"], "queried": point["queried"],
                  "queries": point["queries"], **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo_auc"]),
                  **ends("accuracy", point["utility"]["accuracy"]),
                  **ends("missed_positives", point["utility"]["missed_positives"]),
                  "local_epsilon": point["local_epsilon"]} for point, row in zip(one.points, rows, strict=True)]
    if not lines:
        return None
    most = max(point["queries"] for point in record["points"])
    legend = [("target hollow", "one query"), ("target", counted(most, "query", "queries")),
              *([("placebo", "the same, control model")] if any(one.soft for one in lines) else [])]
    where = "" if selection == "global" else f" {ON[selection]}"
    return Figure.of(FIGURES[selection], partial(dots, lines, notes=262, labels=282, legend=legend,
                                                 note_title="accuracy / missed, 95% intervals"), tuple(data),
                     words="frontier", where=where, most=most, positive=record["positive"])


def tables(record: Record) -> list[Table | None]:
    """What users get, and the AUC at every number of queries with its control's."""
    every = released(record)
    users = [(one.name, interval(one.points[0]["utility"]["accuracy"]),
              interval(one.points[0]["utility"]["missed_positives"]), _epsilon(one)) for one in every if one.same]
    found = [table(("what is released", "accuracy", "missed positives", "local ε of one answer"), users, open=False,
                   title="What users get: accuracy and missed positives of single answers, with 95% intervals",
                   note="The local ε is only about the input that was asked for." if record["clip"] is not None else
                   "No local ε is finite unless logits are clipped (--clip).")]
    for selection, on in ON.items():
        if not missing(record, selection):
            rows = [(one.name, queries, interval(row["auc"]), interval(row["placebo_auc"], missing="no control"))
                    for one in every for queries, row in _by_queries(record, one, selection)]
            found.append(table(("what is released", "queries", "AUC", "control"), rows, open=False,
                               title=f"AUC {on} at every number of queries, with 95% intervals"))
    return found


def brief(record: Record) -> Text:
    """The frontier in a sentence: the strongest attack without a defence, and the defence that lowers it most."""
    rows = [(one.name, row) for one in released(record) if (row := attacked(record, one.points[-1])) is not None
            and row["auc"]["value"] is not None]
    if len(rows) < 2:
        return Text("No defence has a figure.")
    name, least = min(rows[1:], key=lambda pair: float(pair[1]["auc"]["value"]))
    most = max(point["queries"] for point in record["points"])
    return Text(f"With all scores released the AUC is {interval(rows[0][1]['auc'])}; after {most} queries the least is "
                f"{interval(least['auc'])}, with {name} (control {interval(least['placebo_auc'], missing='none')}).")


def _by_queries(record: Record, one: Released, selection: str) -> list[tuple[str, Record]]:
    """Rows with how many queries they hold for, ("1 to 16", row); runs of queries that change nothing stand once."""
    runs: list[tuple[list[int], Record]] = []
    for point in one.points:
        row = attacked(record, point, selection)
        if row is not None and runs and runs[-1][1] == row:
            runs[-1][0].append(point["queries"])
        elif row is not None:
            runs.append(([point["queries"]], row))
    return [(_range(queries), row) for queries, row in runs]


def _range(queries: Sequence[int]) -> str:
    least, most = min(queries), max(queries)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _epsilon(one: Released) -> str:
    found = one.points[0]["local_epsilon"]
    return "none" if found is None else f"{found:.3g}"


def notes(record: Record) -> list[str]:
    """What the figures are, a sentence each."""
    absent = missing(record, "boundary")
    return [f"Means over {counted(record['draws'], 'noise draw')}; an interval is as wide as that of one draw, and "
            "about the examples.",
            f"Near-duplicates: logits {record['jitter']:g} apart (standard deviation per class), independent of one "
            "another.", *([f"There are no figures at the boundary: {absent}."] if absent else []), *record["notes"]]


def _leads(record: Record) -> tuple[str, ...]:
    row, primary = attacked(record, record["points"][0]), record["primary"]
    assert row is not None
    kind = primary["reference_kind"]
    attack = (f"the {attack_name(primary, scale=False, reference=False)} attack"
              + ("" if kind is None else f" with {REFERENCES[kind]} references"))
    control = ("There is no control model, so how much of that is memory is not known."
               if record["placebo"] is None else
               f"The same attack on a model trained on neither set gives {interval(row['placebo_auc'])}.")
    said = [f"With all scores released, {attack} reaches an AUC of {interval(row['auc'])}; chance alone gives .5. "
            f"{control}"]
    if row["auc"]["low"] is not None and row["auc"]["low"] <= 0.5:
        said.append("That is not clearly above chance: there is little to take away here, and no row below shows what "
                    "a defence is worth. Its cost to users is shown all the same.")
    return (*said, "A defence is worth something where it brings the attack down to the control model, or to chance, "
            "and keeps it there however often an attacker asks.")


