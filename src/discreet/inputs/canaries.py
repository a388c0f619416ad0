"""Canaries, whose labels are redrawn before training, and held-out canaries, drawn alike and never trained on.

What an attack gets right about control labels it cannot owe to memory, so the difference between the two is what a
model memorised: only chance decides which row is which, and all labels are drawn again in one way. A *canary label* is
what a redraw gives, before any mechanism: uniform on the K classes, whatever the row (the fair coin of the
label-inference paper, section 3.1). `assignment="balanced"` assigns the K shifts of a label in equal numbers, for K = 2
exactly half of the labels flipped; guesses that know how often others were flipped are then right more often than
1 / K, so its control is not 1 / K.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.inputs.splits import units_of

Assignment = Literal["uniform", "balanced"]
ASSIGNMENTS: tuple[Assignment, ...] = get_args(Assignment)


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """Which of N rows are canaries and what their labels become.

    Attributes
    ----------
    canary, control : (c,), (p,) int64
        Row numbers, rising, disjoint. Planted canaries are among `canary`.
    label : (N,) int64
        After the redraw; of rows that are neither canary nor control, as given. What a mechanism is applied to.
    planted : (N,) int64
        How often a planted canary stands in training; 0 for all other rows.
    """

    canary: IntArray
    control: IntArray
    label: IntArray
    planted: IntArray


def draw_canaries(
    labels: ArrayLike, n_classes: int, n_canaries: int, n_control: int, rng: Generator, *,
    assignment: Assignment = "uniform", planted: Mapping[int, int] | None = None, groups: ArrayLike | None = None,
    among: ArrayLike | None = None,
) -> Canaries:
    """Assign canaries and held-out ones from one random order of the rows, and redraw their labels.

    Parameters
    ----------
    labels : (N,) in 0 … K − 1
        The data set's own.
    n_canaries, n_control : int >= 0
        How many of each; with groups the last group may bring a few more.
    assignment : "uniform" or "balanced"
        Balanced on canaries, on each kind of planted ones, and on controls apart.
    planted : mapping of int to int
        Further canaries: how many are to stand so many times in training, `{1: 50, 4: 50, 16: 50}`.
    groups, among : (N,)
        A group (users, documents, regions) is canary, held out or neither as a whole. Rows that are not `among` stay as
        they are, and a group counts by its rows among them.

    Raises InputError where the rows (or groups) do not suffice, ValueError for arrays that do not go together, labels
    that cannot be, numbers below 0.
    """
    given = _labels(labels, n_classes)
    if assignment not in ASSIGNMENTS:
        raise ValueError(f"assignment is {assignment!r}: expected one of {', '.join(ASSIGNMENTS)}")
    wanted = _wanted(n_canaries, n_control, planted or {})
    free = np.ones(given.size, dtype=np.bool_) if among is None else np.asarray(among)
    if free.shape != given.shape or free.dtype != np.bool_:
        raise ValueError(f"among has shape {free.shape} and type {free.dtype}: expected ({given.size},) booleans")
    assigned = _assigned(units_of(groups, given.size), np.flatnonzero(free), [size for _, size in wanted], rng)
    drawn, times = given.copy(), np.zeros_like(given)
    for rows, (copies, _) in zip(assigned, wanted, strict=True):
        if assignment == "uniform":
            drawn[rows] = rng.integers(0, n_classes, rows.size)
        else:
            # Which shifts come once more where K does not divide the number of labels is drawn too.
            shift = rng.permutation(rng.permutation(n_classes)[np.arange(rows.size) % n_classes])
            drawn[rows] = (given[rows] + shift) % n_classes
        times[rows] = copies
    return Canaries(np.sort(np.concatenate([assigned[0], *assigned[2:]])), assigned[1], drawn, times)


def _labels(labels: ArrayLike, n_classes: int) -> IntArray:
    given = np.asarray(labels)
    if n_classes != int(n_classes) or n_classes < 2:
        raise ValueError(f"n_classes is {n_classes}: expected a whole number, at least 2")
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise ValueError(f"labels have shape {given.shape} and type {given.dtype}: expected (N,) class numbers")
    if not 0 <= given.min() <= given.max() < n_classes:
        raise ValueError(f"labels run from {given.min()} to {given.max()}: expected 0 to {n_classes - 1}")
    return given.astype(np.int64)


def _wanted(n_canaries: int, n_control: int, planted: Mapping[int, int]) -> list[tuple[int, int]]:
    """Copies (0: as they come) and number of canaries, of controls, and of each kind of planted canaries."""
    for name, size in (("n_canaries", n_canaries), ("n_control", n_control), *((f"planted {k}", v) for k, v in
                                                                              planted.items())):
        if size != int(size) or size < 0:
            raise ValueError(f"{name} is {size}: expected a whole number from 0")
    if any(copies != int(copies) or copies < 1 for copies in planted):
        raise ValueError(f"planted is for {sorted(planted)} copies: expected whole numbers from 1")
    return [(0, n_canaries), (0, n_control), *planted.items()]


def _assigned(group: IntArray, free: IntArray, wanted: list[int], rng: Generator) -> list[IntArray]:
    """Rows of each kind, rising.

    Groups in random order, each kind taking from the next on until it has enough: exchanging what two kinds of one size
    took is as likely an assignment, so they are distributed alike whatever the sizes of the groups.
    """
    codes, place = np.unique(group[free], return_inverse=True)
    order = rng.permutation(codes.size)
    rank = np.empty(codes.size, dtype=np.int64)
    rank[order] = np.arange(codes.size)
    by_rank = np.argsort(rank[place], kind="stable")
    ends = np.concatenate(([0], np.cumsum(np.bincount(place, minlength=codes.size)[order])))
    assigned, start = [], 0
    for size in wanted:
        end = int(np.searchsorted(ends, ends[start] + size, side="left")) if size else start
        if end >= ends.size:
            grouped = f" in {codes.size:,} groups" if codes.size < free.size else ""
            raise InputError(f"{sum(wanted):,} canaries and held-out ones are asked for of {free.size:,} rows{grouped} "
                             "that may be drawn; ask for fewer, or give more data")
        assigned.append(np.sort(free[by_rank[ends[start]:ends[end]]]))
        start = end
    return assigned
