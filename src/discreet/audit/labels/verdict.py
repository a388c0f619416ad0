"""Pass, fail or inconclusive about training labels, with reasons, and what can be claimed.

The rule: *fail* where an attack that sees outputs alone is right more often on canaries than on held-out canaries,
significantly after Holm over all such attacks on all models of the table. *Pass* where none is and planted memorisation
was found. Else *inconclusive*. Oracles and privileged attacks are printed and decide nothing, nor does an attack whose
control excludes chance. A mechanism that does not keep its ε cannot pass, nor can a model of whose canaries the table
does not say with which label it was trained on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from discreet.audit.core.verdict import ALPHA, Claims, Judgement, Reason, least_detected
from discreet.audit.labels.bounds import POWER
from discreet.audit.labels.conformance import ConformanceRow
from discreet.audit.labels.rows import EvaluationSets, LabelRow, PlantedCanaries, counts_of, difference_p
from discreet.core.numbers import counted, label_attack_name, p_value, percent, share_of, times
from discreet.core.numbers import epsilon as epsilon_name
from discreet.core.records import Estimate
from discreet.scores.table import CANARY, HELDOUT, PLACEBO, UNKNOWN, ScoreTable
from discreet.stats.arrays import scipy_module

OF = {"secret": "the canary label", "trained": "the label that was trained on"}


@dataclass(frozen=True, slots=True)
class VerdictInputs:
    """What the verdict on one model depends on: its rows after Holm, and its controls.

    Attributes
    ----------
    family : int
        Deciding rows of all models.
    utility : mapping
        As `memorisation.utility_of`.
    sets : EvaluationSets or None
    references : int
        How many reference models the attacks had.
    canaries, canaries_without_label : int
        All canaries, planted ones included, and those without `label_trained`.
    """

    rows: Sequence[LabelRow]
    family: int
    planted: Sequence[PlantedCanaries]
    conformance: ConformanceRow
    epsilon_lower: Estimate
    utility: Mapping[str, Any]
    sets: EvaluationSets
    references: int
    canaries: int
    canaries_without_label: int


def judge(inputs: VerdictInputs) -> Judgement:
    """The verdict on one model."""
    further = [*_about_utility(inputs), *_about_mechanism(inputs), *_about_oracles(inputs.rows), *_about_sets(inputs)]
    deciding = [row for row in inputs.rows if row.decides]
    if not deciding:
        return Judgement("inconclusive", (_nothing_decides(inputs.rows), *further))
    found = [row for row in deciding if row.significant]
    leaks = [row for row in found if row.leads]
    if leaks:
        return Judgement("fail", (*_about_leak(leaks, inputs), *further))
    best = strongest(deciding)
    assert best is not None
    finding = _finding(best, inputs.family)
    if found:
        return Judgement("inconclusive", (_about_difference(found[0], inputs.family), finding, *further))
    if missing := _missing_for_pass(inputs):
        return Judgement("inconclusive", (*missing, finding, *further))
    return Judgement("pass", (
        Reason("no_leak_found", "No attack that was tried knows the labels of canaries better than those of held-out "
                                "canaries, which were drawn alike and never trained on."),
        finding, *_what_would_be_found(best, inputs), *further))


def strongest(rows: Sequence[LabelRow]) -> LabelRow | None:
    """The row that comes nearest to a finding: least p after Holm, then least p, then largest excess."""
    with_p = [row for row in rows if row.difference_p is not None and not row.vetoed]
    return min(with_p or rows, default=None, key=lambda row: (
        1.0 if row.holm_p is None else row.holm_p, 1.0 if row.difference_p is None else row.difference_p,
        -(row.excess or 0.0)))


def least_effect(row: LabelRow, family: int) -> float | None:
    """The share of canaries that an attack must be right about, in expectation, to be found with chance `POWER`.

    Fisher's test against the held-out canaries of `row`, Bonferroni over `family` comparisons. None where even an
    attack that is always right would not be found.
    """
    if row.success.value is None or row.held_out.value is None:
        return None
    n, control = counts_of(row.success)[1], counts_of(row.held_out)
    low, high = ceil(n * row.held_out.value), n
    if difference_p((n, n), control) * family >= ALPHA:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if difference_p((middle, n), control) * family < ALPHA else (middle + 1, high)
    # P(Binomial(n, share) >= low) = POWER, solved for the share.
    return float(scipy_module("special", "the power of a label audit").betaincinv(low, n - low + 1.0, POWER))


def _finding(row: LabelRow, family: int) -> Reason:
    assert row.holm_p is not None
    return Reason("strongest_attack", f"{_named(row)} guesses {OF[row.target]} right for {share_of(row.success)} "
                  f"canaries and for {share_of(row.held_out)} held-out canaries; p after Holm over "
                  f"{counted(family, 'comparison')} is {p_value(row.holm_p)}.")


def _about_difference(row: LabelRow, family: int) -> Reason:
    """Why a significant difference is no verdict."""
    if (row.excess or 0.0) > 0.0:
        return Reason("control_off_chance", f"Canaries and held-out canaries differ ({_finding(row, family)[:-1]}), "
                      f"but the interval on held-out canaries excludes chance, so that the control itself is in doubt. "
                      f"Draw more held-out canaries.")
    return Reason("right_less_often", f"{_named(row)} is right less often on canaries than on held-out canaries, more "
                  f"than chance explains: the two were not drawn alike, or not labelled alike.")


def _about_leak(leaks: Sequence[LabelRow], inputs: VerdictInputs) -> list[Reason]:
    best, at_canary = strongest(leaks), strongest([row for row in leaks if row.target == "secret"])
    assert best is not None
    said = [Reason("labels_leak", "The model gives away labels that it was trained on: an attacker who sees nothing "
                   "but its outputs knows them better than labels that nobody trained on."),
            _finding(best, inputs.family)]
    if best.target == "trained":
        said.append(_finding(at_canary, inputs.family) if at_canary is not None else Reason(
            "canary_label_not_found", "About the canary label itself, before the noise of the mechanism, no attack "
            "knows more than chance explains."))
    if at_canary is None or at_canary.ceiling is None:
        return said
    epsilon, proven = at_canary.model.epsilon, inputs.epsilon_lower.value or 0.0
    allowed = f"ε = {epsilon_name(epsilon)} allows an attacker to be right about {percent(at_canary.ceiling)} of " \
              f"canary labels"
    if epsilon == inf:
        proof = f"All attacks together prove that ε is at least {proven:.2f}."
        return [*said, Reason("epsilon_proven", proof)] if proven > 0.0 else said
    if proven > epsilon:
        return [*said, Reason("epsilon_broken", f"{allowed}; all attacks together prove that ε is at least "
                              f"{proven:.2f}: the labels were not protected as claimed.")]
    return [*said, Reason("within_epsilon", f"{allowed}. Nothing here exceeds that: a leak of this size is within what "
                                            f"the mechanism promises.")]


def _missing_for_pass(inputs: VerdictInputs) -> list[Reason]:
    said = []
    if inputs.conformance.ok is False:
        said.append(Reason("mechanism_not_conforming", "No attack succeeds, but the mechanism does not keep its ε, so "
                           "that what later models leak is not bounded."))
    if all(row.vetoed for row in inputs.rows if row.decides):
        said.append(Reason("all_controls_off_chance", "No attack decides: on held-out canaries each is right more, or "
                           "less, often than chance explains, so that the control itself is in doubt. Draw the labels "
                           "of canaries and held-out canaries uniformly."))
    if inputs.canaries_without_label:
        said.append(Reason("trained_label_unknown", f"No attack succeeds, but 'label_trained' is null for "
                           f"{inputs.canaries_without_label:,} of {inputs.canaries:,} canaries: nothing shows that the "
                           f"model was trained on them. Give the label that it was trained on for each canary."))
    if not inputs.planted:
        said.append(Reason("nothing_planted", "No attack succeeds, but nothing shows that memorised labels would have "
                           "been found. Plant some canaries 1, 4 and 16 times in training (column 'planted')."))
    elif least_detected(inputs.planted) is None:
        most = max(one.repetitions for one in inputs.planted)
        said.append(Reason("planted_not_found", f"No attack succeeds, but the labels of canaries that were planted up "
                           f"to {times(most)} were not found either: the audit would have missed memorisation."))
    return said


def _what_would_be_found(best: LabelRow, inputs: VerdictInputs) -> list[Reason]:
    """The positive control of a pass, the least effect that it would have found, and what was not tried."""
    found, least = least_detected(inputs.planted), least_effect(best, inputs.family)
    assert found is not None
    assert found.row is not None
    said = [Reason("planted_found", f"Memorisation would have been found: {OF[found.row.target]} is guessed right for "
                   f"{share_of(found.row.success)} canaries that were planted {times(found.repetitions)}, and for "
                   f"{share_of(found.row.held_out)} held-out canaries.")]
    if least is not None:
        said.append(Reason("least_effect", f"The least effect that would have been found with a chance of "
                           f"{percent(POWER, 0)}: an attack that is right about {percent(least)} of canaries, where "
                           f"{percent(best.held_out.value)} of held-out canaries are guessed. A smaller leak may be "
                           f"there."))
    if not inputs.references:
        said.append(Reason("no_references", "No attack with reference models was tried, and such attacks are the "
                           "stronger ones: this pass is about the attacks listed here alone."))
    return said


def _about_utility(inputs: VerdictInputs) -> list[Reason]:
    """Whether the model is better than a guess about any label at all."""
    rates = [*inputs.utility["train_accuracy"].values(), inputs.utility["test_accuracy"]]
    known, chance = [one for one in rates if one.value is not None], 1.0 / inputs.sets.canaries.n_classes
    if not known or any(one.low is None or one.low > chance for one in known):
        return []
    best = max(known, key=lambda one: one.value or 0.0)
    return [Reason("learnt_nothing", f"The model has learnt nothing: it is right about {share_of(best)} examples at "
                   f"most, a guess about {percent(chance)}. What was not learnt cannot leak; the verdict says nothing "
                   f"about a model that works.")]


def _about_mechanism(inputs: VerdictInputs) -> list[Reason]:
    found = inputs.conformance
    return [] if found.ok is not False else [Reason(
        "flips_off", f"The labels do not look as ε = {epsilon_name(found.epsilon)} demands: "
                     f"{'; '.join(found.reasons)}.")]


def _about_oracles(rows: Sequence[LabelRow]) -> list[Reason]:
    """The oracle that "succeeds" most on held-out canaries: why an attack that is shown the answer proves nothing."""
    fooled = [row for row in rows if row.oracle and row.target == "secret" and not row.tuned
              and row.settings.loss_labels == "secret" and (row.held_out.low or 0.0) > row.chance]
    plain = [row for row in fooled if row.settings.beta == row.settings.alpha and row.settings.margin == "p1-second"]
    worst = max(plain or fooled, default=None, key=lambda row: row.held_out.value or 0.0)
    if worst is None:
        return []
    return [Reason("oracle_right_on_held_out", f"{_named(worst)} is right about {percent(worst.success.value, 0)} of "
                   f"canaries and also about {percent(worst.held_out.value, 0)} of held-out canaries, which the model "
                   f"has never seen: it is shown the label that it claims to infer, so that its figure by itself says "
                   f"nothing about memory.")]


def _about_sets(inputs: VerdictInputs) -> list[Reason]:
    sets, said = inputs.sets, []
    if sets.left_out:
        kept = len(sets.canaries) + (0 if sets.held_out is None else len(sets.held_out))
        said.append(Reason("one_row_a_group", f"Groups share one draw of their label, so that one row of each is "
                           f"judged: {kept:,} of {kept + sets.left_out:,} canaries and held-out canaries."))
    if "trained" not in sets.truths:
        said.append(Reason("canary_label_alone", "The labels that were trained on are not in the table; only the "
                           "canary label is inferred."))
    return said


def _nothing_decides(rows: Sequence[LabelRow]) -> Reason:
    if all(not row.held_out.resolved for row in rows):
        return Reason("no_held_out", "No figure has its control, so that nothing tells memory from guesswork: "
                      "uncontrolled figures can neither pass nor fail. Draw held-out canaries, and score the model on "
                      "them.")
    return Reason("nothing_decides", "No attack on outputs alone could be run on canaries and held-out canaries.")


def _named(row: LabelRow) -> str:
    return label_attack_name({**row.settings.to_json(), "tuned": row.tuned})


def claims(table: ScoreTable, target: int, sets: EvaluationSets, planted: bool, *, drawn_here: bool = False) -> Claims:
    """What the audit may say of one target, and what it may not and what would be needed.

    `drawn_here` where this package drew the labels and trained the models itself.
    """
    role, references = table.canaries.role[target], bool(table.label_references(target))
    held_out, trained = sets.held_out is not None, "trained" in sets.truths
    unknown = bool((table.canaries.trained[target, role == CANARY] == UNKNOWN).any())
    can = {
        "Whether these attacks know labels that the model was trained on better than labels drawn alike that nobody "
        "trained on: chance alone decided which are which.": held_out,
        "A lower bound on the ε of what was done to the labels in this one training run.": held_out,
        "Whether the mechanism changed as many labels as its ε demands.":
            trained and table.models[target].epsilon < inf,
        "Which planted memorisation would have been found.": planted,
        "How an attacker does who trained models with label draws of their own.": references}
    cannot = {
        "Pass or fail: without held-out canaries nothing tells memory from guesswork. Draw as many as canaries, give "
        "them labels alike, and keep them out of training.": not held_out,
        "A pass: without planted canaries nothing shows that memorised labels would have been found.": not planted,
        "A pass: 'label_trained' is null for some canaries, and nothing shows that the model was trained on them.":
            unknown,
        "What an attacker with reference models would find: none were brought.": not references,
        "Anything about the labels after the mechanism, or that it keeps its ε: 'label_trained' is not there.":
            not trained,
        "How accurate the model is on new examples: no row is 'heldout' or 'placebo'.":
            not ((role == HELDOUT) | (role == PLACEBO)).any(),
        "That labels were drawn by chance: nobody but you can know.": not drawn_here,
        "Anything about training labels that are no canaries, or that no attack at all succeeds: only these attacks "
        "were tried.": True}
    return Claims(tuple(said for said, holds in can.items() if holds),
                  tuple(said for said, holds in cannot.items() if holds))
