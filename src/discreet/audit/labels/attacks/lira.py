"""LiRA-label: is the target's log odds of class k like that of models trained on the row as a k, or as something else?

Carlini et al. 2022 ("Membership inference attacks from first principles", Algorithm 1) with "in with label k" for "in"
and all else for "out". Every reference draws the labels of all canaries anew, so that one reference serves each row and
class. φ_k = log(p_k / (1 − p_k)); the score of class k is log N(φ_k; in) − log N(φ_k; out), the guess the best class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from discreet.audit.labels.attacker_view import (
    ABSTAINED,
    Family,
    Guesses,
    LabelAttack,
    References,
    View,
    label_attacks,
)
from discreet.audit.labels.attacks.lia_threshold import best_class
from discreet.audit.labels.attacks.reference import NEEDS
from discreet.audit.scores.signals import STD_FLOOR, log_ratio, masked_moments
from discreet.core.types import BoolArray, FloatArray, IntArray

Fit = Literal["own", "pooled", "shift", "offline"]
FITS: tuple[Fit, ...] = get_args(Fit)
LEAST = {"own": (2, 2), "pooled": (1, 1), "shift": (0, 1), "offline": (0, 2)}
"""Models trained with class k, and without, that a fit needs of every class of a row."""


class Moments(NamedTuple):
    """Of each row and class, (n, K) each: mean, deviation (divisor n) and number of models with it, and without."""

    mean_in: FloatArray
    std_in: FloatArray
    n_in: IntArray
    mean_out: FloatArray
    std_out: FloatArray
    n_out: IntArray


class Spread(NamedTuple):
    """What all rows and classes have in common: how far "in" lies above "out", and the deviation of either."""

    shift: float
    std_in: float
    std_out: float


@dataclass(frozen=True, slots=True)
class LiraLabel(LabelAttack):
    """Abstains on rows for which a class has too few models; confidence is the lead of the best class, in nats.

    Parameters
    ----------
    fit : "own", "pooled", "shift" or "offline"
        `own`: mean and deviation of each row and class by itself, of two models each (as Carlini's code).
        `pooled`: means as such, one deviation in and one out for all rows: for few references. `shift`: also the way
        from "out" to "in" is one for all, so that no row needs a model of every class: for many classes, or references
        that were not trained on the row. `offline`: (φ − mean out) / deviation out, "in" plays no part.
    """

    fit: Fit = "pooled"

    name: ClassVar[str] = "lira_label"

    def __post_init__(self) -> None:
        if self.fit not in FITS:
            raise ValueError(f"fit is {self.fit!r}: expected one of {', '.join(FITS)}")

    def needs(self, view: View) -> str | None:
        """References: so many of every class, and of others, of at least one row; two to pool deviations from."""
        if view.references is None or not len(view.references):
            return NEEDS
        if not self._complete(*_counts(view.references)).any():
            least_in, least_out = LEAST[self.fit]
            return (f"it needs for every class of a row {least_in} references trained with it and {least_out} trained "
                    f"without it and no row of {len(view):,} has them")
        if self.fit in ("pooled", "shift"):
            n_in, n_out = _counts(view.pool or view.references)
            if not ((n_in > 1).any() and (n_out > 1).any()):
                return "it needs two references that drew one label for a row and no row has them"
        return None

    def guess(self, view: View) -> Guesses:
        """A guess for every row that has its models. ValueError where the references do not suffice."""
        clause = self.needs(view)
        if clause is not None or view.references is None:
            raise ValueError(f"the view does not suffice: {clause}")
        found = moments(view.references)
        complete = self._complete(found.n_in, found.n_out)
        scores = self._scores(log_odds(view.log_p), found, view.pool or view.references)
        best = best_class(np.where(complete[:, None], scores, 0.0))
        return Guesses(np.where(complete, best.label, ABSTAINED), np.where(complete, best.confidence, 0.0))

    def _scores(self, phi: FloatArray, found: Moments, pool: References) -> FloatArray:
        """(n, K); meaningless where a row lacks models."""
        if self.fit == "offline":
            return np.asarray((phi - found.mean_out) / np.maximum(found.std_out, STD_FLOOR), dtype=np.float64)
        if self.fit == "own":
            return log_ratio(phi, found.mean_in, found.std_in, found.mean_out, found.std_out)
        spread = common(moments(pool))
        mean_in = found.mean_out + spread.shift if self.fit == "shift" else found.mean_in
        return log_ratio(phi, mean_in, spread.std_in, found.mean_out, spread.std_out)

    def _complete(self, n_in: IntArray, n_out: IntArray) -> BoolArray:
        least_in, least_out = LEAST[self.fit]
        return np.asarray(((n_in >= least_in) & (n_out >= least_out)).all(axis=1), dtype=np.bool_)


def log_odds(log_p: FloatArray) -> FloatArray:
    """φ_k = log p_k − log(1 − p_k) of every class, (…, K) to (…, K).

    Of the likeliest class 1 − p is summed from the others, so that p = 1 after rounding still has finite odds.
    """
    top = np.argmax(log_p, axis=-1)[..., None]
    others, rest = log_p.copy(), log_p.copy()
    np.put_along_axis(others, top, -np.inf, axis=-1)
    high = others.max(axis=-1, keepdims=True)
    np.put_along_axis(rest, top, np.log(0.5), axis=-1)
    rest = np.log1p(-np.exp(rest))
    np.put_along_axis(rest, top, high + np.log(np.exp(others - high).sum(axis=-1, keepdims=True)), axis=-1)
    return np.asarray(log_p - rest, dtype=np.float64)


def moments(references: References) -> Moments:
    """Moments of φ over the references that were trained with each class, and over all others; NaN over none."""
    phi, inside = log_odds(references.log_p), _inside(references)
    return Moments(*masked_moments(phi, inside), *masked_moments(phi, ~inside))


def common(found: Moments) -> Spread:
    """The shift, averaged over rows and classes that have models with and without, and deviations from all with two.

    Rows and classes weigh by 1 / (1 / n_in + 1 / n_out), the precision of their own shift. ValueError where nothing is
    left.
    """
    both = (found.n_in > 0) & (found.n_out > 0)
    freedom = [int((np.maximum(n, 1) - 1).sum()) for n in (found.n_in, found.n_out)]
    if not both.any() or not min(freedom):
        raise ValueError("no row has two references with its class and two without: expected more references")
    n_in, n_out = found.n_in[both].astype(np.float64), found.n_out[both]
    shift = np.average(found.mean_in[both] - found.mean_out[both], weights=n_in * n_out / (n_in + n_out))
    std_in, std_out = (float(np.sqrt(np.nansum(n * std * std) / free)) for n, std, free in zip(
        (found.n_in, found.n_out), (found.std_in, found.std_out), freedom, strict=True))
    return Spread(float(shift), std_in, std_out)


def _inside(references: References) -> BoolArray:
    found: BoolArray = references.label[..., None] == np.arange(references.log_p.shape[-1])
    return found


def _counts(references: References) -> tuple[IntArray, IntArray]:
    n_in = _inside(references).sum(axis=0)
    return n_in, len(references) - n_in


label_attacks.register("lira_label")(Family(lambda _: map(LiraLabel, FITS)))
