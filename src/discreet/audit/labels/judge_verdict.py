"""Pass, fail or inconclusive about training labels, and the reasons in words.

The rule: *fail* where an attack that sees outputs alone is right more often on canaries than on placebos, significantly
after Holm over all such attacks on all models of the table. *Pass* where none is and planted memorisation was seen.
Else *inconclusive*. Oracles and privileged attacks are printed and decide nothing, nor does an attack whose placebo
excludes chance. A mechanism that does not keep its ε cannot pass, nor can a model of whose canaries the table does not
say with which label it was trained on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from discreet.audit.core.verdict import Judgement, Word
from discreet.audit.labels.judge_facts import ConformanceRow
from discreet.audit.labels.judge_planted import Planted
from discreet.audit.labels.judge_rows import LabelRow
from discreet.core.numbers import counted, label_attack_name, p_value, percent, share_of, times
from discreet.core.numbers import epsilon as epsilon_name
from discreet.core.records import Estimate

ALPHA = 0.05
OF = {"secret": "the secret label", "trained": "the label that was trained on"}


@dataclass(frozen=True, slots=True)
class Grounds:
    """What the verdict on one model rests on: its rows after Holm, and what stands beside them.

    `canaries_without_label` of all `canaries`, planted ones included, have no `label_trained`.
    """

    rows: Sequence[LabelRow]
    family: int
    planted: Sequence[Planted]
    conformance: ConformanceRow
    epsilon_lower: Estimate
    notes: Sequence[str] = ()
    canaries: int = 0
    canaries_without_label: int = 0


def judge(grounds: Grounds) -> Judgement:
    """The verdict on one model."""
    beside = [*_about_mechanism(grounds), *_about_oracles(grounds.rows), *grounds.notes]
    deciding = [row for row in grounds.rows if row.decides]
    if not deciding:
        return Judgement("inconclusive", (_nothing_decides(grounds.rows), *beside))
    seen = [row for row in deciding if significant(row)]
    leaks = [row for row in seen if (row.excess or 0.0) > 0.0 and not row.vetoed]
    if leaks:
        return Judgement("fail", (*_convicted(leaks, grounds), *beside))
    best = strongest(deciding)
    assert best is not None
    finding = _finding(best, grounds.family)
    if seen:
        return Judgement("inconclusive", (_off(seen[0], grounds.family), finding, *beside))
    missing = _missing_for_pass(grounds)
    if missing:
        return Judgement("inconclusive", (*missing, finding, *beside))
    return Judgement("pass", (
        "No attack that sees the model's outputs knows its canaries' labels better than those of placebos, which were "
        "drawn alike and never trained on.", finding, _planted_seen(grounds.planted), *beside))


def significant(row: LabelRow) -> bool:
    """Whether a row's difference from its placebo is significant after Holm."""
    return row.holm_p is not None and row.holm_p < ALPHA


def strongest(rows: Sequence[LabelRow]) -> LabelRow | None:
    """The row that comes nearest to a finding: least p after Holm, then least p, then largest excess."""
    with_p = [row for row in rows if row.difference_p is not None and not row.vetoed]
    return min(with_p or rows, default=None, key=lambda row: (
        1.0 if row.holm_p is None else row.holm_p, 1.0 if row.difference_p is None else row.difference_p,
        -(row.excess or 0.0)))


def overall(words: Sequence[Word]) -> Word:
    """Fail if any model fails, else inconclusive if any is, else pass."""
    return "fail" if "fail" in words else "inconclusive" if "inconclusive" in words else "pass"


def _off(row: LabelRow, family: int) -> str:
    """Why a significant difference is no verdict."""
    if (row.excess or 0.0) > 0.0:
        return (f"Canaries and placebos differ ({_finding(row, family)[:-1]}), but the placebos' interval excludes "
                f"chance, so that the control itself is in doubt. Draw more placebos.")
    return (f"{_named(row)} is right less often on canaries than on placebos, more than chance explains: the two were "
            f"not drawn alike, or not labelled alike.")


def _finding(row: LabelRow, family: int) -> str:
    assert row.holm_p is not None
    return (f"{_named(row)} guesses {OF[row.target]} right for {share_of(row.success)} canaries and for "
            f"{share_of(row.placebo)} placebos; p after Holm over {counted(family, 'comparison')} is "
            f"{p_value(row.holm_p)}.")


