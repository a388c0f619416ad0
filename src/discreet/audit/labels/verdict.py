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

from discreet.audit.core.verdict import ALPHA, Claims, Judgement, Reason, Sentences, least_detected
from discreet.audit.labels.bounds import POWER
from discreet.audit.labels.conformance import ConformanceRow
from discreet.audit.labels.rows import EvaluationSets, LabelRow, PlantedCanaries, counts_of, difference_p
from discreet.core.numbers import counted, label_attack_name, p_value, percent, share_of, times
from discreet.core.numbers import epsilon as epsilon_name
from discreet.core.records import Estimate
from discreet.scores.table import CANARY, HELDOUT, PLACEBO, UNKNOWN, ScoreTable
from discreet.stats.arrays import scipy_module

SENTENCES = Sentences.read(__package__)
OF = {"secret": "the canary label", "trained": "the label that was trained on"}
say = SENTENCES.of("verdict")


@dataclass(frozen=True, slots=True)
class VerdictInputs:
    """What the verdict on one model depends on: its rows after Holm, and its controls.

    Attributes
    ----------
    family : int
        Deciding rows of all models.
    utility : mapping
        As `memorisation.utility_of`.
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
    further = _further(inputs)
    deciding = [row for row in inputs.rows if row.decides]
    if not deciding:
        bare = all(not row.held_out.resolved for row in inputs.rows)
        return Judgement("inconclusive", (say("no_held_out" if bare else "nothing_decides"), *further))
    found = [row for row in deciding if row.significant]
    if leaks := [row for row in found if row.leads]:
        return Judgement("fail", (*_leak(leaks, inputs), *further))
    best = strongest(deciding)
    assert best is not None
    finding = _finding(best, inputs.family)
    if found:
        first = say("control_off_chance" if (found[0].excess or 0.0) > 0.0 else "right_less_often",
                    attack=_named(found[0]), success=share_of(found[0].success), control=share_of(found[0].held_out))
        return Judgement("inconclusive", (first, finding, *further))
    if missing := _missing_for_pass(inputs):
        return Judgement("inconclusive", (*missing, finding, *further))
    return Judgement("pass", (say("no_leak_found"), finding, *_what_would_be_found(best, inputs), *further))


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


def claims(table: ScoreTable, target: int, sets: EvaluationSets, planted: bool, *, drawn_here: bool = False) -> Claims:
    """What the audit may say of one target, and what it may not and what would be needed.

    `drawn_here` where this package drew the labels and trained the models itself.
    """
    role, references = table.canaries.role[target], bool(table.label_references(target))
    held_out, trained = sets.held_out is not None, "trained" in sets.truths
    can = {"memory": held_out, "epsilon": held_out, "flips": trained and table.models[target].epsilon < inf,
           "planted": planted, "references": references}
    cannot = {"no_held_out": not held_out, "nothing_planted": not planted,
              "trained_label_unknown": (table.canaries.trained[target, role == CANARY] == UNKNOWN).any(),
              "no_references": not references, "no_trained_labels": not trained,
              "no_new_examples": not ((role == HELDOUT) | (role == PLACEBO)).any(),
              "drawn_elsewhere": not drawn_here, "other_labels": True}
    return Claims(*(tuple(map(SENTENCES.of(part), (code for code, holds in codes.items() if holds)))
                    for part, codes in (("can", can), ("cannot", cannot))))


def _finding(row: LabelRow, family: int) -> Reason:
    return say("strongest_attack", attack=_named(row), label=OF[row.target], success=share_of(row.success),
               control=share_of(row.held_out), family=counted(family, "comparison"), p=p_value(row.holm_p))


def _leak(leaks: Sequence[LabelRow], inputs: VerdictInputs) -> list[Reason]:
    best, at_canary = strongest(leaks), strongest([row for row in leaks if row.target == "secret"])
    assert best is not None
    said = [say("labels_leak"), _finding(best, inputs.family)]
    if best.target == "trained":
        said.append(say("canary_label_not_found") if at_canary is None else _finding(at_canary, inputs.family))
    if at_canary is None or at_canary.ceiling is None:
        return said
    epsilon, proven = at_canary.model.epsilon, inputs.epsilon_lower.value or 0.0
    if epsilon == inf:
        return [*said, say("epsilon_proven", proven=f"{proven:.2f}")] if proven > 0.0 else said
    return [*said, say("epsilon_broken" if proven > epsilon else "within_epsilon", epsilon=epsilon_name(epsilon),
                       ceiling=percent(at_canary.ceiling), proven=f"{proven:.2f}")]


def _missing_for_pass(inputs: VerdictInputs) -> list[Reason]:
    missing = {"mechanism_not_conforming": inputs.conformance.ok is False,
               "all_controls_off_chance": all(row.vetoed for row in inputs.rows if row.decides),
               "trained_label_unknown": inputs.canaries_without_label > 0,
               "nothing_planted": not inputs.planted,
               "planted_not_found": bool(inputs.planted) and least_detected(inputs.planted) is None}
    most = max((one.repetitions for one in inputs.planted), default=0)
    return [say(code, unknown=f"{inputs.canaries_without_label:,}", canaries=f"{inputs.canaries:,}", times=times(most))
            for code, applies in missing.items() if applies]


def _what_would_be_found(best: LabelRow, inputs: VerdictInputs) -> list[Reason]:
    """The positive control of a pass, the least effect that it would have found, and what was not tried."""
    found, least = least_detected(inputs.planted), least_effect(best, inputs.family)
    assert found is not None
    assert found.row is not None
    said = [say("planted_found", label=OF[found.row.target], success=share_of(found.row.success),
                times=times(found.repetitions), control=share_of(found.row.held_out))]
    if least is not None:
        said.append(say("least_effect", power=percent(POWER, 0), least=percent(least),
                        control=percent(best.held_out.value)))
    return said if inputs.references else [*said, say("no_references")]


def _further(inputs: VerdictInputs) -> list[Reason]:
    """What is said whatever the verdict: accuracy, flips, oracles that are right without memory, what was judged."""
    said, sets, chance = [], inputs.sets, 1.0 / inputs.sets.canaries.n_classes
    rates = [one for one in (*inputs.utility["train_accuracy"].values(), inputs.utility["test_accuracy"])
             if one.value is not None]
    if rates and all(one.low is not None and one.low <= chance for one in rates):
        best = max(rates, key=lambda one: one.value or 0.0)
        said.append(say("learned_nothing", best=share_of(best), chance=percent(chance)))
    if inputs.conformance.ok is False:
        said.append(say("flips_off", epsilon=epsilon_name(inputs.conformance.epsilon),
                        reasons="; ".join(inputs.conformance.reasons)))
    fooled = [row for row in inputs.rows if row.oracle and row.target == "secret" and not row.tuned
              and row.settings.loss_labels == "secret" and (row.held_out.low or 0.0) > row.chance]
    plain = [row for row in fooled if row.settings.beta == row.settings.alpha and row.settings.margin == "p1-second"]
    if fooled:
        worst = max(plain or fooled, key=lambda row: row.held_out.value or 0.0)
        said.append(say("oracle_right_on_held_out", attack=_named(worst), success=percent(worst.success.value, 0),
                        control=percent(worst.held_out.value, 0)))
    if sets.left_out:
        kept = len(sets.canaries) + (0 if sets.held_out is None else len(sets.held_out))
        said.append(say("one_row_a_group", kept=f"{kept:,}", all=f"{kept + sets.left_out:,}"))
    return said if "trained" in sets.truths else [*said, say("canary_label_alone")]


def _named(row: LabelRow) -> str:
    return label_attack_name({**row.settings.to_json(), "tuned": row.tuned})
