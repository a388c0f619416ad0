"""A lower bound on ε from the one training run that is audited, where random draws decided membership."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.evaluation_sets import Sides
from discreet.audit.membership.protocol import Units
from discreet.audit.membership.scored import Scored
from discreet.core.design import Design, decides
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray
from discreet.stats.epsilon import one_run_epsilon

RUNGS = (1.0, 0.5, 0.25, 0.125, 0.05, 0.02)
"""Shares of the units that are guessed: as many from the top (members) as from the bottom (non-members)."""


def one_run_bound(scored: Scored, sides: Sides, design: Design, units: Units, rng: Generator) -> Estimate:
    """ε >= this with confidence 95%, for adding or removing one unit, δ = 0.

    Steinke, Nasr & Jagielski 2023, Theorem 5.2: of r guesses about independent fair coins that the output of
    (ε, 0)-private training allows, no more are right than Binomial(r, e^ε / (1 + e^ε)). The larger side is thinned at
    random until both are equal, the extremes of the score are guessed on a ladder of shares, Bonferroni over its
    rungs. A unit is an example, or a group with its mean score. A split into halves of fixed size is treated as coins,
    which it nearly is. Unresolved where no random draw decided membership.
    """
    if not decides(design):
        return Estimate.unresolved(f"an ε bound needs membership that a random draw decided; this design is {design!r}",
                                   unit=units.name)
    if scored.target is None:
        return Estimate.unresolved(scored.reason or "no scores", unit=units.name)
    values, truth = _unit_scores(scored.target, sides, scored, units)
    n = min(int(truth.sum()), int((~truth).sum()))
    if n < 2:
        return Estimate.unresolved(f"an ε bound over {n} {units.name}s a side: 2 are needed at the least",
                                   unit=units.name)
    kept = np.concatenate([rng.permutation(np.flatnonzero(truth == side))[:n] for side in (True, False)])
    best, guesses = ladder_bound(values[kept], truth[kept], 0.05, rng)
    return Estimate(best, best, None, n=2 * n, n_pos=n, n_neg=n, unit=units.name,
                    method=f"one run, Theorem 5.2 of Steinke et al. 2023, {guesses} guesses, "
                           f"Bonferroni over {len(RUNGS)} rungs; a lower bound at 95%")


def ladder_bound(values: FloatArray, truth: BoolArray, alpha: float, rng: Generator) -> tuple[float, int]:
    """The best lower bound on ε over `RUNGS`, and how many guesses made it; P(bound > ε) <= alpha.

    `values` (n,) and `truth` (n,): half of the units, the highest, may be guessed members, the others non-members.
    Ties are broken at random.
    """
    order = np.lexsort((rng.random(values.size), values))
    rising, n = truth[order], values.size
    best = (0.0, 0)
    for rung in RUNGS:
        each = int(np.ceil(rung * n / 2))
        if each == 0 or 2 * each > n:
            continue
        correct = int(rising[n - each:].sum()) + int((~rising[:each]).sum())
        best = max(best, (one_run_epsilon(correct, 2 * each, alpha / len(RUNGS)), 2 * each))
    return best


def _unit_scores(
    scores: FloatArray, sides: Sides, scored: Scored, units: Units
) -> tuple[FloatArray, BoolArray]:
    rows = np.concatenate([sides.members, sides.clean[scored.kind]])
    truth = np.arange(rows.size) < sides.members.size
    known = np.isfinite(scores[rows])
    rows, truth = rows[known], truth[known]
    if units.group is None:
        return scores[rows], truth
    codes, place, counts = np.unique(units.group[rows] * 2 + truth, return_inverse=True, return_counts=True)
    return np.bincount(place.reshape(-1), weights=scores[rows]) / counts, codes % 2 == 1
