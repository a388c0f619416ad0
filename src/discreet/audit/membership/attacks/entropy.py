"""Entropy: how far the target's answer is from undecided (Salem et al. 2019). Needs no label."""

from __future__ import annotations

from numpy.random import Generator

from discreet.audit.membership.requirements import lacking, must_have
from discreet.audit.membership.view import Scale, View, attacks
from discreet.core.types import FloatArray
from discreet.scores.signals import entropy, query_mean
from discreet.scores.table import ReferenceKind


@attacks.register("entropy")
class Entropy:
    """Scale "p": minus the Shannon entropy in nats, in [−log K, 0]. Mean over queries.

    With two classes the order is that of the confidence attack.
    """

    scales: tuple[Scale, ...] = ("p",)
    kinds: tuple[ReferenceKind | None, ...] = (None,)

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """No references."""
        return lacking(self, view, kind)

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        must_have(self, view, scale, kind)
        return -query_mean(entropy(view.target))
