"""Is an attack stronger than LIA-Threshold? Compared with it on the same canaries, pooled over seeds.

Two questions, both of which must be answered well:

1. Is it memory? Fisher's exact test of the attack's success on canaries against that on held-out canaries, p < .01, and
   success the larger. Of the guesses that the attack makes itself.
2. Is it more? McNemar's exact test of which canaries are right under the attack alone and under the baseline alone,
   Holm over all attacks compared, whatever became of the first question: the canaries that decide it are those of the
   second, so that a family chosen by it would be chosen by what is then tested.

**Several baselines.** LIA-Threshold has three types. An attack is stronger when it is so than each of them: its p is
the largest of theirs, which needs no correction (an intersection–union test).

**Abstentions.** Where an attack abstains, the baseline's guess stands in for its own. An attacker has that guess and
would use it, so that "the attack, else LIA-Threshold" is an honest attack on all canaries. Such a canary is right
under both or under neither, hence the p is that of the canaries on which both guess, but it speaks of all of them: who
guesses few canaries is not called stronger for the choice. To count an abstention as wrong would punish an attack for
saying that it does not know; a fair guess in its place would leave the verdict to a coin.

**Units.** A canary counts once for each seed: its label is drawn anew. McNemar's test takes canaries as independent;
rows that share one draw must be one row (`rows.evaluation_sets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.audit.labels.attacker_view import ABSTAINED
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, IntArray
from discreet.stats.arrays import share
from discreet.stats.estimates import rate_estimate
from discreet.stats.testing import fisher_exact, holm, mcnemar_exact

CONTROL_ALPHA = 0.01
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """One attack against the baseline that it beats least.

    Attributes
    ----------
    attack, baseline : str
    n : int
        Canaries, over all seeds.
    right, baseline_right : int
        Of them, with the baseline's guess where the attack abstains.
    success, held_out : Estimate
        Share of right ones among the attack's own guesses, on canaries and on held-out canaries; exact intervals.
    difference_p : float or None
        Of success against that; None where it made no guess on one of them.
    only_attack, only_baseline : int
        Canaries that are right under one of the two alone.
    paired_p, holm_p : float
        Of McNemar's test, two-sided, 1 where the attack does not lead; and after Holm over all attacks.
    stronger : bool
    """

    attack: str
    baseline: str
    n: int
    right: int
    baseline_right: int
    success: Estimate
    held_out: Estimate
    difference_p: float | None
    only_attack: int
    only_baseline: int
    paired_p: float
    holm_p: float
    stronger: bool

    def to_json(self) -> dict[str, Any]:
        """As the attributes."""
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "held_out"}
        return plain | {"success": self.success.to_json(), "placebo": self.held_out.to_json()}


def compare_attacks(
    canaries: Mapping[str, ArrayLike], labels: ArrayLike, held_out: Mapping[str, ArrayLike],
    held_out_labels: ArrayLike, baselines: Mapping[str, ArrayLike], *, alpha: float = ALPHA,
    control_alpha: float = CONTROL_ALPHA,
) -> tuple[Comparison, ...]:
    """Every attack against every baseline, in the order of `canaries`.

    Parameters
    ----------
    canaries : mapping of str to (n,) whole numbers
        What each attack guesses of all canaries of all seeds, negative (`ABSTAINED`) where it abstains. Attacks on
        outputs only: one that was shown a label wins nothing, and is not asked.
    labels : (n,) whole numbers
    held_out : mapping of str to (m,) whole numbers
        The same attacks on the held-out canaries of the same seeds.
    held_out_labels : (m,) whole numbers
    baselines : mapping of str to (n,) whole numbers
        At least one, without abstentions, on the canaries.

    Raises
    ------
    ValueError
        For unequal lengths, no canary, other attacks on held-out canaries than on canaries, no baseline, or one that
        abstains.
    """
    share(alpha, "alpha", open_interval=True)
    share(control_alpha, "control_alpha", open_interval=True)
    truth, other = _labels(labels, None, "labels"), _labels(held_out_labels, None, "held_out_labels")
    if not truth.size or not baselines or set(canaries) != set(held_out):
        raise ValueError(f"{truth.size} canaries, {len(baselines)} baselines, attacks on canaries {sorted(canaries)} "
                         f"and on held-out canaries {sorted(held_out)}: expected a canary, a baseline and the same "
                         f"attacks")
    held = {name: _labels(given, truth.size, f"baseline {name!r}") for name, given in baselines.items()}
    for name, guesses in held.items():
        if (guesses < 0).any():
            raise ValueError(f"baseline {name!r} abstains on {int((guesses < 0).sum())} canaries: expected a guess for "
                             f"each")
    found = [_compared(name, _labels(given, truth.size, name), truth, _labels(held_out[name], other.size, name), other,
                       held) for name, given in canaries.items()]
    adjusted = holm([one.paired_p for one in found]).tolist()
    return tuple(replace(one, holm_p=p, stronger=_is_stronger(one, p, alpha, control_alpha))
                 for one, p in zip(found, adjusted, strict=True))


def _compared(name: str, guesses: IntArray, labels: IntArray, on_held_out: IntArray, held_out_labels: IntArray,
              baselines: Mapping[str, IntArray]) -> Comparison:
    made, control_made = guesses >= 0, on_held_out >= 0
    won, control_won = int((guesses == labels)[made].sum()), int((on_held_out == held_out_labels)[control_made].sum())
    counted = int(made.sum()), int(control_made.sum())
    difference_p = fisher_exact(won, counted[0], control_won, counted[1]) if min(counted) else None
    pairs = {held: _discordant(np.where(made, guesses, other) == labels, other == labels)
             for held, other in baselines.items()}
    hardest = max(pairs, key=lambda held: _lead_p(*pairs[held]))
    only_attack, only_baseline = pairs[hardest]
    baseline_right = int((baselines[hardest] == labels).sum())
    return Comparison(
        name, hardest, int(labels.size), baseline_right + only_attack - only_baseline, baseline_right,
        rate_estimate(won, counted[0], unit="canary", of="guesses"),
        rate_estimate(control_won, counted[1], unit="placebo", of="guesses"), difference_p, only_attack, only_baseline,
        _lead_p(only_attack, only_baseline), 1.0, False)


def _discordant(attack: BoolArray, baseline: BoolArray) -> tuple[int, int]:
    return int((attack & ~baseline).sum()), int((baseline & ~attack).sum())


def _lead_p(only_attack: int, only_baseline: int) -> float:
    # Two-sided, but for who lags: that is no evidence of a lead, however clear, and must not use up Holm's steps.
    return mcnemar_exact(only_attack, only_baseline) if only_attack > only_baseline else 1.0


def _is_stronger(one: Comparison, holm_p: float, alpha: float, control_alpha: float) -> bool:
    if one.difference_p is None or one.success.value is None or one.held_out.value is None:
        return False
    memory = one.difference_p < control_alpha and one.success.value > one.held_out.value
    return memory and holm_p < alpha


def _labels(given: ArrayLike, n: int | None, name: str) -> IntArray:
    labels = np.asarray(given)
    if labels.ndim != 1 or (labels.size and labels.dtype.kind not in "iu") or (n is not None and labels.size != n):
        raise ValueError(f"{name} has shape {labels.shape} and type {labels.dtype}: expected "
                         f"{'(n,)' if n is None else f'({n},)'} whole numbers")
    return np.where(labels < 0, ABSTAINED, labels).astype(np.int64)
