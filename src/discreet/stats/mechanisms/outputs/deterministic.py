"""Answers without noise: the softmax as it is, rounded, or its top label alone. Asking again gains nothing.

No local ε of any of them is finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from discreet.core.arrays import log_softmax
from discreet.core.types import FloatArray
from discreet.stats.mechanisms.base import OutputMechanism, checked_logits, checked_queries, output_mechanisms, softmax
from discreet.stats.mechanisms.outputs.laplace import needed

MOST_DECIMALS = 15


@output_mechanisms.register("none")
@dataclass(frozen=True, slots=True)
class Undefended(OutputMechanism):
    """No mechanism: the softmax as it is, what every other one is compared with."""

    def release(self, logits: FloatArray, inputs: Sequence[bytes], rng: Generator) -> FloatArray:
        """softmax(z), (N, K)."""
        return softmax(checked_logits(logits, inputs))

    def pooled(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, rng: Generator) -> FloatArray:
        """log softmax(z), however many `queries`."""
        checked_queries(queries)
        return log_softmax(checked_logits(logits, inputs))


@output_mechanisms.register("top_label")
@dataclass(frozen=True, slots=True)
class TopLabel(OutputMechanism):
    """The likeliest class, the first where several are.

    Near-duplicates are not simulated: the labels of many estimate a confidence (label-only attacks do that).
    """

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


@output_mechanisms.register("rounding")
@dataclass(frozen=True, slots=True)
class Rounding(OutputMechanism):
    """Probabilities rounded to `decimals` places, 0 to 15. ValueError for another number.

    Near-duplicates are not simulated: they dither a rounded output too, where they differ by a unit or more.
    """

    decimals: int

    knob: ClassVar[str | None] = "decimals"
    strengths: ClassVar[tuple[float, ...]] = (3, 2, 1)

    def __post_init__(self) -> None:
        if self.decimals != int(self.decimals) or not 0 <= self.decimals <= MOST_DECIMALS:
            raise ValueError(f"decimals is {self.decimals}: expected a whole number from 0 to {MOST_DECIMALS}")

    @classmethod
    def at(cls, strength: float | None, clip: float | None, rng: Generator) -> Self:
        """`strength` is the number of decimals; nothing is clipped or drawn."""
        places = needed(strength, "decimals")
        if places != int(places):
            raise ValueError(f"decimals is {places}: expected a whole number from 0 to {MOST_DECIMALS}")
        return cls(int(places))

    def release(self, logits: FloatArray, inputs: Sequence[bytes], rng: Generator) -> FloatArray:
        """The rounded softmax, (N, K); rows need not add up to 1."""
        return np.round(softmax(checked_logits(logits, inputs)), self.decimals)

    def pooled(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, rng: Generator) -> FloatArray:
        """Logs of what was released, 0 and 1 read as the middle of what rounds to them (a quarter unit from the end).

        A floor of 1e-7 instead would read .00 as far surer than it is, and make the attack weaker than it need be.
        """
        checked_queries(queries)
        quarter = 0.25 * 10.0**-self.decimals
        return np.log(np.clip(self.release(logits, inputs, rng), quarter, 1.0 - quarter))
