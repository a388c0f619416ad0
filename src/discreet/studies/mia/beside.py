"""What the paper asks of a world and its audit does not say: records off the boundary, and users as units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.audit.membership.controls import group_level
from discreet.audit.membership.endpoints import primary_scored
from discreet.audit.membership.evaluation_sets import Sides, sides_of
from discreet.audit.membership.plan import Lens, Plan, plan_rows
from discreet.audit.membership.protocol import NO_PLACEBO, Units, estimate_rows
from discreet.audit.membership.scored import Scored, score_all
from discreet.audit.membership.selection import BOUNDARY_N
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
        sides = sides_of(table, target, np.random.default_rng((job.seed, target, 0)))
        lens = Lens.of(table, sides, np.random.default_rng((job.seed, target, 5)))
        scored = score_all(table, sides, seed=job.seed, names=["reference"])
        plans = [off_boundary(plan) for plan in plan_rows(table, sides, lens, scored, lambda one: False)
                 if plan.asked.selection == "boundary" and plan.asked.n == BOUNDARY_N]
        attacks += [row.to_json() | {"selection": NON_BOUNDARY}
                    for row in estimate_rows(plans, units, rng, n_resamples=RESAMPLES)]
        users.append({"target": table.models[target].name, **_users(scored, sides, units)})
    return {"attacks": attacks, "users": users}


def off_boundary(plan: Plan) -> Plan:
    """The records of a boundary's pool that are not in it."""
    return plan if plan.reason is not None else replace(plan, rows=np.setdiff1d(plan.pool, plan.rows))


def _users(scored: list[Scored], sides: Sides, units: Units) -> dict[str, Any]:
    chosen = primary_scored(scored)
    if chosen is None:
        nothing = Estimate.unresolved("no reference ratio could be computed", unit="group").to_json()
        return {"group_auc": nothing, "placebo_auc": nothing}
    placebo = Estimate.unresolved(NO_PLACEBO, unit="group") if chosen.placebo is None else group_level(
        replace(chosen, target=chosen.placebo), sides, units)
    return {"group_auc": group_level(chosen, sides, units).to_json(), "placebo_auc": placebo.to_json()}
