"""`discreet audit membership plan` and `compare`: before an audit, and after two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import discreet
from discreet.cli import library as lib
from discreet.cli.options import AllowSplitGroups, Seed, argument, numbers_of, option
from discreet.cli.output import Output, end, provenance
from discreet.core.errors import InputError

SCORED = "a table of scores, or the folder that --out of audit membership scores, model or train wrote"


def plan(
    tolerance_auc: Annotated[float, option("A", "What AUC is acceptable over all records.")] = 0.55,
    tolerance_part: Annotated[float, option("A", "What AUC is acceptable in a part.")] = 0.65,
    shares: Annotated[str, option(
        "S,S,…", "Share of each part (class, category, …) among the records; parts may overlap.")] = "0.5,0.5",
    leak: Annotated[float, option(
        "A", "The AUC of a leak in one part alone that must fail, as endlessly many references see it.")] = 0.75,
    references: Annotated[int, option("K", "Reference models, trained on random halves.")] = 8,
    power: Annotated[float, option(
        "P", "Chance that a model without any leak passes, and that the leak fails.")] = 0.8,
    minutes: Annotated[float | None, option("M", "What training one model takes, for the minutes in all.")] = None,
    *, output: Output,
) -> None:
    """Plan an audit: records, references, planted records and minutes."""
    found = lib.membership_plan.plan_membership(
        tolerance_auc=tolerance_auc, tolerance_part=tolerance_part, leak=leak, references=references, power=power,
        minutes=minutes, shares=numbers_of("--shares", shares, float, most=1.0, positive=True, once=False))
    output.show({"kind": "plan membership", "schema": 1, **found})


def compare(
    old: Annotated[Path, argument("OLD", f"The first: scores of the old model; {SCORED}.")],
    new: Annotated[Path, argument("NEW", "The second: scores of the new model on the same records, in the same way.")],
    *, allow_split_groups: AllowSplitGroups = False, seed: Seed = 42, output: Output,
) -> None:
    """Compare the leaks of two models on the same records, old first: more, less, or not told apart.

    The other order gives the same figures with the sign turned. Exits with 1 where the new model leaks more in some
    part, else with 0 where it leaks less in some part, else with 3.
    """
    for path in (old, new):
        if retrainings := sorted(file.parent for file in path.glob("seed-*/scores.parquet")):
            raise InputError(f"the folder {path} holds several retrainings; expected one of them, such as "
                             f"{retrainings[0]}")
    tables = [discreet.load_scores(path, kind="membership", allow_split_groups=allow_split_groups).without_split_groups(
        )[0] for path in (old, new)]
    done = lib.compare.compare_membership(*tables, seed=seed, provenance=provenance(old, new, finished=True))
    output.show(done.record)
    end(done.verdict)