def _convicted(leaks: Sequence[LabelRow], grounds: Grounds) -> list[str]:
    best = strongest(leaks)
    assert best is not None
    said = ["The model gives away labels that it was trained on: an attacker who sees nothing but its outputs knows "
            "them better than labels that nobody trained on.", _finding(best, grounds.family)]
    at_secret = strongest([row for row in leaks if row.target == "secret"])
    if best.target == "trained":
        said.append("Of the secret itself, before the mechanism's noise, no attack knows more than chance explains."
                    if at_secret is None else _finding(at_secret, grounds.family))
    return [*said, *_promised(at_secret, grounds.epsilon_lower)]


def _promised(row: LabelRow | None, bound: Estimate) -> list[str]:
    """What was found at the secret against what ε allows there."""
    if row is None or row.ceiling is None:
        return []
    epsilon, proven = row.model.epsilon, bound.value or 0.0
    if epsilon == inf:
        return [f"All attacks together prove that ε is at least {proven:.2f}."] if proven > 0.0 else []
    allowed = f"ε = {epsilon_name(epsilon)} allows an attacker to be right about {percent(row.ceiling)} of secrets"
    if proven > epsilon:
        return [f"{allowed}; all attacks together prove that ε is at least {proven:.2f}: the labels were not protected "
                f"as claimed."]
    return [f"{allowed}. Nothing here exceeds that: so much of a leak is within what the mechanism promises."]


def _missing_for_pass(grounds: Grounds) -> list[str]:
    said = []
    if grounds.conformance.ok is False:
        said.append("No attack succeeds, but the mechanism does not keep its ε: what leaks tomorrow is not bounded.")
    if all(row.vetoed for row in grounds.rows if row.decides):
        said.append("No attack decides: each is right about placebos more, or less, often than chance explains, so "
                    "that the control itself is in doubt. Draw the labels of canaries and placebos uniformly.")
    if grounds.canaries_without_label:
        said.append(f"No attack succeeds, but 'label_trained' is null for {grounds.canaries_without_label:,} of "
                    f"{grounds.canaries:,} canaries: nothing shows that the model was trained on them. Give the label "
                    f"that it was trained on for each canary.")
    if not grounds.planted:
        said.append("No attack succeeds, but nothing shows that memorised labels would have been seen. Plant some "
                    "canaries 1, 4 and 16 times in training (column 'planted').")
    elif not any(one.seen for one in grounds.planted):
        most = max(one.copies for one in grounds.planted)
        said.append(f"No attack succeeds, but the labels of canaries that were planted up to {times(most)} were not "
                    f"seen either: the audit would have missed memorisation.")
    return said


def _planted_seen(planted: Sequence[Planted]) -> str:
    least = next(one for one in planted if one.seen)
    assert least.row is not None
    return (f"Memorisation would have been seen: {OF[least.row.target]} is guessed right for "
            f"{share_of(least.row.success)} canaries that were planted {times(least.copies)}, and for "
            f"{share_of(least.row.placebo)} placebos.")


def _about_mechanism(grounds: Grounds) -> list[str]:
    found = grounds.conformance
    if found.ok is not False:
        return []
    return [f"The labels do not look as ε = {epsilon_name(found.epsilon)} demands: {'; '.join(found.reasons)}."]


def _about_oracles(rows: Sequence[LabelRow]) -> list[str]:
    """Why an attack that is shown the answer may convict an innocent model."""
    fooled = flawed(rows)
    if fooled is None or fooled.placebo.value is None or fooled.success.value is None:
        return []
    return [f"{_named(fooled)} is right about {percent(fooled.success.value, 0)} of canaries and also about "
            f"{percent(fooled.placebo.value, 0)} of placebos, which the model has never seen: it is shown the "
            f"label that it claims to infer, so that its figure by itself says nothing about memory."]


def flawed(rows: Sequence[LabelRow]) -> LabelRow | None:
    """The oracle that "succeeds" most on placebos at the secret; None where no interval there is above chance."""
    fooled = [row for row in rows if row.oracle and row.target == "secret" and not row.tuned
              and row.settings.loss_labels == "secret" and (row.placebo.low or 0.0) > row.chance]
    plain = [row for row in fooled if row.settings.beta == row.settings.alpha and row.settings.margin == "p1-second"]
    return max(plain or fooled, default=None, key=lambda row: row.placebo.value or 0.0)


def _nothing_decides(rows: Sequence[LabelRow]) -> str:
    if all(not row.placebo.resolved for row in rows):
        return ("No figure has its placebo, so that nothing tells memory from guesswork: uncontrolled figures can "
                "neither pass nor fail. Draw placebo canaries, and score the model on them.")
    return "No attack on outputs alone could be run on canaries and placebos."


def _named(row: LabelRow) -> str:
    return label_attack_name({**row.settings.to_json(), "tuned": row.tuned})
