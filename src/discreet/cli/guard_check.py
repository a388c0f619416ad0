"""`discreet guard check`: judge answers and say which would give a person away."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from discreet.cli import common
from discreet.core.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from discreet.core.records import Answer
    from discreet.core.runs import Run
    from discreet.data.answers import AnswerStream
    from discreet.guard.guard import Guard
    from discreet.guard.policy import Policy
    from discreet.report.batch import BatchTally

COLOURS = {"safe": "green", "flag": "red", "abstain": "yellow", "failed": "magenta"}


class Point(StrEnum):
    """The named operating points."""

    conservative = "conservative"
    balanced = "balanced"
    strict = "strict"
    costs = "costs"


@dataclass(frozen=True, slots=True)
class Shown:
    """How much is said, and in which form."""

    json: bool
    explain: bool
    quiet: bool
    text: bool


Text = Annotated[str | None, typer.Argument(
    metavar="TEXT",
    help="One answer in plain text. '-' or nothing reads standard input: JSON Lines, CSV with a header, or one plain "
         "text.")]
Fitted = Annotated[Path | None, typer.Option(
    "--guard", metavar="DIR", help="Judge by the guard in this folder, which 'discreet guard fit' made.")]
Domain = Annotated[str | None, typer.Option(
    "--domain", metavar="D", help="Judge by the policy of this domain: " + common.DOMAINS)]
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
    "--point", metavar="P", help="Operating point: conservative, balanced or strict; costs for a guard that was "
                                 "fitted or calibrated with costs; by default the policy's.")]
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
    from discreet.core.files import atomic_writer

    shown = Shown(json=as_json, explain=explain, quiet=quiet, text=show_text)
    judge = guard_of(guard, domain, audience, policy, point)
    origin = _origin(text, source, question, output)
    # A run is known by what it read, so that standard input is read whole before one is opened.
    read = sys.stdin.buffer.read() if origin == "-" and out is not None else None
    answers = _answers(origin, text, question, read)
    run = _run(out, report, context, _spoken(text if origin is None else None, question, read))
    with ExitStack() as stack:
        tables = (output, run and run.path / "verdicts.jsonl")
        lines = [stack.enter_context(atomic_writer(path)) for path in tables if path]
        pages = [stack.enter_context(atomic_writer(path)) for path in _pages(report, run, quiet)]
        tally = _judge_all(judge, answers, lines, shown)
        summary = tally.summary()
        _print_summary(summary, judge, shown)
        record = _record(summary, judge, origin) if run or pages else {}
        for page in pages:
            page.write(_page(record, tally, show_text))
    if run:
        run.finish(record, n=summary["n"], held=summary["held"], actions=summary["actions"],
                   components=record["provenance"]["components"])
    if fail_on_flag and summary["held"]:
        raise typer.Exit(1)


def guard_of(folder: Path | None, domain: str | None, audience: str | None, policy: Path | None,
             point: Point | None) -> Guard:
    """The guard that --guard, --domain or --policy names. Raises UsageError where none does."""
    at = None if point is None else point.value
    if folder is not None:
        from discreet.guard.guard import Guard

        found = Guard.load(folder, policy=policy, audience=audience, point=at)
        same_domain(domain, found, folder)
        return found
    if domain is None and policy is None:
        raise UsageError("there is no policy to judge by; expected --domain, --policy or --guard with a name or path")
    from discreet.guard.guard import Guard

    return Guard(policy_of(domain, audience, policy), point=at)


def policy_of(domain: str | None, audience: str | None, path: Path | None) -> Policy:
    """The policy that --policy or, without it, --domain names."""
    from discreet.guard.policy import Policy

    return Policy.load(path, audience, domain) if path is not None else Policy.of(str(domain), audience)


def same_domain(domain: str | None, guard: Guard, folder: Path) -> None:
    """Raise UsageError where --domain is another domain than that of the guard in `folder`."""
    from discreet.domains import load_domain

    if domain is not None and load_domain(domain) != (fitted := guard.policy.domain):
        how = "with other files" if load_domain(domain).name == fitted.name else "the only one that it judges"
        raise UsageError(f"--domain is {domain!r}, but {folder} is a guard for {fitted.name!r}, {how}; drop --domain")


def _origin(text: str | None, source: str | None, question: str | None, output: Path | None) -> str | None:
    """Where the answers come from: a file's name, "-" for standard input, None for TEXT."""
    if text is not None and text != "-":
        common.one_of(**{"TEXT": text, "--input": source})
        return None
    common.one_of(**{"TEXT '-'": text, "--input": source})
    origin = source or text or "-"
    if source is None and text is None and sys.stdin.isatty():
        raise UsageError("there is nothing to judge; expected TEXT in quotes, --input F, or answers on standard input")
    if origin != "-" and question is not None:
        raise UsageError("--question belongs to one TEXT; in a file, put it into the column 'question'")
    if origin != "-" and output is not None and output.exists() and Path(origin).exists() and output.samefile(origin):
        raise UsageError(f"--output is the input, {origin}; name another file")
    return origin


