"""Verdicts in words for a terminal: a line per answer, a list of reasons, a line of counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from discreet.cli.common import printable
from discreet.core.records import ACTIONS
from discreet.report.batch import grouped

COLOURS = {"safe": "green", "flag": "red", "abstain": "yellow", "failed": "magenta"}
WIDEST_ACTION = max(len(action) for action in ACTIONS)


def verdict_lines(row: Mapping[str, Any], answer: str | None, explain: bool, colour: bool) -> Iterator[str]:
    """One line for a row (see `report.batch`), and with `explain` an indented line per finding.

    The words behind an offset are shown where `answer` is given, and only then.
    """
    action = row["action"].ljust(WIDEST_ACTION)
    if colour:
        action = typer.style(action, fg=COLOURS[row["action"]], bold=True)
    said = "; ".join(bound(group, answer) for group in grouped(row))
    if row["action"] == "flag" and said:
        yield f"{action}  {printable(row['id'])}  {said}"
    else:
        yield f"{action}  {printable(row['id'])}  {printable(row['reason'])}" + (f" [{said}]" if said else "")
    if explain:
        yield from explained(row, answer)


def bound(group: Mapping[str, Any], answer: str | None) -> str:
    """ "person 1 (third): age 12-18, place 40-46": offsets count characters, the end is not part of the span."""
    who = group["who"] if group["who"] == group["subject"] else f"{group['who']} ({group['subject']})"
    items = ", ".join(f"{spoken(i['type'])} {i['start']}-{i['end']}{quoted(i, answer)}" for i in group["items"])
    return f"{printable(who)}: {items}"


def explained(row: Mapping[str, Any], answer: str | None) -> Iterator[str]:
    """The reason, then why each finding is one, and whether the policy counts it."""
    if row["action"] == "flag":
        yield f"    because: {printable(row['reason'])}"
    for group in grouped(row, every=True):
        for item in group["items"]:
            counts = "counts" if item["counts"] else "does not count"
            yield (f"    {spoken(item['type'])} {item['start']}-{item['end']}{quoted(item, answer)}, "
                   f"{printable(group['who'])}: {printable(item['why'])} ({counts}, {item['layer']})")


def quoted(item: Mapping[str, Any], answer: str | None) -> str:
    """The words of a span in quotes, or nothing."""
    return "" if answer is None else f' "{printable(answer[item["start"]:item["end"]])}"'


def spoken(kind: str) -> str:
    """A class as it is said: "account_number" as "account number"."""
    return printable(kind.replace("_", " "))


def summary_line(summary: Mapping[str, Any], policy: str, point: str) -> str:
    """ "40 answers: 33 safe, 5 flag, 1 abstain, 1 failed (policy …, point balanced)"."""
    counts = ", ".join(f"{summary['actions'][a]:,} {a}" for a in ACTIONS)
    answers = "answer" if summary["n"] == 1 else "answers"
    return f"{summary['n']:,} {answers}: {counts} (policy {printable(policy)}, point {printable(point)})"
