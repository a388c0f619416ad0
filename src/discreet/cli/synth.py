"""`discreet synth`: plan, write and validate safe, unsafe and borderline records."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from discreet.cli import library
from discreet.cli.options import DOMAINS, one_of
from discreet.cli.output import Output
from discreet.core.errors import UsageError
from discreet.core.files import dump_json, progress, write_atomic
from discreet.core.numbers import printable

DEFAULT_N = 2_000
COLUMNS = ("id", "kind", "domain", "question", "answer", "profile", "lineage", "register", "subtype", "opening",
           "framing", "placement", "mode", "qi", "slots", "forbidden", "generator")
REQUIRED = ("id", "kind", "domain", "answer")


class Roles(StrEnum):
    """Who writes for what."""

    strict = "strict"
    paper = "paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What is written, and how much of it; None is the default, so that a plan can say which was given."""

    HEADING: ClassVar[str] = "Campaign"

    domain: Annotated[str | None, typer.Option(
        "--domain", metavar="D", help="What to write about: " + DOMAINS)] = None
    n: Annotated[int | None, typer.Option(
        "--n", metavar="N", min=1, help=f"Records in each partition; {DEFAULT_N:,} where neither --n nor --scale is "
                                        "given.")] = None
    scale: Annotated[float | None, typer.Option(
        "--scale", metavar="S", help="Records as in the paper's Table III, times S.")] = None
    roles: Annotated[Roles | None, typer.Option(
        "--roles", metavar="R", help="strict (the default: no writer profile writes for training and for evaluation) "
                                     "or paper (its overlap: borderline records by profiles that write unsafe "
                                     "ones).")] = None
    generator: Annotated[str | None, typer.Option(
        "--generator", metavar="G", help="Who writes; 'grammar' by default, which needs no network.")] = None
    seed: Annotated[int | None, typer.Option(
        "--seed", metavar="N", min=0, help="Seed of random draws; 42 by default.")] = None

    def plan(self) -> library.Plan:
        """The plan that the options ask for."""
        if self.domain is None:
            raise UsageError("there is no domain to write for; expected --domain: " + DOMAINS)
        one_of(**{"--n": self.n, "--scale": self.scale})
        sizes = (library.equal_sizes(self.n or DEFAULT_N) if self.scale is None
                 else library.paper_sizes(self.domain, self.scale))
        return library.make_plan(self.domain, sizes, 42 if self.seed is None else self.seed,
                                 generator=self.generator or "grammar",
                                 roles=library.ROLES[(self.roles or Roles.strict).value])


def plan(
    *, campaign: Campaign,
    out: Annotated[Path | None, typer.Option(
        "--out", metavar="F", help="Write the plan as JSON, for run --plan.")] = None,
    output: Output,
) -> None:
    """Plan a campaign: how many records of which partition, writer profile and mode, with all marginals."""
    made = campaign.plan()
    if out is not None:
        write_atomic(out, dump_json(made.to_json(), indent=2) + "\n")
    _print(made.to_json(), _plan_lines(made), output)


def run(
    *,
    out: Annotated[Path, typer.Option(
        "--out", metavar="DIR", help="Folder for the partitions; the same command resumes one that was begun.")],
    plan: Annotated[Path | None, typer.Option(
        "--plan", metavar="F", help="A plan from synth plan; without it, the options of a campaign.")] = None,
    campaign: Campaign, output: Output,
) -> None:
    """Write safe, unsafe and borderline records: one JSON Lines file a partition, and a manifest.

    Every draft is validated and written again where it fails; specifications that cannot be written trade axis levels,
    so that marginals hold after validation. What a grammar wrote is marked: it bootstraps and demonstrates; a
    deployment trains on text that a language model wrote, or on its own. Exits with 1 where records are missing.
    """
    if plan is not None and (given := next((name for name, value in asdict(campaign).items() if value is not None),
                                           None)):
        raise UsageError(f"--plan and --{given} were given together; the plan says it: drop --{given}")
    made = campaign.plan() if plan is None else library.Plan.load(plan)
    manifest = library.run_campaign(
        made, out, watch=lambda jobs: progress(jobs, len(jobs), quiet=output.quiet, label="shards written"))
    _print(manifest, _manifest_lines(manifest, out), output)
    if manifest["short"]:
        raise typer.Exit(1)


