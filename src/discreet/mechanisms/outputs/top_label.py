"""The top label alone. Deterministic: no local ε is finite, and asking again gains nothing.

Near-duplicates are not simulated: the labels of many estimate a confidence (label-only attacks do that).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from discreet.core.types import FloatArray
from discreet.mechanisms.base import OutputMechanism, checked_logits, checked_queries, output_mechanisms


@output_mechanisms.register("top_label")
@dataclass(frozen=True, slots=True)
class TopLabel(OutputMechanism):
    """The likeliest class, the first where several are."""

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
