"""Lower bounds on ε that the coins of one training run give, and what a number of pairs can show at all.

Coins c ∈ {0, 1}ⁿ choose one record of each pair. If training is (ε, δ)-differentially private when one
record of a pair is *replaced* by the other, then, whatever the output y says, any guess of c_i that may use y and all
coins before it is right with probability at most e^ε / (1 + e^ε) up to δ: for δ = 0 the odds of c_i = 1 given y and
c_1 … c_{i−1} are P(y | c_i = 1, …) / P(y | c_i = 0, …), an average over the same fair later coins above and below, and
each term differs by e^ε at the most. Hence the right guesses among r that were made are stochastically below
Binomial(r, e^ε / (1 + e^ε)): Steinke, Nasr & Jagielski 2023, "Privacy auditing with one (1) training run",
Theorem 5.2, whose neighbours are inputs in {−1, +1}ⁿ that differ in one place, exactly a pair's coin. Which pairs are
guessed and which are passed over may depend on y, so guesses are made where |difference| is largest, on a ladder of
shares of the pairs with Bonferroni over its rungs and over scores.

ε is of replacement: one removal and one addition, so half of it bounds the ε of add-or-remove. By group it is the ε of
a whole user. The bound holds for a number of pairs chosen without the coins; `anytime_epsilon` turns the same
inequality into a supermartingale and holds whenever one stops (δ = 0).
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.stats.arrays import counts, scipy_module, share
from discreet.stats.evalues import log_e_average, rank_weights, score_rows, wins_needed
from discreet.stats.intervals import binomial_lower

RUNGS = (1.0, 0.5, 0.25, 0.125)
"""Shares of the untied pairs that are guessed, those with the largest |difference| first."""
MOST_EPSILON = 30.0
MOST_SIZE = 10_000_000


class EpsilonBound(NamedTuple):
    """`epsilon` >= 0 at one rung: of `guesses` made by score number `score`, `correct` were right."""

    epsilon: float
    score: int
    guesses: int
    correct: int


def rate_of_epsilon(epsilon: float) -> float:
    """e^ε / (1 + e^ε): the largest share of right guesses under pure ε, for ε >= 0."""
    return 1.0 / (1.0 + exp(-epsilon))


def epsilon_of_rate(rate: float) -> float:
    """ε = log(rate / (1 − rate)) for a rate in [½, 1), 0 below one half."""
    return log(rate / (1.0 - rate)) if rate > 0.5 else 0.0


def one_run_p(correct: int, guesses: int, epsilon: float, *, delta: float = 0.0, n: int | None = None) -> float:
    """Largest chance, over (ε, δ)-private training, of v = `correct` right ones among `guesses`, or more; in [0, 1].

    f(v) + 2 n δ max_{1 <= i <= v} (f(v − i) − f(v)) / i with f(k) = P(Binomial(guesses, e^ε / (1 + e^ε)) >= k): the
    paper's Theorem 5.2. `n` are all coins, guessed or not (default: `guesses`); only δ needs it.
    """
    won, made = counts(correct, guesses, "correct")
    coins = made if n is None else n
    if epsilon < 0.0 or not 0.0 <= delta < 1.0 or coins < made:
        raise ValueError(f"epsilon {epsilon}, delta {delta}, n {n}: expected epsilon >= 0, delta in [0, 1) and n >= "
                         f"{made} guesses")
    binom = scipy_module("stats", "a bound on epsilon").binom
    rate = rate_of_epsilon(epsilon)
    tail = float(binom.sf(won - 1, made, rate))
    if delta == 0.0 or won == 0:
        return tail
    back = np.arange(1, won + 1)
    gains = (binom.sf(won - back - 1, made, rate) - tail) / back
    return min(1.0, tail + 2.0 * coins * delta * max(0.0, float(gains.max())))


def one_run_epsilon(correct: int, guesses: int, alpha: float, *, delta: float = 0.0, n: int | None = None) -> float:
    """Lower bound on ε >= 0 from right guesses: P(bound > ε) <= alpha. See `one_run_p` for the arguments."""
    share(alpha, "alpha", open_interval=True)
    won, made = counts(correct, guesses, "correct")
    if delta == 0.0:
        return epsilon_of_rate(binomial_lower(won, made, alpha))
    if one_run_p(won, made, 0.0, delta=delta, n=n) > alpha:
        return 0.0
    return _last(lambda epsilon: one_run_p(won, made, epsilon, delta=delta, n=n) <= alpha)


def ladder_epsilon(differences: ArrayLike, alpha: float, *, delta: float = 0.0) -> EpsilonBound:
    """The best lower bound over `RUNGS` and scores, each at alpha / (scores × rungs); P(bound > ε) <= alpha.

    `differences` (s, n) are positive where the trained record scores higher; ties are not guessed.
    """
    rows = score_rows(differences)
    tests = rows.shape[0] * len(RUNGS)
    best = EpsilonBound(0.0, 0, 0, 0)
    for score, row in enumerate(rows):
        # Equal sizes must not be cut by sign: the order given breaks ties.
        order = np.argsort(-np.abs(row), kind="stable")[: int((row != 0).sum())]
        for rung in RUNGS:
            guesses = int(np.ceil(rung * order.size))
            if guesses == 0:
                continue
            correct = int((row[order[:guesses]] > 0).sum())
            epsilon = one_run_epsilon(correct, guesses, alpha / tests, delta=delta, n=rows.shape[1])
            best = max(best, EpsilonBound(epsilon, score, guesses, correct), key=lambda bound: bound.epsilon)
    return best


def anytime_epsilon(differences: ArrayLike, alpha: float) -> float:
    """Lower bound on pure ε that holds at every stopping time: the largest null that the e-process ever rejects."""
    rows = score_rows(differences)
    goal = -log(share(alpha, "alpha", open_interval=True))
    weights = [rank_weights(row) for row in rows]

    def rejects(epsilon: float) -> bool:
        path = log_e_average(rows, rate_of_epsilon(epsilon), weights)
        return bool(path.size and path.max() >= goal)

    return _last(rejects) if rejects(0.0) else 0.0


def epsilon_ceiling(n: int, alpha: float, *, scores: int = 1) -> float:
    """The bound of `ladder_epsilon` where every one of n pairs is guessed right: no ε above it can be shown."""
    return one_run_epsilon(n, n, alpha / (scores * len(RUNGS)))


def detection_power(n: int, rate: float, threshold: float) -> float:
    """Chance that n untied pairs, each won with chance `rate`, end the even bet at `threshold` or more.

    With b kinds of bet and s scores sharing the money, `threshold` = b s / α gives a lower bound on the power of the
    whole e-process: the other bets are never in debt, and an earlier crossing is not counted.
    """
    share(rate, "rate")
    needed = wins_needed(n, threshold)
    if needed is None:
        return 0.0
    return float(scipy_module("stats", "the power of a seal").binom.sf(needed - 1, n, rate))


def least_size(enough: Callable[[int], bool]) -> int | None:
    """About the least sample size from 2 that is `enough`, by bisection; None above `MOST_SIZE`."""
    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_SIZE:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_rate(n: int, threshold: float, power: float = 0.8) -> float | None:
    """The least win rate that n untied pairs detect with chance `power`; None where even all wins do not."""
    needed = wins_needed(n, threshold)
    if needed is None:
        return None
    # P(Binomial(n, rate) >= needed) = power, solved for the rate.
    return float(scipy_module("special", "the power of a seal").betaincinv(needed, n - needed + 1.0, power))


def _last(holds: Callable[[float], bool]) -> float:
    """An ε of [0, MOST_EPSILON] at which `holds` (true at 0) is true and 1e-9 above which it is not.

    Where `holds` is not monotone any such ε is a valid bound: what is (ε, δ)-private is so for every larger ε.
    """
    low, high = 0.0, MOST_EPSILON
    while high - low > 1e-9:
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
