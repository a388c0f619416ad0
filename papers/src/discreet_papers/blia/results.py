"""All attacks on one condition, canaries pooled over seeds: a condition is a mechanism at an ε.

Every seed draws canaries and their labels anew, so that the right guesses of all seeds are one count. Without memory it
is binomial; with memory its interval takes the canaries of one model as independent. What the count proves about ε
needs no such thing and holds as for one run (each guess is right with the chance of the ceiling at the most, whatever
all other canary labels are). Unlike `audit_labels` this takes a mechanism that is broken on purpose.

**The strongest attack** is chosen on every other canary and control and judged on those between: the largest of many
would be large by chance, and its control small.

**Is an attack stronger than LIA-Threshold?** Two questions, both of which must be answered well:

1. Is it memory? Fisher's exact test of the attack's success on canaries against that on controls, p < .01, and success
   the larger. Of the guesses that the attack makes itself.
2. Is it more? McNemar's exact test of which canaries are right under the attack alone and under the baseline alone,
   Holm over all attacks compared, whatever became of the first question: the canaries that decide it are those of the
   second, so that a family chosen by it would be chosen by what is then tested.

LIA-Threshold has three types. An attack is stronger when it is so than each of them: its p is the largest of theirs,
which needs no correction (an intersection–union test). Where an attack abstains, the baseline's guess stands in for its
own: an attacker has that guess and would use it. Such a canary is right under both or under neither, hence the p is
that of the canaries on which both guess, but it speaks of all of them: who guesses few canaries is not called stronger
for the choice. A canary counts once for each seed: its label is drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from discreet.audit.labels.attacker_view import Guesses, LabelAttack, Truth, all_attacks
from discreet.audit.labels.bounds import ceiling, ladder_bound
from discreet.audit.labels.conformance import conformance_of, epsilon_json
from discreet.audit.labels.memorisation import utility_of
from discreet.audit.labels.rows import Tried, compared, evaluation_sets, repetitions_of, try_attack
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, TRAIN, ScoreTable
from discreet.core.numbers import label_attack_name
from discreet.core.records import Estimate, plain
from discreet.core.types import IntArray
from discreet.stats.estimates import rate_estimate
from discreet.stats.testing import holm, mcnemar_exact
from discreet_papers.shared import averaged

Part: TypeAlias = tuple[ScoreTable, int]
"""A table and the row of one of its targets."""
Attempt: TypeAlias = tuple[LabelAttack, Tried, Tried]
"""An attack, and what it guesses of all canaries and of all controls."""

ALPHA = 0.05
CONTROL_ALPHA = 0.01


def condition(parts: Sequence[Part]) -> dict[str, Any]:
    """The record of one condition: every attack, what the bounds prove, utility, flips, planted canaries.

    `parts` are a table and a target of each seed, all of one mechanism and ε, with two classes.

    Raises InputError where a target has no canaries or no controls.
    """
    table, target = parts[0]
    model = table.models[target]
    sets = [evaluation_sets(*part) for part in parts]
    tried = [(attack, pooled([try_attack(attack, one.canaries) for one in sets]),
              pooled([try_attack(attack, one.held_out) for one in sets if one.held_out is not None]))
             for attack in all_attacks(table.n_classes)]
    rows = attack_rows(tried)
    return {"mechanism": model.mechanism, "epsilon": epsilon_json(model.epsilon),
            "seeds": [one.models[row].seed for one, row in parts], "chance": 1.0 / table.n_classes,
            "ceiling": ceiling(model.epsilon, table.n_classes), **_sizes(parts), "attacks": rows,
            "chosen": chosen(tried), "epsilon_lower": _proved(tried, rows).to_json(), "utility": _utility(parts),
            "flips": _flips(parts), "planted": _planted(parts), "stronger": stronger_attacks(tried)}


def pooled(parts: Sequence[Tried]) -> Tried:
    """What one attack guesses of the rows of all seeds; each target was attacked by itself."""
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Tried(None, none, none, 2, "there are no held-out canaries")
    guesses = [one.guesses for one in parts if one.guesses is not None]
    together = Guesses(np.concatenate([one.label for one in guesses]), np.concatenate(
        [one.confidence for one in guesses])) if len(guesses) == len(parts) else None
    return Tried(together, np.concatenate([one.canary for one in parts]), np.concatenate(
        [one.trained for one in parts]), parts[0].n_classes, next((one.why for one in parts if one.why), ""))


def attack_rows(tried: Sequence[Attempt], truths: Sequence[Truth] = ("canary", "trained")) -> list[dict[str, Any]]:
    """One row for each attack and each of the labels that guesses are compared with."""
    found = []
    for truth in truths:
        for attack, canary, control in tried:
            # As in `audit.labels.rows`: a fair draw in twenty would take a finding away at 95% for each row.
            success, rate, p, vetoed = compared(canary, control, truth, 1.0 - ALPHA / (2 * len(tried)))
            found.append({**attack.settings.to_json(), "access": attack.access, "oracle": attack.access == "oracle",
                          "target": truth, "success": success.to_json(), "control": rate.to_json(),
                          "difference_p": p, "vetoed": vetoed})
    return found


def chosen(tried: Sequence[Attempt]) -> dict[str, Any] | None:
    """The row at the canary label, on one half, of the attack that is `strongest` on the other; None without."""
    honest = [one for one in tried if one[0].access == "outputs"]
    first, second = (attack_rows([(attack, _half(canary, start), _half(control, start))
                                  for attack, canary, control in honest], ("canary",)) for start in (0, 1))
    # Whether a guess is made does not depend on a canary label.
    pairs = [(here, there) for here, there in zip(first, second, strict=True) if there["difference_p"] is not None]
    best = strongest(here for here, _ in pairs)
    return next((there for here, there in pairs if here is best), None)


def _half(tried: Tried, start: int) -> Tried:
    """Every other one, from the first (0) or the second (1) on; the order does not depend on canary labels."""
    guesses = tried.guesses and Guesses(tried.guesses.label[start::2], tried.guesses.confidence[start::2])
    return Tried(guesses, tried.canary[start::2], tried.trained[start::2], tried.n_classes, tried.why)


def strongest(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Of attacks on outputs that controls leave standing the one whose lead over its control is least likely by
    chance; without any in the lead the one that is right most often. None where none could be run."""
    there = [row for row in rows if row["success"]["value"] is not None and row["control"]["value"] is not None
             and not row["vetoed"]]
    ahead = [row for row in there if row["success"]["value"] > row["control"]["value"]]
    if ahead:
        return min(ahead, key=lambda row: (row["difference_p"], -row["success"]["value"]))
    return max(there, key=lambda row: row["success"]["value"], default=None)


