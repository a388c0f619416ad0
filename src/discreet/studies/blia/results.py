"""All attacks on one condition, canaries pooled over seeds: a condition is a mechanism at an ε.

Every seed draws canaries and secrets anew, so that the right guesses of all seeds are one count. Without memory it is
binomial; with memory its interval takes the canaries of one model as independent. What the count proves about ε needs
no such thing and holds as for one run (each guess is right with the chance of the ceiling at the most, whatever all
other secrets are). Unlike `audit_labels` this takes a mechanism that is broken on purpose.

**The strongest attack** is chosen on every other canary and placebo and judged on those between: the largest of many
would be large by chance, and its placebo small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.audit.core.verdict import plain
from discreet.audit.labels.attacker_view import Guesses, LabelAttack, Truth, all_attacks, run
from discreet.audit.labels.bounds import ceiling, ladder_bound
from discreet.audit.labels.comparison import compare_attacks
from discreet.audit.labels.conformance import conformance_of, epsilon_json
from discreet.audit.labels.memorisation import utility_of
from discreet.audit.labels.rows import (
    EvaluationSets,
    blocked,
    counts_of,
    difference_p,
    evaluation_sets,
    excludes_chance,
    repetitions_of,
)
from discreet.core.numbers import label_attack_name
from discreet.core.records import Estimate
from discreet.core.types import IntArray
from discreet.scores.table import CANARY, HELDOUT, PLACEBO, TRAIN, ScoreTable
from discreet.stats.estimates import rate_estimate
from discreet.studies import averaged

Part: TypeAlias = tuple[ScoreTable, int]
"""A table and the row of one of its targets."""

ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """What one attack guesses of all canaries, or of all placebos, of all seeds, and the labels that it was asked for.

    `canary` and `trained` are (n,); `guesses` is None where the attack cannot be run, for the reason in `why`.
    """

    guesses: Guesses | None
    canary: IntArray
    trained: IntArray
    why: str | None = None

    def rate(self, truth: Truth, unit: str) -> Estimate:
        """The share of right ones among the guesses made."""
        if self.guesses is None:
            return Estimate.unresolved(self.why or "unresolved", n=0, unit=unit)
        right = self.guesses.correct(self.canary if truth == "secret" else self.trained)
        return rate_estimate(int(right.sum()), int(self.guesses.made.sum()), unit=unit, of="guesses")

    def half(self, first: int) -> Tried:
        """Every other one, from the first (0) or the second (1) on; the order does not depend on canary labels."""
        guesses = None if self.guesses is None else Guesses(self.guesses.label[first::2],
                                                            self.guesses.confidence[first::2])
        return Tried(guesses, self.canary[first::2], self.trained[first::2], self.why)


def condition(parts: Sequence[Part]) -> dict[str, Any]:
    """The record of one condition: every attack, what the bounds prove, utility, flips, planted canaries.

    Parameters
    ----------
    parts : sequence of (ScoreTable, int)
        A target of each seed, all of one mechanism and ε, with two classes.

    Raises InputError where a target has no canaries or no placebos.
    """
    table, target = parts[0]
    model = table.models[target]
    sides = [evaluation_sets(*part) for part in parts]
    attacks = all_attacks(table.n_classes)
    tried = [(attack, tried_on(attack, sides, "canary"), tried_on(attack, sides, "placebo")) for attack in attacks]
    rows = _rows(tried, table.n_classes)
    return {
        "mechanism": model.mechanism, "epsilon": epsilon_json(model.epsilon),
        "seeds": [one.models[row].seed for one, row in parts], "chance": 1.0 / table.n_classes,
        "ceiling": ceiling(model.epsilon, table.n_classes), **_sizes(parts), "attacks": rows,
        "chosen": chosen(tried, table.n_classes),
        "epsilon_lower": _proved(tried, rows, table.n_classes).to_json(), "utility": _utility(parts),
        "flips": flips(parts), "planted": planted(parts),
        "stronger": [one.to_json() for one in _stronger(tried)],
    }


def tried_on(attack: LabelAttack, sides: Sequence[EvaluationSets], side: str) -> Tried:
    """One attack on the canaries, or on the placebos, of all seeds; each target is attacked by itself."""
    rows = [one.canaries if side == "canary" else one.held_out for one in sides]
    there = [one for one in rows if one is not None]
    canary, trained = (np.concatenate([getattr(one, name) for one in there]) if there else
                       np.zeros(0, dtype=np.int64) for name in ("canary", "trained"))
    why = next((said for one in there if (said := blocked(attack, one)) is not None), None)
    if why is not None or not there:
        return Tried(None, canary, trained, why or "there are no held-out canaries")
    guesses = [run(attack, one) for one in there]
    return Tried(Guesses(np.concatenate([one.label for one in guesses]),
                         np.concatenate([one.confidence for one in guesses])), canary, trained)


def _rows(tried: Sequence[tuple[LabelAttack, Tried, Tried]], n_classes: int) -> list[dict[str, Any]]:
    found = []
    truths: tuple[Truth, ...] = ("secret", "trained")
    # As in `audit.labels.rows`: a fair draw in twenty would take a finding away at 95% for each row.
    level = 1.0 - ALPHA / (len(truths) * len(tried))
    for truth in truths:
        for attack, canary, placebo in tried:
            success, control = canary.rate(truth, "canary"), placebo.rate(truth, "placebo")
            both = success.resolved and control.resolved
            found.append({
                **attack.settings.to_json(), "access": attack.access, "oracle": attack.access == "oracle",
                "target": truth, "success": success.to_json(), "placebo": control.to_json(),
                "difference_p": difference_p(counts_of(success), counts_of(control)) if both else None,
                "vetoed": control.resolved and excludes_chance(control, 1.0 / n_classes, level)})
    return found


def chosen(tried: Sequence[tuple[LabelAttack, Tried, Tried]], n_classes: int) -> dict[str, Any] | None:
    """The row at the secret, on one half, of the attack on outputs that is `strongest` on the other; None without."""
    honest = [one for one in tried if one[0].access == "outputs"]
    first, second = (_rows([(attack, canary.half(side), placebo.half(side)) for attack, canary, placebo in honest],
                           n_classes)[:len(honest)] for side in (0, 1))
    # Whether a guess is made does not depend on a canary label.
    pairs = [(here, there) for here, there in zip(first, second, strict=True) if there["difference_p"] is not None]
    best = strongest(here for here, _ in pairs)
    return next((there for here, there in pairs if here is best), None)


def strongest(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Of attacks on outputs that placebos leave standing the one whose lead over its placebo is least likely by
    chance; without any in the lead the one that is right most often. None where none could be run."""
    there = [row for row in rows if row["success"]["value"] is not None and row["placebo"]["value"] is not None
             and not row["vetoed"]]
    ahead = [row for row in there if row["success"]["value"] > row["placebo"]["value"]]
    if ahead:
        return min(ahead, key=lambda row: (row["difference_p"], -row["success"]["value"]))
    return max(there, key=lambda row: row["success"]["value"], default=None)


