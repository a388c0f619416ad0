"""Exact shares: how many of each level, in an order in which every stretch has them too, and balanced class sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
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

    def sound(chosen: set[str]) -> bool:
        return not needs_shared or not chosen.isdisjoint(SHARED)

    sets: list[set[str]] = []
    for k in sizes:
        chosen: set[str] = set()
        while not chosen or not sound(chosen):
            chosen = {classes[int(i)] for i in rng.permutation(len(classes))[:k]}
        sets.append(chosen)
    _balance(sets, classes, sound, rng)
    return [tuple(c for c in classes if c in chosen) for chosen in sets]


def _balance(sets: list[set[str]], classes: Sequence[str], sound: Callable[[set[str]], bool], rng: Rng) -> None:
    used = Counter(c for chosen in sets for c in chosen)
    while sets:
        most, least = max(classes, key=lambda c: used[c]), min(classes, key=lambda c: used[c])
        if used[most] - used[least] <= 1:
            return
        # A few draws, which nearly always find a set, then every place once.
        for i in chain(rng.integers(0, len(sets), 64), _each(len(sets), rng)):
            changed = (sets[i] - {most}) | {least}
            if most in sets[i] and least not in sets[i] and sound(changed):
                sets[i] = changed
                used[most] -= 1
                used[least] += 1
                break
        else:
            return


def _each(n: int, rng: Rng) -> Iterator[int]:
    """Every place once, in an order that is drawn only when it is asked for."""
    yield from map(int, rng.permutation(n))
