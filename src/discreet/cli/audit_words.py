"""A membership audit for a terminal: the verdict in words, a table of attacks, the controls, the claims."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.cli.common import printable
from discreet.core.numbers import counted, p_value
from discreet.report import diagnostics, training
from discreet.report import membership_words as words
from discreet.report.audited import REFERENCES, Audited, Record, attack_words, audited, listed
from discreet.report.figures.figure import bracketed, spoken
from discreet.report.tiles import lines

WIDTH = 100
HEAD = ("attack", "scale", "reference", "selection", "n", "AUC [95% interval]", "placebo", "difference", "p")
LEFT = 4
SAID = {"global": "all", "boundary": "boundary"}


def audit_lines(record: Record) -> list[str]:
    """What the command prints of a record, line by line."""
    targets = audited(record)
    out = [words.headline(record)]
    for one in targets:
        out.append("")
        if len(targets) > 1:
            out.append(f"{printable(one.name)}: {one.facts['verdict']}")
        lead = words.lead(one)
        out += [line for reason in ([lead] if lead else []) + [words.plain(r) for r in one.facts["reasons"]]
                for line in _wrapped(printable(reason))]
        out += ["", *_tables(one)]
        out += ["", *(line for said in lines(one, record) for line in _wrapped(printable(said), "", "  "))]
        if behind := words.from_behind(one):
            out += ["", *_wrapped(behind)]
    first = targets[0]
    out += ["", "Controls"]
    for control in words.controls(first, record):
        out += _wrapped(f"{control['word']}: {control['name']}. {control['said']}", "  ", "    ")
    if trained := training.lines(record):
        out += ["", "What was trained", *(line for said in trained for line in _wrapped(printable(said), "  ", "    "))]
    if (found := record.get("embedding")) and found.get("diagnostics"):
        title, *rows, summary = diagnostics.lines(found)
        out += ["", printable(title), *rows, *_wrapped(summary)]
    if story := words.story(first):
        out += ["", story["title"], *(line for said in story["said"] for line in _wrapped(said, "  ", "  "))]
    for title, part in (("This audit can say", "can"), ("It cannot say", "cannot")):
        out += ["", title, *(line for said in first.facts["claims"][part] for line in _wrapped(said, "  - ", "    "))]
    return out


def text_lines(texts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Records at the boundary with their words."""
    if not texts:
        return []
    out = ["", "Records at the boundary"]
    for one in texts:
        out.append(f"  {printable(one['id'])}, {one['side']}, label {one['label']}, p {spoken(one['p'], 3)}")
        out += _wrapped(printable(one["text"]), "    ", "    ")
    return out


def _tables(one: Audited) -> list[str]:
    honest, oracle = ([row for row in rows if row["selection"] in SAID] for rows in listed(one))
    # The oracle's other attacks are on the page; here the published one stands for them.
    oracle = [row for row in oracle if row["attack"] == "reference"]
    shown = [[row for row in rows if row["auc"]["value"] is not None] for rows in (honest, oracle)]
    cells = [[_cells(row) for row in rows] for rows in shown]
    every = [HEAD, *cells[0], *cells[1]]
    widths = [max(len(row[place]) for row in every) for place in range(len(HEAD))]
    out = [_line(HEAD, widths), *(_line(row, widths) for row in cells[0])]
    if cells[1]:
        out += ["oracle (no part in the verdict):", *(_line(row, widths) for row in cells[1])]
    reasons = Counter(row["auc"]["reason"] for row in [*honest, *oracle] if row["auc"]["value"] is None)
    for reason, count in reasons.items():
        out += _wrapped(f"{counted(count, 'row')} unresolved: {printable(reason)}")
    return out


def _cells(row: Record) -> tuple[str, ...]:
    auc, difference = row["auc"], row["difference"].get("auc") or {"value": None}
    selection = SAID[row["selection"]] + (f" {row['n']}" if row["n"] is not None else "")
    if row["nonmembers"] == "reference_train":
        selection += ", paper's"
    return (
        attack_words({**row, "reference_kind": None}, scale=False), row["scale"],
        "-" if row["reference_kind"] is None else REFERENCES[row["reference_kind"]], selection,
        f"{row['n_members']}+{row['n_nonmembers']}", bracketed(auc),
        "uncontrolled" if row["uncontrolled"] else spoken(row["placebo_auc"]["value"], 3),
        "-" if difference["value"] is None else f"{difference['value']:+.3f}".replace("0.", ".", 1),
        p_value(row["null_p"]["value"], missing="-"),
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) if place < LEFT else cell.rjust(width)
                     for place, (cell, width) in enumerate(zip(cells, widths, strict=True))).rstrip()


def _wrapped(said: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(said, WIDTH, initial_indent=first, subsequent_indent=rest)