def _proved(tried: Sequence[tuple[LabelAttack, Tried, Tried]], rows: Sequence[Mapping[str, Any]],
            n_classes: int) -> Estimate:
    """The best ladder bound of all attacks on outputs that no placebo vetoes, Bonferroni over all on outputs."""
    vetoed = [row["vetoed"] for row in rows if row["target"] == "secret"]
    honest = [(canary, veto) for (attack, canary, _), veto in zip(tried, vetoed, strict=True)
              if attack.access == "outputs" and canary.guesses is not None and canary.guesses.made.any()]
    found = []
    for canary, veto in honest:
        assert canary.guesses is not None
        made = canary.guesses.made
        if not veto:
            found.append(ladder_bound(canary.guesses.correct(canary.canary)[made], canary.guesses.confidence[made],
                                      n_classes, ALPHA / len(honest)))
    if not found:
        return Estimate.unresolved("no attack on outputs alone that placebos leave standing made a guess",
                                   unit="canary")
    return max(found, key=lambda one: one.epsilon).estimate(ALPHA)


def _stronger(tried: Sequence[tuple[LabelAttack, Tried, Tried]]) -> tuple[Any, ...]:
    """Attacks on outputs that are not LIA-Threshold against all three types of it."""
    canaries, placebos, baselines = dict[str, IntArray](), dict[str, IntArray](), dict[str, IntArray]()
    labels, other = tried[0][1].canary, tried[0][2].canary
    for attack, canary, placebo in tried:
        if attack.access != "outputs" or canary.guesses is None or placebo.guesses is None:
            continue
        name = label_attack_name(attack.settings.to_json(), brief=True)
        if attack.settings.attack == "lia_threshold":
            baselines[name] = canary.guesses.label
        else:
            canaries[name], placebos[name] = canary.guesses.label, placebo.guesses.label
    return compare_attacks(canaries, labels, placebos, other, baselines) if baselines and canaries else ()


def _sizes(parts: Sequence[Part]) -> dict[str, Any]:
    """Rows of the first seed; canaries and placebos of all seeds together, planted ones left out."""
    table, target = parts[0]
    planted_too = [np.bincount(one.canaries.role[row], minlength=4) for one, row in parts]
    alone = [int(((one.canaries.role[row] == CANARY) & (one.canaries.planted[row] == 0)).sum()) for one, row in parts]
    return {"n_trained": int(np.isin(table.canaries.role[target], (CANARY, TRAIN)).sum()), "n_canaries": sum(alone),
            "n_placebos": int(sum(one[PLACEBO] for one in planted_too)),
            "n_heldout": int(planted_too[0][HELDOUT])}


def _utility(parts: Sequence[Part]) -> dict[str, Any]:
    """As `utility_of`, means over seeds."""
    each = [utility_of(*part) for part in parts]
    train = {name: averaged([[one["train_accuracy"][name]] for one in each]) for name in
             ("trained", "secret", "original")}
    return dict(plain({"train_accuracy": train, "test_accuracy": averaged([[one["test_accuracy"]] for one in each])}))


def flips(parts: Sequence[Part]) -> dict[str, Any]:
    """Labels that the mechanism changed, of all that were to be trained on: `{"expected", "observed", "ok"}`.

    `ok` is whether every seed conforms to its ε; `expected` is None where a prior decides.
    """
    rows = [conformance_of(*part) for part in parts]
    changed, n = (sum(numbers) for numbers in zip(*(
        (round((one.observed.value or 0.0) * (one.observed.n or 0)), one.observed.n or 0) for one in rows),
        strict=True))
    return {"expected": None if rows[0].at_least else rows[0].expected_flip,
            "observed": rate_estimate(changed, n, unit="label", of="labels").to_json(),
            "ok": all(one.ok for one in rows)}


def planted(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """How often the likeliest class of planted canaries is their secret, by how often they stand in training."""
    found = []
    for copies in sorted({copies for part in parts for copies in repetitions_of(*part)}):
        right = n = 0
        for table, target in parts:
            rows = table.canaries.planted[target] == copies
            right += int((np.argmax(table.logits[target, rows, 0], axis=1) == table.canaries.label[target][rows]).sum())
            n += int(rows.sum())
        found.append({"copies": copies, "success": rate_estimate(right, n, unit="canary", of="canaries").to_json()})
    return found