def _answers(origin: str | None, text: str | None, question: str | None, read: bytes | None) -> AnswerStream:
    from discreet.data.answers import AnswerStream, answer_from_text, read_answers

    if origin is None:
        return AnswerStream(iter([answer_from_text(str(text), question)]), total=1)
    return read_answers(origin, stdin=None if read is None else BytesIO(read), question=question)


def _spoken(text: str | None, question: str | None, read: bytes | None) -> dict[str, bytes]:
    """What was given beside files, by the name that a message gives it."""
    said = {"TEXT": text, "--question": question}
    found = {name: words.encode("utf-8", "surrogatepass") for name, words in said.items() if words is not None}
    return found if read is None else {**found, "standard input": read}


def _run(out: Path | None, report: Path | None, context: typer.Context, spoken: dict[str, bytes]) -> Run | None:
    if report is not None:
        # A missing extra is said before any work is done or any folder made.
        from discreet.report.render import environment

        environment()
    return common.open_run(out, context, further=spoken)


def _pages(report: Path | None, run: Run | None, quiet: bool) -> list[Path]:
    wanted = [path for path in (report, run and run.report) if path]
    if not wanted:
        return []
    from discreet.report.render import environment

    try:
        environment()
    except MissingExtraError as error:
        # A run folder without its page is still a run.
        if not quiet:
            print(f"discreet: no report.html in the run folder: {error}", file=sys.stderr)
        return []
    return wanted


def _judge_all(guard: Guard, answers: AnswerStream, lines: Sequence[TextIO], shown: Shown) -> BatchTally:
    from discreet.core.files import dump_json, progress
    from discreet.report.batch import BatchTally

    tally = BatchTally()
    # On a terminal the lines themselves show the progress.
    quiet = shown.quiet or sys.stdout.isatty()
    for answer in progress(answers, answers.total, quiet=quiet, label="answers judged"):
        judgement = guard.judge(answer)
        row = {**judgement.verdict.to_json(), "findings": [_finding(f) for f in judgement.findings]}
        line = dump_json(row if shown.explain else judgement.verdict) + "\n"
        for handle in lines:
            handle.write(line)
        _print(line, answer, row, shown)
        tally.add({**row, "answer": answer.answer} if shown.text else row)
    return tally


def _finding(finding: Any) -> dict[str, Any]:
    keys = ("type", "subject", "person", "start", "end", "why", "layer", "counts")
    return {key: getattr(finding, key) for key in keys}


def _print(line: str, answer: Answer, row: dict[str, Any], shown: Shown) -> None:
    if shown.json:
        sys.stdout.write(line)
        return
    from discreet.report.batch import WIDEST_ACTION, verdict_lines

    first, *rest = verdict_lines(row, answer.answer if shown.text else None, explain=shown.explain)
    if common.coloured():
        first = typer.style(first[:WIDEST_ACTION], fg=COLOURS[row["action"]], bold=True) + first[WIDEST_ACTION:]
    print("\n".join([first, *rest]))


def _print_summary(summary: dict[str, Any], guard: Guard, shown: Shown) -> None:
    from discreet.report.batch import count_line

    if not shown.quiet:
        print(count_line(summary, guard.policy.label(), guard.point), file=sys.stderr if shown.json else sys.stdout)


def _record(summary: dict[str, Any], guard: Guard, origin: str | None) -> dict[str, Any]:
    from datetime import UTC, datetime

    from discreet import __version__
    from discreet.core.files import KeyedHash

    hashes = KeyedHash.from_environment()
    path = None if origin in (None, "-") else Path(str(origin))
    return {
        "kind": "guard check", "schema": 1, "summary": summary,
        "provenance": {
            "policy": guard.policy.label(), "domain": guard.policy.domain.name, "audience": guard.policy.audience,
            "point": guard.point, "tau": guard.tau, "components": _components(guard), "discreet": __version__,
            "input": path.name if path else "standard input" if origin else "text on the command line",
            "data_hash": hashes.of_file(path) if path else None, "hash_key": hashes.scope,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }


def _components(guard: Guard) -> dict[str, int] | None:
    """Mixture components of a fitted guard's density, requested and fitted; None where it has none."""
    found = guard.detector.dual.components() if guard.is_fitted else None
    return None if found is None else dict(found.to_json())


def _page(record: dict[str, Any], tally: BatchTally, show_text: bool) -> str:
    from discreet.report import batch

    return batch.page(record, tally.rows(), show_text=show_text)
