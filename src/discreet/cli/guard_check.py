"""`discreet guard check`: judge answers and say which would give a person away."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

import discreet
from discreet.cli import library as lib
from discreet.cli.options import Judging, Population, ShowText, argument, flag, not_an_input, one_of, option
from discreet.cli.output import PageOutput, provenance
from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash, atomic_writer, clean, dump_json, progress

COLOURS = {"safe": "green", "flag": "red", "abstain": "yellow", "failed": "magenta"}


def check(
    text: Annotated[str | None, argument(
        "TEXT", "One answer in plain text. '-' or nothing reads standard input (JSON Lines, CSV or text).")] = None,
    *,
    source: Annotated[str | None, option(
        "F", "Answers as .jsonl or .csv (also .gz) or .parquet, with the columns id, answer; user_words, question, "
        "sources and conversation if they are there.", "--input")] = None,
    user_words: Annotated[str | None, option(
        "W", "What the user typed before TEXT. What users say there of themselves, or of somebody whom they bring, is "
        "no leak.")] = None,
    question: Annotated[str | None, option(
        "Q", "The user message that TEXT answers, as the model got it. It counts as the user's words only where all of "
        "it reads as a user's speech, or it is a known prompt (docs/provenance.md).")] = None,
    judging: Judging,
    explain: Annotated[bool, flag(
        "List every finding with its rule and whether the policy counts it; in JSON as 'findings'.")] = False,
    people: Annotated[bool, flag(
        "Say how many people fit what each answer says of somebody; a policy with fewer_than says so anyway.")] = False,
    population: Population = None,
    verdicts: Annotated[Path | None, option("F", "Write the verdicts as JSON Lines.", "--output")] = None,
    fail_on_flag: Annotated[bool, flag(
        "Exit with 1 when any answer is held: flag, abstain or failed.")] = False,
    output: PageOutput, show_text: ShowText = False,
) -> None:
    """Judge answers: safe, flag, abstain or failed, with where each says what about whom.

    Give TEXT, --input or standard input. No text of an answer is printed or written unless --show-text is given.
    Exits with 0 whatever it finds, unless --fail-on-flag.
    """
    guard = judging.load_guard()
    if people or population is not None:
        guard = guard.counting(population)
    origin = origin_of(text, source, {"--question": question, "--user-words": user_words}, verdicts)
    # A run is known by what it read, so that standard input is read whole before one is opened.
    read = sys.stdin.buffer.read() if origin == "-" and output.out is not None else None
    if origin is None:
        one = discreet.Answer("1", clean(str(text)), question and clean(question),
                              user_words=user_words and clean(user_words))
        answers = lib.answers.AnswerStream(iter([one]), 1)
    else:
        answers = lib.answers.read_answers(origin, stdin=None if read is None else BytesIO(read), question=question,
                                           user_words=user_words)
    said = {"TEXT": text if origin is None else None, "--question": question, "--user-words": user_words}
    given = {name: words.encode("utf-8", "surrogatepass") for name, words in said.items() if words is not None}
    run = output.open_run(further=given if read is None else {**given, "standard input": read})
    with ExitStack() as stack:
        tables = [stack.enter_context(atomic_writer(path))
                  for path in (verdicts, run and run.path / "verdicts.jsonl") if path]
        pages = [stack.enter_context(atomic_writer(path)) for path in output.pages(run, charts=False)]
        tally = _judge_all(guard, answers, tables, output, explain=explain, show_text=show_text)
        summary = tally.summary()
        if not output.quiet:
            print(lib.batch.count_line(summary, guard.policy.label(), guard.point),
                  file=sys.stderr if output.as_json else sys.stdout)
        record = _record(summary, guard, origin) if run or pages else {}
        for page in pages:
            page.write(lib.batch.page(record, tally.rows(), show_text=show_text))
    if run:
        run.finish(record, n=summary["n"], held=summary["held"], actions=summary["actions"],
                   components=record["provenance"]["components"])
    if unread := lib.answers.unread(answers.columns):
        output.note(f"{lib.answers.STDIN if origin == '-' else origin} has columns that are not read: {unread}")
    output.say_where(run)
    if fail_on_flag and summary["held"]:
        raise typer.Exit(1)


def origin_of(text: str | None, source: str | None, asked: Mapping[str, str | None] | None = None,
              verdicts: Path | None = None) -> str | None:
    """Where the answers come from: a file's name, "-" for standard input, None for TEXT.

    `asked` are options that belong to one TEXT, by name.
    """
    if text is not None and text != "-":
        one_of(**{"TEXT": text, "--input": source})
        return None
    one_of(**{"TEXT '-'": text, "--input": source})
    origin = source or text or "-"
    if source is None and text is None and sys.stdin.isatty():
        raise UsageError("there is nothing to judge; expected TEXT in quotes, --input F, or answers on standard input")
    for name, value in (asked or {}).items():
        if origin != "-" and value is not None:
            raise UsageError(f"{name} belongs to one TEXT; in a file, put it into the column "
                             f"{name.removeprefix('--').replace('-', '_')!r}")
    if origin != "-":
        not_an_input("--output", verdicts, origin)
    return origin


def _judge_all(guard: discreet.Guard, answers: lib.answers.AnswerStream,
               tables: Sequence[TextIO], output: PageOutput, *, explain: bool, show_text: bool) -> lib.batch.BatchTally:
    """Judge every answer; write and print its verdict as it comes."""
    tally = lib.batch.BatchTally()
    # On a terminal the lines themselves show the progress.
    quiet = output.quiet or sys.stdout.isatty()
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for answer in progress(answers, answers.total, quiet=quiet, label="answers judged"):
        judgement = guard.judge(answer)
        row = {**judgement.verdict.to_json(), "findings": [asdict(one) for one in judgement.findings]}
        line = dump_json(row if explain else judgement.verdict) + "\n"
        for table in tables:
            table.write(line)
        if output.as_json:
            sys.stdout.write(line)
        else:
            first, *rest = lib.batch.verdict_lines(row, answer.answer if show_text else None, explain=explain)
            if coloured:
                width = lib.batch.WIDEST_ACTION
                first = typer.style(first[:width], fg=COLOURS[row["action"]], bold=True) + first[width:]
            print("\n".join([first, *rest]))
        tally.add({**row, "answer": answer.answer} if show_text else row)
    return tally


def _record(summary: dict[str, Any], guard: discreet.Guard, origin: str | None) -> dict[str, Any]:
    path = None if origin in (None, "-") else Path(str(origin))
    components = guard.detector.dual.components() if guard.is_fitted else None
    found = provenance(*([path] if path else []), finished=True)
    if path is None:
        found |= {"input": "standard input" if origin else "text on the command line", "data_hash": None,
                  "hash_key": KeyedHash.from_environment().scope}
    policy = guard.policy
    return {"kind": "guard check", "schema": 1, "summary": summary, "provenance": {
        "policy": policy.label(), "domain": policy.domain.name, "audience": policy.audience, "point": guard.point,
        "tau": guard.tau, "threshold": guard.evidence_tau, "components": components, **found}}
