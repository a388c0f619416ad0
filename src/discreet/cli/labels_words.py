"""A label audit for a terminal: the verdict in words, models, attacks beside placebo and ceiling, controls, claims."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from discreet.cli.common import printable
from discreet.core.names import label_attack_name as attack_words
from discreet.report import labels_training
from discreet.report import labels_words as words
from discreet.report.figures.figure import bracketed, spoken
from discreet.report.labels_words import Record

WIDTH = 100
ATTACKS = {"attack": "attack", "n": "n", "success": "right [95% interval]", "placebo": "placebo",
           "ceiling": "ceiling", "holm": "p, Holm", "null": "null p", "bound": "ε >=", "note": ""}
MODELS = {"model": "model", "condition": "labels", "seed": "seed", "verdict": "verdict", "success": "secret right",
          "placebo": "placebo", "ceiling": "ceiling", "bound": "ε >=", "accuracy": "accuracy"}
LEFT = ("attack", "model", "condition", "seed", "verdict", "note")
HEADS = {"privileged": "with the original label (privileged, no part in the verdict):",
         "oracle": "shown the label that they claim to infer (oracles, no part in the verdict):"}
ABOUT = {"secret": "about the secret label:", "trained": "about the label that was trained on:"}
SHOWN_MODELS = 60
SHOWN_ATTACKS = 10


def audit_lines(record: Record) -> list[str]:
    """What the command prints of a record, line by line."""
    one = words.decisive(record)
    out = [words.headline(record), ""]
    lead = words.lead(record)
    out += [line for said in [*([lead] if lead else []), *one["reasons"]] for line in _wrapped(printable(said))]
    if len(record["targets"]) > 1:
        listed = [words.model_line(record, target) for target in record["targets"][:SHOWN_MODELS]]
        out += ["", *_table(MODELS, [("", listed)])]
        if len(record["targets"]) > SHOWN_MODELS:
            out.append(f"{len(record['targets']) - SHOWN_MODELS:,} further models are in --json and on the page.")
        out += ["", printable(f"{one['target']}: {one['verdict']}")]
    out += ["", *_attacks(record, one), "", "Controls"]
    for control in words.controls(record):
        out += _wrapped(printable(f"{control['word']}: {control['name']}. {control['said']}"), "  ", "    ")
    if trained := labels_training.lines(record):
        out += ["", "What was trained", *(line for said in trained for line in _wrapped(printable(said), "  ", "  "))]
    if story := words.story(record):
        out += ["", story["title"], *(line for said in story["said"] for line in _wrapped(printable(said), "  ", "  "))]
    for title, part in (("This audit can say", "can"), ("It cannot say", "cannot")):
        out += ["", title, *(line for said in record["claims"][part] for line in _wrapped(said, "  - ", "    "))]
    return out


def plan_lines(record: Record) -> list[str]:
    """The planning of canaries."""
    out = [record["said"], ""]
    for row in record["rows"]:
        needed = "no reasonable number" if row["canaries"] is None else f"{row['canaries']:,}"
        out.append(f"  {row['success']:>6.1%} of guesses right: {needed} canaries")
    return [*out, "", *_wrapped(record["note"])]


def _attacks(record: Record, one: Record) -> list[str]:
    rows = words.rows_of(record, one)
    kinds = words.kinds(rows)
    deciding = [row for row in kinds["outputs"] if row["decides"] or row["target"] == "secret"]
    parts = []
    for label, head in ABOUT.items():
        parts.append((head, [_cells(row) for row in deciding if row["target"] == label][:SHOWN_ATTACKS]))
    # Of the others the published settings stand for all.
    parts += [(head, [_cells(row) for row in kinds[name] if row["alpha"] == row["beta"] and not row["tuned"]
                      and row["target"] == "secret" and row["margin"] == "p1-second"]) for name, head in HEADS.items()]
    parts = [(head, part) for head, part in parts if part]
    out = _table(ATTACKS, parts)
    left_out = sum(map(len, kinds.values())) - sum(len(part) for _, part in parts)
    if left_out > 0:
        out.append(f"{left_out:,} further rows are in --json and on the page.")
    for names, reason in words.unresolved(rows):
        out += _wrapped(printable(f"unresolved: {names}: {reason}"))
    return out


def _cells(row: Record) -> dict[str, str]:
    return {**words.row_cells(row), "attack": attack_words(row, brief=True), "success": bracketed(row["success"]),
            "placebo": "uncontrolled" if row["placebo"]["value"] is None else spoken(row["placebo"]["value"], 3)}


def _table(columns: dict[str, str], parts: Sequence[tuple[str, Sequence[dict[str, str]]]]) -> list[str]:
    rows = [{name: printable(row[name]) for name in columns} for _, part in parts for row in part]
    width = {name: max(len(head), *(len(row[name]) for row in rows)) if rows else len(head)
             for name, head in columns.items()}

    def line(cells: dict[str, str]) -> str:
        return "  ".join(cells[name].ljust(width[name]) if name in LEFT else cells[name].rjust(width[name])
                         for name in columns).rstrip()

    out, shown = [line(columns)], iter(rows)
    for head, part in parts:
        out += [*([head] if head else []), *(line(next(shown)) for _ in part)]
    return out


def _wrapped(said: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(said, WIDTH, initial_indent=first, subsequent_indent=rest)
