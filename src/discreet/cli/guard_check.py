"""`discreet guard check`: judge answers and say which would give a person away."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.files import Run
    from discreet.guard.evidence_guard import EvidenceGuard
    from discreet.records import Answer
    from discreet.report.batch import BatchTally
    from discreet.tables.answers import AnswerStream


class Point(StrEnum):
    """The named operating points."""

    conservative = "conservative"
    balanced = "balanced"
    strict = "strict"


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the verdicts go, and how much of them."""

    lines: Path | None
    report: Path | None
    run: Run | None
    json: bool
    explain: bool
    quiet: bool
    show_text: bool


Text = Annotated[str | None, typer.Argument(
    metavar="TEXT",
    help="One answer in plain text. '-' or nothing reads standard input: JSON Lines, or one plain text.")]
Fitted = Annotated[Path | None, typer.Option("--guard", metavar="DIR", help="A fitted guard (not in this version).")]
Domain = Annotated[str | None, typer.Option(
    "--domain", metavar="D", help="Judge by the built-in policy of medical, finance or law.")]
Audience = Annotated[str | None, typer.Option(
    "--audience", metavar="A", help="Whom the answers are for, as the policy names them.")]
PolicyFile = Annotated[Path | None, typer.Option(
    "--policy", metavar="F", help="Judge by this policy file instead of a built-in one.")]
Source = Annotated[str | None, typer.Option(
    "--input", metavar="F",
    help="Answers as .jsonl or .csv (also .gz) or .parquet, with the columns id, answer; question, sources and "
         "conversation if they are there.")]
