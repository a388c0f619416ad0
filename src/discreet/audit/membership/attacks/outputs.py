"""Attacks that need nothing but the target's answer: loss, confidence, entropy.

With one query `loss` and `confidence_true` rank candidates alike; with two classes so do `confidence` and `entropy`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

from numpy.random import Generator

from discreet.audit.membership.attack import Attack, Scale, View, attacks
from discreet.audit.scores.signals import entropy, phi, query_mean, top_p, top_phi, true_log_p, true_p
from discreet.audit.scores.table import ReferenceKind
from discreet.core.types import FloatArray, IntArray

Signals: TypeAlias = Mapping[Scale, Callable[[FloatArray, IntArray], FloatArray]]


class _Output(Attack):
    """The mean over queries of a signal of each scale, from log probabilities (N, Q, K) and labels (N,)."""

    signals: ClassVar[Signals]

    def __init_subclass__(cls) -> None:
        cls.scales = tuple(cls.signals)

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores."""
        return query_mean(self.signals[scale](view.target, view.label))


@attacks.register("loss")
class Loss(_Output):
    """How likely the target finds the true class (Yeom et al. 2018; membership paper, section 4.3).

    Scale "p": log p_y, at most 0. Scale "logit": φ = log p_y − log(1 − p_y). Of one query both rank candidates alike.
    """

    signals: ClassVar[Signals] = {"p": true_log_p, "logit": phi}


@attacks.register("confidence")
class Confidence(_Output):
    """How sure the target is of whatever class it prefers (Salem et al. 2019); needs no label.

    Scale "p": max p, in [1/K, 1]. Scale "logit": its log odds.
    """

    title: ClassVar[str] = "confidence, top class"
    label_free: ClassVar[bool] = True
    signals: ClassVar[Signals] = {"p": lambda log_p, _: top_p(log_p), "logit": lambda log_p, _: top_phi(log_p)}


@attacks.register("confidence_true")
class TrueClassConfidence(_Output):
    """The probability of the true class, what the membership paper's code calls confidence: p_y, in [0, 1]."""

    title: ClassVar[str] = "confidence, true class"
    signals: ClassVar[Signals] = {"p": true_p}


@attacks.register("entropy")
class Entropy(_Output):
    """Minus the Shannon entropy of the target's answer in nats, in [−log K, 0] (Salem et al. 2019); needs no label."""

    label_free: ClassVar[bool] = True
    signals: ClassVar[Signals] = {"p": lambda log_p, _: -entropy(log_p)}
