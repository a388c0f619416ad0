"""`discreet report`: a run folder's page and figures once more, from what the run saved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from discreet.cli import library as lib
from discreet.cli.options import argument, flag, option
from discreet.core.errors import InputError, UsageError
from discreet.core.files import write_atomic
from discreet.core.registry import offered

SCHEMA = 1
PAGES = ("audit guard", "audit labels", "audit membership", "audit recipe", "benchmark", "defend-frontier",
         "defend-training", "guard check")
"""Kinds of runs that have a page; those of other packages all have."""


def report(
    run: Annotated[Path, argument("RUN", "A run folder, as --out of another command left it.")],
    *,
    report: Annotated[Path | None, option("F", "Write the page there instead of RUN/report.html.")] = None,
    quiet: Annotated[bool, flag("Do not print where the page is.")] = False,
) -> None:
    """Render the report of a run folder again: of audit, benchmark, defend frontier and training, guard check,
    reproduce.

    A page that showed text is rendered without it: a run folder holds none.
    """
    record = read_record(run)
    kind = record.get("kind")
    pages = (*PAGES, *offered("summaries"))
    if kind not in pages:
        raise UsageError(f"{run} is a run of {str(kind)[:40]!r}, which has no page; expected one of {', '.join(pages)}")
    if record.get("schema") != SCHEMA:
        raise InputError(f"{run / 'result.json'} has schema {str(record.get('schema'))[:10]}; expected {SCHEMA}: run "
                         "the command again with this version")
    try:
        if kind == "guard check":
            page = _batch(run, record)
        else:
            summary = lib.report.summarise(record)
            page = lib.report.to_html(summary)
            lib.report.save_figures(summary.figures, run / "figures")
    except (KeyError, TypeError, StopIteration, IndexError):
        raise InputError(f"{run / 'result.json'} lacks what the page of {kind} needs; expected the file as the run "
                         "left it: run the command again") from None
    path = report or run / "report.html"
    write_atomic(path, page)
    if not quiet:
        print(path)


def read_record(run: Path) -> Mapping[str, Any]:
    """The record of a run folder. InputError where there is none."""
    path = run / "result.json"
    if not run.is_dir():
        raise UsageError(f"{run} is {'a file' if run.exists() else 'not there'}; expected a run folder")
    if not path.is_file():
        raise InputError(f"{run} holds no result.json: the run was not finished, or this is no run folder; run its "
                         "command again with --out")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        record = None
    if not isinstance(record, dict):
        raise InputError(f"{path} is not a JSON object; expected the file as the run left it")
    return record


def _batch(run: Path, record: Mapping[str, Any]) -> str:
    path, tally = run / "verdicts.jsonl", lib.batch.BatchTally()
    if not path.is_file():
        raise InputError(f"{run} holds no verdicts.jsonl; expected the folder as the run left it")
    with path.open("rb") as lines:
        for _, row in lib.rows.iter_json_lines(lines, str(path)):
            tally.add(row)
    return lib.batch.page(record, tally.rows())
