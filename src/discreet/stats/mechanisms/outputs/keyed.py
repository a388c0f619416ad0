"""Laplace noise on the logits that a secret key and the input fix: asking again gives the same answer again.

The noise of an input is read off HMAC-SHA256(key, block number ‖ normalised input), four classes a block, so it needs
no store of past queries, is the same in every process, and looks like independent Laplace noise to whoever does not
know the key. Repeating a query gains nothing. A *near-duplicate* has another key, hence independent noise: an attacker
who owns k texts whose logits are nearly those of the target averages over them as over fresh noise. What stops that is
a limit on queries or a key over something coarser than the text, not this mechanism.

One answer has the local ε of `laplace.laplace_epsilon`, and so have all answers to the same input together; a
near-duplicate is another input, and the losses add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from discreet.core.errors import UsageError
from discreet.core.types import FloatArray
from discreet.stats.mechanisms.base import Noise, OutputMechanism, checked_logits, checked_queries, output_mechanisms
from discreet.stats.mechanisms.outputs.laplace import (
    SIGMAS,
    check_scale,
    clipped,
    laplace_epsilon,
    mean_laplace,
    needed,
)

KEY_BYTES = 32
BLOCK_BYTES = 64
LEAST_KEY_BYTES = 16
PER_BLOCK = 4
"""Classes whose noise one digest of 32 bytes gives."""


@output_mechanisms.register("keyed")
@dataclass(frozen=True, slots=True)
class KeyedLaplace(OutputMechanism):
    """Laplace noise of scale `sigma` >= 0 under `key`, on logits that are centred and clipped first if `clip` is given.

    UsageError for a key under 16 bytes, ValueError for another `sigma` or `clip`.
    """

    sigma: float
    key: bytes = field(repr=False)
    clip: float | None = None

    knob: ClassVar[str | None] = "sigma"
    strengths: ClassVar[tuple[float, ...]] = SIGMAS
    noise: ClassVar[Noise] = "keyed"

    def __post_init__(self) -> None:
        check_scale(self.sigma, self.clip)
        if len(self.key) < LEAST_KEY_BYTES:
            raise UsageError(f"a noise key has {len(self.key)} bytes; expected at least {LEAST_KEY_BYTES} random ones")

    @classmethod
    def at(cls, strength: float | None, clip: float | None, rng: Generator) -> Self:
        """`strength` is σ; the key is drawn. For a deployment give the constructor a secret key instead."""
        return cls(needed(strength, "sigma"), rng.bytes(KEY_BYTES), clip)

    def pooled(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, rng: Generator) -> FloatArray:
        """z + η(input), however many `queries`: all their answers are one."""
        checked_queries(queries)
        bounded = clipped(checked_logits(logits, inputs), self.clip)
        return bounded + self.sigma * keyed_laplace(inputs, bounded.shape[1], self.key)

    def near_duplicates(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, jitter: float,
                        rng: Generator) -> FloatArray | None:
        """Mean over the input and `queries` − 1 near-duplicates.

        From two queries on all noise is drawn from `rng`: the keys of near-duplicates are not ours to know, and to one
        who does not know the secret the input's own is a draw as well. ValueError for a negative `jitter`.
        """
        if not jitter >= 0.0:
            raise ValueError(f"jitter is {jitter}: expected a number, 0 or more")
        k = checked_queries(queries)
        if k == 1:
            return self.pooled(logits, inputs, 1, rng)
        given = checked_logits(logits, inputs)
        near = _jittered_mean(given, k - 1, jitter, self.clip, rng)
        mean = (clipped(given, self.clip) + (k - 1) * near) / k
        return np.asarray(mean + self.sigma * mean_laplace(given.shape, k, rng), dtype=np.float64)

    def epsilon(self, n_classes: int, queries: int = 1) -> float | None:
        """4c⌊K / 2⌋ / σ for any number of equal queries; None without `clip` or without noise."""
        checked_queries(queries)
        return laplace_epsilon(n_classes, self.sigma, self.clip)


def keyed_laplace(inputs: Sequence[bytes], n_classes: int, key: bytes) -> FloatArray:
    """Laplace(0, 1) noise per input and class, (N, K), a pure function of `key` and each input.

    53 bits per class through the inverse of the distribution function, so |η| <= 53 log 2.
    """
    blocks = [number.to_bytes(4, "big") for number in range(-(-n_classes // PER_BLOCK))]
    digests = b"".join(_hmacs(key, (block + one for one in inputs for block in blocks)))
    bits = np.frombuffer(digests, dtype=">u8").reshape(len(inputs), len(blocks) * PER_BLOCK)[:, :n_classes]
    centred = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53 - 0.5
    return np.asarray(-np.sign(centred) * np.log1p(-2.0 * np.abs(centred)), dtype=np.float64)


def _hmacs(key: bytes, messages: Iterable[bytes]) -> Iterator[bytes]:
    """HMAC-SHA256 (RFC 2104) of many messages under one key, whose two blocks are hashed once: a third of the time."""
    padded = (hashlib.sha256(key).digest() if len(key) > BLOCK_BYTES else key).ljust(BLOCK_BYTES, b"\0")
    inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in padded)) for pad in (0x36, 0x5C))
    for message in messages:
        first, second = inner.copy(), outer.copy()
        first.update(message)
        second.update(first.digest())
        yield second.digest()


def _jittered_mean(logits: FloatArray, n: int, jitter: float, clip: float | None, rng: Generator) -> FloatArray:
    """Mean of the clipped logits of `n` near-duplicates, (N, K)."""
    if clip is None or jitter == 0.0:
        return clipped(logits, clip) + jitter / sqrt(n) * rng.standard_normal(logits.shape)
    total = np.zeros_like(logits)
    for _ in range(n):
        total += clipped(logits + jitter * rng.standard_normal(logits.shape), clip)
    return total / n
