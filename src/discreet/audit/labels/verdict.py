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
from functools import cached_property
from math import ceil, inf
from typing import Any

from discreet.audit.core.verdict import ALPHA, Claims, ControlState, Judgement, Reason, Sentences, least_detected
from discreet.audit.labels.bounds import POWER
from discreet.audit.labels.conformance import ConformanceRow, epsilon_json
from discreet.audit.labels.memorisation import exposure_of, histogram_of, mean_memorisation
from discreet.audit.labels.rows import EvaluationSets, LabelRow, PlantedCanaries, counts_of, difference_p
from discreet.audit.scores.table import Model
from discreet.core.numbers import counted, label_attack_name, p_value, percent, share_of, times
from discreet.core.numbers import epsilon as epsilon_name
from discreet.core.records import Estimate, plain
from discreet.stats.arrays import scipy_module

SENTENCES = Sentences.read(__package__)
OF = {"canary": "the canary label", "trained": "the label that was trained on"}
say = SENTENCES.of("verdict")


@dataclass(frozen=True, eq=False)
class ModelAudit:
    """What was found about one target.

    Attributes
    ----------
    rows, family : tuple of LabelRow, int
        After Holm over all models; and how many rows of all models decide.
    utility : mapping
        As `memorisation.utility_of`.
    epsilon_lower : Estimate
        What all attacks on outputs prove together, at 95%.
    references, canaries, canaries_without_label : int
        Reference models; all canaries, planted ones included, and those without `label_trained`.
    drawn_here : bool
        Whether this package drew the labels and trained the models itself.
    """

    model: Model
    sets: EvaluationSets
    rows: tuple[LabelRow, ...]
    family: int
    planted: tuple[PlantedCanaries, ...]
    conformance: ConformanceRow
    utility: Mapping[str, Any]
    epsilon_lower: Estimate
    references: int
    canaries: int
    canaries_without_label: int
    drawn_here: bool

    @cached_property
    def judgement(self) -> Judgement:
        """The verdict and its reasons."""
        return judge(self)

    @property
    def least_effect(self) -> float | None:
        """Success on canaries that would have been found with chance .8; None without any."""
        best = strongest([row for row in self.rows if row.decides])
        return None if best is None else least_effect(best, self.family)

    @property
    def claims(self) -> Claims:
        """What the audit may say of this target, and what it may not and what would be needed."""
        held_out, trained = self.sets.held_out is not None, "trained" in self.sets.truths
        can = {"memory": held_out, "epsilon": held_out, "flips": trained and self.model.epsilon < inf,
               "planted": self.planted, "references": self.references}
        cannot = {"no_held_out": not held_out, "nothing_planted": not self.planted,
                  "trained_label_unknown": self.canaries_without_label, "no_references": not self.references,
                  "no_trained_labels": not trained, "no_new_examples": not self.utility["test_accuracy"].resolved,
                  "drawn_elsewhere": not self.drawn_here, "other_labels": True}
        return SENTENCES.claims(can, cannot)

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the rows."""
        found: dict[str, Any] = plain(
            {"target": self.model.name, "mechanism": self.model.mechanism, "epsilon": epsilon_json(self.model.epsilon),
             "seed": self.model.seed, **self.judgement.to_json(), "claims": self.claims, "planted": self.planted,
             "control_states": control_states(self), "conformance": self.conformance, "utility": self.utility,
             "epsilon_lower": self.epsilon_lower, "least_effect": self.least_effect, "exposure": exposure_of(self.sets),
             "memorisation": mean_memorisation(self.sets), "histogram": histogram_of(self.sets)})
        return found


def judge(one: ModelAudit) -> Judgement:
    """The verdict on one model."""
    further = _further(one)
    deciding = [row for row in one.rows if row.decides]
    best = strongest(deciding)
    if best is None:
        bare = all(not row.held_out.resolved for row in one.rows)
        return Judgement("inconclusive", (say("no_held_out" if bare else "nothing_decides"), *further))
    found = [row for row in deciding if row.significant]
    if leaks := [row for row in found if row.leads]:
        return Judgement("fail", (*_leak(leaks, one), *further))
    finding = _finding(best, one.family)
    if found:
        first = say("control_off_chance" if (found[0].excess or 0.0) > 0.0 else "right_less_often",
                    attack=_named(found[0]), success=share_of(found[0].success), control=share_of(found[0].held_out))
        return Judgement("inconclusive", (first, finding, *further))
    if missing := _missing_for_pass(one):
        return Judgement("inconclusive", (*missing, finding, *further))
    return Judgement("pass", (say("no_leak_found"), finding, *_what_would_be_found(best, one), *further))


def control_states(one: ModelAudit) -> dict[str, ControlState]:
    """What each control of a model shows."""
    vetoed = [row.vetoed for row in one.rows if row.access == "outputs" and row.target == "canary"
              and row.success.resolved and row.held_out.resolved]
    control = ControlState("broken" if all(vetoed) else "holds", ("control", "void") if any(vetoed) else ("control",))
    found, conformance = least_detected(one.planted) is not None, one.conformance
    planted = ControlState("holds" if found else "broken", ("planted",))
    untouched = conformance.expected_flip == 0.0 and conformance.observed.value == 0.0
    mechanism = ControlState("broken", ("mechanism", "flips_off"))
    if conformance.ok:
        mechanism = ControlState("holds", ("no_mechanism" if untouched else "mechanism",))
    drawn = any(row.null_p is not None and row.success.resolved for row in one.rows)
    return {"control": control if vetoed else ControlState("lacking", ("no_control",)),
            "planted": planted if one.planted else ControlState("lacking", ("none_planted",)),
            "mechanism": ControlState("lacking", ("no_labels",)) if conformance.ok is None else mechanism,
            "null": ControlState("done", ("drawn",)) if drawn else ControlState("lacking", ("not_drawn",))}


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
    return say("strongest_attack", attack=_named(row), label=OF[row.target], success=share_of(row.success),
               control=share_of(row.held_out), family=counted(family, "comparison"), p=p_value(row.holm_p))


def _leak(leaks: Sequence[LabelRow], one: ModelAudit) -> list[Reason]:
    best, at_canary = strongest(leaks), strongest([row for row in leaks if row.target == "canary"])
    assert best is not None
    said = [say("labels_leak"), _finding(best, one.family)]
    if best.target == "trained":
        said.append(say("canary_label_not_found") if at_canary is None else _finding(at_canary, one.family))
    if at_canary is None:
        return said
    epsilon, proven = one.model.epsilon, one.epsilon_lower.value or 0.0
    if epsilon == inf:
        return [*said, say("epsilon_proven", proven=f"{proven:.2f}")] if proven > 0.0 else said
    return [*said, say("epsilon_broken" if proven > epsilon else "within_epsilon", epsilon=epsilon_name(epsilon),
                       ceiling=percent(at_canary.ceiling), proven=f"{proven:.2f}")]


def _missing_for_pass(one: ModelAudit) -> list[Reason]:
    missing = {"mechanism_not_conforming": one.conformance.ok is False,
               "all_controls_off_chance": all(row.vetoed for row in one.rows if row.decides),
               "trained_label_unknown": one.canaries_without_label > 0, "nothing_planted": not one.planted,
               "planted_not_found": bool(one.planted) and least_detected(one.planted) is None}
    most = max((control.repetitions for control in one.planted), default=0)
    return [say(code, unknown=f"{one.canaries_without_label:,}", canaries=f"{one.canaries:,}", times=times(most))
            for code, applies in missing.items() if applies]


def _what_would_be_found(best: LabelRow, one: ModelAudit) -> list[Reason]:
    """The positive control of a pass, the least effect that it would have found, and what was not tried."""
    found, least = least_detected(one.planted), least_effect(best, one.family)
    assert found is not None
    assert found.row is not None
    said = [say("planted_found", label=OF[found.row.target], success=share_of(found.row.success),
                times=times(found.repetitions), control=share_of(found.row.held_out))]
    if least is not None:
        said.append(
            say("least_effect", power=percent(POWER, 0), least=percent(least), control=percent(best.held_out.value)))
    return said if one.references else [*said, say("no_references")]


def _further(one: ModelAudit) -> list[Reason]:
    """What is said whatever the verdict: accuracy, flips, oracles that are right without memory, what was judged."""
    said, sets, chance = [], one.sets, 1.0 / one.sets.canaries.n_classes
    rates = [rate for rate in (*one.utility["train_accuracy"].values(), one.utility["test_accuracy"]) if rate.resolved]
    if rates and all(rate.low is not None and rate.low <= chance for rate in rates):
        best = max(rates, key=lambda rate: rate.value or 0.0)
        said.append(say("learned_nothing", best=share_of(best), chance=percent(chance)))
    if one.conformance.ok is False:
        said.append(
            say("flips_off", epsilon=epsilon_name(one.conformance.epsilon), reasons="; ".join(one.conformance.reasons)))
    fooled = [row for row in one.rows if row.target == "canary" and not row.tuned
              and row.settings.loss_labels == "canary" and (row.held_out.low or 0.0) > row.chance]
    if fooled:
        usual = [
            row for row in fooled if row.settings.beta == row.settings.alpha and row.settings.margin == "p1-second"]
        worst = max(usual or fooled, key=lambda row: row.held_out.value or 0.0)
        said.append(say("oracle_right_on_held_out", attack=_named(worst), success=percent(worst.success.value, 0),
                        control=percent(worst.held_out.value, 0)))
    if sets.left_out:
        kept = len(sets.canaries) + (0 if sets.held_out is None else len(sets.held_out))
        said.append(say("one_row_a_group", kept=f"{kept:,}", all=f"{kept + sets.left_out:,}"))
    return said if "trained" in sets.truths else [*said, say("canary_label_alone")]


def _named(row: LabelRow) -> str:
    return label_attack_name({**row.settings.to_json(), "tuned": row.tuned})
