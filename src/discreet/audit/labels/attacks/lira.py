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
    Guesses,
    LabelAttack,
    References,
    Settings,
    View,
    label_attacks,
)
from discreet.audit.labels.attacks.lia_threshold import best_class
from discreet.audit.labels.attacks.reference import NEEDS
from discreet.audit.membership.attacks.lira import STD_FLOOR, log_ratio
from discreet.core.types import BoolArray, FloatArray, IntArray

Fit = Literal["own", "pooled", "shift", "offline"]
FITS: tuple[Fit, ...] = get_args(Fit)
LEAST = {"own": (2, 2), "pooled": (1, 1), "shift": (0, 1), "offline": (0, 2)}
"""Models trained with class k, and without, that a fit needs of every class of a row."""


class Moments(NamedTuple):
    """Of each row and class, (n, K) each: mean and sum of squares about it on both sides, and how many models.

    A mean over no model is NaN.
    """

    mean_in: FloatArray
    squares_in: FloatArray
    n_in: IntArray
    mean_out: FloatArray
    squares_out: FloatArray
    n_out: IntArray


class Spread(NamedTuple):
    """What all rows and classes have in common: how far "in" lies above "out", and the deviation on either side."""

    shift: float
    std_in: float
    std_out: float


@dataclass(frozen=True, slots=True)
class LiraLabel:
    """Abstains on rows for which a class has too few models; confidence is the lead of the best class, in nats.

    Parameters
    ----------
    fit : "own", "pooled", "shift" or "offline"
        `own`: mean and deviation of each row and class by itself, two models a side (divisor n as Carlini's code).
        `pooled`: means as such, one deviation a side for all rows: for few references. `shift`: also the way from "out"
        to "in" is one for all, so that no row needs a model of every class: for many classes, or references that were
        not trained on the row. `offline`: (φ − mean out) / deviation out, "in" plays no part.
    """

    fit: Fit = "pooled"

    access: ClassVar[Literal["outputs"]] = "outputs"
    classes: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        if self.fit not in FITS:
            raise ValueError(f"fit is {self.fit!r}: expected one of {', '.join(FITS)}")

    @property
    def settings(self) -> Settings:
        """Attack and fit."""
        return Settings("lira_label", fit=self.fit)

    def needs(self, view: View) -> str | None:
        """References: so many of every class, and of others, of at least one row; two to pool deviations from."""
        if view.references is None or not len(view.references):
            return NEEDS
        least_in, least_out = LEAST[self.fit]
        counted = _counts(view.references)
        if not _complete(*counted, self.fit).any():
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
        spread = None if self.fit in ("own", "offline") else (
            common(found if view.pool is None else moments(view.pool)))
        scores = class_scores(log_odds(view.log_p), found, self.fit, spread)
        complete = _complete(found.n_in, found.n_out, self.fit)
        best = best_class(np.where(complete[:, None], scores, 0.0))
        return Guesses(np.where(complete, best.label, ABSTAINED), np.where(complete, best.confidence, 0.0))


def log_odds(log_p: FloatArray) -> FloatArray:
    """φ_k = log p_k − log(1 − p_k) of every class, (…, K) to (…, K).

    Of the likeliest class 1 − p is summed from the others, so that p = 1 after rounding still has finite odds.
    """
    top = np.argmax(log_p, axis=-1)[..., None]
    others = log_p.copy()
    np.put_along_axis(others, top, -np.inf, axis=-1)
    high = others.max(axis=-1, keepdims=True)
    rest_of_top = high + np.log(np.exp(others - high).sum(axis=-1, keepdims=True))
    rest = log_p.copy()
    np.put_along_axis(rest, top, np.log(0.5), axis=-1)
    rest = np.log1p(-np.exp(rest))
    np.put_along_axis(rest, top, rest_of_top, axis=-1)
    return np.asarray(log_p - rest, dtype=np.float64)


def moments(references: References) -> Moments:
    """Moments of φ over the references that were trained with each class, and over all others."""
    phi = log_odds(references.log_p)
    inside = _inside(references)
    return Moments(*_side(phi, inside), *_side(phi, ~inside))


def common(found: Moments) -> Spread:
    """The shift, averaged over rows and classes that have both sides, and deviations from all that have two models.

    Cells weigh by 1 / (1 / n_in + 1 / n_out), the precision of their own shift. ValueError where nothing is left.
    """
    both = (found.n_in > 0) & (found.n_out > 0)
    freedom = [(np.maximum(n, 1) - 1).sum() for n in (found.n_in, found.n_out)]
    if not both.any() or not min(freedom):
        raise ValueError("no row has two references on each side: expected more references")
    n_in, n_out = found.n_in[both].astype(np.float64), found.n_out[both]
    shift = np.average(found.mean_in[both] - found.mean_out[both], weights=n_in * n_out / (n_in + n_out))
    std_in, std_out = (float(np.sqrt(squares.sum() / free))
                       for squares, free in zip((found.squares_in, found.squares_out), freedom, strict=True))
    return Spread(float(shift), std_in, std_out)


def class_scores(phi: FloatArray, found: Moments, fit: Fit, spread: Spread | None) -> FloatArray:
    """(n, K) scores of the target's log odds (n, K); meaningless where a fit lacks models. `spread` as the fit needs.
    """
    if fit == "offline":
        std = np.sqrt(found.squares_out / np.maximum(found.n_out, 1))
        return np.asarray((phi - found.mean_out) / np.maximum(std, STD_FLOOR), dtype=np.float64)
    if fit == "own":
        return log_ratio(phi, found.mean_in, np.sqrt(found.squares_in / np.maximum(found.n_in, 1)),
                         found.mean_out, np.sqrt(found.squares_out / np.maximum(found.n_out, 1)))
    if spread is None:
        raise ValueError(f"the fit {fit!r} has no spread: expected that of `common`")
    mean_in = found.mean_out + spread.shift if fit == "shift" else found.mean_in
    return log_ratio(phi, mean_in, np.float64(spread.std_in), found.mean_out, np.float64(spread.std_out))


def _side(phi: FloatArray, chosen: BoolArray) -> tuple[FloatArray, FloatArray, IntArray]:
    n = chosen.sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(chosen, phi, 0.0).sum(axis=0) / n
    away = np.where(chosen, phi - mean, 0.0)
    return mean, (away * away).sum(axis=0), n


def _inside(references: References) -> BoolArray:
    found: BoolArray = references.label[..., None] == np.arange(references.log_p.shape[-1])
    return found


def _counts(references: References) -> tuple[IntArray, IntArray]:
    n_in = _inside(references).sum(axis=0)
    return n_in, len(references) - n_in


def _complete(n_in: IntArray, n_out: IntArray, fit: Fit) -> BoolArray:
    least_in, least_out = LEAST[fit]
    return np.asarray(((n_in >= least_in) & (n_out >= least_out)).all(axis=1), dtype=np.bool_)


@label_attacks.register("lira_label")
class LiraLabels:
    """Every fit."""

    def variants(self, n_classes: int) -> tuple[LabelAttack, ...]:
        """Four, for any number of classes."""
        return tuple(LiraLabel(fit) for fit in FITS)
