"""LiRA: is the target's φ on a row drawn like that of models trained on it, or like that of models not trained on it?

Carlini et al. 2022, "Membership inference attacks from first principles": online is Algorithm 1; offline and fixed
variance are its variants for fewer and cheaper models. φ of the references of a row is taken as Gaussian, of those that
trained on it (in-models) and of those that did not (out-models). Means are means (the authors' code takes medians),
deviations have divisor n as theirs, and several queries are scored one by one and averaged, as in their code.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.attack import Attack, Scale, View, attacks
from discreet.audit.scores.signals import STD_FLOOR, log_ratio, masked_moments, phi, query_mean
from discreet.audit.scores.table import ReferenceKind
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.arrays import scipy_module

MIN_MODELS = 2
"""In-models, and out-models, that a deviation of a row's own needs."""


@attacks.register("lira")
class Lira(Attack):
    """Online: log N(φ; μ_in, σ_in) − log N(φ; μ_out, σ_out), all four of the row's own.

    NaN where fewer than two models were, or were not, trained on a row.
    """

    title: ClassVar[str] = "LiRA"
    scales: ClassVar[tuple[Scale, ...]] = ("logit",)
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = ("population",)
    n_in: ClassVar[int] = MIN_MODELS
    n_out: ClassVar[int] = MIN_MODELS

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        assert kind is not None
        references = view.references[kind]
        inside, outside = view.once((self, kind), lambda: self.moments(
            references.of(phi, view.label), references.inside(), references.outside(kind)))
        return query_mean(log_ratio(phi(view.target, view.label), *inside, *outside))

    def moments(self, values: FloatArray, *models: BoolArray) -> list[tuple[FloatArray, FloatArray | float]]:
        """Mean and deviation over these models (R, N) of φ (R, N, Q)."""
        found = []
        for mask in models:
            mean, std, n = masked_moments(values, np.broadcast_to(mask[..., None], values.shape))
            found.append((mean, self.deviation(mean, std, n)))
        return found

    def deviation(self, mean: FloatArray, std: FloatArray, n: IntArray) -> FloatArray | float:
        """From mean, deviation and number of models of each row, (N, Q) each."""
        return np.where(n >= MIN_MODELS, std, np.nan)


@attacks.register("lira_fixed")
class LiraFixed(Lira):
    """Online with one σ_in and one σ_out for all rows: the authors' advice for few models (their README).

    Both are deviations of *all* φ of in- or out-models, the spread between rows included, as in the authors' code.
    NaN where no model was, or all models were, trained on a row.
    """

    title: ClassVar[str] = "LiRA, fixed variance"
    n_in: ClassVar[int] = 1
    n_out: ClassVar[int] = 1

    def deviation(self, mean: FloatArray, std: FloatArray, n: IntArray) -> FloatArray | float:
        """One over models, rows and queries; NaN without any value."""
        some = n > 0
        if not some.any():
            return float("nan")
        mean, std, weight = mean[some], std[some], n[some]
        away = mean - np.average(mean, weights=weight)
        return float(np.sqrt(np.average(std * std + away * away, weights=weight)))


@attacks.register("lira_offline")
class LiraOffline(Lira):
    """Offline, one-sided: log(1 − Pr[Z > φ]) = log Φ((φ − μ_out) / σ_out); at most 0.

    The log keeps the order of 1 − Pr[Z > φ] where that would round to 1. A fixed σ_out would give the order of the
    reference attack on the logit scale, so there is no such variant.
    """

    title: ClassVar[str] = "LiRA offline"
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = ("population", "neutral")
    n_in: ClassVar[int] = 0

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores; NaN where fewer than two models were not trained on a row. MissingExtraError without scipy."""
        assert kind is not None
        references = view.references[kind]
        ((mean, std),) = view.once((self, kind), lambda: self.moments(
            references.of(phi, view.label), references.outside(kind)))
        special = scipy_module("special", "offline LiRA")
        z = (phi(view.target, view.label) - mean) / np.maximum(std, STD_FLOOR)
        return query_mean(np.asarray(special.log_ndtr(z), dtype=np.float64))
