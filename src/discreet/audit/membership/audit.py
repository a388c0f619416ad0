"""The membership audit as a whole: design, evaluation sets, scores, rows, controls, permutation, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet.audit.core.power import detectable_estimate, ppv_estimate
from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Audit, Claims, Judgement, Word, check_at_least, overall, plain, provenance
from discreet.audit.membership.attack import Scale
from discreet.audit.membership.blind import blind_auc
from discreet.audit.membership.controls import (
    PlantedLeak,
    group_level,
    learned,
    one_run_bound,
    planted_leaks,
    same_examples,
    utility_of,
)
from discreet.audit.membership.estimates import auc_of, estimate_rows, placebo_tpr_of, score_all, with_permutations
from discreet.audit.membership.evaluation_sets import EvaluationSets, evaluation_sets
from discreet.audit.membership.rows import JudgedRow, Row, Scores, judged_rows
from discreet.audit.membership.selection import Selector
from discreet.audit.membership.verdict import AuditInputs, VerdictInputs, claims_of, judge
from discreet.core.design import Design, known_design
from discreet.core.errors import InputError, UsageError
from discreet.core.records import Estimate
from discreet.scores.load import load_scores
from discreet.scores.table import ReferenceKind, ScoreTable

PPV_FPR = 0.05

PRIMARY: tuple[tuple[str, Scale, ReferenceKind | None], ...] = (
    ("reference", "logit", "neutral"), ("reference", "logit", "population"), ("loss", "logit", None),
    ("loss", "p", None),
)
"""The primary endpoint: the first of these that the table allows, global, against non-members that no model trained on.
"""


@dataclass(frozen=True, slots=True, eq=False)
class TargetAudit:
    """What was found about one target.

    Attributes
    ----------
    judgement : Judgement
    primary : Row or None
    attacks : tuple of Row
    planted : tuple of PlantedLeak
    controls : mapping of str to Estimate
        `blind_auc`, `detectable_auc`, and of the primary endpoint `placebo_auc`, `group_auc`, `ppv`, `epsilon_lower`
        and the same of the control model: `placebo_group_auc`, `placebo_ppv`, `placebo_epsilon_lower`.
    utility : mapping
        See `discreet.audit.membership.controls.utility_of`.
    claims : Claims
    curves : tuple of mapping
        ROC curves of the rows without stratum.
    """

    target: str
    judgement: Judgement
    primary: Row | None
    attacks: tuple[Row, ...]
    planted: tuple[PlantedLeak, ...]
    controls: Mapping[str, Estimate]
    utility: Mapping[str, Any]
    claims: Claims
    curves: tuple[Mapping[str, Any], ...]

    @property
    def verdict(self) -> Word:
        """"pass", "fail" or "inconclusive"."""
        return self.judgement.verdict

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the rows."""
        return {
            "target": self.target, **self.judgement.to_json(), "claims": self.claims.to_json(),
            "primary": None if self.primary is None else self.primary.to_json(),
            "controls": plain({**self.controls, "planted": self.planted}),
            "utility": plain(self.utility), "curves": [dict(one) for one in self.curves],
        }


