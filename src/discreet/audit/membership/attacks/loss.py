"""Loss: how likely the target finds the true class (Yeom et al. 2018; membership paper, section 4.3)."""

from __future__ import annotations

from numpy.random import Generator

from discreet.audit.membership.requirements import lacking, must_have
from discreet.audit.membership.view import Scale, View, attacks
from discreet.core.types import FloatArray
from discreet.scores.signals import phi, query_mean, true_log_p
from discreet.scores.table import ReferenceKind


@attacks.register("loss")
class Loss:
    """Scale "p": log p_y, at most 0. Scale "logit": φ = log p_y − log(1 − p_y). Mean over queries.

    Both put one query's rows in the same order; they differ in what a mean over queries weighs.
    """

    scales: tuple[Scale, ...] = ("p", "logit")
    kinds: tuple[ReferenceKind | None, ...] = (None,)

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """No references."""
        return lacking(self, view, kind)

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        must_have(self, view, scale, kind)
        signal = true_log_p if scale == "p" else phi
        return query_mean(signal(view.target, view.label))
