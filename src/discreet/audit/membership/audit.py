"""The membership audit as a whole: design, evaluation sets, scores, rows, controls, permutation, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from discreet.audit.core.power import detectable_estimate
from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Audit, Claims, ControlState, Judgement, Part, Word, overall
from discreet.audit.core.verdict import provenance as table_facts
from discreet.audit.membership.attack import PRIMARY, attack_facts, attacks_left_out, primary_scores, score_all
from discreet.audit.membership.attackers import BASE_RATES, Gain, Named, gains, named_members
from discreet.audit.membership.controls import (
    PlantedLeak,
    blind_auc,
    group_level,
    one_run_bound,
    planted_leaks,
    same_examples,
)
from discreet.audit.membership.evaluation_sets import EvaluationSets, Selector, evaluation_sets
from discreet.audit.membership.facts import Guarantee, TreeStructure, guarantee_of, learned, utility_of
from discreet.audit.membership.options import check_brought, check_options, check_parts
from discreet.audit.membership.parts import PartFinding, covered_parts, part_findings
from discreet.audit.membership.record_risk import RecordRisk, record_risk, write_records
from discreet.audit.membership.rows import JudgedRow, Row, estimate_rows, judged_rows, with_permutations
from discreet.audit.membership.verdict import VerdictInputs, claims_of, control_states, judge, strongest_rival
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import ScoreTable
from discreet.core.calls import checked_call, path_of
from discreet.core.design import Design, known_design
from discreet.core.errors import InputError
from discreet.core.records import Estimate, plain
from discreet.core.types import BoolArray, FloatArray

ROC_POINTS = 200


@dataclass(frozen=True, slots=True, eq=False)
class TargetAudit(Part):
    """What was found about one target.

    `controls` are `blind_auc`, `detectable_auc`, and of the primary endpoint `control_auc`, `group_auc`,
    `epsilon_lower` and the same of the control model: `control_group_auc`, `control_epsilon_lower`; `control_states`
    says what each control shows (`discreet.audit.membership.verdict.control_states`); `named` is what the
    strongest attack over all records names, `gains` what naming by the primary endpoint is worth at each base rate;
    `parts` is what the primary endpoint finds in each part of the data, all records first; `records` is the risk of
    each member, None without a primary endpoint; `utility` is that of
    `discreet.audit.membership.facts.utility_of`, `guarantee` is None for a model without one,
    `curves` are ROC curves of the global rows.
    """

    hidden: ClassVar[tuple[str, ...]] = ("judgement", "attacks", "planted", "guarantee")

    target: str
    judgement: Judgement
    primary: Row | None
    parts: tuple[PartFinding, ...]
    attacks: tuple[Row, ...]
    planted: tuple[PlantedLeak, ...]
    controls: Mapping[str, Estimate]
    control_states: Mapping[str, ControlState]
    named: tuple[Named, ...]
    gains: tuple[Gain, ...]
    records: RecordRisk | None
    utility: Mapping[str, Any]
    claims: Claims
    guarantee: Guarantee | None
    curves: tuple[Mapping[str, Any], ...]

    @property
    def verdict(self) -> Word:
        """"pass", "fail" or "inconclusive"."""
        return self.judgement.verdict

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the rows."""
        return {**self.judgement.to_json(), **Part.to_json(self),
                "controls": plain({**self.controls, "planted": self.planted}),
                **({} if self.guarantee is None else {"guarantee": self.guarantee.to_json()})}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MembershipAudit(Audit):
    """A membership audit of all targets of a table, in its order; `verdict` is "fail" if any target fails, else
    "inconclusive" if any is, else "pass". `structure` is that of trees in memory, and has no part in the verdict."""

    kind: ClassVar[str] = "audit membership"

    verdict: Word
    design: Design
    targets: tuple[TargetAudit, ...]
    provenance: Mapping[str, Any]
    structure: TreeStructure | None = None

    @property
    def decisive(self) -> TargetAudit:
        """The first target with the audit's own verdict."""
        return next(one for one in self.targets if one.verdict == self.verdict)

    @property
    def attacks(self) -> tuple[Row, ...]:
        """All rows of all targets."""
        return tuple(row for one in self.targets for row in one.attacks)

    def to_json(self) -> dict[str, Any]:
        """Plain values. What is of a target is that of the decisive one; `targets` has it for each."""
        decisive = self.decisive.to_json()
        return {"verdict": self.verdict, "decisive": decisive["target"], "design": self.design, **{
                    name: decisive[name] for name in ("reasons", "reason_codes", "claims", "primary", "parts",
                                                      "controls", "control_states", "named", "gains", "records",
                                                      "utility")},
                **({"guarantee": decisive["guarantee"]} if "guarantee" in decisive else {}),
                "attacks": plain(self.attacks), "attack_facts": attack_facts(row.spec.attack for row in self.attacks),
                "targets": plain(self.targets),
                **({} if self.structure is None else {"structure": self.structure.to_json()}),
                "provenance": dict(self.provenance)}

    @checked_call
    def write_records(self, path: Path | str) -> None:
        """Write the risk of each member of each target to `path` as CSV; no text of a record."""
        write_records(path_of(path, "path"), (
            (one.target, one.records) for one in self.targets if one.records is not None))

    @checked_call
    def save(self, folder: Path | str) -> Path:
        """Write `result.json`, `records.csv` and `report.html` to `folder`, made where there is none, and return it.

        Without the extra "report" there is no page: `discreet report` makes it later.
        """
        folder = Audit.save(self, folder)
        self.write_records(folder / "records.csv")
        return folder