@dataclass(frozen=True, slots=True, eq=False)
class MembershipAudit(Audit):
    """A membership audit of all targets of a table.

    Attributes
    ----------
    verdict : "pass", "fail" or "inconclusive"
        "fail" if any target fails, else "inconclusive" if any is, else "pass".
    design : Design
    targets : tuple of TargetAudit
        In the order of the table.
    provenance : mapping
        Parameters, versions and the size of the table.
    """

    kind: ClassVar[str] = "audit membership"

    verdict: Word
    design: Design
    targets: tuple[TargetAudit, ...]
    provenance: Mapping[str, Any]

    @property
    def decisive(self) -> TargetAudit:
        """The first target with the audit's own verdict."""
        return next(one for one in self.targets if one.verdict == self.verdict)

    @property
    def attacks(self) -> tuple[Row, ...]:
        """All rows of all targets."""
        return tuple(row for one in self.targets for row in one.attacks)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values. `primary`, `controls`, `utility`, `reasons` and `claims` are of the decisive
        target; `targets` has them for each."""
        decisive = self.decisive.to_json()
        return {
            "verdict": self.verdict, "design": self.design,
            **{name: decisive[name] for name in ("reasons", "reason_codes", "claims", "primary")},
            "attacks": [row.to_json() for row in self.attacks],
            **{name: decisive[name] for name in ("controls", "utility")},
            "targets": [one.to_json() for one in self.targets], "provenance": dict(self.provenance),
        }


@dataclass(frozen=True, slots=True)
class _Options:
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
    scores: ScoreTable | Path | str | Any, *, design: str = "convenience", tolerance_auc: float = 0.55,
    base_rate: float = 0.01, texts: Mapping[str, str] | None = None, permutations: int = 999, bootstraps: int = 1000,
    seed: int = 0, attacks: Sequence[str] | None = None, provenance: Mapping[str, Any] | None = None,
) -> MembershipAudit:
    """Audit every target of a score table for membership leakage.

    Parameters
    ----------
    scores : ScoreTable, path or data frame
        At least one target with members and non-members. A path or frame is read by `discreet.scores.load_scores`.
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
        No target, a target without members or non-members, a control model trained on members, groups with members
        and non-members.
    UsageError
        An option outside its range.
    """
    check_options(tolerance_auc, base_rate, permutations, bootstraps, seed)
    table = scores if isinstance(scores, ScoreTable) else load_scores(scores)
    targets = table.of_role("target")
    if not targets:
        raise InputError("the table has no target: expected model_role 'target' on the model to audit")
    # The primary endpoint does not depend on which attacks the user picks.
    names = None if attacks is None else list(dict.fromkeys([*attacks, *(name for name, _, _ in PRIMARY)]))
    options = _Options(known_design(design), tolerance_auc, base_rate, texts, permutations, bootstraps, seed, names,
                       1.0 - 0.05 / len(targets))
    found = tuple(_audit_target(table, target, options) for target in targets)
    return MembershipAudit(overall(one.verdict for one in found), options.design, found,
                           {**_facts(table, options), **(provenance or {})})


def _audit_target(table: ScoreTable, target: int, options: _Options) -> TargetAudit:
    # One generator a task: a figure does not move when another is left out.
    draws = [np.random.default_rng((options.seed, target, task)) for task in range(6)]
    units, sets = Units.of(table), evaluation_sets(table, target, draws[0])
    _check_groups(sets, units)
    scores = score_all(table, sets, seed=options.seed, names=options.attacks)
    chosen = primary_scores(scores)
    selector = Selector.of(table, sets, draws[5])
    judged = judged_rows(table, sets, selector, scores, lambda one: one.attack == "reference" or one is chosen)
    rows = estimate_rows(judged, units, draws[1], n_resamples=options.bootstraps)
    if options.permutations:
        rows = with_permutations(rows, judged, selector, units, draws[2], permutations=options.permutations)
    place = next((place for place, one in enumerate(judged) if chosen is not None and one.scores is chosen
                  and one.spec.selection == "global" and one.spec.whole and one.spec.nonmembers == "clean"), None)
    primary = None if place is None else rows[place]
    bound = Estimate.unresolved("neither a reference ratio nor a loss could be computed", unit=units.name
                                ) if place is None else auc_of(judged[place], units, options.level)
    planted = () if chosen is None else tuple(planted_leaks(table, sets, chosen, bound, units))
    controls = {"blind_auc": blind_auc(table, sets, draws[3], texts=options.texts, units=units)}
    if place is not None and primary is not None:
        controls |= {"placebo_auc": primary.placebo_auc, "detectable_auc": detectable_estimate(bound),
                     **_meaning(judged[place], sets, primary.tpr_at_5pct_fpr, units, options, draws[4])}
    utility = utility_of(table, sets, units)
    judgement = judge(VerdictInputs(
        options.design, options.tolerance, primary, bound, next((row for row in rows if row.spec.is_paper), None),
        planted, controls["blind_auc"], learned(table, sets, utility), sets.notes))
    inputs = AuditInputs.of(table, sets, options.design, texts=options.texts is not None)
    drawn = [one.roc() for one in judged if one.spec.whole and one.spec.selection == "global"]
    return TargetAudit(
        table.models[target].name, judgement, primary, tuple(rows), planted, controls, utility, claims_of(inputs),
        tuple(one for one in drawn if one is not None),
    )


def primary_scores(scores: Sequence[Scores]) -> Scores | None:
    """The scores of the primary endpoint, or None where neither a ratio nor a loss could be computed."""
    return next((one for asked in PRIMARY for one in scores
                 if (one.attack, one.scale, one.kind) == asked and one.target is not None), None)


def _meaning(
    judged: JudgedRow, sets: EvaluationSets, tpr: Estimate, units: Units, options: _Options, rng: np.random.Generator
) -> dict[str, Estimate]:
    """What a leak means, by the scores of the primary endpoint, each figure with the same one of the control model."""
    found: dict[str, Estimate] = {}
    tprs = (tpr, placebo_tpr_of(judged, units, PPV_FPR))
    for prefix, scores, at_5pct in zip(("", "placebo_"), same_examples(judged.scores), tprs, strict=True):
        found |= {
            f"{prefix}group_auc": group_level(scores, sets, units),
            f"{prefix}ppv": ppv_estimate(at_5pct, PPV_FPR, options.base_rate),
            # Equal draws: both are guessed on the same units.
            f"{prefix}epsilon_lower": one_run_bound(scores, sets, options.design, units, deepcopy(rng)),
        }
    return found


def _check_groups(sets: EvaluationSets, units: Units) -> None:
    if units.group is None:
        return
    others = np.concatenate([sets.reference_train, *sets.clean.values()])
    split = np.intersect1d(units.group[sets.members], units.group[others])
    if split.size:
        raise InputError(f"{split.size} groups have members and non-members: expected whole groups to be one or the "
                         "other; leave the records of one set out")


def check_options(tolerance: float, base_rate: float, permutations: int, bootstraps: int, seed: int) -> None:
    """UsageError for an option of `audit_membership` outside its range."""
    if not 0.5 < tolerance < 1.0:
        raise UsageError(f"tolerance AUC is {tolerance}: expected a number between 0.5 and 1, such as 0.55")
    if not 0.0 < base_rate < 1.0:
        raise UsageError(f"base rate is {base_rate}: expected a share between 0 and 1, such as 0.01")
    for name, value, least in (("permutations", permutations, 0), ("bootstraps", bootstraps, 1), ("seed", seed, 0)):
        check_at_least(name, value, least)


def _facts(table: ScoreTable, options: _Options) -> dict[str, Any]:
    return provenance(
        table, tolerance_auc=options.tolerance, base_rate=options.base_rate, permutations=options.permutations,
        bootstraps=options.bootstraps, seed=options.seed, queries=int(table.logits.shape[2]),
        scores_given_as=table.given_as)
