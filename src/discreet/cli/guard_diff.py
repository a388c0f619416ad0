"""`discreet guard diff`: what another guard, or policy, would decide on recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import discreet
from discreet.cli import library as lib
from discreet.cli.options import argument, option
from discreet.cli.output import Output, provenance
from discreet.core.files import atomic_writer, dump_json, progress

GUARD = "a fitted guard's folder, a policy file, or the name of a domain; with @POINT at another operating point"


def diff(
    old: Annotated[str, argument("OLD", f"The guard that decided: {GUARD}.")],
    new: Annotated[str, argument("NEW", "The guard to compare it with, in the same way.")],
    log: Annotated[Path, argument("LOG", "Recorded answers as for check; with a column 'at', a time, drift by week.")],
    *,
    audience: Annotated[str | None, option("A", "Whom the answers are for, as both policies name them.")] = None,
    changed: Annotated[Path | None, option(
        "F", "Write the answers that are decided otherwise as JSON Lines: id, decisions and scores, no text.",
        "--output")] = None,
    output: Output,
) -> None:
    """Judge recorded answers by two guards, and count what the new one decides otherwise, by action and layer.

    Where the log has times, the scores of each week are compared with those of the weeks before.
    """
    before, after = _guard(old, audience), _guard(new, audience)
    rows = lib.diff.read_log(log)
    told = progress(rows, len(rows), quiet=output.quiet, label="answers judged")
    decided = list(lib.diff.decide(before, after, told))
    if changed is not None:
        with atomic_writer(changed) as table:
            for one in decided:
                if lib.diff.decision(one.old) != lib.diff.decision(one.new):
                    table.write(dump_json(one) + "\n")
    output.show({"kind": "guard diff", "schema": 1, "old": f"{before.policy.label()} at {before.point}",
                 "new": f"{after.policy.label()} at {after.point}", **lib.diff.compare(decided).to_json(),
                 "provenance": provenance(log)}, when_quiet="summary")


def _guard(given: str, audience: str | None) -> discreet.Guard:
    name, at, point = given.rpartition("@")
    name, chosen = (name, point) if at else (given, None)
    path = Path(name)
    if (path / lib.detector.MANIFEST).is_file():
        return discreet.Guard.load(path, audience=audience, point=chosen)
    if path.is_file():
        return discreet.Guard(discreet.Policy.load(path, audience), point=chosen)
    return discreet.Guard(discreet.Policy.of(name, audience), point=chosen)
