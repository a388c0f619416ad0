"""Family-wise p values for the rows of a report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from discreet.audit.core.max_t import Question, max_t
from discreet.audit.membership.evaluation_sets import NonMembers
from discreet.audit.membership.plan import Lens, Plan
from discreet.audit.membership.protocol import Units
from discreet.audit.membership.rows import AttackRow
from discreet.core.records import Estimate
from discreet.core.types import IntArray

FAMILIES: tuple[tuple[str, bool, NonMembers], ...] = (
    ("honest rows", False, "clean"), ("rows with paired references", True, "clean"),
    ("rows of the paper's protocol", True, "reference_train"),
)
"""Families of their own, so that the paper's large figures do not cost the honest rows power."""


def with_permutations(
    rows: list[AttackRow], plans: list[Plan], label: IntArray, lens: Lens, units: Units, rng: Generator, *,
    permutations: int,
) -> list[AttackRow]:
    """The rows with family-wise p values and null bands; unresolved rows stay as they are."""
    result = list(rows)
    for name, oracle, nonmembers in FAMILIES:
        places = [place for place, row in enumerate(rows) if row.auc.resolved
                  and row.asked.oracle == oracle and row.asked.nonmembers == nonmembers]
        if not places:
            continue
        member = np.full(label.size, -1, dtype=np.int8)
        for place in places:
            member[plans[place].pool] = plans[place].member[plans[place].pool]
        family = max_t([row_question(plans[place]) for place in places], member, label, lens.selector_p, rng,
                       permutations=permutations, groups=units.group, lot=lens.lot)
        bands = np.quantile(family.null, [0.025, 0.975], axis=0)
        for at, place in enumerate(places):
            p = Estimate(float(family.p[at]), None, None, n=permutations, unit="permutation",
                         method=f"max-T over {len(places)} {name}")
            result[place] = replace(rows[place], null_p=p, null_band=(float(bands[0, at]), float(bands[1, at])))
    return result


def row_question(plan: Plan) -> Question:
    """What the permutation must ask again for a row that has scores."""
    assert plan.scored.target is not None
    if plan.asked.selection != "boundary":
        return Question(plan.scored.target, plan.rows)
    return Question(plan.scored.target, plan.pool, plan.asked.n)
