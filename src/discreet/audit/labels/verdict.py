"""Pass, fail or inconclusive about training labels, with reasons, and what can be claimed.

The rule: *fail* where attacks that see outputs alone are right about canary labels more often than the null allows
(`discreet.audit.labels.null`: more than chance, or under a mechanism more than what its ε allows), or where a mechanism
changed fewer labels than its ε demands. *Pass* where neither is so and planted memorisation, of the labels that were
trained on, was found. Else *inconclusive*; so is every audit whose held-out canaries are known, or avoided, more than
chance explains. Oracles, privileged attacks and figures about the trained label are printed and decide nothing. A
mechanism that does not do what it claims cannot pass, nor can a model of whose canaries the table does not say with
which label it was trained on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from discreet.audit.core.verdict import Claims, ControlState, Judgement, Sentence, Sentences, least_detected
from discreet.audit.labels.bounds import POWER, ceiling
from discreet.audit.labels.conformance import ConformanceRow, epsilon_json
from discreet.audit.labels.judged import Judged, PlantedCanaries
from discreet.audit.labels.memorisation import exposure_of, histogram_of, mean_memorisation
from discreet.audit.labels.null import REDRAWS
from discreet.audit.labels.rows import EvaluationSets, LabelRow, counts_of
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
    judged : Judged
        All attacks and their test, after Holm over all models.
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
    judged: Judged
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
    def rows(self) -> tuple[LabelRow, ...]:
        """All attacks about both labels."""
        return self.judged.rows

    @property
    def least_effect(self) -> float | None:
        """Success on canaries that would have been found with chance `POWER`, by the strongest attack if the others are
        at chance; None where labels are not drawn again, or an attack that is always right would not be found."""
        best, test, deciding = strongest(self.judged.deciding), self.judged.test, self.judged.deciding
        if best is None or test is None:
            return None
        needed, made = test.needed[deciding.index(best)], counts_of(best.success)[1]
        if needed > made:
            return None
        # P(Binomial(made, share) >= needed) = POWER, solved for the share.
        special = scipy_module("special", "the power of a label audit")
        return float(special.betaincinv(needed, made - needed + 1.0, POWER))

    @property
    def within_epsilon(self) -> bool:
        """Whether the null is what ε allows, not that nothing is known."""
        return self.judged.null in ("mechanism", "ceiling")

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
             "null": self.judged.null, "test": None if self.judged.test is None else {
                 **self.judged.test.to_json(), "adjusted_p": self.judged.p}, "control_p": self.judged.control_p,
             "control_states": control_states(self), "conformance": self.conformance, "utility": self.utility,
             "epsilon_lower": self.epsilon_lower, "least_effect": self.least_effect, "exposure": exposure_of(self.sets),
             "memorisation": mean_memorisation(self.sets), "histogram": histogram_of(self.sets)})
        return found


def judge(one: ModelAudit) -> Judgement:
    """The verdict on one model."""
    further, judged = _further(one), one.judged
    if one.conformance.too_few:
        return Judgement("fail", (say("mechanism_broken", epsilon=epsilon_name(one.model.epsilon)), *further))
    best = strongest(judged.deciding)
    if best is None:
        bare = all(not row.held_out.resolved for row in one.rows)
        return Judgement("inconclusive", (say("no_held_out" if bare else "nothing_decides"), *further))
    finding = _finding(best, one)
    if judged.void:
        return Judgement("inconclusive", (say("control_off_chance", p=p_value(judged.control_p)), *finding, *further))
    if judged.found:
        return Judgement("fail", (*_leak(one), *further))
    if less := [row for row in judged.deciding if row.significant and judged.test is None]:
        first = say("right_less_often", attack=_named(less[0]))
        return Judgement("inconclusive", (first, *finding, *further))
    if missing := _missing_for_pass(one):
        return Judgement("inconclusive", (*missing, *finding, *further))
    said = say("no_more_than_epsilon", **_promise(one)) if one.within_epsilon else say("no_leak_found")
    return Judgement("pass", (said, *finding, *_what_would_be_found(one), *further))


def control_states(one: ModelAudit) -> dict[str, ControlState]:
    """What each control of a model shows."""
    judged, conformance = one.judged, one.conformance
    control = ControlState("broken", ("control", "void")) if judged.void else ControlState("holds", ("control",))
    planted = ControlState("broken" if least_detected(one.planted) is None else "holds", ("planted",))
    untouched = conformance.expected_flip == 0.0 and conformance.observed.value == 0.0
    mechanism = ControlState("broken", ("mechanism", "flips_off"))
    if conformance.ok:
        mechanism = ControlState("holds", ("no_mechanism" if untouched else "mechanism",))
    null = ControlState("lacking", (f"null_{judged.null}",))
    return {"control": control if judged.deciding else ControlState("lacking", ("no_control",)),
            "planted": planted if one.planted else ControlState("lacking", ("none_planted",)),
            "mechanism": ControlState("lacking", ("no_labels",)) if conformance.ok is None else mechanism,
            "null": null if judged.test is None else ControlState("done", (f"null_{judged.null}", "redrawn"))}


def strongest(rows: Sequence[LabelRow]) -> LabelRow | None:
    """The row that comes nearest to a finding."""
    return min(rows, default=None, key=lambda row: row.nearness)


def _finding(best: LabelRow, one: ModelAudit) -> list[Sentence]:
    """What all attacks together show, where they make one test, and the strongest."""
    judged = one.judged
    of = counted(len(judged.deciding) if judged.test is None else judged.test.distinct, "attack")
    said = [] if judged.test is None else [say("together", attacks=of, redraws=f"{REDRAWS:,}", p=p_value(judged.p))]
    over = f"step-down over {of}" if judged.test is not None else f"Holm over {of}"
    return [*said, say("strongest_attack", attack=_named(best), success=share_of(best.success), over=over,
                       control=share_of(best.held_out), p=p_value(best.adjusted_p))]


def _promise(one: ModelAudit) -> dict[str, str]:
    """The ε of a mechanism, and how often it allows an attacker to be right about a canary label."""
    epsilon = one.model.epsilon
    return {"epsilon": epsilon_name(epsilon), "ceiling": percent(ceiling(epsilon, one.sets.canaries.n_classes))}


def _leak(one: ModelAudit) -> list[Sentence]:
    best, proven = strongest(one.judged.named or one.judged.deciding), one.epsilon_lower.value or 0.0
    assert best is not None
    said = [say("beyond_epsilon", **_promise(one)) if one.within_epsilon else say("labels_leak"), *_finding(best, one)]
    if not one.judged.named:
        said.append(say("none_named"))
    if one.model.epsilon == inf:
        return [*said, say("epsilon_proven", proven=f"{proven:.2f}")] if proven > 0.0 else said
    if proven > one.model.epsilon:
        return [*said, say("epsilon_broken", **_promise(one), proven=f"{proven:.2f}")]
    return said if one.within_epsilon else [*said, say("maybe_within_epsilon", **_promise(one))]


def _missing_for_pass(one: ModelAudit) -> list[Sentence]:
    missing = {"mechanism_not_conforming": one.conformance.ok is False,
               "trained_label_unknown": one.canaries_without_label > 0, "nothing_planted": not one.planted,
               "planted_not_found": bool(one.planted) and least_detected(one.planted) is None}
    most = max((control.repetitions for control in one.planted), default=0)
    return [say(code, unknown=f"{one.canaries_without_label:,}", canaries=f"{one.canaries:,}", times=times(most))
            for code, applies in missing.items() if applies]


def _what_would_be_found(one: ModelAudit) -> list[Sentence]:
    """The positive control of a pass, the least effect that it would have found, and what was not tried."""
    found, least = least_detected(one.planted), one.least_effect
    assert found is not None
    assert found.row is not None
    said = [say("planted_found", label=OF[found.row.target], success=share_of(found.row.success),
                times=times(found.repetitions), chance=percent(found.row.chance))]
    if least is not None:
        said.append(say("least_effect", power=percent(POWER, 0), least=percent(least)))
    return said if one.references else [*said, say("no_references")]


def _further(one: ModelAudit) -> list[Sentence]:
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
