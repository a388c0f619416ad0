"""Pass, fail or inconclusive on membership, with reasons and claims; their sentences are in `sentences.json`.

The rule is fixed before scores are read. The primary endpoint is the global reference ratio on the logit scale, with
neutral or population references, and the global loss where there are none. *Fail*: its lower bound, corrected for the
number of targets, exceeds ½ and its point the tolerance. *Pass*: its upper bound is below the tolerance, a control
model (control) was attacked too, and the audit had the power to find a leak: planted records were detected, or, where
none were planted, the sample finds a leak of the size of the tolerance with power .8 and the model learned something.
Only designs in which a random draw decided membership can do either; a control that contradicts the design takes the
verdict away. A draw that the run made itself is known to be random, so texts that differ after it contradict nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.audit.core.power import PLANTED_AUC, POWER, inflation_of, power_of
from discreet.audit.core.verdict import Claims, Judgement, Reason, Sentences, least_detected
from discreet.audit.membership.controls import PlantedLeak
from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.audit.membership.rows import Row
from discreet.core.design import AS_STATED, ASSIGNED, ON_WHOSE_WORD, STATED, WORDS, Design, decides, off, reads_apart
from discreet.core.numbers import given, interval, number, percent, times
from discreet.core.records import Estimate
from discreet.scores.table import ScoreTable

SENTENCES = Sentences.read(__package__)
say = SENTENCES.of("verdict")
WHO = {"neutral": "neither set", "population": "random halves"}


@dataclass(frozen=True, slots=True)
class VerdictInputs:
    """What a verdict depends on: among others the row of the primary endpoint, its AUC (`bound`) at the level corrected
    for the number of targets, the paper's own figure, whether the target is right about its members more often than the
    most common label would be, and notes of what was left out, a sentence each."""

    design: Design
    tolerance: float
    primary: Row | None
    bound: Estimate
    paper: Row | None
    planted: Sequence[PlantedLeak]
    blind: Estimate
    learned: bool = True
    notes: Sequence[str] = ()


def judge(inputs: VerdictInputs) -> Judgement:
    """The verdict on one target."""
    primary, bound, tolerance = inputs.primary, inputs.bound, inputs.tolerance
    further = [*_about_paper(inputs.paper), *inputs.notes]
    if primary is None or bound.value is None or bound.low is None or bound.high is None:
        return Judgement("inconclusive", (say("no_primary", reason=bound.reason), *further))
    control, excess = primary.control_auc, primary.difference.get("auc")
    who = WHO.get(primary.spec.reference_kind or "")
    finding = say("finding", attack=primary.spec.attack, auc=interval(bound), tolerance=given(tolerance),
                  references=say("finding_references", who=who) if who else "",
                  control=say("finding_control", auc=interval(control)) if control.resolved else "")
    if not decides(inputs.design):
        blind = say("blind", auc=interval(inputs.blind)) if inputs.blind.resolved else say(
            "blind_unknown", reason=inputs.blind.reason)
        return Judgement("inconclusive", (say("design", design=WORDS[inputs.design]), finding, blind, *further))
    apart, broken = reads_apart(inputs.blind, tolerance), []
    if apart and inputs.design != ASSIGNED:
        broken.append(say("sets_differ", auc=interval(inputs.blind)))
    if off(control, tolerance):
        broken.append(say("control_off", auc=interval(control)))
    # A control model that is off counts for less where the target exceeds it by more than the whole tolerance.
    if broken and (apart or excess is None or excess.low is None or excess.low <= tolerance - 0.5):
        return Judgement("inconclusive", (*broken, finding, *further))
    if inputs.design in STATED:
        further.insert(0, Reason("stated", ON_WHOSE_WORD))
    if inputs.design == ASSIGNED and apart:
        further.insert(0, say("texts_differ_after_own_draw", auc=interval(inputs.blind)))
    if bound.low > 0.5 and bound.value > tolerance:
        if control.resolved and excess is not None and excess.low is not None and excess.low <= 0.0:
            return Judgement("inconclusive", (say("not_beyond_control"), finding, *further))
        said = [say("leak" if bound.low > tolerance else "leak_of_unclear_size"), finding]
        if primary.uncontrolled:
            said.append(say("fail_without_control"))
        elif off(control, tolerance):
            said.append(say("control_exceeded"))
        return Judgement("fail", (*said, *further))
    if not inputs.learned:
        further.insert(0, say("learned_nothing"))
    if bound.high < tolerance:
        missing, why = _missing_for_pass(inputs, primary)
        return Judgement("inconclusive", (*missing, finding, *further)) if missing else Judgement(
            "pass", (finding, why, *further))
    unclear = say("small_leak", auc=interval(bound), tolerance=given(tolerance)) if bound.low > 0.5 else say(
        "too_wide", low=number(bound.low), high=number(bound.high), tolerance=given(tolerance))
    return Judgement("inconclusive", (unclear, finding, *further))


def _missing_for_pass(inputs: VerdictInputs, primary: Row) -> tuple[list[Reason], Reason]:
    """What a pass lacks, and why a leak would have been found."""
    missing, planted, least, bound = list[Reason](), inputs.planted, least_detected(inputs.planted), inputs.bound
    if primary.uncontrolled:
        missing.append(say("no_control"))
    if planted and least is None:
        kinds = " or ".join(times(one.repetitions) for one in planted)
        missing.append(say("planted_too_few", times=kinds, most=max(one.auc.n_pos or 0 for one in planted),
                           shown=given(PLANTED_AUC)) if all(one.weak for one in planted) else
                       say("planted_not_detected", times=kinds))
    # The chance that the sample finds a leak of the size of the tolerance.
    members, others = bound.n_pos or 0, bound.n_neg or 0
    power = 0.0 if min(members, others) < 2 else power_of(inputs.tolerance, members, others, bound.level,
                                                         inflation_of(bound))
    if not planted and power < POWER:
        missing.append(say("low_power_here" if inputs.design == ASSIGNED else "low_power", power=percent(power, 0)))
    elif not planted and not inputs.learned:
        missing.append(say("nothing_learned"))
    return missing, say("power", power=percent(power, 0)) if least is None else say(
        "planted_detected", times=times(least.repetitions), auc=interval(least.auc))


def _about_paper(paper: Row | None) -> list[Reason]:
    """What the published protocol gives, on the model and on its control: no part of the verdict."""
    if paper is None or paper.auc.value is None or paper.auc.low is None or paper.auc.low <= 0.5:
        return []
    control = paper.control_auc.value
    return [say("paper", auc=number(paper.auc.value, 2),
                control="" if control is None else say("paper_control", auc=number(control, 2)))]


def claims_of(table: ScoreTable, sets: EvaluationSets, design: Design, *, texts: bool) -> Claims:
    """What may be claimed of one target, and what may not and what that would need; `texts`: whether there are any."""
    neutral, population, paired = (kind in sets.references for kind in ("neutral", "population", "paired"))
    honest, control, groups = neutral or population, sets.control is not None, table.examples.has_users
    planted, sealed = sets.planted.size > 0, decides(design) and design not in (*STATED, ASSIGNED)
    can = {
        "if_random": design in STATED, "epsilon_if_random": design in STATED, "own_draw": design == ASSIGNED,
        "sealed": sealed, "epsilon": sealed or design == ASSIGNED, "difference": not decides(design),
        "control": control, "references": honest, "planted": planted, "groups": groups}
    cannot = {
        "sealed": design == AS_STATED, "random": design in STATED and design != AS_STATED,
        "elsewhere": design == ASSIGNED, "verdict": not decides(design), "control": not control,
        "planted": not planted, "clean": not sets.clean[None].size, "paired_only": paired and not honest,
        "references": not paired and not honest, "boundary": not sets.selectors, "texts": not texts,
        "groups": not groups, "other_attacks": True}
    return Claims(*(tuple(SENTENCES.of(part)(code, design=WORDS[design]) for code, holds in claims.items() if holds)
                    for part, claims in (("can", can), ("cannot", cannot))))
