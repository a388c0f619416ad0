"""Pass, fail or inconclusive on membership, with reasons and claims; their sentences are in `sentences.json`.

The rule is fixed before scores are read. The primary endpoint is the global reference ratio on the logit scale, with
neutral or population references, and the global loss where there are none; it is judged over all records and in each
part (`discreet.audit.membership.parts`). *Fail*: some part exceeds its tolerance, or
the audit shows a larger ε than training with differential privacy guarantees. *Pass*: every part is within its
tolerance, a control model was attacked too and is clean in every part, no other attack exceeds the tolerance, and the
audit had the power to find a leak: planted records were detected, or, where none were planted, the sample finds a leak
of the size of the tolerance with power .8 and the model learned something. Parts that were excluded before scores
were read are named. Only designs in which a random draw decided membership can pass or fail; sets that differ by
themselves take the verdict away. A draw that the run made itself is known to be random, so texts that differ after it
contradict nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from discreet.audit.core.power import PLANTED_AUC, POWER, inflation_of, power_of
from discreet.audit.core.verdict import (
    ALPHA,
    Claims,
    ControlState,
    Judgement,
    Sentence,
    Sentences,
    State,
    Word,
    least_detected,
)
from discreet.audit.membership.controls import PlantedLeak
from discreet.audit.membership.evaluation_sets import BOUNDARY_N, EvaluationSets
from discreet.audit.membership.facts import Guarantee
from discreet.audit.membership.options import WHOLE
from discreet.audit.membership.parts import PartFinding, excluded_names
from discreet.audit.membership.rows import Row
from discreet.audit.scores.table import ScoreTable
from discreet.core.design import (
    AS_STATED,
    ASSIGNED,
    ON_WHOSE_WORD,
    SEALED,
    STATED,
    WORDS,
    Design,
    decides,
    off,
    reads_apart,
)
from discreet.core.numbers import counted, given, interval, number, percent, times
from discreet.core.numbers import p_value as written_p
from discreet.core.records import Estimate

SENTENCES = Sentences.read(__package__)
say = SENTENCES.of("verdict")
MOST_LISTED = 4
"""Parts that a sentence names."""
WHO = {"neutral": "neither set", "population": "random halves"}


@dataclass(frozen=True, slots=True)
class VerdictInputs:
    """What a verdict depends on.

    Attributes
    ----------
    primary, bound : Row or None, Estimate
        The row of the primary endpoint, and its AUC at the level corrected for the number of targets.
    parts : sequence of PartFinding
        All records first; empty without a primary endpoint.
    paper : Row or None
        The paper's own figure.
    rival : Row or None
        The strongest other honest row that exceeds the tolerance (`strongest_rival`).
    learned : bool
        Whether the target tells the classes of its members apart.
    notes : sequence of str
        What was left out, a sentence each.
    guarantee : Guarantee or None
        Of training with differential privacy.
    """

    design: Design
    tolerance: float
    primary: Row | None
    bound: Estimate
    parts: Sequence[PartFinding]
    paper: Row | None
    planted: Sequence[PlantedLeak]
    blind: Estimate
    rival: Row | None = None
    learned: bool = True
    notes: Sequence[str] = ()
    guarantee: Guarantee | None = None


def strongest_rival(rows: Sequence[Row], primary: Row | None, tolerance: float, tolerance_part: float) -> Row | None:
    """The honest row of another attack, over all records or in a part of them, with the largest AUC among those above
    the tolerance, with a family-wise p below .05, and clearly above the control model."""
    found = []
    for row in rows:
        spec, excess = row.spec, row.difference.get("auc")
        most = tolerance if spec.whole else tolerance_part
        same = primary is not None and (spec.attack, spec.scale, spec.reference_kind) == (
            primary.spec.attack, primary.spec.scale, primary.spec.reference_kind)
        if (not same and not spec.oracle and spec.stratum != "decile" and spec.n in (None, BOUNDARY_N)
                and row.auc.value is not None and row.auc.value > most
                and row.null_p.value is not None and row.null_p.value < ALPHA
                and (excess is None or excess.low is None or excess.low > 0.0)):
            found.append(row)
    return max(found, key=lambda row: row.auc.value or 0.0, default=None)


def judge(inputs: VerdictInputs) -> Judgement:
    """The verdict on one target."""
    primary, bound, tolerance = inputs.primary, inputs.bound, inputs.tolerance
    excluded = excluded_names(inputs.parts)
    further = [*([say("excluded", parts=excluded)] if excluded else []),
               *_about_paper(inputs.paper), *inputs.notes]
    if primary is None or bound.low is None:
        return Judgement("inconclusive", (say("no_primary", reason=bound.reason), *further))
    who, apart = WHO.get(primary.spec.reference_kind or ""), reads_apart(inputs.blind, tolerance)
    finding = say("finding", attack=primary.spec.attack, auc=interval(bound), tolerance=given(tolerance),
                  references=say("finding_references", who=who) if who else "",
                  control=say("finding_control", auc=interval(primary.control_auc)) if primary.control_auc.resolved
                  else "")
    if not decides(inputs.design):
        blind = say("blind", auc=interval(inputs.blind)) if inputs.blind.resolved else say(
            "blind_unknown", reason=inputs.blind.reason)
        return Judgement("inconclusive", (say("design", design=WORDS[inputs.design]), finding, blind, *further))
    if apart and inputs.design != ASSIGNED:
        return Judgement("inconclusive", (say("sets_differ", auc=interval(inputs.blind)), finding, *further))
    if inputs.design in STATED:
        further.insert(0, Sentence("stated", ON_WHOSE_WORD))
    if apart:
        further.insert(0, say("texts_differ_after_own_draw", auc=interval(inputs.blind)))
    if inputs.guarantee is not None:
        if inputs.guarantee.broken:
            return Judgement("fail", (inputs.guarantee.sentence, finding, *further))
        further.insert(0, inputs.guarantee.sentence)
    of_state = {state: [one for one in inputs.parts if one.state == state]
                for state in ("exceeds", "control", "unclear")}
    if of_state["exceeds"]:
        first, *more = _leaks(of_state["exceeds"], inputs, primary)
        return Judgement("fail", (first, finding, *more, *further))
    if of_state["control"]:
        return Judgement("inconclusive", (*_control_off(of_state["control"], tolerance), finding, *further))
    if not inputs.learned:
        further.insert(0, say("learned_nothing"))
    if of_state["unclear"]:
        return Judgement("inconclusive", (*_unclear(of_state["unclear"], inputs), finding, *further))
    missing, why = _missing_for_pass(inputs, primary)
    if missing:
        return Judgement("inconclusive", (*missing, finding, *further))
    return Judgement("pass", (finding, *_within(inputs.parts), why, *further))


def control_states(inputs: VerdictInputs, verdict: Word, *, blind_reads: str, detects: bool, tested: bool
                   ) -> dict[str, ControlState]:
    """What each control shows next to the verdict on the target.

    `blind_reads` says what the blind baseline saw ("texts", "inputs" or "labels"), `detects` whether the least leak
    that would have been found is known, `tested` whether the honest rows have family-wise p values.
    """
    stated: State = "stated" if inputs.design in STATED else "holds" if decides(inputs.design) else "lacking"
    return {"design": ControlState(stated, ("design",)), "control": _control_state(inputs, verdict),
            "blind": _blind_state(inputs, blind_reads), "planted": _planted_state(inputs, verdict, detects),
            "family": ControlState("holds", ("family" if tested else "untested",))}


def _control_state(inputs: VerdictInputs, verdict: Word) -> ControlState:
    if inputs.primary is None or inputs.primary.uncontrolled:
        return ControlState("lacking", ("no_control",))
    control = inputs.primary.control_auc
    if off(control, inputs.tolerance):
        return ControlState("broken", ("recognises",))
    if verdict == "inconclusive" and any(one.state == "control" for one in inputs.parts):
        return ControlState("unshown", ("beside_control",))
    near = control.low is not None and control.high is not None and control.low <= 0.5 <= control.high
    code = "near" if near else "off_by_less"
    if any(one.control_off for one in inputs.parts if one.kind != WHOLE):
        return ControlState("unshown", (code, "off_in_parts"))
    # A part leaks, or is within its tolerance, only next to a clean control.
    if verdict != "inconclusive" or _under(control, inputs.tolerance):
        return ControlState("holds", (code,))
    return ControlState("unshown", (code, "few"))


def _blind_state(inputs: VerdictInputs, reads: str) -> ControlState:
    if not inputs.blind.resolved:
        return ControlState("lacking", ("blind_unknown",))
    if reads_apart(inputs.blind, inputs.tolerance):
        # A draw that the run made itself is random whatever the texts show.
        own = inputs.design == ASSIGNED
        return ControlState("unshown", (reads, "drawn")) if own else ControlState("broken", (reads,))
    if _under(inputs.blind, inputs.tolerance):
        return ControlState("holds", (reads,))
    return ControlState("unshown", (reads, "few"))


def _under(estimate: Estimate, tolerance: float) -> bool:
    """Whether a control that should be ½ is shown to be under the tolerance."""
    return estimate.high is not None and estimate.high < tolerance


def _planted_state(inputs: VerdictInputs, verdict: Word, detects: bool) -> ControlState:
    planted, smallest = inputs.planted, ("smallest",) if detects else ()
    if not planted:
        holds = inputs.design == SEALED and detects
        return ControlState("holds" if holds else "lacking", ("none_planted", *smallest))
    if not any(one.auc.resolved for one in planted):
        return ControlState("lacking", ("too_few", *smallest))
    if least_detected(planted) is not None:
        return ControlState("holds", ("seen", *smallest))
    if all(one.weak for one in planted):
        return ControlState("unshown", ("not_seen", "weak", *smallest))
    # Where a leak was found, planted records that were missed show that others may have been missed too, no more.
    return ControlState("unshown" if verdict == "fail" else "broken", ("not_seen", *smallest))


def _leaks(leaking: Sequence[PartFinding], inputs: VerdictInputs, primary: Row) -> Iterator[Sentence]:
    """Where the leak is, and what that is worth next to the control model."""
    whole, others = _apart(leaking)
    if whole is None:
        yield say("leak_in_part", parts=_listed(others, _leaking_part))
    else:
        yield say("leak" if (inputs.bound.low or 0.0) > inputs.tolerance else "leak_of_unclear_size")
        if others and (others[0].auc.value or 0.0) > (whole.auc.value or 0.0):
            yield say("leak_strongest_in", part=_leaking_part(others[0]))
    if primary.uncontrolled:
        yield say("fail_without_control")
    elif whole is not None and off(primary.control_auc, inputs.tolerance):
        yield say("control_exceeded")


def _leaking_part(one: PartFinding) -> str:
    return say("leaking_part", part=one.name, auc=interval(one.auc), tolerance=given(one.tolerance),
               control=_beside(one.control_auc), members=one.n_members, others=one.n_nonmembers,
               p=written_p(one.p.value))


def _beside(control: Estimate) -> str:
    """The AUC on the control model, in words; nothing without one."""
    return "" if control.value is None else say("part_control", auc=interval(control))


def _control_off(parts: Sequence[PartFinding], tolerance: float) -> Iterator[Sentence]:
    """Why no part can be judged against a control that is off chance, or not clearly below the target."""
    whole, others = _apart(parts)
    if whole is not None:
        yield say("control_off", auc=interval(whole.control_auc)) if off(
            whole.control_auc, tolerance) else say("not_beyond_control")
    if others:
        yield say("control_off_in_part", parts=_listed(others, lambda one: say(
            "part_beside_control", part=one.name, auc=interval(one.auc), control=interval(one.control_auc))))


def _unclear(parts: Sequence[PartFinding], inputs: VerdictInputs) -> Iterator[Sentence]:
    whole, others = _apart(parts)
    if whole is not None:
        bound, tolerance = inputs.bound, given(inputs.tolerance)
        if (bound.low or 0.0) > 0.5:
            yield say("small_leak", auc=interval(bound), tolerance=tolerance, more=_more(whole))
        else:
            yield say("too_wide", low=number(bound.low), high=number(bound.high), tolerance=tolerance,
                      more=_more(whole))
    if others:
        covered = sum(one.state != "excluded" for one in inputs.parts) - 1
        yield say("unclear_parts", n=len(others), covered=covered, parts=_listed(others, lambda one: say(
            "unclear_part", part=one.name, tolerance=given(one.tolerance), members=counted(one.n_members, "member"),
            others=counted(one.n_nonmembers, "non-member"), more=_more(one),
            auc="no AUC" if one.auc.value is None else say(
                "unclear_auc", auc=number(one.auc.value), high=number(one.auc.high)))))


def _within(parts: Sequence[PartFinding]) -> Iterator[Sentence]:
    """That the other parts are within their tolerance, and which is nearest to it."""
    judged = [one for one in parts[1:] if one.state == "within"]
    if judged:
        nearest = max(judged, key=lambda one: one.auc.high or 0.0)
        yield say("parts_within", parts=counted(len(judged), "part"), tolerance=given(nearest.tolerance),
                  nearest=nearest.name, high=number(nearest.auc.high))


def _apart(parts: Sequence[PartFinding]) -> tuple[PartFinding | None, list[PartFinding]]:
    """All records, and the other parts, strongest first."""
    others = sorted((one for one in parts if one.kind != WHOLE), key=lambda one: -(one.auc.value or 0.0))
    return next((one for one in parts if one.kind == WHOLE), None), others


def _listed(parts: Sequence[PartFinding], said: Callable[[PartFinding], str]) -> str:
    """Each part as `said`, at most `MOST_LISTED` of them."""
    rest = len(parts) - MOST_LISTED
    return "; ".join([*map(said, parts[:MOST_LISTED]), *([f"and {counted(rest, 'other part')}"] if rest > 0 else [])])


def _more(one: PartFinding) -> str:
    """How many records of each set a part lacks, in words."""
    lacking = [f"{n:,} more {name}" for n, name in (
        (one.lacks_members, "members"), (one.lacks_nonmembers, "non-members")) if n]
    return f"about {' and '.join(lacking)}" if lacking else "more records"


def _missing_for_pass(inputs: VerdictInputs, primary: Row) -> tuple[list[Sentence], Sentence]:
    """What a pass lacks, and why a leak would have been found."""
    planted, least, bound = inputs.planted, least_detected(inputs.planted), inputs.bound
    missing = [say("no_control")] if primary.uncontrolled else []
    if (rival := inputs.rival) is not None:
        missing.append(say("other_attack", attack=rival.spec.attack, auc=interval(rival.auc), where=rival.spec.where,
                           p=written_p(rival.null_p.value), control=_beside(rival.control_auc)))
    if planted and least is None:
        kinds, most = " or ".join(times(one.repetitions) for one in planted), max(one.auc.n_pos or 0 for one in planted)
        missing.append(say("planted_too_few", times=kinds, most=most, shown=given(PLANTED_AUC))
                       if all(one.weak for one in planted) else say("planted_not_detected", times=kinds))
    # The chance that the sample finds a leak of the size of the tolerance.
    power = power_of(inputs.tolerance, bound.n_pos or 0, bound.n_neg or 0, bound.level, inflation_of(bound))
    if not planted and power < POWER:
        missing.append(say("low_power_here" if inputs.design == ASSIGNED else "low_power", power=percent(power, 0)))
    elif not planted and not inputs.learned:
        missing.append(say("nothing_learned"))
    return missing, say("power", power=percent(power, 0)) if least is None else say(
        "planted_detected", times=times(least.repetitions), auc=interval(least.auc))


def _about_paper(paper: Row | None) -> Iterator[Sentence]:
    """What the published protocol gives, on the model and on its control: no part of the verdict."""
    if paper is not None and (paper.auc.low or 0.0) > 0.5:
        control = paper.control_auc.value
        yield say("paper", auc=number(paper.auc.value, 2),
                  control="" if control is None else say("paper_control", auc=number(control, 2)))


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
    return SENTENCES.claims(can, cannot, design=WORDS[design])
