"""LiRA: is the target's φ on a row drawn like that of models trained on it, or like that of models not trained on it?

Carlini et al. 2022, "Membership inference attacks from first principles": online is Algorithm 1; offline and fixed
variance are its variants for fewer and cheaper models. φ of the references of a row is taken as Gaussian on each side.
Means are means (the authors' code takes medians), deviations have divisor n as theirs, and several queries are scored
one by one and averaged, as in their code.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.requirements import in_models, lacking, must_have, out_models
from discreet.audit.membership.view import References, Scale, View, attacks
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.signals import masked_moments, per_model, phi, query_mean
from discreet.scores.table import ReferenceKind
from discreet.stats.arrays import scipy_module

MIN_MODELS = 2
"""Models a side that a deviation of a row's own needs."""

STD_FLOOR = 1e-6
"""Deviations are at least this. References that saturate agree to rounding (about 1e-15), which is no deviation to
divide by; real ones spread by orders of magnitude more than the floor."""


class _Lira:
    """What the three have in common: φ only."""

    scales: tuple[Scale, ...] = ("logit",)
    kinds: tuple[ReferenceKind | None, ...] = ("population",)


@attacks.register("lira")
class Lira(_Lira):
    """Online: log N(φ; μ_in, σ_in) − log N(φ; μ_out, σ_out), all four of the row's own."""

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """Population references, two on each side of a row."""
        return lacking(self, view, kind, n_in=MIN_MODELS, n_out=MIN_MODELS)

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores; NaN where a row has fewer than two models on a side."""
        must_have(self, view, scale, kind)
        assert kind is not None
        references = view.references[kind]
        values = per_model(phi, references.log_p, view.label)
        mean_in, std_in = _per_row(values, in_models(references))
        mean_out, std_out = _per_row(values, out_models(references, kind))
        return query_mean(log_ratio(phi(view.target, view.label), mean_in, std_in, mean_out, std_out))


@attacks.register("lira_fixed")
class LiraFixed(_Lira):
    """Online with one σ_in and one σ_out for all rows: the authors' advice for few models (their README).

    Both are deviations of *all* φ of a side, the spread between rows included, as in the authors' code.
    """

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """Population references, one on each side of a row."""
        return lacking(self, view, kind, n_in=1, n_out=1)

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores; NaN where a row has no model on a side."""
        must_have(self, view, scale, kind)
        assert kind is not None
        references = view.references[kind]
        values = per_model(phi, references.log_p, view.label)
        inside = masked_moments(values, _wide(in_models(references), values))
        outside = masked_moments(values, _wide(out_models(references, kind), values))
        return query_mean(log_ratio(
            phi(view.target, view.label), inside[0], _over_all(*inside), outside[0], _over_all(*outside),
        ))


@attacks.register("lira_offline")
class LiraOffline(_Lira):
    """Offline, one-sided: log(1 − Pr[Z > φ]) = log Φ((φ − μ_out) / σ_out); at most 0.

    The log keeps the order of 1 − Pr[Z > φ] where that would round to 1. A fixed σ_out would give the order of the
    reference attack on the logit scale, so there is no such variant.
    """

    kinds: tuple[ReferenceKind | None, ...] = ("population", "neutral")

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """Population or neutral references, two of them not trained on a row."""
        return lacking(self, view, kind, n_out=MIN_MODELS)

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores; NaN where fewer than two models were not trained on a row. MissingExtraError without scipy."""
        must_have(self, view, scale, kind)
        assert kind is not None
        references: References = view.references[kind]
        mean, std = _per_row(per_model(phi, references.log_p, view.label), out_models(references, kind))
        special = scipy_module("special", "offline LiRA")
        z = (phi(view.target, view.label) - mean) / np.maximum(std, STD_FLOOR)
        return query_mean(np.asarray(special.log_ndtr(z), dtype=np.float64))


def log_ratio(
    value: FloatArray, mean_in: FloatArray, std_in: FloatArray | float, mean_out: FloatArray,
    std_out: FloatArray | float,
) -> FloatArray:
    """log N(value; mean_in, std_in) − log N(value; mean_out, std_out), shapes as broadcast; NaN where one is NaN."""
    wide_in, wide_out = np.maximum(std_in, STD_FLOOR), np.maximum(std_out, STD_FLOOR)
    z_in, z_out = (value - mean_in) / wide_in, (value - mean_out) / wide_out
    return np.asarray(np.log(wide_out) - np.log(wide_in) + 0.5 * (z_out * z_out - z_in * z_in), dtype=np.float64)


def _wide(side: BoolArray, values: FloatArray) -> BoolArray:
    return np.broadcast_to(side[..., None], values.shape)


def _per_row(values: FloatArray, side: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of one side, (N, Q) each; NaN with fewer than two models."""
    mean, std, n = masked_moments(values, _wide(side, values))
    return mean, np.where(n >= MIN_MODELS, std, np.nan)


def _over_all(mean: FloatArray, std: FloatArray, n: IntArray) -> float:
    """One deviation over models, rows and queries of a side from those of each row; NaN without any value."""
    some = n > 0
    if not some.any():
        return float("nan")
    mean, std, weight = mean[some], std[some], n[some]
    away = mean - np.average(mean, weights=weight)
    return float(np.sqrt(np.average(std * std + away * away, weights=weight)))