@checked_call
def audit_membership(scores: ScoreTable | Path | str | Any, *, design: str = "convenience", tolerance_auc: float = 0.55,
                     tolerance_part: float = 0.65, exclude_parts: Sequence[str] = (),
                     base_rates: Sequence[float] = BASE_RATES, texts: Mapping[str, str] | None = None,
                     features: Any = None, permutations: int = 999, bootstraps: int = 1000, seed: int = 0,
                     attacks: Sequence[str] | None = None, provenance: Mapping[str, Any] | None = None
                     ) -> MembershipAudit:
    """Audit every target of a score table for membership leakage.

    Parameters
    ----------
    scores : ScoreTable, path or data frame
        At least one target with members and non-members. `discreet.load_scores` reads a path or frame.
    design : "sealed", "randomised", "matched" or "convenience"
        How members came to be members; only the first two can pass or fail. "sealed" is for a table that
        `discreet.audit.sealed.under_seal` returned; "sealed (as stated)" for one that somebody says was sealed.
    tolerance_auc : float in (0.5, 1)
        What AUC of the primary endpoint is acceptable over all records.
    tolerance_part : float in (0.5, 1)
        What AUC is acceptable in a part: each class, each category and structure of the table, the least likely
        records.
    exclude_parts : sequence of str
        Parts that the verdict does not cover, such as "class 0", "category fraud" or "class" for every class. Choose
        them before scores are read: the headline names them.
    base_rates : sequence of float in (0, 1)
        Shares of members among the people that an attacker would ask about, for what naming them is worth.
    texts : mapping of str to str, optional
        Text of each example id, for the blind baseline; never kept.
    features : (N, d) array or sparse matrix, optional
        The inputs in the order of the table's examples, finite, for the blind baseline of records without texts.
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
    check_options(tolerance_auc=tolerance_auc, tolerance_part=tolerance_part, exclude_parts=exclude_parts,
                  base_rates=base_rates, permutations=permutations, bootstraps=bootstraps, seed=seed, attacks=attacks)
    table = scores if isinstance(scores, ScoreTable) else load_scores(scores, kind="membership")
    if table.drawn is not None:
        raise InputError("the table is that of a label audit, with canaries; expected one with 'member', or audit it "
                         "with audit_labels")
    check_brought(texts, features, provenance, len(table.examples))
    targets = table.of_role("target")
    if not targets:
        raise InputError("the table has no target: expected model_role 'target' on the model to audit")
    check_parts(table, exclude_parts)
    # The primary endpoint does not depend on which attacks the user picks.
    names = None if attacks is None else list(dict.fromkeys([*attacks, *(name for name, _, _ in PRIMARY)]))
    asked = _Asked(known_design(design), tolerance_auc, tolerance_part, tuple(exclude_parts), tuple(base_rates), texts,
                   features, permutations, bootstraps, seed, names, len(targets))
    found = tuple(_audit_target(table, target, asked) for target in targets)
    facts = {"tolerance_auc": tolerance_auc, "tolerance_part": tolerance_part, "base_rates": list(base_rates),
             "permutations": permutations, "bootstraps": bootstraps, "seed": seed,
             "queries": int(table.logits.shape[2]), "scores_given_as": table.given_as, **attacks_left_out(names)}
    return MembershipAudit(overall(one.verdict for one in found), asked.design, found,
                           {**table_facts(table, **facts), **(provenance or {})})


class _Asked(NamedTuple):
    design: Design
    tolerance: float
    tolerance_part: float
    exclude_parts: tuple[str, ...]
    base_rates: tuple[float, ...]
    texts: Mapping[str, str] | None
    features: Any
    permutations: int
    bootstraps: int
    seed: int
    attacks: Sequence[str] | None
    n_targets: int


def _audit_target(table: ScoreTable, target: int, asked: _Asked) -> TargetAudit:
    # One generator a task: a figure does not move when another is left out.
    draws = [np.random.default_rng((asked.seed, target, task)) for task in range(7)]
    units, sets = Units.of(table), evaluation_sets(table, target, draws[0])
    _check_groups(sets, units)
    scores = score_all(table, sets, seed=asked.seed, names=asked.attacks)
    chosen = primary_scores(scores)
    selector = Selector.of(table, sets, draws[5])
    judged = judged_rows(table, sets, selector, scores, lambda one: one.attack == "reference" or one is chosen)
    rows = estimate_rows(judged, units, draws[1], n_resamples=asked.bootstraps)
    if asked.permutations:
        rows = with_permutations(rows, judged, selector, units, draws[2], permutations=asked.permutations)
    whole = [one for one in judged if one.spec.whole]
    primary, own, records, guarantee = None, None, None, None
    planted, parts = tuple[PlantedLeak, ...](), tuple[PartFinding, ...]()
    bound = Estimate.unresolved("neither a reference ratio nor a loss could be computed", unit=units.name)
    controls = {"blind_auc": blind_auc(table, sets, draws[3], texts=asked.texts, features=asked.features,
                                       units=units)}
    if chosen is not None and chosen.target is not None:
        own = next(one for one in whole if one.scores is chosen and one.spec.nonmembers == "clean")
        primary = next(row for row in rows if row.spec is own.spec)
        bound = own.sample(units).auroc(level=1.0 - 0.05 / asked.n_targets)
        parts = part_findings(covered_parts(own, table, selector, asked.exclude_parts), units, asked.tolerance,
                              asked.tolerance_part, asked.n_targets)
        planted = tuple(planted_leaks(table, sets, chosen, bound, units))
        records = record_risk(own, [one for one in whole if one.spec.nonmembers == "clean"], table, units, asked.design,
                              controls["blind_auc"], asked.tolerance, asked.texts)
        controls |= {"control_auc": primary.control_auc, "detectable_auc": detectable_estimate(bound),
                     **_meaning(own, sets, units, asked, draws[4])}
        guarantee = guarantee_of(table, sets, chosen, asked.design, draws[6], 0.05 / asked.n_targets)
    named = named_members(whole, units)
    inputs = VerdictInputs(
        asked.design, asked.tolerance, primary, bound, parts, next((row for row in rows if row.spec.is_paper), None),
        planted, controls["blind_auc"], strongest_rival(rows, primary, asked.tolerance, asked.tolerance_part),
        learned(table, sets, units), sets.notes, guarantee)
    judgement = judge(inputs)
    states = control_states(
        inputs, judgement.verdict, detects="detectable_auc" in controls and controls["detectable_auc"].resolved,
        blind_reads="texts" if asked.texts is not None else "labels" if asked.features is None else "inputs",
        tested=any(row.null_p.resolved and not row.spec.oracle for row in rows))
    return TargetAudit(
        table.models[target].name, judgement, primary, parts, tuple(rows), planted, controls, states,
        named, () if own is None else gains(own, named, asked.base_rates, units), records,
        utility_of(table, sets, units),
        claims_of(table, sets, asked.design, texts=asked.texts is not None or asked.features is not None),
        guarantee,
        tuple(roc_of(one) for one in whole if one.scores.target is not None and 0 < one.truth.sum() < one.truth.size))


def _meaning(judged: JudgedRow, sets: EvaluationSets, units: Units, asked: _Asked, rng: np.random.Generator
             ) -> dict[str, Estimate]:
    """What a leak means, by the scores of the primary endpoint, each figure with the same one of the control model."""
    found = dict[str, Estimate]()
    for prefix, scores in zip(("", "control_"), same_examples(judged.scores), strict=True):
        found |= {
            f"{prefix}group_auc": group_level(scores, sets, units),
            # Equal draws: both are guessed on the same units.
            f"{prefix}epsilon_lower": one_run_bound(scores, sets, asked.design, units, deepcopy(rng)),
        }
    return found


def roc_of(judged: JudgedRow) -> dict[str, Any]:
    """ROC curves of target and control model, with what the row asks. Members and non-members must be there."""
    asked, names = judged.spec.to_json(), (
        "target", "attack", "scale", "reference_kind", "selection", "nonmembers", "oracle")
    curves = {name: None if one is None else thin_roc(one[judged.rows], judged.truth)
              for name, one in (("curve", judged.scores.target), ("control", judged.scores.control))}
    return {**{name: asked[name] for name in names}, **curves}


def thin_roc(scores: FloatArray, truth: BoolArray) -> dict[str, list[float]]:
    """`fpr` and `tpr`: the highest TPR at up to `ROC_POINTS` attainable FPRs, even in logs, from 0 to 1."""
    members, others = np.sort(scores[truth]), np.sort(scores[~truth])
    allowed = np.unique(np.concatenate([[0], np.geomspace(1, others.size, ROC_POINTS).round()])).astype(np.int64)
    # Named are the records above the highest of the others that is one too many.
    limit = np.append(others[::-1], -np.inf)[allowed]
    named = np.stack([one.size - np.searchsorted(one, limit, side="right") for one in (others, members)])
    fpr, tpr = np.unique(np.insert(named, 0, 0, axis=1), axis=1) / [[others.size], [members.size]]
    return {"fpr": fpr.tolist(), "tpr": tpr.tolist()}


def _check_groups(sets: EvaluationSets, units: Units) -> None:
    if units.group is None:
        return
    others = np.concatenate([sets.reference_train, *sets.clean.values()])
    split = np.intersect1d(units.group[sets.members], units.group[others])
    if split.size:
        raise InputError(f"{split.size} groups have members and non-members: expected whole groups to be one or the "
                         "other; leave the records of one set out")
