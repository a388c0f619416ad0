"""A saved defence frontier to its page, its figures and its tables. Nothing is computed here."""

from __future__ import annotations

from typing import Any

from discreet.report.audited import REFERENCES, Record, attack_words, said_of
from discreet.report.figures.figure import Figure, span
from discreet.report.figures.frontier import SELECTIONS, frontier
from discreet.report.html import environment
from discreet.report.released import Released, attacked, by_queries, released

KIND = "defend-frontier"
TITLE = "What releasing less would buy, and what it costs"
ON = {"global": "on all judged examples", "boundary": "at the decision boundary"}
HEADINGS = {"global": "On all judged examples", "boundary": "At the decision boundary"}


def frontier_figures(record: Record) -> list[Figure]:
    """The figures of a frontier: on all judged examples, and at the boundary where it has figures."""
    return list(_drawn(record).values())


def _drawn(record: Record) -> dict[str, Figure]:
    found = {selection: frontier(record, selection) for selection in SELECTIONS}
    return {selection: figure for selection, figure in found.items() if figure is not None}


def frontier_page(record: Record) -> str:
    """The report as one HTML file.

    Parameters
    ----------
    record : mapping
        What `defend frontier` saves in result.json: `Frontier.to_json()` with `provenance`.

    Raises
    ------
    MissingExtraError
        Without jinja2.
    """
    figures = [(HEADINGS[selection], figure) for selection, figure in _drawn(record).items()]
    return environment().get_template("frontier.html.j2").render(
        title=TITLE, record=record, leads=_leads(record), figures=figures, tables=frontier_tables(record),
        notes=notes(record), provenance=_provenance(record))


def frontier_tables(record: Record) -> list[dict[str, Any]]:
    """What users get, and the AUC at every number of queries beside its placebo: `{title, columns, rows, …}`."""
    every = released(record)
    users = [{"name": one.words, "span": 1, "cells": [span(one.points[0]["utility"]["accuracy"], 3),
                                           span(one.points[0]["utility"]["missed_positives"], 3), epsilon(one)]}
             for one in every if one.queried == "same"]
    found = [{"title": "What users get: accuracy and missed positives of single answers, with 95% intervals",
              "columns": ("accuracy", "missed positives", "local ε of one answer"), "rows": users, "open": False,
              "note": "The local ε is only about the input that was asked for." if record["clip"] is not None else
                      "No local ε is finite unless logits are clipped (--clip)."}]
    for selection, on in ON.items():
        if lacking(record, selection):
            continue
        rows = [{"name": one.words, "span": 0 if place else len(runs),
                 "cells": [queries, span(row["auc"], 3), _beside(row)]}
                for one in every for runs in [by_queries(record, one, selection)]
                for place, (queries, row) in enumerate(runs)]
        found.append({"title": f"AUC {on} at every number of queries, with 95% intervals",
                      "columns": ("queries", "AUC", "the same on the placebo"), "rows": rows, "open": False,
                      "note": ""})
    return found


def lacking(record: Record, selection: str) -> str:
    """Why there is no figure on a selection, empty where there is one."""
    row = attacked(record, record["points"][0], selection)
    if row is None:
        return "the attack was not tried there"
    return "" if row["auc"]["value"] is not None else str(row["auc"]["reason"])


def epsilon(one: Released) -> str:
    """Local ε of one answer, "none" where none is finite."""
    found = one.points[0]["local_epsilon"]
    return "none" if found is None else f"{found:.3g}"


def notes(record: Record) -> list[str]:
    """What the figures are, a sentence each."""
    missing = lacking(record, "boundary")
    return [
        f"Means over {record['draws']:,} noise draws; an interval is as wide as that of one draw, and about the "
        "examples.",
        f"Near-duplicates: logits {record['jitter']:g} apart (standard deviation per class), independent of one "
        f"another.",
        *([f"There are no figures at the boundary: {missing}."] if missing else []), *record["notes"],
    ]


def _beside(row: Record) -> str:
    return "uncontrolled" if row["placebo_auc"]["value"] is None else span(row["placebo_auc"], 3)


def _leads(record: Record) -> list[str]:
    row = attacked(record, record["points"][0])
    assert row is not None
    kind = record["primary"]["reference_kind"]
    attack = attack_words({**record["primary"], "reference_kind": None}, scale=False)
    attack = f"the {attack} attack" + ("" if kind is None else f" with {REFERENCES[kind]} references")
    placebo = record["placebo"]
    beside = ("No placebo was brought, so how much of that is memory is not known." if placebo is None else
              f"The same attack on a model trained on neither side gives {span(row['placebo_auc'], 3)}.")
    said = [f"With all scores released, {attack} reaches an AUC of {span(row['auc'], 3)}; chance alone "
            f"gives .5. {beside}"]
    if row["auc"]["low"] is not None and row["auc"]["low"] <= 0.5:
        said.append("That is not clearly above chance: there is little to take away here, and no row below shows what "
                    "a defence is worth. Its cost to users is shown all the same.")
    return [*said,
            "A defence is worth something where it brings the attack down to the placebo, or to chance, and keeps it "
            "there however often an attacker asks."]


def _provenance(record: Record) -> list[tuple[str, str]]:
    return said_of({"target": record["target"], "placebo": record["placebo"], "noise draws": record["draws"],
                    "clip": record["clip"], **record["provenance"]})
