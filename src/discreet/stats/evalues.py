"""E-processes by betting on the signs of paired differences: evidence that may be looked at after every pair.

A fair coin decided which of two alike records was trained on, and `differences[i]` is the score of the one that was
minus the score of the one that was not. A model that does not depend on the coins has fixed both scores before the
coin is read, so that |difference| is known and its sign is a fair coin, independent of all others (a tie has no sign).
A gambler who stakes the share λ w of what they own on "+" of every pair, with w in [0, 1] known before the coin, then
owns a non-negative martingale of mean 1, and by Ville's inequality

    P(wealth ever reaches 1/α) <= α,

whenever one looks and stops (Shafer 2021, "Testing by betting"; Waudby-Smith & Ramdas 2024, "Estimating means of
bounded random variables by betting"). Averages of such wealths, over stakes, over kinds of bet and over several scores
of the same pairs, are such wealths again.

Two kinds of bet share the money: one stakes the same on every pair (w = 1; a mixture over λ, uniform in (0, 1), is
Robbins' beta mixture restricted to win rates above one half), the other more on pairs whose |difference| ranks high
among those seen so far (the sequential signed-rank bet), which is quicker where few records are memorised a lot.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from math import ceil, log

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray
from discreet.stats.arrays import finite_scores, share

STAKES = (np.arange(32, dtype=np.float64) + 0.5) / 32.0
"""The shares λ that are staked, each with the same part of the money."""
KINDS = 2
"""Kinds of bet that share the money of one score."""


def rank_weights(differences: ArrayLike) -> FloatArray:
    """Mid-rank of |differences[i]| among |differences[0…i]|, over i + 1; shape (n,), in (0, 1].

    Looks back only and never at a sign, so it is known before the coin of pair i is read.
    """
    sizes = np.abs(finite_scores(differences, "differences"))
    seen: list[float] = []
    weights = np.empty(sizes.size)
    for i, size in enumerate(sizes.tolist()):
        insort(seen, size)
        weights[i] = (bisect_left(seen, size) + bisect_right(seen, size) + 1.0) / (2.0 * (i + 1))
    return weights


def log_wealth(differences: ArrayLike, weights: ArrayLike, null: float = 0.5) -> FloatArray:
    """Log wealth after each pair of one kind of bet, averaged over `STAKES`; shape (n,).

    `differences` (n,) are positive where the trained record scores higher; zeros bet nothing. `weights` (n,) in [0, 1]
    are each known before the coin of their pair is read. The wealth is a supermartingale wherever P(+ | what came
    before) <= `null` in [0.5, 1): a win pays 1 + λ w (1 − null) / null, a loss leaves 1 − λ w. One half is the null of
    no leak, e^ε / (1 + e^ε) that of ε. ValueError for values outside those ranges or arrays of unequal lengths.
    """
    signs = np.sign(finite_scores(differences, "differences"))
    staked = finite_scores(weights, "weights")
    if staked.shape != signs.shape:
        raise ValueError(f"weights have length {staked.size}: expected {signs.size}, one per difference")
    if staked.size and not (staked.min() >= 0.0 and staked.max() <= 1.0):
        raise ValueError(f"weights run from {staked.min()} to {staked.max()}: expected numbers from 0 to 1")
    if not 0.5 <= null < 1.0:
        raise ValueError(f"null is {null}: expected a win rate from 0.5 to below 1")
    pay = np.where(signs > 0, (1.0 - null) / null, -1.0) * (signs != 0) * staked
    paths = np.cumsum(np.log1p(STAKES[:, None] * pay), axis=1)
    return _log_mean(paths)


def log_e_process(differences: ArrayLike, null: float = 0.5, weights: ArrayLike | None = None) -> FloatArray:
    """Log e-process of one score after each pair, in the order given; shape (n,). See `log_wealth` for the null.

    The order of pairs must have been fixed without the coins. `weights` (n,) of the second kind of bet are the
    `rank_weights` unless given.
    """
    given = finite_scores(differences, "differences")
    even = log_wealth(given, np.ones(given.size), null)
    ranked = log_wealth(given, rank_weights(given) if weights is None else weights, null)
    return _log_mean(np.stack([even, ranked]))


def log_e_average(differences: ArrayLike, null: float = 0.5, weights: Sequence[ArrayLike] | None = None) -> FloatArray:
    """Log of the average of the e-processes of several scores of the same pairs; shape (n,).

    `differences` (s, n) and `weights` have one row per score, pairs in the same order in each; else as
    `log_e_process`. Valid under any dependence between the scores (Vovk & Wang 2021, "E-values: calibration,
    combination and applications", §3).
    """
    rows = score_rows(differences)
    staked = [None] * len(rows) if weights is None else weights
    return _log_mean(np.stack([log_e_process(row, null, given) for row, given in zip(rows, staked, strict=True)]))


def _log_mean(logs: FloatArray) -> FloatArray:
    """Log of the mean of what is given as logs, over the first axis."""
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - log(len(logs)), dtype=np.float64)


def score_rows(differences: ArrayLike) -> FloatArray:
    """Differences of s >= 1 scores as float64 of shape (s, n); ValueError for anything else."""
    rows = np.asarray(differences)
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ValueError(f"differences have shape {rows.shape}: expected (scores, pairs) with at least one score")
    return np.stack([finite_scores(row, "differences") for row in rows])


def first_crossing(log_e: ArrayLike, alpha: float) -> int | None:
    """After how many pairs the e-process first is 1/α or more, counted from 1; None if it never is."""
    share(alpha, "alpha", open_interval=True)
    over = np.flatnonzero(finite_scores(log_e, "log_e") >= -log(alpha))
    return int(over[0]) + 1 if over.size else None


def log_e_of_wins(wins: ArrayLike, n: int) -> FloatArray:
    """Log wealth of the even bet alone after n pairs without a tie, for each number of wins; its order is no matter."""
    won = finite_scores(wins, "wins")
    return _log_mean(won * np.log1p(STAKES)[:, None] + (n - won) * np.log1p(-STAKES)[:, None])


def wins_needed(n: int, threshold: float) -> int | None:
    """Fewest wins of n pairs that end the even bet alone at `threshold` or more; None if all wins would not do."""
    low, high = ceil(n / 2), n
    goal = log(threshold)
    if n < 1 or log_e_of_wins([high], n)[0] < goal:
        return None
    # Above one half the wealth rises with every further win.
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if log_e_of_wins([middle], n)[0] >= goal else (middle + 1, high)
    return low
