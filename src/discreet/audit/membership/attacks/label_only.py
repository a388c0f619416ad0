"""Label-only: how often does the model keep the true class when the input is changed a little?

Choquette-Choo et al. 2021, "Label-only membership inference attacks": a model is robust on what it trained on, further
from where its answer changes, so that no probability is needed. Here by random changes of the input
(`discreet.inputs.perturbed`): their augmentation and noise attacks, without tuning on a shadow model.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.attack import Attack, Scale, View, attacks
from discreet.audit.scores.table import ReferenceKind
from discreet.core.types import FloatArray


@attacks.register("label_only")
class LabelOnly(Attack):
    """Share of the record and its perturbed copies that the target gives their true class, in [0, 1]."""

    title: ClassVar[str] = "label only, perturbed"
    scales: ClassVar[tuple[Scale, ...]] = ("p",)

    def requirements(self, view: View, kind: ReferenceKind | None) -> str | None:
        """As `Attack.requirements`, and answers to perturbed copies."""
        clause = super().requirements(view, kind)
        if clause is not None or view.steadiness is not None:
            return clause
        return ("it needs the model's answers to perturbed copies, which a model in memory can be asked for "
                "(perturbations=16)")

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) shares; NaN where the target did not score a row."""
        assert view.steadiness is not None
        scored = np.isfinite(view.target).any(axis=(1, 2))
        return np.where(scored, view.steadiness, np.nan)
