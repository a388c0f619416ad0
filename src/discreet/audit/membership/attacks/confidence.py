"""Confidence, by its two definitions: of whatever class the target prefers (Salem et al. 2019), which needs no label,
and of the true class (what the membership paper's code calls confidence).
"""

from __future__ import annotations

from numpy.random import Generator

from discreet.audit.membership.requirements import lacking, must_have
from discreet.audit.membership.view import Scale, View, attacks
from discreet.core.types import FloatArray
from discreet.scores.signals import query_mean, top_p, top_phi, true_p
from discreet.scores.table import ReferenceKind


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


@attacks.register("confidence_true")
class TrueClassConfidence:
    """Scale "p": p_y, in [0, 1]. Mean over queries; with one query it orders rows as the loss does."""

    scales: tuple[Scale, ...] = ("p",)
    kinds: tuple[ReferenceKind | None, ...] = (None,)

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """No references."""
        return lacking(self, view, kind)

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        must_have(self, view, scale, kind)
        return query_mean(true_p(view.target, view.label))
