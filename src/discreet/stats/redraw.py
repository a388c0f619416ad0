"""Guesses about secrets that were drawn by a known law: the secrets are drawn again, the guesses stay as they are.

Where guesses do not depend on the secrets, a new draw is right as often as the real one, and so is every function of
both: p values by counting draws are exact for any number of guesses of the same secrets, however much they agree
(Westfall & Young 1993, section 2). All columns of guesses see the same draws.

A column that abstains is judged by the guesses that it made. Success is standardised by its own mean and deviation
under the law, (right guesses − mean) / deviation, 0 where the deviation is 0: a column that the law leaves no room
says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.core.types import FloatArray, IntArray

SMALLEST = 1e-6
"""Deviations below are 0 but for rounding: those that are not are of single guesses at least."""


class Law(Protocol):
    """How n secrets from 0 to K − 1 were drawn."""

    @property
    def n_classes(self) -> int:
        """K."""
        ...

    def draw(self, draws: int, rng: Generator) -> NDArray[np.integer]:
        """New secrets, (draws, n)."""
        ...

    def moments(self, guesses: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation, (A,) each, of the number of right guesses in the columns of `guesses` (n, A); a guess
        below 0 was not made."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Exchangeable:
    """Every order of the secrets that were drawn, `values` (n,), is equally likely.

    So it is of secrets that were drawn independently and alike, given how often each was drawn (who knows no more than
    that is right no more often than chance), and of secrets that were assigned in fixed numbers.
    """

    values: IntArray
    n_classes: int

    def draw(self, draws: int, rng: Generator) -> NDArray[np.integer]:
        """See `Law`."""
        small = self.values.astype(np.min_scalar_type(self.n_classes))
        return rng.permuted(np.tile(small, (draws, 1)), axis=1)

    def moments(self, guesses: IntArray) -> tuple[FloatArray, FloatArray]:
        """See `Law`. Variance: Hoeffding (1951), equation 10, of the sum of [guess i = secret of place σ(i)]."""
        n = self.values.size
        drawn = np.bincount(self.values, minlength=self.n_classes).astype(np.float64)[:, None]
        guessed = np.stack([(guesses == k).sum(axis=0) for k in range(self.n_classes)]).astype(np.float64)
        pairs = (guessed * drawn).sum(axis=0)
        centred = pairs - (guessed * drawn**2 + guessed**2 * drawn).sum(axis=0) / n + (pairs / n) ** 2
        return pairs / n, np.sqrt(np.maximum(centred, 0.0) / max(n - 1, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Independent:
    """Secrets are independent, the i-th is k with `chances[i, k]`, (n, K), rows that sum to 1."""

    chances: FloatArray

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.chances.shape[1])

    def draw(self, draws: int, rng: Generator) -> NDArray[np.integer]:
        """See `Law`."""
        below, drawn = np.cumsum(self.chances, axis=1), rng.random((draws, len(self.chances)))
        found = np.zeros(drawn.shape, dtype=np.min_scalar_type(self.n_classes))
        for k in range(self.n_classes - 1):
            found += drawn >= below[:, k]
        return found

    def moments(self, guesses: IntArray) -> tuple[FloatArray, FloatArray]:
        """See `Law`."""
        chance = np.take_along_axis(self.chances, np.maximum(guesses, 0), axis=1)
        right = np.where(guesses >= 0, chance, 0.0)
        return right.sum(axis=0), np.sqrt((right * (1.0 - right)).sum(axis=0))


def hits(secrets: NDArray[np.integer], guesses: IntArray, n_classes: int) -> FloatArray:
    """How many guesses of each column of `guesses` (n, A) are right about each row of `secrets` (D, n): (D, A)."""
    found = np.zeros((len(secrets), guesses.shape[1]), dtype=np.float32)
    # Counts below 2^24 are exact in single precision, and a product of matrices is the fastest count.
    for k in range(n_classes):
        found += (secrets == k).astype(np.float32) @ (guesses == k).astype(np.float32)
    return found.astype(np.float64)


def standardised(right: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """(right (D, A) − mean (A,)) / deviation (A,), 0 where the deviation is 0."""
    room = deviation > SMALLEST
    return np.where(room, (right - mean) / np.where(room, deviation, 1.0), 0.0)


def combined(successes: FloatArray) -> FloatArray:
    """The largest plus the mean of each row of standardised successes (D, A): (D,).

    The largest sees one attack that is strong, the mean many that are weak alike.
    """
    return np.asarray(successes.max(axis=1) + successes.mean(axis=1), dtype=np.float64)
