"""No mechanism: the softmax as it is, what every other one is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.random import Generator

from discreet.core.types import FloatArray
from discreet.mechanisms.base import (
    OutputMechanism,
    checked_logits,
    checked_queries,
    log_softmax,
    output_mechanisms,
    softmax,
)


@output_mechanisms.register("none")
@dataclass(frozen=True, slots=True)
class Undefended(OutputMechanism):
    """The model's softmax."""

    def release(self, logits: FloatArray, inputs: Sequence[bytes], rng: Generator) -> FloatArray:
        """softmax(z), (N, K)."""
        return softmax(checked_logits(logits, inputs))

    def pooled(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, rng: Generator) -> FloatArray:
        """log softmax(z), however many `queries`."""
        checked_queries(queries)
        return log_softmax(checked_logits(logits, inputs))
