"""`discreet synth validate`: are records what they say they are?"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common
from discreet.core.names import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.synth.records import Record

COLUMNS = ("id", "kind", "domain", "question", "answer", "profile", "lineage", "register", "subtype", "opening",
           "framing", "placement", "mode", "qi", "slots", "forbidden", "generator")
REQUIRED = ("id", "kind", "domain", "answer")

Source = Annotated[Path, typer.Option(
    "--input", metavar="F", help="Records as JSON Lines with id, kind, domain and answer, and with qi where a leak is "
                                 "claimed.")]
Domain = Annotated[str, typer.Option("--domain", metavar="D", help="What the records are about: " + common.DOMAINS)]
Fewest = Annotated[int, typer.Option("--min-words", metavar="N", min=1, help="Fewest words of an answer.")]
Most = Annotated[int, typer.Option("--max-words", metavar="N", min=1, help="Most words of an answer.")]
Output = Annotated[Path | None, typer.Option(
    "--output", metavar="F", help="Write the ids of records that fail, with the reasons, as JSON Lines.")]
ReportOnly = Annotated[bool, typer.Option("--report-only", help="Exit with 0 whatever fails.")]


def validate(
    context: typer.Context, *, source: Source, domain: Domain, min_words: Fewest = 60, max_words: Most = 180,
    output: Output = None, report_only: ReportOnly = False, as_json: common.Json = False,
    config: common.Config = None, quiet: common.Quiet = False,
) -> None:
    """Validate records: direct identifiers, requested classes, forbidden words, attributes nobody asked for.

    Where a record has no slots, the requested classes are looked for in its text. Exits with 1 if any record fails,
    unless --report-only. No text is printed.
    """
    from discreet.core.files import dump_json, progress, write_atomic
    from discreet.synth.validate import Validator

    check = Validator(domain, words=(min_words, max_words))
    failed: list[dict[str, Any]] = []
    reasons: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()
    for record in progress(_records(source), quiet=quiet, label="records validated"):
        kinds[record.spec.kind] += 1
        why = check(record)
        reasons.update((record.spec.kind, reason) for reason in why)
        if why:
            failed.append({"id": record.id, "kind": record.spec.kind, "reasons": list(why)})
    if output is not None:
        write_atomic(output, "".join(dump_json(row) + "\n" for row in failed))
    if as_json:
        sys.stdout.write(dump_json(_result(check.domain.name, kinds, failed, reasons)) + "\n")
    elif not quiet:
        print("\n".join(lines(kinds, failed, reasons)))
    if failed and not report_only:
        raise typer.Exit(1)


def _records(source: Path) -> Iterator[Record]:
    from discreet.data.rows import iter_rows
    from discreet.synth.records import Record

    seen: set[str] = set()
    for place, row in iter_rows(source, COLUMNS, REQUIRED):
        try:
            record = Record.from_json(row)
        except ValueError as error:
            place.fail(f"{error}; expected a record of synth run")
        if record.id in seen:
            place.fail("the id of an earlier record; expected each id once")
        seen.add(record.id)
        yield record


def _result(domain: str, kinds: Counter[str], failed: list[dict[str, Any]],
            reasons: Counter[tuple[str, str]]) -> dict[str, Any]:
    by_kind: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
    for (kind, reason), count in sorted(reasons.items()):
        by_kind[kind][reason] = count
    return {"kind": "synth validate", "schema": 1, "domain": domain, "n": sum(kinds.values()), "failed": len(failed),
            "kinds": dict(kinds), "reasons": by_kind}


def lines(kinds: Counter[str], failed: list[dict[str, Any]], reasons: Counter[tuple[str, str]]) -> list[str]:
    """How many records there are and fail, and a table of the reasons."""
    total = sum(kinds.values())
    said = [f"{total:,} record{'' if total == 1 else 's'} ({', '.join(f'{n:,} {k}' for k, n in sorted(kinds.items()))})"
            f": {len(failed):,} fail"]
    for (kind, reason), count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        said.append(f"  {kind:12} {printable(reason):28} {count:,}")
    return said
