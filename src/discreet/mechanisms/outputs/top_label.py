"""The top label alone. Deterministic: no local ε is finite, and asking again gains nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from discreet.mechanisms.base import FloatArray, Noise, checked_logits, checked_queries, output_mechanisms


@output_mechanisms.register("top_label")
@dataclass(frozen=True, slots=True)
class TopLabel:
    """The likeliest class, the first where several are."""

    knob: ClassVar[str | None] = None
    strengths: ClassVar[tuple[float, ...]] = ()
    noise: ClassVar[Noise] = "none"

    @classmethod
    def at(cls, strength: float | None, clip: float | None, rng: Generator) -> Self:
        """It has no strength."""
        return cls()

    def release(self, logits: FloatArray, inputs: Sequence[bytes], rng: Generator) -> FloatArray:
        """1 for the top label, else 0; (N, K)."""
        given = checked_logits(logits, inputs)
        return np.asarray(np.eye(given.shape[1])[given.argmax(axis=1)], dtype=np.float64)

    def pooled(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, rng: Generator) -> FloatArray:
        """Logs of the middle of what can stand behind a label: p in [1/K, 1] for the top one, the rest shared evenly.

        An attack that reads p_y thus becomes "was it classified right?" (Yeom et al. 2018), and a reference ratio
        that answer less how likely a right answer was.
        """
        checked_queries(queries)
        top = self.release(logits, inputs, rng)
        n_classes = top.shape[1]
        middle = (1.0 + 1.0 / n_classes) / 2.0
        return np.asarray(np.log(np.where(top > 0.0, middle, (1.0 - middle) / (n_classes - 1))), dtype=np.float64)

    def near_duplicates(
        self, logits: FloatArray, inputs: Sequence[bytes], queries: int, jitter: float, rng: Generator
    ) -> FloatArray | None:
        """None: not simulated. Labels of many near-duplicates estimate a confidence (label-only attacks do that)."""
        return None

    def epsilon(self, n_classes: int, queries: int = 1) -> float | None:
        """None: two vectors with other top labels are told apart for certain."""
        return None
