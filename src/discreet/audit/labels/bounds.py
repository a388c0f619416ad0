"""What label-DP allows an attacker, what guesses prove about ε, and how many canaries a proof takes.

**Ceiling.** A canary label is drawn uniformly from K classes. Under pure ε-label-DP two labels make any output e^ε
times as likely at the most, so by Bayes no label has a posterior above e^ε / (e^ε + K − 1), and nobody guesses it more
often. The ceiling is for the *canary label* (before the mechanism); the label that was trained on has none.

**Bound.** The same holds of each guess given all other canary labels, so that the right ones among r guesses are
stochastically below Binomial(r, e^ε / (e^ε + K − 1)): for K = 2 it is Theorem 5.2 of Steinke, Nasr & Jagielski 2023
with δ = 0, and its induction goes through for K classes word for word. So ε >= ln((K − 1) p / (1 − p)) with p the
Clopper–Pearson lower bound of the share of right guesses. Which canaries are guessed may depend on the model's outputs,
not on canary labels: the ladder keeps the most confident guesses, Bonferroni over its five rungs.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import inf, isfinite, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.audit.labels.attacker_view import Access, Guesses, Truth
from discreet.core.errors import UsageError
from discreet.core.records import Estimate
from discreet.core.types import IntArray
from discreet.stats.arrays import binary_labels, counts, finite_scores, same_length, scipy_module, share
from discreet.stats.epsilon import MOST_SIZE, least_size
from discreet.stats.intervals import binomial_lower, binomial_upper
from discreet.stats.mechanisms.labels.base import epsilon_of_truth, truth_probability

RUNGS = (1.0, 0.6, 0.35, 0.2, 0.1)
"""Shares of the canaries that are guessed, the most confident first."""
ALPHA = 0.05
POWER = 0.8
STEPS = (0.25, 0.5, 0.75, 1.0)
"""Successes that are planned for: so far from the ceiling of ε to 1."""


class LabelBound(NamedTuple):
    """ε is at least `epsilon` >= 0: at `rung`, of `guesses` made, `correct` were right. Of `n` canaries in all."""

    epsilon: float
    rung: float
    guesses: int
    correct: int
    n: int

    def estimate(self, alpha: float) -> Estimate:
        """As an `Estimate` whose lower end is the bound and whose upper end is open."""
        return _lower(
            self.epsilon,
            f"K-ary one-run bound, {self.correct} of {self.guesses} guesses right, Bonferroni over {len(RUNGS)} rungs",
            level=1.0 - alpha, n=self.n)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower bounds on the pure ε of what was done to the labels, each at 95% by itself.

    `ladder`: K-ary, one run, the surest guesses of five rungs; what `epsilon_lower` in JSON is. `one_run`: the same
    from all guesses. `two_rate`: Clopper–Pearson of two rates, two classes only, which takes guesses as independent.
    """

    ladder: Estimate
    one_run: Estimate
    two_rate: Estimate

    def to_json(self) -> dict[str, Any]:
        """`epsilon_lower`, `epsilon_lower_one_run`, `epsilon_lower_two_rate`."""
        return {"epsilon_lower": self.ladder.to_json(), "epsilon_lower_one_run": self.one_run.to_json(),
                "epsilon_lower_two_rate": self.two_rate.to_json()}


def ceiling(epsilon: float, n_classes: int) -> float:
    """e^ε / (e^ε + K − 1): no attack on a uniform label is right more often. ε >= 0 (infinity: 1), K >= 2."""
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon is {epsilon}: expected a number >= 0, or inf")
    return truth_probability(epsilon, _classes(n_classes))


def guess_epsilon(correct: int, guesses: int, n_classes: int, alpha: float = 0.05) -> float:
    """Lower bound on ε from `correct` of `guesses` about uniform labels: P(bound > ε) <= alpha."""
    share(alpha, "alpha", open_interval=True)
    return epsilon_of_truth(binomial_lower(*counts(correct, guesses, "correct"), alpha), _classes(n_classes))


