"""The label audit as a whole: attacks on canaries beside placebos, controls, Holm, verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.audit.labels.judge_bounds import ALPHA, bounds_of
from discreet.audit.labels.judge_claims import can_claim, cannot_claim
from discreet.audit.labels.judge_facts import conformance_of, exposure_of, histogram_of, refuse_broken, utility_of
from discreet.audit.labels.judge_planted import planted_of
from discreet.audit.labels.judge_result import LabelAudit, ModelAudit
from discreet.audit.labels.judge_rows import Judged, Sides, judge_model, sides_of
from discreet.audit.labels.judge_verdict import Grounds, judge, overall
from discreet.audit.labels.memorisation import mean_memorisation
from discreet.audit.labels.null import Redraw
from discreet.audit.labels.view import LabelAttack, all_attacks
from discreet.core.errors import UsageError
from discreet.core.records import Estimate
from discreet.scores.check import check_canary_labels
from discreet.scores.table import CANARY, UNKNOWN, ScoreTable
from discreet.stats.testing import holm

LAWS: Mapping[str, Redraw] = {"uniform": "permute", "exact_half": "shift"}


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """One target with its rows, before Holm."""

    target: int
    sides: Sides
    judged: list[Judged]


def audit_labels(
    table: ScoreTable, *, permutations: int = 999, seed: int = 0, law: str = "uniform",
    attacks: Sequence[LabelAttack] | None = None, tune: bool = True, drawn_here: bool = False,
    provenance: Mapping[str, Any] | None = None,
) -> LabelAudit:
    """Judge every target of a table of label scores.

    Parameters
    ----------
    table : ScoreTable
        As `load_scores` reads one, or `simulated_labels` draws one.
    permutations : int >= 0
        Draws of the labels for each null p value; 0 leaves them out. The verdict does not rest on them.
    seed : int >= 0
    law : "uniform" or "exact_half"
        How secrets were drawn. With "exact_half" labels are drawn again by shifts, and no bound on ε is given.
    attacks : sequence of LabelAttack, optional
        All variants of all registered attacks if None.
    tune : bool
        Also try each attack with α, β or its threshold chosen on half of the canaries, judged on the other half.
    drawn_here : bool
        Whether this package drew the labels and trained the models, so that nobody's word has to be taken for it.
    provenance : mapping, optional
        Further facts for the report (hashes, file names).

    Raises
    ------
    InputError
        A target without canaries that were not planted; secrets that were not drawn; a mechanism that is broken on
        purpose.
    UsageError
        An option outside its range.
    """
    check_options(permutations, seed, law)
    refuse_broken(table)
    check_canary_labels(table, "table")
    chosen = all_attacks(table.n_classes) if attacks is None else tuple(attacks)
    tried = []
    for target in table.targets:
        sides = sides_of(table, target)
        # One generator a model: a figure does not move when another model is left out.
        rng = np.random.default_rng((seed, target, 0))
        tried.append(_Tried(target, sides, judge_model(table.models[target], sides, chosen, rng, tune=tune,
                                                       permutations=permutations, redraw=LAWS[law])))
    judged = _after_holm([one.judged for one in tried])
    family = sum(one.row.decides for rows in judged for one in rows)
    models = tuple(_audited(table, replace(one, judged=rows), chosen, family, seed, law, drawn_here)
                   for one, rows in zip(tried, judged, strict=True))
    facts = {"permutations": permutations, "seed": seed, "law": law, "classes": table.n_classes,
             "examples": len(table.examples), "models": _roles(table), "comparisons": family, "numpy": np.__version__}
    return LabelAudit(overall([one.judgement.verdict for one in models]), models, {**facts, **(provenance or {})})


def check_options(permutations: int, seed: int, law: str) -> None:
    """UsageError for an option of `audit_labels` outside its range."""
    for name, value in (("permutations", permutations), ("seed", seed)):
        if value < 0:
            raise UsageError(f"{name} is {value}: expected a whole number of at least 0")
    if law not in LAWS:
        raise UsageError(f"law is {law[:20]!r}: expected one of {', '.join(LAWS)}")


def _after_holm(models: Sequence[Sequence[Judged]]) -> list[list[Judged]]:
    """Holm over the deciding rows of all models, vetoed ones among them: placebos do not choose the family."""
    p = [one.row.difference_p for rows in models for one in rows
         if one.row.decides and one.row.difference_p is not None]
    adjusted: Iterator[float] = iter(holm(p) if p else [])
    return [[replace(one, row=replace(one.row, holm_p=float(next(adjusted)))) if one.row.decides else one
             for one in rows] for rows in models]


def _audited(table: ScoreTable, tried: _Tried, attacks: Sequence[LabelAttack], family: int, seed: int, law: str,
             drawn_here: bool) -> ModelAudit:
    target, sides = tried.target, tried.sides
    rows = tuple(one.row for one in tried.judged)
    planted = planted_of(table, target, attacks, np.random.default_rng((seed, target, 1)))
    conformance = conformance_of(table, target)
    bound = _joint_bound(tried.judged, law)
    canary = table.canaries.role[target] == CANARY
    unknown = int((table.canaries.trained[target, canary] == UNKNOWN).sum())
    judgement = judge(Grounds(rows, family, planted, conformance, bound, _notes(sides), int(canary.sum()), unknown))
    return ModelAudit(
        table.models[target], judgement, rows, planted, conformance, utility_of(table, target), bound,
        exposure_of(sides), mean_memorisation(sides), histogram_of(sides),
        can_claim(table, target, sides, bool(planted)),
        cannot_claim(table, target, sides, bool(planted), drawn_here=drawn_here))


def _joint_bound(judged: Sequence[Judged], law: str) -> Estimate:
    """The best ladder bound of all attacks that see outputs, each at α over their number: at 95% whichever is best."""
    honest = [one for one in judged if one.row.access == "outputs" and one.row.target == "secret"
              and one.row.success.resolved]
    if not honest:
        return Estimate.unresolved("no attack on outputs alone made a guess", unit="canary")
    alpha = ALPHA / len(honest)
    found = [bounds_of("outputs", "secret", one.guesses, one.trial, vetoed=one.row.vetoed,
                       bounded=law == "uniform", alpha=alpha).ladder for one in honest]
    resolved = [one for one in found if one.value is not None]
    if not resolved:
        return Estimate.unresolved(found[0].reason or "no bound", unit="canary")
    best = max(resolved, key=lambda one: one.value or 0.0)
    return replace(best, level=1.0 - ALPHA, method=f"{best.method}, Bonferroni over {len(honest)} attacks")


def _notes(sides: Sides) -> list[str]:
    said = []
    if sides.left_out:
        kept = len(sides.canary) + (0 if sides.placebo is None else len(sides.placebo))
        said.append(f"Groups share one draw of their label, so that one row of each is judged: {kept:,} of "
                    f"{kept + sides.left_out:,} canaries and placebos.")
    if "trained" not in sides.truths:
        said.append("The labels that were trained on are not in the table; only the secret is asked for.")
    return said


def _roles(table: ScoreTable) -> dict[str, int]:
    return {role: sum(model.role == role for model in table.models) for role in ("target", "reference")}

