"""The three lower bounds on ε of one attack, or why it proves none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.labels.access import Trial, Truth
from discreet.audit.labels.bounds import guess_epsilon, ladder_bound, two_rate_epsilon
from discreet.audit.labels.view import Access, Guesses
from discreet.core.records import Estimate

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower bounds on the pure ε of what was done to the labels, each at 95% by itself.

    Attributes
    ----------
    ladder : Estimate
        K-ary, one run, the surest guesses of five rungs. What `epsilon_lower` in JSON is.
    one_run : Estimate
        The same from all guesses.
    two_rate : Estimate
        Clopper–Pearson of two rates, two classes only. It takes guesses as independent of one another.
    """

    ladder: Estimate
    one_run: Estimate
    two_rate: Estimate

    def to_json(self) -> dict[str, Any]:
        """`epsilon_lower`, `epsilon_lower_one_run`, `epsilon_lower_two_rate`."""
        return {"epsilon_lower": self.ladder.to_json(), "epsilon_lower_one_run": self.one_run.to_json(),
                "epsilon_lower_two_rate": self.two_rate.to_json()}


def bounds_of(access: Access, truth: Truth, guesses: Guesses | None, trial: Trial, *, vetoed: bool, bounded: bool,
              alpha: float = ALPHA) -> Bounds:
    """The bounds that guesses on canaries prove; unresolved, with the reason, where they prove none.

    `bounded`: secrets were drawn independently of one another (not `exact_half`).
    """
    why = _void(access, truth, guesses, vetoed=vetoed, bounded=bounded)
    if why is not None or guesses is None:
        return Bounds(*(_unresolved(why or "no guess was made", alpha),) * 3)
    made, n_classes = guesses.made, trial.n_classes
    right = guesses.correct(trial.secret)
    ladder = ladder_bound(right[made], guesses.confidence[made], n_classes, alpha).estimate(alpha)
    correct, count = int(right.sum()), int(made.sum())
    one_run = Estimate(guess_epsilon(correct, count, n_classes, alpha), None, None, level=1.0 - alpha, n=count,
                       unit="canary", method=f"K-ary one-run bound, {correct} of {count} guesses right; a lower bound")
    return Bounds(ladder, _open(one_run), _two_rate(guesses, trial, alpha))


def _two_rate(guesses: Guesses, trial: Trial, alpha: float) -> Estimate:
    if trial.n_classes != 2:
        return _unresolved("two rates are of two classes", alpha)
    made = guesses.made
    one, zero = made & (trial.secret == 1), made & (trial.secret == 0)
    hits, alarms = (int(np.count_nonzero(guesses.label[part] == 1)) for part in (one, zero))
    if not one.any() or not zero.any():
        return _unresolved("no guess was made about one of the classes", alpha)
    epsilon = two_rate_epsilon(hits, int(one.sum()), alarms, int(zero.sum()), alpha)
    return _open(Estimate(epsilon, None, None, level=1.0 - alpha, n=int(made.sum()), n_pos=int(one.sum()),
                          n_neg=int(zero.sum()), unit="canary",
                          method="two rates, Clopper–Pearson; takes guesses as independent; a lower bound"))


def _open(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value, estimate.value, None, level=estimate.level, n=estimate.n, n_pos=estimate.n_pos,
                    n_neg=estimate.n_neg, unit=estimate.unit, method=estimate.method)


def _void(access: Access, truth: Truth, guesses: Guesses | None, *, vetoed: bool, bounded: bool) -> str | None:
    if access == "oracle":
        return "an oracle is shown the label; what it gets right proves nothing"
    if truth == "trained":
        return "ε speaks of the secret; the label that was trained on has no ceiling"
    if not bounded:
        return "secrets were dealt in equal numbers, not drawn independently; no theorem at hand covers that"
    if guesses is None or not guesses.made.any():
        return "no guess was made"
    return "the attack beats or misses chance on placebos; what it gets right need not be memory" if vetoed else None


def _unresolved(why: str, alpha: float) -> Estimate:
    return Estimate.unresolved(why, level=1.0 - alpha, unit="canary")