def ladder_bound(correct: ArrayLike, confidence: ArrayLike, n_classes: int, alpha: float = 0.05) -> LabelBound:
    """The best of five lower bounds on pure ε, each at alpha / 5 over its most confident guesses.

    P(bound > ε) <= alpha. `correct` (n,) in {0, 1}: whether each guess is the canary label; canaries on which the
    attack abstains do not belong here. `confidence` (n,), finite: larger means surer, made without the label; equals
    are cut in the order given, which must not depend on it. ValueError without a guess.
    """
    right, sure = binary_labels(correct, "correct"), finite_scores(confidence, "confidence")
    same_length(sure, right.size, "confidence")
    if right.size == 0:
        raise ValueError("correct is empty: expected at least one guess")
    hits = np.cumsum(right[np.argsort(-sure, kind="stable")])
    best = LabelBound(0.0, 1.0, right.size, int(hits[-1]), right.size)
    for rung in RUNGS:
        # 0.35 · 100 is a little above 35.
        guesses = int(np.ceil(rung * right.size - 1e-9))
        won = int(hits[guesses - 1])
        epsilon = guess_epsilon(won, guesses, n_classes, alpha / len(RUNGS))
        if epsilon > best.epsilon:
            best = LabelBound(epsilon, rung, guesses, won, right.size)
    return best


def two_rate_epsilon(true_positives: int, positives: int, false_positives: int, negatives: int,
                     alpha: float = 0.05) -> float:
    """Lower bound on ε from the two rates of a binary guess: ln(TPR / FPR), Clopper–Pearson at alpha / 2 each.

    Jagielski, Ullman & Oprea 2020 (2006.07709), Nasr et al. 2021 (2101.04535). The mirrored direction,
    ln((1 − FPR) / (1 − TPR)), rests on the same two ends and costs nothing. It holds where the guesses are independent
    of each other: one canary in each of many runs, or randomised response alone. For many canaries in one run that is
    an assumption, which `ladder_bound` does without.
    """
    share(alpha, "alpha", open_interval=True)
    tpr = binomial_lower(*counts(true_positives, positives, "true_positives"), alpha / 2.0)
    fpr = binomial_upper(*counts(false_positives, negatives, "false_positives"), alpha / 2.0)
    pairs = ((tpr, fpr), (1.0 - fpr, 1.0 - tpr))
    return max([0.0, *(log(above / below) for above, below in pairs if above > 0.0 and below > 0.0)])


def bound_power(n: int, success: float, epsilon: float, n_classes: int = 2, *, guessed: float = 1.0,
                alpha: float = 0.05) -> float:
    """The chance that a rung of the ladder shows ε >= `epsilon` > 0 from n canaries.

    `success` in [0, 1] is how often the guesses of the most confident share `guessed` in (0, 1] are right, taken as
    independent. One rung at alpha / 5: a lower bound on the power of the ladder.
    """
    total = counts(0, n, "n")[1]
    guesses = int(np.ceil(share(guessed, "guessed") * total - 1e-9))
    if guesses < 1:
        raise ValueError(f"guessed is {guessed}: expected a share above 0")
    if not 0.0 < epsilon < inf:
        raise ValueError(f"epsilon is {epsilon}: expected a finite number above 0")
    binom = scipy_module("stats", "planning of canaries").binom
    # The least count whose lower bound reaches epsilon: P(X >= count) <= alpha / 5 at its ceiling.
    needed = int(binom.isf(alpha / len(RUNGS), guesses, ceiling(epsilon, n_classes))) + 1
    return float(binom.sf(needed - 1, guesses, share(success, "success")))


def canaries_needed(success: float, epsilon: float = 1.0, n_classes: int = 2, *, guessed: float = 1.0
                    ) -> int:
    """About how many canaries it takes to see ε >= `epsilon` with chance `POWER`; arguments as `bound_power`.

    A perfect memoriser of the trained label under a mechanism of ε₀ has the success `ceiling(ε₀, K)`. ValueError where
    `success` is not above the ceiling of `epsilon`: no number of canaries shows it then.
    """
    if success <= ceiling(epsilon, n_classes):
        raise ValueError(f"a success of {success:g} is no more than epsilon {epsilon:g} allows "
                         f"({ceiling(epsilon, n_classes):.4g}): no number of canaries shows it")
    found = least_size(lambda n: bound_power(n, success, epsilon, n_classes, guessed=guessed) >= POWER)
    if found is None:
        raise ValueError(f"a success of {success:g} needs more than {MOST_SIZE:,} canaries to show epsilon "
                         f"{epsilon:g}: expected a larger success")
    return found