Output = Annotated[Path | None, typer.Option("--output", metavar="F", help="Write the verdicts as JSON Lines.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="F", help="Write an HTML report.")]
OperatingPoint = Annotated[Point | None, typer.Option(
    "--point", metavar="P", help="Operating point: conservative, balanced or strict; by default the policy's.")]
Explain = Annotated[bool, typer.Option(
    "--explain", help="Say of everything that was found why, and whether it counts; in JSON as 'findings'.")]
Question = Annotated[str | None, typer.Option(
    "--question", metavar="Q", help="The question that TEXT answers: what stands in it is told back, no leak.")]
FailOnFlag = Annotated[bool, typer.Option(
    "--fail-on-flag", help="Exit with 1 when any answer is held: flag, abstain or failed.")]


def check(
    context: typer.Context, text: Text = None, *, guard: Fitted = None, domain: Domain = None,
    audience: Audience = None, policy: PolicyFile = None, source: Source = None, output: Output = None,
    report: Report = None, point: OperatingPoint = None, explain: Explain = False, question: Question = None,
    fail_on_flag: FailOnFlag = False, as_json: common.Json = False, out: common.Out = None,
    config: common.Config = None, seed: common.Seed = 42, quiet: common.Quiet = False,
    show_text: common.ShowText = False,
) -> None:
    """Judge answers: safe, flag, abstain or failed, with where each says what about whom.

    Give TEXT, --input or standard input. No text of an answer is printed or written unless --show-text is given.
    Exits with 0 whatever it finds, unless --fail-on-flag.
    """
    from discreet.report.batch import BatchTally

    judge = _guard(guard, domain, audience, policy, point)
    answers = _answers(text, source, question, output)
    if report is not None:
        _require_html()
    outputs = Outputs(output, report, _run(out, context), json=as_json, explain=explain, quiet=quiet,
                      show_text=show_text)
    tally = BatchTally()
    with ExitStack() as stack:
        writers = [stack.enter_context(_writer(path))
                   for path in (output, outputs.run.path / "verdicts.jsonl" if outputs.run else None) if path]
        for answer, row in _judged(judge, answers, quiet):
            line = _line(row, explain)
            for writer in writers:
                writer.write(line)
            _print(line, answer, row, outputs)
            tally.add({**row, "answer": answer.answer} if show_text else row)
    _finish(tally, judge, source, outputs)
    if fail_on_flag and tally.summary()["held"]:
        raise typer.Exit(1)


def _guard(fitted: Path | None, domain: str | None, audience: str | None, policy: Path | None,
           point: Point | None) -> EvidenceGuard:
    if fitted is not None:
        raise UsageError("--guard needs a fitted guard, which this version cannot read; expected --domain D for a "
                         "built-in policy, or --policy F")
    if domain is None and policy is None:
        raise UsageError("there is no policy to judge by; expected --domain medical, finance or law, or --policy F")
    from discreet.guard.evidence_guard import EvidenceGuard
    from discreet.guard.policy import Policy

    chosen = Policy.load(policy, audience) if policy is not None else Policy.builtin(str(domain), audience)
    if domain is not None and chosen.domain != domain:
        raise UsageError(f"--domain is {domain!r}, but {policy} is a policy for {chosen.domain!r}; drop one of them")
    return EvidenceGuard(chosen, point=None if point is None else point.value)


def _answers(text: str | None, source: str | None, question: str | None, output: Path | None) -> AnswerStream:
    from discreet.tables.answers import AnswerStream, answer_from_text, read_answers

    if text is not None and text != "-":
        common.one_of(**{"TEXT": text, "--input": source})
        return AnswerStream(iter([answer_from_text(text, question)]), total=1)
    common.one_of(**{"TEXT '-'": text, "--input": source})
    source = source or text
    if source is None:
        if sys.stdin.isatty():
            raise UsageError("there is nothing to judge; expected TEXT in quotes, --input F, or answers on standard "
                             "input")
        source = "-"
    if source != "-" and question is not None:
        raise UsageError("--question belongs to one TEXT; in a file, put it into the column 'question'")
    if source != "-" and output is not None and output.exists() and output.samefile(source):
        raise UsageError(f"--output is the input, {source}; name another file")
    return read_answers(source, question=question)


def _run(out: Path | None, context: typer.Context) -> Run | None:
    if out is None:
        return None
    from discreet.files import Run

    return Run.open(out, common.resolved(context))


def _writer(path: Path) -> Any:
    from discreet.files import atomic_writer

    return atomic_writer(path)


def _judged(guard: EvidenceGuard, answers: AnswerStream, quiet: bool) -> Iterator[tuple[Answer, dict[str, Any]]]:
    from discreet.files import progress

    # On a terminal the lines themselves show the progress.
    for answer in progress(answers, answers.total, quiet=quiet or sys.stdout.isatty(), label="answers judged"):
        judgement = guard.judge(answer)
        yield answer, {**judgement.verdict.to_json(), "findings": [_finding(f) for f in judgement.findings]}


def _finding(finding: Any) -> dict[str, Any]:
    keys = ("type", "subject", "person", "start", "end", "why", "layer", "counts")
    return {key: getattr(finding, key) for key in keys}


def _line(row: dict[str, Any], explain: bool) -> str:
    from discreet.files import dump_json

    return dump_json(row if explain else {k: v for k, v in row.items() if k != "findings"}) + "\n"


def _print(line: str, answer: Answer, row: dict[str, Any], outputs: Outputs) -> None:
    if outputs.json:
        sys.stdout.write(line)
        return
    from discreet.cli import words

    text = answer.answer if outputs.show_text else None
    for printed in words.verdict_lines(row, text, outputs.explain, common.coloured()):
        print(printed)


def _finish(tally: BatchTally, guard: EvidenceGuard, source: str | None, outputs: Outputs) -> None:
    from discreet.cli import words

    summary = tally.summary()
    if not outputs.quiet:
        line = words.summary_line(summary, guard.policy.label(), guard.point)
        print(line, file=sys.stderr if outputs.json else sys.stdout)
    report, run = outputs.report, outputs.run
    if report is None and run is None:
        return
    record = _record(summary, guard, source)
    page = _page(record, tally, outputs)
    for path in (report, run.report if run else None):
        if path is not None and page is not None:
            _write(path, page)
    if run is not None:
        run.write_result(record)
        with run.log as log:
            log.write("guard check done", n=summary["n"], held=summary["held"], actions=summary["actions"])


def _record(summary: dict[str, Any], guard: EvidenceGuard, source: str | None) -> dict[str, Any]:
    from datetime import UTC, datetime

    from discreet import __version__
    from discreet.files import KeyedHash

    hashes = KeyedHash.from_environment()
    path = Path(source) if source not in (None, "-") else None
    return {
        "kind": "guard check", "schema": 1, "summary": summary,
        "provenance": {
            "policy": guard.policy.label(), "domain": guard.policy.domain, "audience": guard.policy.audience,
            "point": guard.point, "tau": guard.tau, "discreet": __version__,
            "input": path.name if path else "standard input" if source == "-" else "text on the command line",
            "data_hash": hashes.of_file(path) if path else None, "hash_key": hashes.scope,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }


def _require_html() -> None:
    from discreet.report.html import environment

    environment()


def _page(record: dict[str, Any], tally: BatchTally, outputs: Outputs) -> str | None:
    from discreet.errors import MissingExtraError
    from discreet.report.html import batch_page

    try:
        return batch_page(record, tally.rows(), show_text=outputs.show_text)
    except MissingExtraError as error:
        # A run folder without its page is still a run; --report was checked before any work.
        if not outputs.quiet:
            print(f"discreet: no report.html in the run folder: {error}", file=sys.stderr)
        return None


def _write(path: Path, page: str) -> None:
    from discreet.files import write_atomic

    write_atomic(path, page)