def _proved(tried: Sequence[Attempt], rows: Sequence[Mapping[str, Any]]) -> Estimate:
    """The best ladder bound of all attacks on outputs that no control vetoes, Bonferroni over all on outputs."""
    vetoed = [row["vetoed"] for row in rows if row["target"] == "canary"]
    honest = [(canary, canary.guesses, veto) for (attack, canary, _), veto in zip(tried, vetoed, strict=True)
              if attack.access == "outputs" and canary.guesses is not None and canary.guesses.made.any()]
    found = [ladder_bound(guesses.correct(canary.canary)[guesses.made], guesses.confidence[guesses.made],
                          canary.n_classes, ALPHA / len(honest)) for canary, guesses, veto in honest if not veto]
    if not found:
        return Estimate.unresolved("no attack on outputs alone that controls leave standing made a guess",
                                   unit="canary")
    return max(found, key=lambda one: one.epsilon).estimate(ALPHA)


def stronger_attacks(tried: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Attacks on outputs that are not LIA-Threshold against all three types of it; none without either.

    Of each: `attack`, the `baseline` that it beats least, `n` canaries, `right` and `baseline_right` ones (with the
    baseline's guess where the attack abstains), success of its own guesses, `difference_p`, canaries right under
    one of the two alone, McNemar's `paired_p` (1 where it does not lead) and after Holm, `stronger`.
    """
    honest = {label_attack_name(attack.settings.to_json(), brief=True): (attack, canary, control, canary.guesses.label)
              for attack, canary, control in tried
              if attack.access == "outputs" and canary.guesses is not None and control.guesses is not None}
    baselines = {name: guess for name, (attack, _, _, guess) in honest.items()
                 if attack.settings.attack == "lia_threshold"}
    found = [_against(name, canary, control, guess, baselines)
             for name, (_, canary, control, guess) in honest.items() if baselines and name not in baselines]
    adjusted = holm([one["paired_p"] for one in found]).tolist() if found else []
    for one, p in zip(found, adjusted, strict=True):
        memory = one["difference_p"] is not None and one["difference_p"] < CONTROL_ALPHA and (
            one["success"]["value"] > one["control"]["value"])
        one |= {"holm_p": p, "stronger": bool(memory and p < ALPHA)}
    return found


def _against(name: str, canary: Tried, control: Tried, guess: IntArray, baselines: Mapping[str, IntArray]
             ) -> dict[str, Any]:
    pairs = {}
    for baseline, other in baselines.items():
        attack, base = np.where(guess < 0, other, guess) == canary.canary, other == canary.canary
        alone = int((attack & ~base).sum()), int((base & ~attack).sum())
        # Two-sided, but for who lags: that is no evidence of a lead, and must not use up Holm's steps.
        pairs[baseline] = mcnemar_exact(*alone) if alone[0] > alone[1] else 1.0, *alone, int(base.sum())
    hardest = max(pairs, key=lambda baseline: pairs[baseline][0])
    paired_p, only_attack, only_baseline, right = pairs[hardest]
    success, rate, p, _ = compared(canary, control, "canary", 1.0 - ALPHA)
    return {"attack": name, "baseline": hardest, "n": int(canary.canary.size),
            "right": right + only_attack - only_baseline, "baseline_right": right, "success": success.to_json(),
            "control": rate.to_json(), "difference_p": p, "only_attack": only_attack,
            "only_baseline": only_baseline, "paired_p": paired_p}


def _sizes(parts: Sequence[Part]) -> dict[str, Any]:
    """Rows of the first seed; canaries and held-out ones of all seeds together, planted ones left out."""
    roles = [table.canaries.role[target] for table, target in parts]
    planted = [table.canaries.planted[target] > 0 for table, target in parts]
    return {"n_trained": int(np.isin(roles[0], (CANARY, TRAIN)).sum()),
            "n_canaries": sum(int(((role == CANARY) & ~out).sum()) for role, out in zip(roles, planted, strict=True)),
            "n_controls": sum(int((role == CONTROL).sum()) for role in roles),
            "n_heldout": int((roles[0] == HELDOUT).sum())}


def _utility(parts: Sequence[Part]) -> dict[str, Any]:
    """As `utility_of`, means over seeds."""
    each = [utility_of(*part) for part in parts]
    return dict(plain({"train_accuracy": {name: averaged([[one["train_accuracy"][name]] for one in each])
                                          for name in ("trained", "canary", "original")},
                       "test_accuracy": averaged([[one["test_accuracy"]] for one in each])}))


def _flips(parts: Sequence[Part]) -> dict[str, Any]:
    """Labels that the mechanism changed, of all that were to be trained on: `{"expected", "observed", "ok"}`.

    `ok` is whether every seed conforms to its ε; `expected` is None where a prior decides.
    """
    rows = [conformance_of(*part) for part in parts]
    changed = sum(round((one.observed.value or 0.0) * (one.observed.n or 0)) for one in rows)
    observed = rate_estimate(changed, sum(one.observed.n or 0 for one in rows), unit="label", of="labels")
    return {"expected": None if rows[0].at_least else rows[0].expected_flip, "observed": observed.to_json(),
            "ok": all(one.ok for one in rows)}


def _planted(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """How often the likeliest class of planted canaries is their canary label, by how often they stand in training."""
    found = []
    for copies in sorted({copies for part in parts for copies in repetitions_of(*part)}):
        right = [table.logits[target, rows, 0].argmax(axis=1) == table.canaries.label[target][rows]
                 for table, target in parts for rows in (table.canaries.planted[target] == copies,)]
        found.append({"copies": copies, "success": rate_estimate(
            sum(int(one.sum()) for one in right), sum(one.size for one in right), unit="canary", of="canaries"
        ).to_json()})
    return found