def plan_canaries(epsilon: float, n_classes: int, guessed: float = 1.0) -> dict[str, Any]:
    """Canaries needed so that the ladder shows `epsilon` with chance `POWER`, by how often guesses are right.

    Returns `{"epsilon", "classes", "guessed", "power", "ceiling", "rows": [{"success", "canaries"}], "said", "note"}`;
    `canaries` is None where no reasonable number suffices. UsageError for what cannot be.
    """
    if not (isfinite(epsilon) and epsilon > 0.0):
        raise UsageError(f"--epsilon is {epsilon:g}; expected a finite number above 0")
    if n_classes < 2:
        raise UsageError(f"--classes is {n_classes}; expected at least 2")
    if not 0.0 < guessed <= 1.0:
        raise UsageError(f"--guessed is {guessed:g}; expected a share above 0, up to 1")
    top, rows = ceiling(epsilon, n_classes), list[dict[str, Any]]()
    for success in (top + step * (1.0 - top) for step in STEPS):
        rows.append({"success": success, "canaries": None})
        with suppress(ValueError):
            rows[-1]["canaries"] = canaries_needed(success, epsilon, n_classes, guessed=guessed)
    whose = "all canaries" if guessed == 1.0 else f"the surest {guessed:.0%} of canaries, the rest abstained"
    return {"epsilon": epsilon, "classes": n_classes, "guessed": guessed, "power": POWER, "ceiling": top, "rows": rows,
            "said": f"To show that ε is at least {epsilon:g} with {n_classes} classes, with a chance of {POWER:.0%}:",
            "note": f"An attack on canaries with ε = {epsilon:g} is right about {top:.1%} at most, so that only more "
            f"than that shows a larger ε. Guesses are of {whose}; confidence is 95%. Draw as many held-out "
            f"canaries as canaries."}


def bounds_of(access: Access, truth: Truth, guesses: Guesses | None, canary: IntArray, n_classes: int, *, vetoed: bool,
              bounded: bool, alpha: float = ALPHA) -> Bounds:
    """The bounds that guesses on canaries with these labels prove; unresolved, with the reason, where they prove none.

    `bounded`: canary labels were drawn independently of one another (not balanced, nor in an unknown way).
    `vetoed`: the held-out canaries exclude chance.
    """
    reasons = {"an oracle is shown the label; what it gets right proves nothing": access == "oracle",
               "ε is about the canary label; the label that was trained on has no ceiling": truth == "trained",
               "canary labels are not known to be drawn independently; no theorem at hand covers that": not bounded,
               "no guess was made": guesses is None or not guesses.made.any(),
               "on held-out canaries the attack is off chance; what it gets right need not be memory": vetoed}
    why = next((reason for reason, applies in reasons.items() if applies), None)
    if why is not None or guesses is None:
        return Bounds(*(Estimate.unresolved(why or "no guess was made", level=1.0 - alpha, unit="canary"),) * 3)
    made, right = guesses.made, guesses.correct(canary)
    correct, count = int(right.sum()), int(made.sum())
    return Bounds(ladder_bound(right[made], guesses.confidence[made], n_classes, alpha).estimate(alpha),
                  _lower(guess_epsilon(correct, count, n_classes, alpha),
                         f"K-ary one-run bound, {correct} of {count} guesses right", level=1.0 - alpha, n=count),
                  _two_rate(guesses, canary, n_classes, alpha))


def _two_rate(guesses: Guesses, canary: IntArray, n_classes: int, alpha: float) -> Estimate:
    facts: dict[str, Any] = {"level": 1.0 - alpha, "unit": "canary"}
    if n_classes != 2:
        return Estimate.unresolved("two rates are of two classes", **facts)
    zeros, ones = (guesses.label[guesses.made & (canary == label)] for label in (0, 1))
    if not zeros.size or not ones.size:
        return Estimate.unresolved("no guess was made about one of the classes", **facts)
    return _lower(two_rate_epsilon(int(ones.sum()), ones.size, int(zeros.sum()), zeros.size, alpha),
                  "two rates, Clopper–Pearson; takes guesses as independent", level=1.0 - alpha,
                  n=ones.size + zeros.size, n_pos=ones.size, n_neg=zeros.size)


def _lower(epsilon: float, method: str, **facts: Any) -> Estimate:
    return Estimate(epsilon, epsilon, None, unit="canary", method=f"{method}; a lower bound", **facts)


def _classes(n_classes: int) -> int:
    if n_classes != int(n_classes) or n_classes < 2:
        raise ValueError(f"n_classes is {n_classes}: expected a whole number, at least 2")
    return int(n_classes)
