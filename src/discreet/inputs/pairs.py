"""Pairs of units alike in size, labels and length, for a coin to choose between.

A unit is a record, or all records of one user. Whether a coin-flip experiment is *valid* does not depend on how alike
the two of a pair are (the coin is fair whatever they are); how soon it *sees* something does: the more alike they are,
the less of the difference of their scores is noise. So pairs are made greedily among neighbours in an order by size,
label and length, and no pair is made that differs too much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray, IntArray

WINDOW = 48
"""Neighbours in the sorted order among which a unit's partner is looked for."""
MOST_RATIO = 2.0
"""The longer text (the mean, for users) of a pair is at most so many times the shorter; likewise numbers of records."""
MOST_MIX = 0.25
"""The largest total variation between the label mixes of a pair; records of different labels are 1 apart."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Units:
    """What pairs are made of, one entry per record or user: how many records it has, at least 1, (u,); the share of
    each label among them, (u, k); and their mean number of characters, above 0, (u,).
    """

    size: IntArray
    mix: FloatArray
    length: FloatArray

    @classmethod
    def of(cls, labels: ArrayLike, lengths: ArrayLike, units: ArrayLike) -> Units:
        """Units from records: label codes 0…k−1 (n,), lengths (n,) > 0, and the unit 0…u−1 of each record (n,)."""
        codes, sizes, owner = (np.asarray(a) for a in (labels, lengths, units))
        n_units, k = int(owner.max()) + 1, int(codes.max()) + 1
        size = np.bincount(owner, minlength=n_units)
        if size.min() < 1:
            raise ValueError(f"unit {int(size.argmin())} has no record: expected units 0 … u − 1")
        mix = np.bincount(owner * k + codes, minlength=n_units * k).reshape(n_units, k) / size[:, None]
        return cls(size.astype(np.int64), mix, np.bincount(owner, weights=sizes) / size)


def distances(units: Units, one: int, others: IntArray) -> FloatArray:
    """How unlike unit `one` is to `others` (m,), shape (m,); infinite beyond the limits of this module.

    |log size ratio| + total variation of the label mixes + |log length ratio|.
    """
    size = np.abs(np.log(units.size[others] / units.size[one]))
    length = np.abs(np.log(units.length[others] / units.length[one]))
    mix = np.abs(units.mix[others] - units.mix[one]).sum(axis=1) / 2.0
    limit = np.log(MOST_RATIO) + 1e-12
    too_far = (size > limit) | (length > limit) | (mix > MOST_MIX + 1e-12)
    return np.where(too_far, np.inf, size + mix + length)


def all_pairs(units: Units, eligible: ArrayLike, rng: Generator) -> IntArray:
    """As many alike pairs of eligible units as a greedy walk finds, shape (p, 2); each unit is in one at the most.

    Units are sorted by size, label mix and length, equal ones in random order; each that is still free takes the most
    alike of the free ones among the next `WINDOW`. The same generator state gives the same pairs.
    """
    free = np.flatnonzero(np.asarray(eligible, dtype=bool))
    shuffled = rng.permutation(free)
    keys = [units.length[shuffled], *(-np.round(units.mix[shuffled, j], 2) for j in range(units.mix.shape[1])[::-1]),
            units.size[shuffled]]
    waiting = shuffled[np.lexsort(keys)]
    taken = np.zeros(waiting.size, dtype=bool)
    made: list[tuple[int, int]] = []
    for place, one in enumerate(waiting):
        if taken[place]:
            continue
        near = np.flatnonzero(~taken[place + 1 : place + 1 + WINDOW]) + place + 1
        apart = distances(units, int(one), waiting[near])
        if near.size and np.isfinite(best := apart.min()):
            partner = near[int(np.flatnonzero(apart == best)[0])]
            taken[place] = taken[partner] = True
            made.append((int(one), int(waiting[partner])))
    return np.array(made, dtype=np.int64).reshape(-1, 2)


def draw_pairs(units: Units, n: int, eligible: ArrayLike, rng: Generator) -> IntArray:
    """n of `all_pairs`, drawn at random, in random order and with a random first member; shape (n, 2).

    Drawn rather than the n most alike, so that they stand for the data and not for its commonest lengths. ValueError
    where there are fewer than n.
    """
    made = all_pairs(units, eligible, rng)
    if len(made) < n:
        raise ValueError(f"{len(made)} alike pairs can be made: expected {n}")
    chosen = made[rng.permutation(len(made))[:n]]
    flipped = rng.random(n) < 0.5
    return np.where(flipped[:, None], chosen[:, ::-1], chosen)
