"""No mechanism: the softmax as it is, what every other one is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from numpy.random import Generator

from discreet.mechanisms.base import (
    FloatArray,
    Noise,
    checked_logits,
    checked_queries,
    log_softmax,
    output_mechanisms,
    softmax,
)


@output_mechanisms.register("none")
@dataclass(frozen=True, slots=True)
class Undefended:
    """The model's softmax."""

    knob: ClassVar[str | None] = None
    strengths: ClassVar[tuple[float, ...]] = ()
    noise: ClassVar[Noise] = "none"

    @classmethod
    def at(cls, strength: float | None, clip: float | None, rng: Generator) -> Self:
        """It has no strength, and clips nothing."""
        return cls()

    def release(self, logits: FloatArray, inputs: Sequence[bytes], rng: Generator) -> FloatArray:
        """softmax(z), (N, K)."""
        return softmax(checked_logits(logits, inputs))

    def pooled(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, rng: Generator) -> FloatArray:
        """log softmax(z), however many `queries`."""
        checked_queries(queries)
        return log_softmax(checked_logits(logits, inputs))

    def near_duplicates(
        self, logits: FloatArray, inputs: Sequence[bytes], queries: int, jitter: float, rng: Generator
    ) -> FloatArray | None:
        """None: there is nothing to average out."""
        return None

    def epsilon(self, n_classes: int, queries: int = 1) -> float | None:
        """None: everything is released."""
        return None
