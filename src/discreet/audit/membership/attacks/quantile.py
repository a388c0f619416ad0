"""Quantile regression: is the target surer of a row than of nine in ten non-members that are like it?

Bertran et al. 2023, "Scalable membership inference attacks via quantile regression": a model of the quantiles of the
target's φ on non-members gives each record a threshold of its own. Here quantiles are linear in what reference models
that were not trained on the record say of it, and in its class; theirs are networks over the record itself, which a
table of scores does not hold.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.attack import Attack, Scale, View, attacks
from discreet.audit.scores.signals import masked_mean, phi, query_mean
from discreet.audit.scores.table import ReferenceKind
from discreet.core.errors import need
from discreet.core.types import FloatArray, IntArray

QUANTILES = (0.5, 0.9)
MIN_ROWS = 50
"""Population records that the quantiles are fitted on at least: five lie above the upper one."""
MAX_ROWS = 1_000
"""At most; more are thinned at random."""
NARROWEST = 0.1
"""Both quantiles are at least this share of their median distance apart: lines may cross where there are few rows."""


@attacks.register("quantile")
class Quantile(Attack):
    """(φ − q₅₀(x)) / (q₉₀(x) − q₅₀(x)): 1 at the record's own threshold of a 10% false positive rate.

    q is linear, fitted by the pinball loss to the target's φ on population records, which are non-members that nobody
    judges, from the mean φ of the references that did not train on a record, and its class. Where the references say
    all, this is the reference attack with a slope that is learned instead of 1 and a width that depends on the record.
    """

    title: ClassVar[str] = "quantile regression"
    scales: ClassVar[tuple[Scale, ...]] = ("logit",)
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = ("neutral", "population")
    n_out: ClassVar[int] = 1
    reads_others: ClassVar[bool] = True

    def requirements(self, view: View, kind: ReferenceKind | None) -> str | None:
        """As `Attack.requirements`, and population records that some reference did not train on."""
        clause = super().requirements(view, kind)
        if clause is not None or kind is None:
            return clause
        n = int(view.references[kind].outside(kind)[:, view.population].any(axis=0).sum())
        return None if n >= MIN_ROWS else (f"it needs {MIN_ROWS} population records that nobody judges and some {kind} "
                                           f"reference did not train on, and there are {n}")

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores; NaN where a row lacks a score or a reference. MissingExtraError without scikit-learn."""
        assert kind is not None
        own, about = query_mean(phi(view.target, view.label)), view.once((self, kind), lambda: _features(view, kind))
        known = np.isfinite(own) & np.isfinite(about).all(axis=1)
        rows = _fitted_rows(view.population[known[view.population]], own, about, rng)
        scores = np.full(own.shape, np.nan)
        if rows.size < MIN_ROWS:
            return scores
        middle, upper = (_quantile(about[rows], own[rows], level).predict(about[known]) for level in QUANTILES)
        width = upper - middle
        # Of the rows that it was fitted on: a score must not depend on who else is judged.
        fitted = width[np.isin(np.flatnonzero(known), rows)]
        # Where most references say the same of a record, as of trees, half of the widths are 0, or below where the
        # quantiles cross: then the least other.
        least = NARROWEST * max(float(np.median(fitted)), 0.0) or float(min(fitted[fitted > 0.0], default=1.0))
        scores[known] = (own[known] - middle) / np.maximum(width, least)
        return scores


def _features(view: View, kind: ReferenceKind) -> FloatArray:
    """Mean φ of the references that did not train on a row, and its class but the first as 0 and 1: (N, K)."""
    references = view.references[kind]
    values = references.of(phi, view.label)
    mean = query_mean(masked_mean(values, np.broadcast_to(references.outside(kind)[..., None], values.shape)))
    return np.column_stack([mean, view.label[:, None] == np.arange(1, view.target.shape[-1])]).astype(np.float64)


def _fitted_rows(rows: IntArray, own: FloatArray, about: FloatArray, rng: Generator) -> IntArray:
    """Population rows sorted by value, so that neither the fit nor the draw depends on the order of the table."""
    order = rows[np.lexsort((own[rows], *about[rows].T))]
    return order if order.size <= MAX_ROWS else order[np.sort(rng.choice(order.size, MAX_ROWS, replace=False))]


def _quantile(features: FloatArray, values: FloatArray, level: float) -> Any:
    """The linear model of a quantile with the least pinball loss."""
    regressor = need("sklearn.linear_model", "the quantile attack", "audit").QuantileRegressor
    return regressor(quantile=level, alpha=0.0, solver="highs").fit(features, values)
