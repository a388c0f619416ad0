"""Confidence: how sure the target is of whatever class it prefers (Salem et al. 2019). Needs no label."""

from __future__ import annotations

from numpy.random import Generator

from discreet.audit.membership.requirements import lacking, must_have
from discreet.audit.membership.view import Scale, View, attacks
from discreet.scores.signals import query_mean, top_p, top_phi
from discreet.scores.table import FloatArray, ReferenceKind


@attacks.register("confidence")
class Confidence:
    """Scale "p": max p, in [1/K, 1]. Scale "logit": its log odds. Mean over queries."""

    scales: tuple[Scale, ...] = ("p", "logit")
    kinds: tuple[ReferenceKind | None, ...] = (None,)

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """No references."""
        return lacking(self, view, kind)

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        must_have(self, view, scale, kind)
        signal = top_p if scale == "p" else top_phi
        return query_mean(signal(view.target))
