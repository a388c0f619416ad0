"""Label memorisation in the sense of Feldman and Zhang: how much likelier is a label to be predicted for being trained?

Feldman & Zhang 2020 (2008.03703), equation 1: P[h(x) = y | (x, y) in training] − P[h(x) = y | x not in training], over
models. They estimate it for each example from 2,000 models, without an interval (`memorisation_scores`,
`memorisation_interval`). Of one model its mean over canaries can be had all the same: placebos are examples drawn
alike, with labels drawn alike, that were not in training (`mean_memorisation`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.audit.labels.access import Trial, Truth
from discreet.audit.labels.judge_rows import Sides
from discreet.core.records import Estimate
from discreet.core.types import FloatArray
from discreet.scores.table import UNKNOWN
from discreet.stats.intervals import binomial_lower, binomial_upper


def memorisation_interval(
    hits_in: int, n_in: int, hits_out: int, n_out: int, *, level: float = 0.95, unit: str = "model"
) -> Estimate:
    """The difference of two shares, with an exact if wide interval: Clopper–Pearson of both, Bonferroni.

    Unresolved where one of them is a share of nothing.
    """
    if min(n_in, n_out) < 1:
        return Estimate.unresolved(f"{n_in} trained with the label and {n_out} not at all; at least 1 of each is "
                                   f"needed", level=level, n=n_in + n_out, unit=unit)
    tail = (1.0 - level) / 4.0
    low = binomial_lower(hits_in, n_in, tail) - binomial_upper(hits_out, n_out, tail)
    high = binomial_upper(hits_in, n_in, tail) - binomial_lower(hits_out, n_out, tail)
    return Estimate(hits_in / n_in - hits_out / n_out, low, high, level=level, n=n_in + n_out, n_pos=n_in, n_neg=n_out,
                    unit=unit, method="difference of two Clopper–Pearson intervals, Bonferroni")


def memorisation_scores(predicted: ArrayLike, label: ArrayLike, asked: ArrayLike) -> FloatArray:
    """Scores of n examples over M models at the labels `asked` (n,); NaN where a side has no model.

    `predicted` (M, n) are the classes that models predict, `label` (M, n) those that they were trained with, negative
    where they were not trained on the example. Models trained with another label are on neither side: they remember
    that one.
    """
    guess, drawn, at = (np.asarray(one) for one in (predicted, label, asked))
    if guess.ndim != 2 or drawn.shape != guess.shape or at.shape != guess.shape[1:]:
        raise ValueError(f"predicted has shape {guess.shape}, label {drawn.shape}, asked {at.shape}: expected (M, n), "
                         f"(M, n) and (n,)")
    hit, inside, outside = guess == at, drawn == at, drawn < 0
    with np.errstate(invalid="ignore", divide="ignore"):
        score = (hit & inside).sum(axis=0) / inside.sum(axis=0) - (hit & outside).sum(axis=0) / outside.sum(axis=0)
    return np.asarray(score, dtype=np.float64)


def mean_memorisation(sides: Sides) -> dict[Truth, Estimate]:
    """Of one model, the mean score of its canaries at the secret and at the label that was trained on.

    How often it predicts a canary's label, less how often it predicts a placebo's. Unresolved without placebos, or
    where labels are not known.
    """
    found: dict[Truth, Estimate] = {}
    for truth in ("secret", "trained"):
        counted = [_hits(part, truth) for part in (sides.canary, sides.placebo) if part is not None]
        known = [one for one in counted if one is not None]
        found[truth] = memorisation_interval(*known[0], *known[1], unit="canary") if len(known) == 2 else (
            Estimate.unresolved("the label is not known of all canaries and placebos, or there are no placebos",
                                unit="canary"))
    return found


def _hits(trial: Trial, truth: Truth) -> tuple[int, int] | None:
    labels = trial.secret if truth == "secret" else trial.trained
    if (labels == UNKNOWN).any():
        return None
    return int((np.argmax(trial.view.log_p, axis=1) == labels).sum()), len(trial)
