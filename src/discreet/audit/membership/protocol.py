"""From planned rows to figures: intervals by closed form where one holds, by paired bootstrap where none does."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from numpy.random import Generator

from discreet.audit.core.resampling import joint_tpr
from discreet.audit.membership.plan import Plan
from discreet.audit.membership.rows import AttackRow
from discreet.audit.membership.selection import BOUNDARY_N
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import ScoreTable
from discreet.stats import auroc_estimate, delong_test, percentile_interval, tpr_at_fpr_estimate

FPRS: Mapping[str, float] = {"tpr_at_1pct_fpr": 0.01, "tpr_at_5pct_fpr": 0.05}

NO_PLACEBO = ("there is no placebo, a model that is stated to be trained on neither side (model_role 'placebo', "
              "'member' false): what stands alone is uncontrolled")


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is counted and resampled: examples, or the groups that they belong to.

    `users` is whether the groups are users or documents, and not near-duplicate texts.
    """

    group: IntArray | None
    users: bool = True

    @classmethod
    def of(cls, table: ScoreTable) -> Units:
        """Of a table."""
        return cls(table.examples.group, table.examples.has_users)

    @property
    def name(self) -> str:
        """For `Estimate.unit`."""
        return "example" if self.group is None else "group"

    def at(self, rows: IntArray) -> IntArray | None:
        """Group codes of `rows`."""
        return None if self.group is None else self.group[rows]


def estimate_rows(plans: list[Plan], units: Units, rng: Generator, *, n_resamples: int = 1000) -> list[AttackRow]:
    """A row with all figures but the permutation p for each plan, in order."""
    # Sorting releases the interpreter's lock; nothing here draws, so the order of work cannot matter.
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda plan: _row(plan, units), plans))
    for places in _same_rows(plans).values():
        spread = _tpr_differences([plans[place] for place in places], units, rng, n_resamples)
        for place, found in zip(places, spread, strict=True):
            rows[place] = _with(rows[place], found)
    return rows


def auc_of(plan: Plan, units: Units, level: float) -> Estimate:
    """The AUC of a plan that has scores, at another level than its row."""
    assert plan.scored.target is not None
    truth = plan.member[plan.rows] == 1
    return auroc_estimate(plan.scored.target[plan.rows], truth, level=level, unit=units.name,
                          groups=units.at(plan.rows))


def placebo_tpr_of(plan: Plan, units: Units, fpr: float) -> Estimate:
    """The placebo's TPR at `fpr` on the rows of a plan that has scores; unresolved without a placebo."""
    if plan.scored.placebo is None:
        return Estimate.unresolved(NO_PLACEBO, unit=units.name)
    return tpr_at_fpr_estimate(plan.scored.placebo[plan.rows], plan.member[plan.rows] == 1, fpr, unit=units.name,
                               groups=units.at(plan.rows))


def _row(plan: Plan, units: Units) -> AttackRow:
    asked, rows = plan.asked, plan.rows
    truth = plan.member[rows] == 1
    n_members, n_nonmembers = int(truth.sum()), int((~truth).sum())
    if plan.reason is not None or plan.scored.target is None:
        nothing = Estimate.unresolved(plan.reason or "no scores", unit=units.name)
        return AttackRow(asked, n_members, n_nonmembers, nothing, nothing, nothing, nothing, {"auc": nothing}, nothing)
    groups, scores = units.at(rows), plan.scored.target[rows]
    low, high = (tpr_at_fpr_estimate(scores, truth, fpr, unit=units.name, groups=groups) for fpr in FPRS.values())
    auc = auroc_estimate(scores, truth, unit=units.name, groups=groups)
    if plan.scored.placebo is None:
        nothing = Estimate.unresolved(NO_PLACEBO, unit=units.name)
        return AttackRow(asked, n_members, n_nonmembers, auc, low, high, nothing, {"auc": nothing})
    beside = plan.scored.placebo[rows]
    placebo = auroc_estimate(beside, truth, unit=units.name, groups=groups)
    difference = _auc_difference(scores, beside, truth, groups, auc, placebo)
    return AttackRow(asked, n_members, n_nonmembers, auc, low, high, placebo, {"auc": difference})


def _auc_difference(
    scores: FloatArray, beside: FloatArray, truth: BoolArray, groups: IntArray | None, auc: Estimate,
    placebo: Estimate,
) -> Estimate:
    facts: dict[str, Any] = {"n": auc.n, "n_pos": auc.n_pos, "n_neg": auc.n_neg, "unit": auc.unit}
    if not auc.resolved or not placebo.resolved:
        return Estimate.unresolved(auc.reason or placebo.reason or "", **facts)
    try:
        test = delong_test(scores, beside, truth, groups=groups)
    except ValueError:
        return Estimate.unresolved("both AUCs are without spread: more examples are needed", **facts)
    return Estimate(test.difference, test.low, test.high, method="paired DeLong", **facts)


def _same_rows(plans: list[Plan]) -> dict[bytes, list[int]]:
    """Plans that can share resamples: the very same examples on the very same sides, a placebo beside them.

    Strata and the other points of the curve over n have no differences of operating points.
    """
    found: dict[bytes, list[int]] = {}
    for place, plan in enumerate(plans):
        if plan.asked.whole and plan.asked.n in (None, BOUNDARY_N) and plan.scored.placebo is not None:
            key = plan.rows.tobytes() + plan.member[plan.rows].tobytes()
            found.setdefault(key, []).append(place)
    return found


def _tpr_differences(
    plans: list[Plan], units: Units, rng: Generator, n_resamples: int
) -> list[dict[str, Estimate]]:
    rows, truth = plans[0].rows, plans[0].member[plans[0].rows] == 1
    groups = units.at(rows)
    wanted = {name: fpr for name, fpr in FPRS.items() if truth.any() and fpr * int((~truth).sum()) >= 1.0}
    if not wanted:
        return [{} for _ in plans]
    scores = [found[rows] for plan in plans for found in (plan.scored.target, plan.scored.placebo)
              if found is not None]
    points, draws = joint_tpr(scores, truth, list(wanted.values()), rng, n_resamples=n_resamples, groups=groups)
    result = []
    for place in range(len(plans)):
        a, b, found = 2 * place, 2 * place + 1, {}
        for at, name in enumerate(wanted):
            low, high = percentile_interval(draws[a, at] - draws[b, at])
            value = float(points[a, at] - points[b, at])
            found[name] = Estimate(
                value, min(low, value), max(high, value), n=rows.size, n_pos=int(truth.sum()),
                n_neg=int((~truth).sum()), unit=units.name,
                method=f"paired percentile bootstrap, {n_resamples} resamples",
            )
        result.append(found)
    return result


def _with(row: AttackRow, found: dict[str, Estimate]) -> AttackRow:
    return replace(row, difference={**row.difference, **found})
