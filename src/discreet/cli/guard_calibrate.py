"""`discreet guard calibrate`: what each operating point costs on one's own labelled answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import common, pages
from discreet.cli.guard_check import Audience, PolicyFile
from discreet.cli.guard_evaluate import Labelled
from discreet.cli.guard_fit import FalseFlag, Miss, Prevalence, Review, costs_of, writable
from discreet.core.errors import InputError

if TYPE_CHECKING:
    pass

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
    from discreet.core.files import KeyedHash, progress
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
    record = {"kind": "guard calibrate", "schema": 1, "decides": found.detector.decides, **result.to_json(),
              "provenance": {**source, "policy": found.policy.label(), "seed": seed}}
    pages.show(record, as_json=as_json, quiet=quiet, whole=True)