def validate(
    *,
    source: Annotated[Path, typer.Option(
        "--input", metavar="F", help="Records as JSON Lines with id, kind, domain and answer, and with qi where a leak "
                                     "is claimed.")],
    domain: Annotated[str, typer.Option("--domain", metavar="D", help="What the records are about: " + DOMAINS)],
    min_words: Annotated[int, typer.Option("--min-words", metavar="N", min=1, help="Fewest words of an answer.")] = 60,
    max_words: Annotated[int, typer.Option("--max-words", metavar="N", min=1, help="Most words of an answer.")] = 180,
    failures: Annotated[Path | None, typer.Option(
        "--output", metavar="F", help="Write the ids of records that fail, with the reasons, as JSON Lines.")] = None,
    report_only: Annotated[bool, typer.Option("--report-only", help="Exit with 0 whatever fails.")] = False,
    output: Output,
) -> None:
    """Validate records: direct identifiers, requested classes, forbidden words, attributes nobody asked for.

    Where a record has no slots, the requested classes are looked for in its text. Exits with 1 if any record fails,
    unless --report-only. No text is printed.
    """
    check = library.Validator(domain, words=(min_words, max_words))
    failed: list[dict[str, Any]] = []
    reasons: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()
    for record in progress(_records(source), quiet=output.quiet, label="records validated"):
        kind = record.spec.kind
        kinds[kind] += 1
        if why := list(check(record)):
            reasons.update((kind, reason) for reason in why)
            failed.append({"id": record.id, "kind": kind, "reasons": why})
    if failures is not None:
        write_atomic(failures, "".join(dump_json(row) + "\n" for row in failed))
    found = {kind: {reason: count for (of, reason), count in sorted(reasons.items()) if of == kind} for kind in kinds}
    record_ = {"kind": "synth validate", "schema": 1, "domain": check.domain.name, "n": sum(kinds.values()),
               "failed": len(failed), "kinds": dict(kinds), "reasons": found}
    _print(record_, _validation_lines(record_), output)
    if failed and not report_only:
        raise typer.Exit(1)


def _records(source: Path) -> Iterator[library.Record]:
    seen: set[str] = set()
    for place, row in library.iter_rows(source, COLUMNS, REQUIRED):
        try:
            record = library.Record.from_json(row)
        except ValueError as error:
            place.fail(f"{error}; expected a record of synth run")
        if record.id in seen:
            place.fail("the id of an earlier record; expected each id once")
        seen.add(record.id)
        yield record


def _print(record: Any, lines: list[str], output: Output) -> None:
    if output.as_json:
        sys.stdout.write(dump_json(record) + "\n")
    elif not output.quiet:
        print("\n".join(lines))


def _plan_lines(made: library.Plan) -> list[str]:
    """The batches of a plan, a line for each partition."""
    total = sum(b.n for b in made.batches)
    out = [f"{made.domain.name}: {total:,} records by {made.generator!r}, seed {made.seed}"]
    for name in made.partitions():
        batches = [b for b in made.batches if b.partition == name]
        by = {key: sum(b.n for b in batches if key in (b.profile, b.mode))
              for key in dict.fromkeys([b.profile for b in batches] + [b.mode for b in batches if b.mode != "NONE"])}
        parts = ", ".join(f"{key} {count:,}" for key, count in by.items())
        out.append(f"  {name:20} {sum(b.n for b in batches):>7,}   {parts}")
    return out


def _manifest_lines(manifest: dict[str, Any], out: Path) -> list[str]:
    """Counts and yields of a campaign."""
    said = [f"{manifest['domain']}: self-consistency data ({manifest['generator']}), seed {manifest['seed']}, in {out}"]
    for name, part in manifest["partitions"].items():
        missing = f"   {part['short']:,} could not be written" if part["short"] else ""
        said.append(f"  {name:20} {part['n']:>7,}   {', '.join(part['profiles'])}{missing}")
    said += ["", "Drafts that passed, by mode (unsafe) and writer profile"]
    for axis in ("mode", "profile"):
        for level, found in manifest["yields"][axis].items():
            one = library.Estimate.from_json(found)
            said.append(f"  {level:20} {one}   n={one.n:,}")
    if manifest["rejected"]:
        said += ["", "Rejected, by reason", *(f"  {reason:24} {count:,}"
                                              for reason, count in manifest["rejected"].items())]
    return said


def _validation_lines(record: dict[str, Any]) -> list[str]:
    """How many records there are and fail, and a table of the reasons."""
    total, kinds = record["n"], sorted(record["kinds"].items())
    rows = [(count, kind, reason) for kind, of in record["reasons"].items() for reason, count in of.items()]
    return [f"{total:,} record{'' if total == 1 else 's'} ({', '.join(f'{n:,} {kind}' for kind, n in kinds)}): "
            f"{record['failed']:,} fail",
            *(f"  {kind:12} {printable(reason):28} {count:,}"
              for count, kind, reason in sorted(rows, key=lambda row: (-row[0], row[1:])))]
