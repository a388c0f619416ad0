"""Exact shares: how many of each level, in an order in which every stretch has them too, and balanced class sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from numpy.random import Generator as Rng

from discreet.synth.records import SHARED

L = TypeVar("L")


def apportion(total: int, weights: Mapping[L, float]) -> dict[L, int]:
    """`total` shared out by weight, each share within one of exact (largest remainders; ties to the earlier)."""
    whole = sum(weights.values())
    exact = {level: total * weight / whole for level, weight in weights.items()}
    counts = {level: int(share) for level, share in exact.items()}
    order = sorted(exact, key=lambda level: counts[level] - exact[level])
    for level in order[: total - sum(counts.values())]:
        counts[level] += 1
    return counts


def spread(counts: Mapping[L, int], rng: Rng) -> list[L]:
    """Every level as often as `counts` says, in a random order in which no level bunches up.

    The j-th of c copies lies in the j-th c-th of the sequence, so that any stretch holds the levels in about their
    shares, and batches cut from the sequence are balanced as the whole is.
    """
    places: list[tuple[float, float, L]] = []
    for level, count in counts.items():
        jitter = rng.random((count, 2))
        places += [((j + float(jitter[j, 0])) / count, float(jitter[j, 1]), level) for j in range(count)]
    return [level for _, _, level in sorted(places, key=lambda place: place[:2])]


def uniform(levels: Sequence[L], n: int, rng: Rng) -> list[L]:
    """n levels, each as often as any other or once more, spread; which ones get the rest is drawn."""
    order = [levels[int(i)] for i in rng.permutation(len(levels))]
    return spread({level: n // len(levels) + (i < n % len(levels)) for i, level in enumerate(order)}, rng)


def class_sets(sizes: Sequence[int], classes: Sequence[str], rng: Rng) -> list[tuple[str, ...]]:
    """For each size k a set of k distinct classes, at least one of them shared where `classes` has shared ones.

    Drawn uniformly, then classes are exchanged between sets at random until each class is used equally often (within
    one). Sets keep the order of `classes`.
    """
    needs_shared = any(c in SHARED for c in classes)
    sets = [_draw(k, classes, needs_shared, rng) for k in sizes]
    _balance(sets, classes, needs_shared, rng)
    return [tuple(c for c in classes if c in chosen) for chosen in sets]


def _draw(k: int, classes: Sequence[str], needs_shared: bool, rng: Rng) -> set[str]:
    while True:
        chosen = {classes[int(i)] for i in rng.permutation(len(classes))[:k]}
        if not needs_shared or not chosen.isdisjoint(SHARED):
            return chosen


def _balance(sets: list[set[str]], classes: Sequence[str], needs_shared: bool, rng: Rng) -> None:
    used = Counter(c for chosen in sets for c in chosen)
    while sets:
        most, least = max(classes, key=lambda c: used[c]), min(classes, key=lambda c: used[c])
        if used[most] - used[least] <= 1:
            return
        for i in _probes(len(sets), rng):
            chosen = sets[i]
            changed = (chosen - {most}) | {least}
            if most in chosen and least not in chosen and not (needs_shared and changed.isdisjoint(SHARED)):
                sets[i] = changed
                used[most] -= 1
                used[least] += 1
                break
        else:
            return


def _probes(n: int, rng: Rng) -> Iterator[int]:
    """Places to look at in random order: a few draws, which nearly always suffice, then every place once."""
    yield from map(int, rng.integers(0, n, 64))
    yield from map(int, rng.permutation(n))
