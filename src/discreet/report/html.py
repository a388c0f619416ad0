"""Records to one self-contained HTML page: no network, no fonts to load, readable in light, dark and print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.core.errors import MissingExtraError
from discreet.core.records import ACTIONS, SUBJECTS
from discreet.report.batch import HELD, grouped, headline
from discreet.report.figures.figure import span, spoken

if TYPE_CHECKING:
    from jinja2 import Environment

ACTION_WORDS = {
    "safe": "passed", "flag": "a person is named or singled out",
    "abstain": "left to a reviewer", "failed": "could not be judged",
}


def environment() -> Environment:
    """The templates' environment. Raises MissingExtraError where jinja2 is not installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("an HTML report", "report", "jinja2") from None
    env = Environment(loader=PackageLoader("discreet.report"), autoescape=True, undefined=StrictUndefined,
                      trim_blocks=True, lstrip_blocks=True)
    env.filters["spoken"] = lambda kind: kind.replace("_", " ")
    env.filters["thousands"] = lambda number: f"{number:,}"
    env.filters["moment"] = lambda iso: f"{datetime.fromisoformat(iso):%d %B %Y, %H:%M} UTC"
    env.filters["span"] = lambda estimate: span(estimate, 3)
    env.filters["spoken3"] = lambda value: spoken(value, 3)
    env.filters["label"] = lambda name: str(name).replace("_", " ")
    env.filters["ms"] = lambda value: "not measured" if value is None else f"{value:,.1f} ms"
    return env


def batch_page(record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], *, show_text: bool = False) -> str:
    """The report on one batch of verdicts.

    Parameters
    ----------
    record : mapping
        `{summary, provenance}` as `guard check` saves it in result.json.
    rows : sequence of mappings
        The answers of the table (see `report.batch`), which may be fewer than were judged; the page says so.
    show_text : bool
        Show each row's `answer` with its spans marked. Otherwise no row's text is looked at.
    """
    summary = record["summary"]
    shares = [{"name": a, "n": summary["actions"][a], "words": ACTION_WORDS[a],
               "percent": _percent(summary["actions"][a], summary["n"])} for a in ACTIONS]
    listed = [_listed(row, show_text) for row in rows]
    return environment().get_template("batch.html.j2").render(
        headline=headline(summary), summary=summary, provenance=record["provenance"], shares=shares,
        matrix=matrix(summary["classes"]), rows=listed, show_text=show_text,
        left_out=summary["n"] - len(listed),
        filters=_filters(listed),
    )


def matrix(classes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Classes by subjects: `{subjects, rows: [{type, cells: [{answers, held, passed, mentions} or None]}], most}`.

    Only subjects that occur have a column; `most` is the largest number of answers in a cell, at least 1.
    """
    seen = {s for c in classes for s in c["subjects"]}
    subjects = [s for s in SUBJECTS if s in seen] + sorted(seen.difference(SUBJECTS))
    rows = []
    for entry in classes:
        cells = [entry["subjects"].get(s) for s in subjects]
        rows.append({"type": entry["type"],
                     "cells": [c and {**c, "passed": c["answers"] - c["held"]} for c in cells]})
    most = max((c["answers"] for r in rows for c in r["cells"] if c), default=1)
    return {"subjects": subjects, "rows": rows, "most": most}


def segments(answer: str, items: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """`answer` cut at every edge of a span: pairs of text and the classes that cover it ("" where none does).

    The texts put together are the answer. Offsets count characters; what lies beyond the end is cut.
    """
    cuts = sorted({0, len(answer), *(min(max(e, 0), len(answer)) for i in items for e in (i["start"], i["end"]))})
    pieces = []
    for start, end in pairwise(cuts):
        kinds = dict.fromkeys(i["type"] for i in items if i["start"] <= start and end <= i["end"])
        pieces.append((answer[start:end], ", ".join(kind.replace("_", " ") for kind in kinds)))
    return pieces


def _listed(row: Mapping[str, Any], show_text: bool) -> dict[str, Any]:
    answer = row.get("answer") if show_text else None
    return {
        "id": row["id"], "action": row["action"], "reason": row["reason"], "layer": row["layer"],
        "score": row["score"], "groups": grouped(row),
        "segments": None if answer is None else segments(answer, row["evidence"]),
    }


def _filters(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The buttons over the table: which actions each shows, and how many rows those are."""
    choices: list[tuple[str, tuple[str, ...]]] = [("all", ACTIONS), ("held", HELD), *((a, (a,)) for a in ACTIONS)]
    return [{"name": name, "actions": actions, "n": sum(row["action"] in actions for row in rows)}
            for name, actions in choices]


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
