"""Attacks that need nothing but the target's answer: loss, confidence, entropy.

With one query `loss` and `confidence_true` rank candidates alike; with two classes so do `confidence` and `entropy`.
"""

from __future__ import annotations

from typing import ClassVar

from numpy.random import Generator

from discreet.audit.membership.attack import Attack, Scale, View, attacks
from discreet.core.types import FloatArray
from discreet.scores.signals import entropy, phi, query_mean, top_p, top_phi, true_log_p, true_p
from discreet.scores.table import ReferenceKind


@attacks.register("loss")
class Loss(Attack):
    """How likely the target finds the true class (Yeom et al. 2018; membership paper, section 4.3).

    Scale "p": log p_y, at most 0. Scale "logit": φ = log p_y − log(1 − p_y). Mean over queries; of one query both rank
    candidates alike.
    """

    scales: ClassVar[tuple[Scale, ...]] = ("p", "logit")

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        return query_mean((true_log_p if scale == "p" else phi)(view.target, view.label))


@attacks.register("confidence")
class Confidence(Attack):
    """How sure the target is of whatever class it prefers (Salem et al. 2019); needs no label.

    Scale "p": max p, in [1/K, 1]. Scale "logit": its log odds. Mean over queries.
    """

    scales: ClassVar[tuple[Scale, ...]] = ("p", "logit")

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        return query_mean((top_p if scale == "p" else top_phi)(view.target))


@attacks.register("confidence_true")
class TrueClassConfidence(Attack):
    """The probability of the true class, what the membership paper's code calls confidence: p_y, in [0, 1].

    Mean over queries.
    """

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        return query_mean(true_p(view.target, view.label))


@attacks.register("entropy")
class Entropy(Attack):
    """How far the target's answer is from undecided (Salem et al. 2019): minus the Shannon entropy in nats, in
    [−log K, 0]; needs no label. Mean over queries.
    """

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        return -query_mean(entropy(view.target))
