"""What an output mechanism is, what they share, and the door for plug-ins.

An interface has a model's logits for an input and answers a query with less than their softmax: noisy, rounded, or the
top label alone. A mechanism is one file in `outputs/`: a subclass of `OutputMechanism`, registered under its name with
`@output_mechanisms.register("name")`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.random import Generator

from discreet.core.arrays import log_softmax
from discreet.core.registry import Registry
from discreet.core.types import FloatArray

Noise: TypeAlias = Literal["fresh", "keyed", "none"]
"""Drawn anew for every query; fixed by a secret key and the input; or not there."""


class OutputMechanism:
    """What an interface releases for a query, and what an attacker makes of many answers.

    `logits` are (N, K), finite, K >= 2; `inputs` are the N inputs as `canonical` gives them.

    Attributes
    ----------
    knob, strengths : str or None, tuple of float
        What its strength is called, and those to try by default; None and empty where it has none.
    noise : "fresh", "keyed" or "none"
        Where an answer's randomness comes from. Only "fresh" noise differs between two equal queries.
    """

    knob: ClassVar[str | None] = None
    strengths: ClassVar[tuple[float, ...]] = ()
    noise: ClassVar[Noise] = "none"

    @classmethod
    def at(cls, strength: float | None, clip: float | None, rng: Generator) -> Self:
        """One deployment of this strength; `clip` bounds the logits where it can, `rng` draws a key where it has one.

        ValueError for a strength that cannot be.
        """
        return cls()

    def release(self, logits: FloatArray, inputs: Sequence[bytes], rng: Generator) -> FloatArray:
        """The answer to one query of each input: (N, K) numbers in [0, 1], the larger the likelier the class.

        Unless a mechanism says otherwise, the softmax of what it adds to the logits for one query.
        """
        return softmax(self.pooled(logits, inputs, 1, rng))

    def pooled(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, rng: Generator) -> FloatArray:
        """What averaging the answers to `queries` equal queries of each input leaves: (N, K) log scores.

        Up to a constant per row, which a log-softmax removes.
        """
        raise NotImplementedError

    def near_duplicates(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, jitter: float,
                        rng: Generator) -> FloatArray | None:
        """The same for one query of each input and `queries` − 1 of near-duplicates; None where it gains nothing new.

        These have other keys, and the input's own logits plus normal errors of deviation `jitter` per class.
        """
        return None

    def epsilon(self, n_classes: int, queries: int = 1) -> float | None:
        """Exact local ε (pure) of the answers to `queries` equal queries of *one* input; None where none is finite.

        Whatever two logit vectors stand behind the answers, no set of answers is more than e^ε times as likely under
        one as under the other. It says nothing of what queries of *other* inputs reveal about the same training set.
        """
        return None


output_mechanisms: Registry[type[OutputMechanism]] = Registry(
    "output_mechanisms", builtin="discreet.stats.mechanisms.outputs", classes=True)
"""Output mechanisms by name: classes, built with `at`."""


def canonical(inputs: Iterable[str]) -> list[bytes]:
    """The normal form that keyed noise sees: NFKC, case-folded, white space collapsed, as UTF-8.

    Inputs that read alike must get equal noise, else a change of case averages it out.
    """
    return [" ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())
            .encode("utf-8", "surrogatepass") for text in inputs]


def checked_logits(logits: FloatArray, inputs: Sequence[bytes] | None = None) -> FloatArray:
    """`logits` as float64 of shape (N, K), K >= 2. ValueError for another shape, for NaN or infinity, for other N."""
    given = np.asarray(logits, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] < 2:
        raise ValueError(f"logits have shape {given.shape}: expected (N, K) with K >= 2")
    if not np.isfinite(given).all():
        raise ValueError("logits hold NaN or infinity: expected finite numbers")
    if inputs is not None and len(inputs) != given.shape[0]:
        raise ValueError(f"{len(inputs)} inputs for {given.shape[0]} rows of logits: expected one each")
    return given


def checked_queries(queries: int) -> int:
    """A whole number of queries, at least 1. ValueError for others."""
    if queries != int(queries) or queries < 1:
        raise ValueError(f"queries is {queries}: expected a whole number, at least 1")
    return int(queries)


def softmax(logits: FloatArray) -> FloatArray:
    """Probabilities over the last axis."""
    return np.exp(log_softmax(logits))
