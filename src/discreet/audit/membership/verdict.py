"""Pass, fail or inconclusive on membership, with reasons and claims.

The rule is fixed before scores are read. The primary endpoint is the global reference ratio on the logit scale, with
neutral or population references, and the global loss where there are none. *Fail*: its lower bound, corrected for the
number of targets, exceeds ½ and its point the tolerance. *Pass*: its upper bound is below the tolerance, a control
model (placebo) was attacked too, and the audit had the power to find a leak: planted records were detected, or, where
none were planted, the sample finds a leak of the size of the tolerance with power .8 and the model learned something.
Only designs in which a random draw decided membership can do either; a control that contradicts the design takes the
verdict away. A draw that the run made itself is known to be random, so texts that differ after it contradict nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.audit.core.power import PLANTED_AUC, POWER, inflation_of, power_of
from discreet.audit.core.verdict import Claims, Judgement, Reason, least_detected
from discreet.audit.membership.controls import PlantedLeak
from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.audit.membership.rows import Row
from discreet.core.design import AS_STATED, DEALT, ON_WHOSE_WORD, STATED, WORDS, Design, decides, off, reads_apart
from discreet.core.numbers import given, interval, number, percent, times
from discreet.core.records import Estimate
from discreet.scores.table import ScoreTable

KINDS: dict[str, str] = {
    "neutral": "references trained on neither set", "population": "references trained on random halves"}


@dataclass(frozen=True, slots=True)
class VerdictInputs:
    """What a verdict depends on.

    Attributes
    ----------
    primary : Row or None
        The row of the primary endpoint.
    bound : Estimate
        Its AUC at the level corrected for the number of targets.
    paper : Row or None
        The paper's own figure: paired reference, global, p scale, non-members that the reference trained on.
    learned : bool
        Whether the target is right about its members more often than the most common label would be.
    notes : sequence of str
        What was left out of the audit, a sentence each.
    """

    design: Design
    tolerance: float
    primary: Row | None
    bound: Estimate
    paper: Row | None
    planted: Sequence[PlantedLeak]
    blind: Estimate
    learned: bool = True
    notes: Sequence[str] = ()

    @property
    def power(self) -> float:
        """Chance that the sample finds a leak of the size of the tolerance."""
        members, others = self.bound.n_pos or 0, self.bound.n_neg or 0
        if min(members, others) < 2:
            return 0.0
        return power_of(self.tolerance, members, others, self.bound.level, inflation_of(self.bound))

    @property
    def excess(self) -> Estimate | None:
        """Target less control model, where both are known."""
        return None if self.primary is None else self.primary.difference.get("auc")


def judge(inputs: VerdictInputs) -> Judgement:
    """The verdict on one target."""
    primary, bound, design, tolerance = inputs.primary, inputs.bound, inputs.design, inputs.tolerance
    further = [*_about_paper(inputs.paper), *(Reason("note", note) for note in inputs.notes)]
    if primary is None or bound.value is None or bound.low is None or bound.high is None:
        return Judgement("inconclusive", (
            Reason("no_primary", f"The primary endpoint has no figure: {bound.reason}."), *further))
    finding = _finding(primary, bound, tolerance)
    if not decides(design):
        return Judgement("inconclusive", (Reason(
            "design", f"This design cannot pass or fail: {WORDS[design]}. A difference between the two sets need not "
            "come from training."), finding, _about_blind(inputs.blind), *further))
    broken = _broken_controls(inputs, primary)
    apart = reads_apart(inputs.blind, tolerance)
    low = None if inputs.excess is None else inputs.excess.low
    if broken and (apart or low is None or low <= tolerance - 0.5):
        return Judgement("inconclusive", (*broken, finding, *further))
    if design in STATED:
        further.insert(0, Reason("stated", ON_WHOSE_WORD))
    if design == DEALT and apart:
        further.insert(0, _texts_differ_after_own_draw(inputs.blind))
    if bound.low > 0.5 and bound.value > tolerance:
        return _leak(inputs, primary, finding, further)
    if not inputs.learned:
        further.insert(0, Reason("learned_nothing", "The model is right about its own training records no more often "
                                 "than a guess of the most common label: nothing shows that it learned anything."))
    if bound.high < tolerance:
        missing = _missing_for_pass(inputs, primary)
        return Judgement("inconclusive", (*missing, finding, *further)) if missing else Judgement(
            "pass", (finding, _sensitivity(inputs), *further))
    if bound.low > 0.5:
        unclear = Reason("small_leak", f"The model leaks a little (AUC {interval(bound)}), but neither clearly more "
                         f"nor clearly less than the tolerance of {given(tolerance)}. More records would tell.")
    else:
        unclear = Reason("too_wide", f"The sample is too small to tell: the figure may lie anywhere in "
                         f"{number(bound.low)} to {number(bound.high)}, on both sides of the tolerance of "
                         f"{given(tolerance)}.")
    return Judgement("inconclusive", (unclear, finding, *further))


def _finding(primary: Row, bound: Estimate, tolerance: float) -> Reason:
    spec = primary.spec
    by = f"the {spec.attack} attack"
    if spec.reference_kind is not None:
        by += f" with {KINDS.get(spec.reference_kind, spec.reference_kind)}"
    text = (f"By {by}, a random member scores higher than a random non-member with probability {interval(bound)}; "
            f"chance alone gives .5, the tolerance is {given(tolerance)}.")
    if primary.placebo_auc.resolved:
        text += f" The same attack on a control model, trained on neither set, gives {interval(primary.placebo_auc)}."
    return Reason("finding", text)


def _leak(inputs: VerdictInputs, primary: Row, finding: Reason, further: Sequence[str]) -> Judgement:
    excess = inputs.excess
    if primary.placebo_auc.resolved and excess is not None and excess.low is not None and excess.low <= 0.0:
        return Judgement("inconclusive", (Reason(
            "not_beyond_placebo", "The attack beats chance, but not clearly more on your model than on the control "
            "model: what it recognises need not be your model's memory."), finding, *further))
    size = ("larger than the tolerance" if (inputs.bound.low or 0.0) > inputs.tolerance else
            "by its best estimate larger than the tolerance, though the interval reaches below it")
    said = [Reason("leak" if size.startswith("larger") else "leak_of_unclear_size", "The model gives away who was in "
                   f"its training set: the leak is larger than chance explains, and {size}."), finding]
    if primary.uncontrolled:
        said.append(Reason("fail_without_placebo", "No control model was scored; this verdict depends on the random "
                           "draw of members alone."))
    elif off(primary.placebo_auc, inputs.tolerance):
        said.append(Reason("placebo_exceeded", "The control model is off chance too, but your model exceeds it by more "
                           "than the whole tolerance."))
    return Judgement("fail", (*said, *further))


def _broken_controls(inputs: VerdictInputs, primary: Row) -> list[Reason]:
    """Controls that contradict the design, so that no verdict can depend on it."""
    said = []
    if inputs.design != DEALT and reads_apart(inputs.blind, inputs.tolerance):
        said.append(Reason(
            "sets_differ", f"Members and non-members can be told apart without any model (AUC {interval(inputs.blind)} "
            "from what the records contain): the draw was not random, or something besides training changed the "
            "records."))
    if off(primary.placebo_auc, inputs.tolerance):
        said.append(Reason(
            "placebo_off", f"The control fails: the same attack gives {interval(primary.placebo_auc)} on a model "
            "trained on neither set. It recognises something other than your model's memory, so its figure for your "
            "model says nothing by itself."))
    return said


def _missing_for_pass(inputs: VerdictInputs, primary: Row) -> list[Reason]:
    said, below = [], "The figure lies below the tolerance, but"
    if primary.uncontrolled:
        said.append(Reason("no_placebo", f"{below} no control model was scored, and uncontrolled figures cannot pass. "
                           "Score a model trained on neither set (model_role 'placebo')."))
    if inputs.planted:
        if least_detected(inputs.planted) is None:
            said.append(_planted_not_detected(inputs.planted, below))
    elif inputs.power < POWER:
        how = ("Give --planted repetitions, and more examples where A is too small." if inputs.design == DEALT else
               "Score more records, or plant some records 1, 4 and 16 times before training (column 'planted').")
        said.append(Reason("low_power", f"{below} no records were planted, and this sample would find a leak of the "
                           f"size of the tolerance with probability {percent(inputs.power, 0)} only. {how}"))
    elif not inputs.learned:
        said.append(Reason("nothing_learned", f"{below} no records were planted, and nothing shows that these are the "
                           "scores of a model that learned anything."))
    return said


def _planted_not_detected(planted: Sequence[PlantedLeak], below: str) -> Reason:
    kinds = " or ".join(times(one.repetitions) for one in planted)
    said = f"{below} records planted {kinds} were not found either"
    if not all(one.weak for one in planted):
        return Reason("planted_not_detected", f"{said}: the audit would have missed a leak.")
    most = max(one.auc.n_pos or 0 for one in planted)
    return Reason("planted_too_few", f"{said}: {most} records of a kind are too few to show an AUC of "
                  f"{given(PLANTED_AUC)} in them, so whether a leak would have been found is not known. More examples "
                  "leave room for more planted records.")


def _sensitivity(inputs: VerdictInputs) -> Reason:
    """Why a leak would have been found."""
    least = least_detected(inputs.planted)
    if least is not None:
        return Reason("planted_detected", f"The audit would have found a leak: records planted "
                      f"{times(least.repetitions)} stood out (AUC {interval(least.auc)}).")
    return Reason("power", f"The sample would have shown a leak of the size of the tolerance with probability "
                  f"{percent(inputs.power, 0)}. No records were planted, so how strongly this attack responds to "
                  "memorisation was not measured.")


def _texts_differ_after_own_draw(blind: Estimate) -> Reason:
    return Reason(
        "texts_differ_after_own_draw",
        f"Texts alone tell members from non-members with AUC {interval(blind)}, although this run drew the members "
        "at random: by chance, as in a few draws of a hundred, or because the baseline trains and tests on texts "
        "that are alike and were not recognised as near-duplicates. The draw is still random, and the control model "
        "shows how much of the difference the attack reads. Run again with another --seed; where the difference "
        "remains, name in 'group' what belongs together (one source, one template).")


def _about_blind(blind: Estimate) -> Reason:
    return Reason("blind", f"Without any model, what the records contain tells the sets apart with AUC "
                  f"{interval(blind)}." if blind.resolved else
                  f"How far the sets differ without any model is not known: {blind.reason}.")


def _about_paper(paper: Row | None) -> list[Reason]:
    """What the published protocol gives, on the model and on its control: no part of the verdict."""
    if paper is None or paper.auc.value is None or paper.auc.low is None or paper.auc.low <= 0.5:
        return []
    control = ("" if paper.placebo_auc.value is None else
               f", and {number(paper.placebo_auc.value, 2)} on a model trained on neither set")
    return [Reason("paper", f"The paper's own ratio gives {number(paper.auc.value, 2)} on your model{control}. Its "
                   "reference was trained on the very non-members it is compared on, so that part of this figure, or "
                   "all of it, is what the *reference* remembers. It is printed as the paper's figure and has no part "
                   "in the verdict.")]


@dataclass(frozen=True, slots=True)
class AuditInputs:
    """What an audit had to work with.

    Attributes
    ----------
    neutral, population, paired, placebo, selector, planted, groups, texts, clean : bool
        Whether there were references of the kind, a control model, a selection model, planted records, users, texts,
        and non-members that no model trained on.
    """

    design: Design
    neutral: bool
    population: bool
    paired: bool
    placebo: bool
    selector: bool
    planted: bool
    groups: bool
    texts: bool
    clean: bool

    @classmethod
    def of(cls, table: ScoreTable, sets: EvaluationSets, design: Design, *, texts: bool) -> AuditInputs:
        """Of one target."""
        return cls(
            design, "neutral" in sets.references, "population" in sets.references, "paired" in sets.references,
            sets.placebo is not None, bool(sets.selectors), sets.planted.size > 0,
            table.examples.has_users, texts, sets.clean[None].size > 0,
        )


def claims_of(inputs: AuditInputs) -> Claims:
    """What may be claimed from these inputs, and what may not and what that would need."""
    honest = inputs.neutral or inputs.population
    can = [*_claims_of_design(inputs.design), *(Reason(code, text) for holds, code, text in (
        (inputs.placebo, "placebo", "How much of each attack's figure a model reaches that was trained on neither "
         "set."),
        (honest, "references", "How well an attacker with models of their own would do, references having trained on "
         "neither set or on random halves."),
        (inputs.planted, "planted", "Whether a leak would have been found: records planted on purpose are judged too."),
        (inputs.groups, "groups", "What all records of one person together give away."),
    ) if holds)]
    cannot = [Reason(code, text) for holds, code, text in (
        (inputs.design == AS_STATED, "sealed", "That this is a sealed audit: no seal was compared with the table, so "
         "it counts as randomised, and that too on your word. Give the opened seal (--seal DIR)."),
        (inputs.design in STATED and inputs.design != AS_STATED, "random",
         "That a random draw decided who was trained on: that is your word. Coins that were sealed before training "
         "(discreet seal) would show it."),
        (inputs.design == DEALT, "elsewhere", "Anything about a model that was trained elsewhere: the models judged "
         "here were trained here, with the same recipe. Audit that model's own scores, sealed before its training, "
         "for that."),
        (not decides(inputs.design), "verdict", f"Pass or fail: {WORDS[inputs.design]}. Seal the data before training "
         "(discreet seal), or draw members at random, to get a verdict."),
        (not inputs.placebo, "placebo", "A pass: without a model trained on neither set, no figure shows what the "
         "attack reads in anything else than memory."),
        (not inputs.planted, "planted", "That these attacks respond to memorisation: "
         "no records were planted, so that a pass depends on the size of the sample alone."),
        (not inputs.clean, "clean", "Anything about honest attacks: there are no non-members that no model trained "
         "on."),
        (not honest, "references", "What an attacker with honest references would find: " + (
            "the only references were trained on the very non-members in question." if inputs.paired else
            "there are no references at all; the loss is the only attack that decides.")),
        (not inputs.selector, "boundary", "Anything about the decision boundary: there is no selection model that "
         "says it was trained on other records."),
        (not inputs.texts, "texts", "That the two sets read alike: there are no texts to compare."),
        (not inputs.groups, "groups", "Anything about persons with several records: there is no column 'group' that "
         "names them."),
        (True, "other_attacks", "That no attack at all succeeds: only these attacks were tried, with this many "
         "queries a record."),
    ) if holds]
    return Claims(tuple(can), tuple(cannot))


def _claims_of_design(design: Design) -> list[Reason]:
    epsilon = "a lower bound on the privacy parameter ε of this one training run."
    if design in STATED:
        return [Reason("if_random", "Whether the model leaks membership beyond the tolerance, if it is true that a "
                       "random draw decided who was trained on: then nothing but training tells the two sets apart."),
                Reason("epsilon", f"On the same condition, {epsilon}")]
    if design == DEALT:
        return [Reason("own_draw", "Whether models that this recipe trains on such data leak membership beyond the "
                       "tolerance: this run drew who was trained on, so nothing but training tells the two sets "
                       "apart."), Reason("epsilon", epsilon.capitalize())]
    if decides(design):
        return [Reason("sealed", "Whether the model leaks membership beyond the tolerance: coins that were committed "
                       "before training decided who was trained on, so nothing but training tells the two sets "
                       "apart."), Reason("epsilon", epsilon.capitalize())]
    return [Reason("difference", "How far the two sets differ under each attack, next to what differs without any "
                   "model (the blind baseline) and without training on them (the control model).")]
