"""What label-DP allows an attacker, what guesses prove about ε, and how many canaries a proof takes.

**Ceiling.** A canary's secret is drawn uniformly from K classes. Under pure ε-label-DP two secrets make any output
e^ε times as likely at the most, so by Bayes no secret has a posterior above e^ε / (e^ε + K − 1), and nobody guesses it
more often. The ceiling is for the *secret* (before the mechanism); what the model was trained on has none.

**Bound.** The same holds of each guess given all other secrets, so that the right ones among r guesses are
stochastically below Binomial(r, e^ε / (e^ε + K − 1)): for K = 2 it is Theorem 5.2 of Steinke, Nasr & Jagielski 2023
with δ = 0, and its induction goes through for K classes word for word. So ε >= ln((K − 1) p / (1 − p)) with p the
Clopper–Pearson lower bound of the share of right guesses. Which canaries are guessed may depend on the model's outputs,
not on secrets: the ladder keeps the most confident guesses, Bonferroni over its five rungs.
"""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.records import Estimate
from discreet.mechanisms.labels.base import epsilon_of_truth, truth_probability
from discreet.stats.arrays import binary_labels, counts, finite_scores, same_length, scipy_module, share
from discreet.stats.epsilon import one_run_epsilon
from discreet.stats.intervals import binomial_lower, binomial_upper

RUNGS = (1.0, 0.6, 0.35, 0.2, 0.1)
"""Shares of the canaries that are guessed, the most confident first."""
MOST_CANARIES = 10_000_000


class LabelBound(NamedTuple):
    """ε is at least `epsilon` >= 0: at `rung`, of `guesses` made, `correct` were right. Of `n` canaries in all."""

    epsilon: float
    rung: float
    guesses: int
    correct: int
    n: int

    def estimate(self, alpha: float) -> Estimate:
        """As an `Estimate` whose lower end is the bound and whose upper end is open."""
        return Estimate(self.epsilon, self.epsilon, None, level=1.0 - alpha, n=self.n, unit="canary",
                        method=f"K-ary one-run bound, {self.correct} of {self.guesses} guesses right, Bonferroni over "
                               f"{len(RUNGS)} rungs; a lower bound")


def ceiling(epsilon: float, n_classes: int) -> float:
    """e^ε / (e^ε + K − 1): no attack on a uniform secret is right more often. ε >= 0 (infinity: 1), K >= 2."""
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon is {epsilon}: expected a number >= 0, or inf")
    return truth_probability(epsilon, _classes(n_classes))


def epsilon_of_success(rate: float, n_classes: int) -> float:
    """The ε whose ceiling is `rate` in [0, 1]: ln((K − 1) rate / (1 − rate)), 0 at 1 / K and below, infinity at 1."""
    return epsilon_of_truth(share(rate, "rate"), _classes(n_classes))


def guess_epsilon(
    correct: int, guesses: int, n_classes: int, alpha: float = 0.05, *, delta: float = 0.0, n: int | None = None
) -> float:
    """Lower bound on ε from `correct` of `guesses` about uniform secrets: P(bound > ε) <= alpha.

    δ > 0 for two classes only (Theorem 5.2 of Steinke et al. 2023; n is the number of all canaries, guessed or not);
    ValueError for it with more, where no such theorem is at hand.
    """
    classes = _classes(n_classes)
    share(alpha, "alpha", open_interval=True)
    right, made = counts(correct, guesses, "correct")
    if delta != 0.0:
        if classes > 2:
            raise ValueError(f"delta is {delta} with {classes} classes: expected 0, or two classes")
        return one_run_epsilon(right, made, alpha, delta=delta, n=n)
    return epsilon_of_truth(binomial_lower(right, made, alpha), classes)


def ladder_bound(correct: ArrayLike, confidence: ArrayLike, n_classes: int, alpha: float = 0.05) -> LabelBound:
    """The best of five lower bounds on pure ε, each at alpha / 5 over its most confident guesses.

    P(bound > ε) <= alpha.

    Parameters
    ----------
    correct : (n,) in {0, 1}
        Whether each guess is the secret. Canaries on which the attack abstains do not belong here.
    confidence : (n,) finite
        Larger means surer, made without the secret. Equals are cut in the order given, which must not depend on it.

    Raises
    ------
    ValueError
        Without a guess, and as `guess_epsilon`.
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


def two_rate_epsilon(
    true_positives: int, positives: int, false_positives: int, negatives: int, alpha: float = 0.05, *,
    delta: float = 0.0,
) -> float:
    """Lower bound on ε from the two rates of a binary guess: ln((TPR − δ) / FPR), Clopper–Pearson at alpha / 2 each.

    Jagielski, Ullman & Oprea 2020 (2006.07709), Nasr et al. 2021 (2101.04535). The mirrored direction,
    ln((1 − FPR − δ) / (1 − TPR)), rests on the same two ends and costs nothing. It holds where the guesses are
    independent of each other: one canary in each of many runs, or randomised response alone. For many canaries in one
    run that is an assumption, which `ladder_bound` does without.
    """
    share(alpha, "alpha", open_interval=True)
    if not 0.0 <= delta < 1.0:
        raise ValueError(f"delta is {delta}: expected a number from 0, under 1")
    tpr = binomial_lower(*counts(true_positives, positives, "true_positives"), alpha / 2.0)
    fpr = binomial_upper(*counts(false_positives, negatives, "false_positives"), alpha / 2.0)
    return max(0.0, _log_ratio(tpr - delta, fpr), _log_ratio(1.0 - fpr - delta, 1.0 - tpr))


def bound_power(
    n: int, success: float, epsilon: float, n_classes: int = 2, *, guessed: float = 1.0, alpha: float = 0.05
) -> float:
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


def canaries_needed(
    success: float, epsilon: float = 1.0, n_classes: int = 2, *, guessed: float = 1.0, alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """About how many canaries it takes to see ε >= `epsilon` with chance `power`; arguments as `bound_power`.

    A perfect memoriser of the trained label under a mechanism of ε₀ has the success `ceiling(ε₀, K)`. ValueError where
    `success` is not above the ceiling of `epsilon`: no number of canaries shows it then.
    """
    share(power, "power", open_interval=True)
    if success <= ceiling(epsilon, n_classes):
        raise ValueError(f"a success of {success:g} is no more than epsilon {epsilon:g} allows "
                         f"({ceiling(epsilon, n_classes):.4g}): no number of canaries shows it")
    high = 2
    while bound_power(high, success, epsilon, n_classes, guessed=guessed, alpha=alpha) < power:
        high *= 2
        if high > MOST_CANARIES:
            raise ValueError(f"a success of {success:g} needs more than {MOST_CANARIES:,} canaries to show epsilon "
                             f"{epsilon:g}: expected a larger success")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        enough = bound_power(middle, success, epsilon, n_classes, guessed=guessed, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def _log_ratio(above: float, below: float) -> float:
    return log(above / below) if above > 0.0 and below > 0.0 else 0.0


def _classes(n_classes: int) -> int:
    if n_classes != int(n_classes) or n_classes < 2:
        raise ValueError(f"n_classes is {n_classes}: expected a whole number, at least 2")
    return int(n_classes)
