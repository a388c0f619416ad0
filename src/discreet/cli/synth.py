"""`discreet synth`: plan, write and validate safe, unsafe and borderline records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import discreet
from discreet.cli import library as lib
from discreet.cli.options import DOMAINS, flag, group, names_of, one_of, option
from discreet.cli.output import Output, end
from discreet.core.errors import UsageError
from discreet.core.files import dump_json, progress, write_atomic
from discreet.core.numbers import printable

DEFAULT_N = 2_000
COLUMNS = ("id", "kind", "domain", "question", "answer", "profile", "lineage", "register", "subtype", "opening",
           "framing", "placement", "mode", "qi", "slots", "forbidden", "generator")
REQUIRED = ("id", "kind", "domain", "answer")


@group("Campaign")
class Campaign:
    """What is written, and how much of it; None is the default, so that a plan can say which was given."""

    domain: Annotated[str | None, option("D", "What to write about: " + DOMAINS)] = None
    n: Annotated[int | None, option(
        "N", f"Records in each partition; {DEFAULT_N:,} where neither --n nor --scale is given.", min=1)] = None
    scale: Annotated[float | None, option("S", "Records as in the paper's Table III, times S.")] = None
    roles: Annotated[str | None, option(
        "R", "strict (the default: no writer profile writes for training and for evaluation) or paper (its overlap: "
        "borderline records by profiles that write unsafe ones).")] = None
    generator: Annotated[str | None, option("G", "Who writes; 'grammar' by default, which needs no network.")] = None
    seed: Annotated[int | None, option("N", "Seed of random draws; 42 by default.", min=0)] = None

    def plan(self) -> lib.plan.Plan:
        """The plan that the options ask for."""
        if self.domain is None:
            raise UsageError("there is no domain to write for; expected --domain: " + DOMAINS)
        one_of(**{"--n": self.n, "--scale": self.scale})
        sizes = (lib.plan.equal_sizes(self.n or DEFAULT_N) if self.scale is None
                 else lib.plan.paper_sizes(self.domain, self.scale))
        (roles,) = names_of("--roles", self.roles or "strict", lib.plan.ROLES)
        return lib.plan.make_plan(self.domain, sizes, 42 if self.seed is None else self.seed,
                                 generator=self.generator or "grammar", roles=lib.plan.ROLES[roles])


def plan(
    *, campaign: Campaign,
    out: Annotated[Path | None, option("F", "Write the plan as JSON, for run --plan.")] = None,
    output: Output,
) -> None:
    """Plan a campaign: how many records of which partition, writer profile and mode, with all marginals."""
    made = campaign.plan()
    if out is not None:
        write_atomic(out, dump_json(made.to_json(), indent=2) + "\n")
    output.say(made.to_json(), lambda: "\n".join(_plan_lines(made)))


def run(
    *,
    out: Annotated[Path, option("DIR", "Folder for the partitions; the same command resumes one that was begun.")],
    plan: Annotated[Path | None, option("F", "A plan from synth plan; without it, the options of a campaign.")] = None,
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
    made = campaign.plan() if plan is None else lib.plan.Plan.load(plan)
    manifest = lib.campaign.run_campaign(
        made, out, watch=lambda jobs: progress(jobs, len(jobs), quiet=output.quiet, label="shards written"))
    output.say(manifest, lambda: "\n".join(_manifest_lines(manifest, out)))
    end("fail" if manifest["short"] else "pass")


def validate(
    *,
    source: Annotated[Path, option(
        "F", "JSON Lines with id, kind, domain and answer, and with qi where a leak is claimed.", "--input")],
    domain: Annotated[str, option("D", "What the records are about: " + DOMAINS)],
    min_words: Annotated[int, option("N", "Fewest words of an answer.", min=1)] = 60,
    max_words: Annotated[int, option("N", "Most words of an answer.", min=1)] = 180,
    failures: Annotated[Path | None, option(
        "F", "Write the ids of records that fail, with the reasons, as JSON Lines.", "--output")] = None,
    report_only: Annotated[bool, flag("Exit with 0 whatever fails.")] = False,
    output: Output,
) -> None:
    """Validate records: direct identifiers, requested classes, forbidden words, attributes nobody asked for.

    Where a record has no slots, the requested classes are looked for in its text. Exits with 1 if any record fails,
    unless --report-only. No text is printed.
    """
    check = lib.validate.Validator(domain, words=(min_words, max_words))
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
    result = {"kind": "synth validate", "schema": 1, "domain": check.domain.name, "n": sum(kinds.values()),
               "failed": len(failed), "kinds": dict(kinds), "reasons": found}
    output.say(result, lambda: "\n".join(_validation_lines(result)))
    end("fail" if failed and not report_only else "pass")


def _records(source: Path) -> Iterator[lib.records.Record]:
    def read(place: lib.rows.Place, row: Mapping[str, Any]) -> lib.records.Record:
        try:
            return lib.records.Record.from_json(row)
        except ValueError as error:
            place.fail(f"{error}; expected a record of synth run")

    rows = lib.rows.iter_rows(source, COLUMNS, REQUIRED)
    return (record for _, record in lib.rows.unique(rows, read, lambda record: record.id))


def _plan_lines(made: lib.plan.Plan) -> list[str]:
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
            one = discreet.Estimate.from_json(found)
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
