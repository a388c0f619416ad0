"""`discreet guard calibrate`: what each operating point costs on one's own labelled answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common
from discreet.cli.guard_check import Audience, PolicyFile
from discreet.cli.guard_evaluate import Labelled
from discreet.cli.guard_fit import FalseFlag, Miss, Prevalence, Review, costs_of, writable
from discreet.core.errors import InputError

if TYPE_CHECKING:
    from discreet.core.records import Estimate
    from discreet.guard.calibrate import Calibration

Fitted = Annotated[Path, typer.Option("--guard", metavar="DIR", help="A guard that 'discreet guard fit' made.")]
Copy = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write a copy of the guard with the refitted "
                                                                        "thresholds to this folder.")]


def calibrate(
    context: typer.Context, *, guard: Fitted, labelled: Labelled, audience: Audience = None, policy: PolicyFile = None,
    cost_miss: Miss = None, cost_false_flag: FalseFlag = None, cost_review: Review = 0.0,
    prevalence: Prevalence = None, out: Copy = None, as_json: common.Json = False, config: common.Config = None,
    seed: common.Seed = 42, quiet: common.Quiet = False, show_text: common.ShowText = False,
) -> None:
    """Print leak recall, false flags and review load at each operating point, on your own labelled answers.

    Thresholds refitted to the sample are printed beside, with prices from folds that they were not fitted on; --out
    writes them into a copy of the guard.
    """
    from discreet.core.files import KeyedHash, dump_json, progress
    from discreet.data.answers import read_labelled
    from discreet.guard.calibrate import calibrate as run_calibration
    from discreet.guard.calibrate import with_points
    from discreet.guard.guard import Guard
    from discreet.guard.policy import Policy

    if out is not None:
        writable(out)
    costs = costs_of(cost_miss, cost_false_flag, cost_review, prevalence)
    rows = read_labelled(labelled)
    chosen = None if policy is None else Policy.load(policy, audience)
    found = Guard.load(guard, policy=chosen, audience=audience)
    told = progress(rows, len(rows), quiet=quiet, label="answers judged")
    result = run_calibration(found, told, costs=costs, seed=seed)
    hashes = KeyedHash.from_environment()
    source = {"input": labelled.name, "data_hash": hashes.of_file(labelled), "hash_key": hashes.scope}
    if out is not None:
        if not result.refitted:
            raise InputError(f"{labelled}: {result.note}; nothing was written to {out}")
        note = {**source, "counts": dict(result.counts), "costs": None if costs is None else costs.to_json()}
        with_points(found, result.refitted, note).save(out)
    if as_json:
        record = {"kind": "guard calibrate", "schema": 1, "decides": found.detector.decides, **result.to_json(),
                  "provenance": {**source, "policy": found.policy.label(), "seed": seed}}
        sys.stdout.write(dump_json(record) + "\n")
    else:
        print("\n".join(lines(result, found.detector.decides)))


_WORDS = {"leak_recall": "leaks flagged", "leaks_held": "leaks flagged or reviewed", "false_flags": "false flags",
          "review_load": "answers to review", "expected_cost": "cost per answer"}


def lines(result: Calibration, decides: str) -> list[str]:
    """The prices in words and aligned figures."""
    counts = result.counts
    found = [f"{counts['leaks']:,} answers leak, {counts['harmless']:,} do not; the evidence rules flag "
             f"{counts['flagged_by_evidence']:,}, {decides} decides on {counts['decided_by_delta']:,}", ""]
    found += _block("as fitted", result.points, result.prices)
    if result.refitted:
        found += ["", *_block("refitted to these answers (prices from other folds)", result.refitted,
                              result.refitted_prices)]
    return found if result.note is None else [*found, "", result.note]


def _block(title: str, points: Mapping[str, float], prices: Mapping[str, dict[str, Estimate]]) -> list[str]:
    found = [title]
    for name, tau in points.items():
        found.append(f"  {name} (τ = {tau:.4g})")
        for word, value in prices.get(name, _nothing()).items():
            found.append(f"    {_WORDS[word]:26} {value}" + (f"   n={value.n}" if value.n is not None else ""))
    return found


def _nothing() -> dict[str, Any]:
    return {}
