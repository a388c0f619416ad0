"""The label audit as a whole: attacks on canaries and on held-out canaries, their tests, controls, verdict, record."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np

from discreet.audit.core.verdict import Audit, Word, check_at_least, overall, provenance
from discreet.audit.labels.attacker_view import LabelAttack, all_attacks
from discreet.audit.labels.bounds import ALPHA, bounds_of
from discreet.audit.labels.conformance import conformance_of, refuse_broken
from discreet.audit.labels.judged import judge_model, over_all, planted_canaries, with_control
from discreet.audit.labels.memorisation import utility_of
from discreet.audit.labels.null import REDRAWS, Assignment
from discreet.audit.labels.rows import LabelRow, evaluation_sets
from discreet.audit.labels.verdict import ModelAudit
from discreet.audit.scores.check import check_canary_labels
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import CANARY, UNKNOWN, ScoreTable
from discreet.core.calls import check_facts, check_flags, checked_call
from discreet.core.errors import UsageError, shown
from discreet.core.records import Estimate, plain
from discreet.inputs.columns import Frame

ASSIGNMENTS: tuple[Assignment, ...] = get_args(Assignment)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelAudit(Audit):
    """A label audit of all targets of a table, in its order.

    Attributes
    ----------
    verdict : "pass", "fail" or "inconclusive"
        "fail" if any target fails, else "inconclusive" if any is, else "pass".
    """

    kind: ClassVar[str] = "audit labels"

    verdict: Word
    models: tuple[ModelAudit, ...]
    provenance: Mapping[str, Any]

    @property
    def decisive(self) -> ModelAudit:
        """Of the targets with the audit's own verdict the one whose attacks come nearest to a finding."""
        return min((one for one in self.models if one.judgement.verdict == self.verdict), key=lambda one: min(
            (row.nearness for row in one.judged.deciding), default=(1.0, 1.0, 0.0)))

    @property
    def attacks(self) -> tuple[LabelRow, ...]:
        """All rows of all targets."""
        return tuple(row for one in self.models for row in one.rows)

    def to_json(self) -> dict[str, Any]:
        """Plain values. `reasons`, `claims` and `utility` are of the decisive target; `targets` has all."""
        targets = [one.to_json() for one in self.models]
        decisive = targets[self.models.index(self.decisive)]
        return {"verdict": self.verdict, "decisive": decisive["target"], "reasons": decisive["reasons"],
                "reason_codes": decisive["reason_codes"], "claims": decisive["claims"], "attacks": plain(self.attacks),
                "utility": decisive["utility"], "conformance": [one["conformance"] for one in targets],
                "targets": targets, "provenance": dict(self.provenance)}


@checked_call
def audit_labels(scores: ScoreTable | Path | str | Frame, *, seed: int = 0, assignment: Assignment = "uniform",
                 attacks: Sequence[LabelAttack] | None = None, tune: bool = True,
                 drawn_here: bool = False, facts: Mapping[str, Any] | None = None) -> LabelAudit:
    """Do a model's outputs give away the labels that it was trained on? Every target of a table is judged.

    Parameters
    ----------
    scores : ScoreTable, path or data frame
        As `discreet.load_scores` reads one.
    seed : int >= 0
    assignment : "uniform", "balanced" or "unknown"
        How canary labels were drawn: independent and uniform, or balanced; they are drawn again alike. Where it is not
        known, each attack is compared with held-out canaries. Only "uniform" labels prove a bound on ε.
    attacks : sequence of LabelAttack, optional
        All variants of all registered attacks if None.
    tune : bool
        Also try each attack with α, β or its threshold chosen on half of the canaries, judged on the other half.
    drawn_here : bool
        Whether this package drew the labels and trained the models itself.
    facts : mapping, optional
        Further provenance for the record (hashes, file names).

    Returns
    -------
    LabelAudit

    Raises
    ------
    InputError
        A table that cannot be audited; a target without canaries that were not planted; canary labels that were not
        drawn; a mechanism that is broken on purpose.
    UsageError
        An option outside its range.
    """
    check_options(seed, assignment)
    check_flags(tune=tune, drawn_here=drawn_here)
    check_facts(facts or {}, "facts")
    if attacks is not None:
        _check_attacks(attacks)
    table = scores if isinstance(scores, ScoreTable) else load_scores(scores, kind="labels")
    refuse_broken(table)
    check_canary_labels(table, "table")
    chosen = all_attacks(table.n_classes) if attacks is None else tuple(attacks)
    sets = {target: evaluation_sets(table, target) for target in table.targets}
    judged = []
    for target, own in sets.items():
        # One generator a model: a figure does not move when another model is left out.
        rng, model = np.random.default_rng((seed, target, 0)), table.models[target]
        found = judge_model(model, own, chosen, rng, tune=tune, assignment=assignment)
        judged.append(with_control(found, model, own, rng, assignment))
    models = []
    for (target, own), found in zip(sets.items(), over_all(judged), strict=True):
        canary, rng = table.canaries.role[target] == CANARY, np.random.default_rng((seed, target, 1))
        models.append(ModelAudit(
            table.models[target], own, found, planted_canaries(table, target, chosen, rng, assignment),
            conformance_of(table, target), utility_of(table, target),
            _joint_bound(found.rows, bounded=assignment == "uniform"), len(table.label_references(target)),
            int(canary.sum()), int((table.canaries.trained[target, canary] == UNKNOWN).sum()), drawn_here))
    options = {"seed": seed, "assignment": assignment, "redraws": REDRAWS,
               "comparisons": sum(len(one.deciding) for one in judged)}
    by_role = {role: len(table.of_role(role)) for role in ("target", "reference")}
    return LabelAudit(overall(one.judgement.verdict for one in models), tuple(models), {
        **provenance(table, **options), "models": by_role, **(facts or {})})


def check_options(seed: int, assignment: str) -> None:
    """UsageError for an option of `audit_labels` outside its range."""
    check_at_least("seed", seed)
    if assignment not in ASSIGNMENTS:
        raise UsageError(f"assignment is {shown(assignment)}: expected one of {', '.join(ASSIGNMENTS)}")


def _check_attacks(attacks: Any) -> None:
    if not isinstance(attacks, Collection) or not attacks or not all(isinstance(one, LabelAttack) for one in attacks):
        raise UsageError(f"attacks is {shown(attacks)}; expected one or more LabelAttack, as all_attacks returns, or "
                         "None for all of them")


def _joint_bound(rows: Sequence[LabelRow], *, bounded: bool) -> Estimate:
    """The best ladder bound of all attacks that see outputs, each at α over their number: at 95% whichever is best."""
    honest = [row for row in rows if row.access == "outputs" and row.target == "canary" and row.success.resolved]
    if not honest:
        return Estimate.unresolved("no attack on outputs alone made a guess", unit="canary")
    found = [bounds_of("outputs", "canary", row.tried.guesses, row.tried.canary, row.tried.n_classes, vetoed=row.vetoed,
                       bounded=bounded, alpha=ALPHA / len(honest)).ladder for row in honest]
    best = max(found, key=lambda one: -1.0 if one.value is None else one.value)
    if not best.resolved:
        return Estimate.unresolved(found[0].reason or "no bound", unit="canary")
    return replace(best, level=1.0 - ALPHA, method=f"{best.method}, Bonferroni over {len(honest)} attacks")
