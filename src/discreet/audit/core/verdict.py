"""Pass, fail or inconclusive, and the reasons in words.

The rule (fixed before scores are read): the primary endpoint is the global reference ratio on the logit scale, with
neutral or population references, and the global loss where there are none. *Fail*: its lower bound, corrected for the
number of targets, exceeds ½ and its point the tolerance. *Pass*: its upper bound is under the tolerance, a placebo
stands beside it, and planted leaks (or a sealed design's power) show that a leak would have been seen. Only designs in
which a random draw decided membership can do either; a control that contradicts the design takes the verdict away. A
draw that the run made itself is known to be random, so texts that differ after it are reported and contradict nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.audit.core.power import PLANTED_AUC, POWER, inflation_of, power_of
from discreet.audit.membership.controls import Planted
from discreet.audit.membership.rows import AttackRow
from discreet.core.design import DEALT, ON_WHOSE_WORD, STATED, WORDS, Design, decides, off, reads_apart
from discreet.core.numbers import given, interval, number, percent, times
from discreet.core.records import Estimate

Word = Literal["pass", "fail", "inconclusive"]

KINDS: dict[str, str] = {"neutral": "references trained on neither side", "population": "references on random halves"}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and its reasons, the decisive one first."""

    verdict: Word
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a verdict rests on.

    Attributes
    ----------
    primary : AttackRow or None
        The row of the primary endpoint.
    bound : Estimate
        Its AUC at the level corrected for the number of targets.
    paper : AttackRow or None
        The paper's own figure: paired reference, global, p scale, non-members that the reference trained on.
    notes : sequence of str
        What was left out of the audit, a sentence each.
    """

    design: Design
    tolerance: float
    primary: AttackRow | None
    bound: Estimate
    paper: AttackRow | None
    planted: Sequence[Planted]
    blind: Estimate
    notes: Sequence[str] = ()


def judge(grounds: Grounds) -> Judgement:
    """The verdict of one target."""
    beside = [*_about_paper(grounds), *grounds.notes]
    bound, primary = grounds.bound, grounds.primary
    if primary is None or bound.value is None or bound.low is None or bound.high is None:
        return Judgement("inconclusive", (f"The primary endpoint has no figure: {bound.reason}.", *beside))
    finding = _finding(grounds)
    if not decides(grounds.design):
        return Judgement("inconclusive", (
            f"This design cannot pass or fail: {WORDS[grounds.design]}. The two sets differ or do not; whether that "
            "is memory, this audit cannot say.", finding, _about_blind(grounds.blind), *beside))
    broken = _broken(grounds)
    if broken and not _beyond_placebo(grounds):
        return Judgement("inconclusive", (*broken, finding, *beside))
    if grounds.design in STATED:
        beside.insert(0, ON_WHOSE_WORD)
    if grounds.design == DEALT and reads_apart(grounds.blind, grounds.tolerance):
        beside.insert(0, _blind_after_own_draw(grounds.blind))
    if bound.low > 0.5 and bound.value > grounds.tolerance:
        return _convicted(grounds, finding, beside)
    if bound.high < grounds.tolerance:
        missing = _missing_for_pass(grounds)
        if missing:
            return Judgement("inconclusive", (*missing, finding, *beside))
        return Judgement("pass", (finding, *_seen(grounds), *beside))
    return Judgement("inconclusive", (_too_wide(grounds), finding, *beside))


def _blind_after_own_draw(blind: Estimate) -> str:
    """What a blind baseline above ½ means where this run drew the members at random."""
    return (f"Texts alone tell members from non-members with AUC {interval(blind)}, although this run drew the members "
            "at random: by chance, as in a few draws of a hundred, or because the baseline trains and tests on texts "
            "that are alike and were not recognised as near-duplicates. The draw stands, and the placebo shows how "
            "much of the difference the attack reads. Run again with another --seed; where the difference stays, name "
            "in 'group' what belongs together (one source, one template).")


def _finding(grounds: Grounds) -> str:
    assert grounds.primary is not None
    asked, bound = grounds.primary.asked, grounds.bound
    by = f"the {asked.attack} attack"
    if asked.reference_kind is not None:
        by += f" with {KINDS.get(asked.reference_kind, asked.reference_kind)}"
    text = (f"By {by}, a random member outranks a random non-member with chance {interval(bound)}; chance alone gives "
            f".5, the tolerance is {given(grounds.tolerance)}.")
    placebo = grounds.primary.placebo_auc
    if placebo.resolved:
        text += f" The same attack on a model trained on neither side gives {interval(placebo)}."
    return text


def _convicted(grounds: Grounds, finding: str, beside: Sequence[str]) -> Judgement:
    assert grounds.primary is not None
    difference = grounds.primary.difference.get("auc")
    if grounds.primary.placebo_auc.resolved and difference is not None and difference.low is not None \
            and difference.low <= 0.0:
        return Judgement("inconclusive", (
            "The attack beats chance, but not clearly more on your model than on one trained on neither side: what "
            "it recognises need not be your model's memory.", finding, *beside))
    beyond = ("larger than the tolerance" if (grounds.bound.low or 0.0) > grounds.tolerance else
              "by its best estimate larger than the tolerance, though the interval reaches below it")
    said = [f"The model gives away who was in its training set: the leak is larger than chance explains, and {beyond}.",
            finding]
    if grounds.primary.uncontrolled:
        said.append("No placebo stands beside it; the random draw of members alone carries this verdict.")
    elif off(grounds.primary.placebo_auc, grounds.tolerance):
        said.append("The placebo is off chance too, but your model exceeds it by more than the whole tolerance.")
    return Judgement("fail", (*said, *beside))


def _beyond_placebo(grounds: Grounds) -> bool:
    """Whether the target exceeds a placebo that is off by more than the whole tolerance, in sets that read alike."""
    assert grounds.primary is not None
    difference = grounds.primary.difference.get("auc")
    return (not reads_apart(grounds.blind, grounds.tolerance) and difference is not None and difference.low is not None
            and difference.low > grounds.tolerance - 0.5)


def _broken(grounds: Grounds) -> list[str]:
    """Controls that contradict the design, so that no verdict can rest on it."""
    assert grounds.primary is not None
    said = []
    if grounds.design != DEALT and reads_apart(grounds.blind, grounds.tolerance):
        said.append(f"Members and non-members can be told apart without any model (AUC {interval(grounds.blind)} from "
                    "what is in the records): the draw was not random, or something besides training changed the "
                    "records.")
    placebo = grounds.primary.placebo_auc
    if off(placebo, grounds.tolerance):
        said.append(f"The control fails: the same attack gives {interval(placebo)} on a model trained on neither side. "
                    "It recognises something else than your model's memory, so its figure for your model says "
                    "nothing by itself.")
    return said


def _missing_for_pass(grounds: Grounds) -> list[str]:
    assert grounds.primary is not None
    said = []
    if grounds.primary.uncontrolled:
        said.append("The figure lies under the tolerance, but no placebo stands beside the figure, and uncontrolled "
                    "figures cannot pass. Score a model trained on neither side (model_role 'placebo').")
    if grounds.planted:
        if not any(one.detected for one in grounds.planted):
            said.append(_planted_unseen(grounds.planted))
    elif grounds.design == DEALT:
        said.append("The figure lies under the tolerance, but no records were planted, so nothing shows that a leak "
                    "would have been seen. Give --planted repetitions, and more examples where A is too small.")
    elif grounds.design != "sealed":
        said.append("The figure lies under the tolerance, but nothing shows that a leak would have been seen. Plant "
                    "some records 1, 4 and 16 times before training (column 'planted'), or seal the data.")
    elif _power(grounds) < POWER:
        said.append(f"The figure lies under the tolerance, but a leak of that size would have been seen with chance "
                    f"{percent(_power(grounds), 0)} only. More records are needed.")
    return said


def _planted_unseen(planted: Sequence[Planted]) -> str:
    kinds = " or ".join(times(one.repetitions) for one in planted)
    said = f"The figure lies under the tolerance, but records planted {kinds} were not seen either"
    if not all(one.weak for one in planted):
        return f"{said}: the audit would have missed a leak."
    most = max(one.auc.n_pos or 0 for one in planted)
    return (f"{said}: {most} records of a kind are too few to show an AUC of {given(PLANTED_AUC)} in them, so whether "
            "a leak would have been seen is not known. More examples leave room for more planted records.")


def _seen(grounds: Grounds) -> list[str]:
    seen = [one for one in grounds.planted if one.detected]
    if seen:
        least = seen[0]
        return [f"The audit would have seen a leak: records planted {times(least.repetitions)} stood out "
                f"(AUC {interval(least.auc)})."]
    return [f"The audit would have seen a leak of the size of the tolerance with chance {percent(_power(grounds), 0)}."]


def _power(grounds: Grounds) -> float:
    members, others = grounds.bound.n_pos or 0, grounds.bound.n_neg or 0
    if min(members, others) < 2:
        return 0.0
    inflation = inflation_of(grounds.bound)
    return power_of(grounds.tolerance, members, others, grounds.bound.level, inflation)


def _too_wide(grounds: Grounds) -> str:
    bound = grounds.bound
    assert bound.low is not None
    assert bound.high is not None
    if bound.low > 0.5:
        return (f"Your model leaks a little (AUC {interval(bound)}), but neither clearly more nor clearly less than "
                f"the tolerance of {given(grounds.tolerance)}. More records would tell.")
    return (f"The sample is too small to tell: the figure may lie anywhere in {number(bound.low)} to "
            f"{number(bound.high)}, on both sides of the tolerance of {given(grounds.tolerance)}.")


def _about_blind(blind: Estimate) -> str:
    if not blind.resolved:
        return f"How far the sets differ without any model is not known: {blind.reason}."
    return f"Without any model, what is in the records tells the sets apart with AUC {interval(blind)}."


def _about_paper(grounds: Grounds) -> list[str]:
    """What the published protocol gives, on the model and on its placebo: no part of the verdict."""
    paper = grounds.paper
    if paper is None or paper.auc.value is None or paper.auc.low is None or paper.auc.low <= 0.5:
        return []
    beside = ("" if paper.placebo_auc.value is None else
              f", and {number(paper.placebo_auc.value, 2)} on a model trained on neither side")
    return [f"The paper's own ratio gives {number(paper.auc.value, 2)} on your model{beside}. Its reference was "
            "trained on the very non-members it is compared on, so that part of this figure, or all of it, is what the "
            "*reference* remembers. It is printed as the paper's figure and has no part in the verdict."]
