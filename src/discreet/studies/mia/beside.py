"""What the paper asks of a world and its audit does not say: records off the boundary, and users as units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.audit.core.resampling import Units
from discreet.audit.membership.audit import primary_scores
from discreet.audit.membership.controls import group_level, same_examples
from discreet.audit.membership.estimates import estimate_rows, score_all
from discreet.audit.membership.evaluation_sets import EvaluationSets, evaluation_sets
from discreet.audit.membership.rows import JudgedRow, Scores, judged_rows
from discreet.audit.membership.selection import BOUNDARY_N, Selector
from discreet.core.records import Estimate
from discreet.data.texts import read_texts
from discreet.engine import Job, Task
from discreet.experiments.membership import MembershipExperiment, score_table
from discreet.experiments.runner import LIBRARIES

NON_BOUNDARY = "non-boundary"
RESAMPLES = 100


def beside_task(experiment: MembershipExperiment) -> Task:
    """The figures of a world's tasks that no audit has; see `beside`."""
    return Task.of(beside, "beside", inputs=experiment.tasks(), files={"data": experiment.data}, seed=experiment.seed,
                   libraries=(*LIBRARIES, "discreet.audit", "discreet.stats", "discreet.experiments.membership",
                               "scipy"))


def beside(job: Job) -> dict[str, Any]:
    """`{"attacks": rows, "users": [{target, group_auc, placebo_auc}]}`, the rows as an audit's, with the selection
    "non-boundary": the reference attack on the records that the boundary of the audit of the same seed leaves out."""
    table = score_table(job.inputs, read_texts(job.files["data"]))
    units, rng = Units.of(table), job.rng()
    attacks, users = [], []
    for target in table.of_role("target"):
        # The generators of the audit, whose boundary is meant.
        sets = evaluation_sets(table, target, np.random.default_rng((job.seed, target, 0)))
        selector = Selector.of(table, sets, np.random.default_rng((job.seed, target, 5)))
        scores = score_all(table, sets, seed=job.seed, names=["reference"])
        judged = [off_boundary(one) for one in judged_rows(table, sets, selector, scores, lambda one: False)
                  if one.spec.selection == "boundary" and one.spec.n == BOUNDARY_N]
        attacks += [row.to_json() | {"selection": NON_BOUNDARY}
                    for row in estimate_rows(judged, units, rng, n_resamples=RESAMPLES)]
        users.append({"target": table.models[target].name, **_users(scores, sets, units)})
    return {"attacks": attacks, "users": users}


def off_boundary(judged: JudgedRow) -> JudgedRow:
    """The records of a boundary's pool that are not in it."""
    return judged if judged.reason is not None else replace(judged, rows=np.setdiff1d(judged.pool, judged.rows))


def _users(scores: list[Scores], sets: EvaluationSets, units: Units) -> dict[str, Any]:
    chosen = primary_scores(scores)
    if chosen is None:
        nothing = Estimate.unresolved("no reference ratio could be computed", unit="group").to_json()
        return {"group_auc": nothing, "placebo_auc": nothing}
    target, placebo = (group_level(one, sets, units).to_json() for one in (chosen, same_examples(chosen)[1]))
    return {"group_auc": target, "placebo_auc": placebo}
