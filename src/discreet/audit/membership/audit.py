"""The membership audit as a whole: design, sides, scores, rows, controls, permutation, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.core.base_rate import ppv_estimate
from discreet.audit.core.power import detectable_estimate
from discreet.audit.core.verdict import Grounds, Word, judge
from discreet.audit.membership.blind import blind_auc
from discreet.audit.membership.claims import Brought, can_claim, cannot_claim
from discreet.audit.membership.controls import group_level, planted_leaks, side_by_side
from discreet.audit.membership.curves import row_curve
from discreet.audit.membership.endpoints import PRIMARY, is_paper, is_primary, primary_scored
from discreet.audit.membership.evaluation_sets import Sides, sides_of
from discreet.audit.membership.one_run import one_run_bound
from discreet.audit.membership.plan import Lens, Plan, plan_rows
from discreet.audit.membership.protocol import Units, auc_of, estimate_rows, placebo_tpr_of
from discreet.audit.membership.result import MembershipAudit, TargetAudit
from discreet.audit.membership.scored import score_all
from discreet.audit.membership.significance import with_permutations
from discreet.audit.membership.utility import utility_of
from discreet.core.design import Design, known_design
from discreet.core.errors import InputError, UsageError
from discreet.core.records import Estimate
from discreet.scores.table import ScoreTable

PPV_FPR = 0.05


@dataclass(frozen=True, slots=True)
class _Setting:
    design: Design
    tolerance: float
    base_rate: float
    texts: Mapping[str, str] | None
    permutations: int
    bootstraps: int
    seed: int
    attacks: Sequence[str] | None
    level: float


def audit_membership(
    table: ScoreTable, *, design: str = "convenience", tolerance_auc: float = 0.55, base_rate: float = 0.01,
    texts: Mapping[str, str] | None = None, permutations: int = 999, bootstraps: int = 1000, seed: int = 0,
    attacks: Sequence[str] | None = None, provenance: Mapping[str, Any] | None = None,
) -> MembershipAudit:
    """Audit every target of a score table for membership leakage.

    Parameters
    ----------
    table : ScoreTable
        At least one target with members and non-members.
    design : "sealed", "randomised", "matched" or "convenience"
        How members came to be members; only the first two can pass or fail. "sealed" is for a table that
        `discreet.audit.sealed.under_seal` returned; "sealed (as stated)" for one that somebody says was sealed.
    tolerance_auc : float in (0.5, 1)
        What AUC of the primary endpoint is acceptable.
    base_rate : float in (0, 1)
        Share of members among the people that an attacker would ask about, for the PPV.
    texts : mapping of str to str, optional
        Text of each example id, for the blind baseline; never kept.
    permutations : int >= 0
        Of membership, for family-wise p values; 0 leaves them out.
    bootstraps : int >= 1
        Resamples for differences of operating points.
    seed : int >= 0
    attacks : sequence of str, optional
        Names of the attacks to run, besides those that the primary endpoint may be of; all registered ones if None.
    provenance : mapping, optional
        Further facts for the report (hashes, file names).

    Raises
    ------
    InputError
        No target, a target without members or non-members, a placebo trained on members, groups on both sides.
    UsageError
        An option outside its range.
    """
    check_options(tolerance_auc, base_rate, permutations, bootstraps, seed)
    targets = table.of_role("target")
    if not targets:
        raise InputError("the table has no target: expected model_role 'target' on the model to audit")
    # Whoever picks the attacks does not pick the one that decides.
    names = None if attacks is None else list(dict.fromkeys([*attacks, *(name for name, _, _ in PRIMARY)]))
    setting = _Setting(known_design(design), tolerance_auc, base_rate, texts, permutations, bootstraps, seed, names,
                       1.0 - 0.05 / len(targets))
    found = tuple(_audit_target(table, target, setting) for target in targets)
    words = {one.judgement.verdict for one in found}
    verdict: Word = "fail" if "fail" in words else "inconclusive" if "inconclusive" in words else "pass"
    return MembershipAudit(verdict, setting.design, found, {**_facts(table, setting), **(provenance or {})})


def _audit_target(table: ScoreTable, target: int, setting: _Setting) -> TargetAudit:
    # One generator a task: a figure does not move when another is left out.
    draws = [np.random.default_rng((setting.seed, target, task)) for task in range(6)]
    units = Units.of(table)
    sides = sides_of(table, target, draws[0])
    _check_groups(sides, units)
    scored = score_all(table, sides, seed=setting.seed, names=setting.attacks)
    chosen = primary_scored(scored)
    lens = Lens.of(table, sides, draws[5])
    plans = plan_rows(table, sides, lens, scored, lambda one: one.attack == "reference" or one is chosen)
    rows = estimate_rows(plans, units, draws[1], n_resamples=setting.bootstraps)
    if setting.permutations:
        rows = with_permutations(rows, plans, table.examples.label, lens, units, draws[2],
                                 permutations=setting.permutations)
    places = [place for place, plan in enumerate(plans) if chosen is not None and is_primary(plan, chosen)]
    primary = rows[places[0]] if places else None
    bound = auc_of(plans[places[0]], units, setting.level) if places else Estimate.unresolved(
        "neither a reference ratio nor a loss could be computed", unit=units.name)
    planted = () if chosen is None else tuple(planted_leaks(table, sides, chosen, bound, units))
    controls = {"blind_auc": blind_auc(table, sides, draws[3], texts=setting.texts, units=units)}
    if chosen is not None and primary is not None:
        controls |= {"placebo_auc": primary.placebo_auc, "detectable_auc": detectable_estimate(bound),
                     **_beside(plans[places[0]], sides, primary.tpr_at_5pct_fpr, units, setting, draws[4])}
    paper = next((row for row, plan in zip(rows, plans, strict=True) if is_paper(plan)), None)
    judgement = judge(Grounds(setting.design, setting.tolerance, primary, bound, paper, planted,
                              controls["blind_auc"], sides.notes))
    brought = Brought.of(table, sides, setting.design, texts=setting.texts is not None)
    drawn = [row_curve(plan) for plan in plans if plan.asked.whole and plan.asked.selection == "global"]
    return TargetAudit(
        table.models[target].name, judgement, primary, tuple(rows), planted, controls,
        utility_of(table, sides, units), can_claim(brought), cannot_claim(brought),
        tuple(one for one in drawn if one is not None),
    )


def _beside(
    plan: Plan, sides: Sides, tpr: Estimate, units: Units, setting: _Setting, rng: np.random.Generator
) -> dict[str, Estimate]:
    """What a leak means, by the scores of the primary endpoint, each figure beside the same one of the placebo."""
    found: dict[str, Estimate] = {}
    tprs = (tpr, placebo_tpr_of(plan, units, PPV_FPR))
    for prefix, scored, at_5pct in zip(("", "placebo_"), side_by_side(plan.scored), tprs, strict=True):
        found |= {
            f"{prefix}group_auc": group_level(scored, sides, units),
            f"{prefix}ppv": ppv_estimate(at_5pct, PPV_FPR, setting.base_rate),
            # Equal draws: both are guessed on the same units.
            f"{prefix}epsilon_lower": one_run_bound(scored, sides, setting.design, units, deepcopy(rng)),
        }
    return found


def _check_groups(sides: Sides, units: Units) -> None:
    if units.group is None:
        return
    others = np.concatenate([sides.reference_train, *sides.clean.values()])
    split = np.intersect1d(units.group[sides.members], units.group[others])
    if split.size:
        raise InputError(f"{split.size} groups have records on both sides: expected whole groups to be members or "
                         "not; leave the records of one side out")


def check_options(tolerance: float, base_rate: float, permutations: int, bootstraps: int, seed: int) -> None:
    """UsageError for an option of `audit_membership` outside its range."""
    if not 0.5 < tolerance < 1.0:
        raise UsageError(f"tolerance AUC is {tolerance}: expected a number between 0.5 and 1, such as 0.55")
    if not 0.0 < base_rate < 1.0:
        raise UsageError(f"base rate is {base_rate}: expected a share between 0 and 1, such as 0.01")
    for name, value, least in (("permutations", permutations, 0), ("bootstraps", bootstraps, 1), ("seed", seed, 0)):
        if value < least:
            raise UsageError(f"{name} is {value}: expected a whole number of at least {least}")


def _facts(table: ScoreTable, setting: _Setting) -> dict[str, Any]:
    roles: dict[str, int] = {}
    for model in table.models:
        roles[model.role] = roles.get(model.role, 0) + 1
    return {
        "tolerance_auc": setting.tolerance, "base_rate": setting.base_rate, "permutations": setting.permutations,
        "bootstraps": setting.bootstraps, "seed": setting.seed, "models": roles, "examples": len(table.examples),
        "classes": table.n_classes, "queries": int(table.logits.shape[2]), "scores_given_as": table.given_as,
        "numpy": np.__version__,
    }
