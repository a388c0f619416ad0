"""One table of examples into the sides of a membership study: stratified, balanced, users whole on one side.

The sides are those of the paper on training-set membership of safety classifiers (Appendix C, Table 1): A and B, on
which the two classifiers are trained, validation, calibration and evaluation; and two more of A's size, for a neutral
reference and for a control target, models trained on neither A nor B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.errors import InputError
from discreet.core.numbers import counted
from discreet.core.types import BoolArray, IntArray

SIDES = ("a", "b", "val", "cal", "eval", "neutral", "control")
PAPER_SIZES: Mapping[str, int] = {"a": 2000, "b": 2000, "val": 800, "cal": 1200, "eval": 2000, "neutral": 2000,
                                  "control": 2000}
MANY_CLASSES = 50
"""Classes beyond which labels that are too rare are taken for no classes at all."""
# Default sizes are tried anew at this part of the last, this often, where groups leave a side short.
SHRINK, SHRINKS = 0.93, 30


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Row numbers, rising, by side (all of `SIDES`, empty where nothing was asked for); no row or group is on two.

    `planted` is the pool of records to plant, each of a group of its own that is on no side; `notes` say what was
    scaled, left out or fell short, by counts only.
    """

    sides: Mapping[str, IntArray]
    planted: IntArray
    notes: tuple[str, ...] = ()


def split_texts(
    labels: ArrayLike, groups: ArrayLike | None, sizes: Mapping[str, int] | None, rng: Generator, *,
    balance: bool = True, planted: int = 0, names: Sequence[str] | None = None,
) -> Split:
    """Assign rows to the sides, stratified by label; a function of the arguments, row order and the state of `rng`.

    With `balance` every class counts the same on every side, to within one; else every class has its own share of the
    table on every side, to within one. Sizes are met exactly without groups. A group (user, cluster of duplicates) is
    never on two sides: groups go, the largest first, where most of their rows are still wanted, and rows beyond
    what is wanted are left out at random. Where that leaves a side short of a class, a balanced side is cut to the
    class it has least of, and `notes` says so.

    Parameters
    ----------
    labels : (n,) int
        Class of each row, in [0, K); K is the number of names, or one more than the largest.
    groups : (n,) of one sortable type, or None
        Rows of equal value stay together. None: every row is free.
    sizes : mapping of side to rows, or None
        Sides that are not named stay empty. None: `PAPER_SIZES`, scaled down to what there is, in whole multiples
        of K; with groups, scaled down further until no side is short (by `SHRINK`, up to `SHRINKS` times).
    planted : int
        How many rows to set aside for planting. One to a group; the rest of its group is left out.
    names : sequence of K str, or None
        Names of the classes, for messages.

    Raises InputError for too few rows of a class, or too few groups, for what was asked; ValueError for arrays that do
    not go together, a side that is not in `SIDES`, sizes below zero.
    """
    classes, units = _classes(labels), units_of(groups, np.size(labels))
    _check_sizes(sizes, planted)
    have = np.bincount(classes, minlength=len(names or ()))
    called = [repr(name) for name in names] if names is not None else [str(number) for number in range(have.size)]
    if len(called) < have.size:
        raise ValueError(f"names holds {len(called)} names: expected one for each of {have.size} classes")
    table = _Table(classes, units, np.full_like(have, have.min()) if balance else have, have, called, balance)
    asked = (_scaled(table, planted, 1.0) if sizes is None else
             np.array([sizes.get(side, 0) for side in SIDES], dtype=np.int64))
    kept, pool = _filled(table, asked, planted, rng)
    # Sides of one size that differ in size by what groups happen to hold would tell A from B.
    for step in range(1, SHRINKS if sizes is None else 1):
        smaller = _scaled(table, planted, SHRINK ** step)
        if sum(rows.size for rows in kept) == asked.sum() or smaller.min() < have.size:
            break
        asked = smaller
        kept, pool = _filled(table, asked, planted, rng)
    _check_filled(table, kept, asked)
    notes = _notes(table, asked, kept, pool.size, scaled=sizes is None)
    return Split(dict(zip(SIDES, kept, strict=True)), pool, notes)


def halves(rows: ArrayLike, labels: ArrayLike, groups: ArrayLike | None, rng: Generator) -> tuple[IntArray, IntArray]:
    """Two halves of `rows`, each rising, stratified by label, groups whole; no row is left out.

    For the side "cal", whose first half trains the selector. `labels` and `groups` are of the whole table, (n,).
    Without groups sizes and classes are equal to within one; with groups as nearly as assigning the largest first makes
    them. Raises InputError where one half would be empty, ValueError as `split_texts`.
    """
    chosen = np.asarray(rows, dtype=np.int64)
    classes, units = _classes(labels)[chosen], units_of(groups, np.size(labels))[chosen]
    _, units = np.unique(units, return_inverse=True)
    have = np.bincount(classes)
    first = have // 2
    # Of classes with an odd row, one gives it to the first half and the next to the second.
    first[np.flatnonzero(have % 2)[::2]] += 1
    side = _assigned(np.array([first, have - first]), classes, units, np.ones(chosen.size, dtype=np.bool_), rng)
    parts = np.sort(chosen[side == 0]), np.sort(chosen[side != 0])
    if not all(part.size for part in parts):
        raise InputError(f"{chosen.size} rows in {np.unique(units).size} groups cannot be halved; expected at least "
                         f"two groups")
    return parts


def units_of(groups: ArrayLike | None, n: int) -> IntArray:
    """(n,) numbers from 0 of the groups of n rows, rising with their names; each row its own without groups.

    Raises ValueError for groups of another number.
    """
    if groups is None:
        return np.arange(n, dtype=np.int64)
    given = np.asarray(groups)
    if given.shape != (n,):
        raise ValueError(f"groups have shape {given.shape}: expected ({n},), one per row")
    return np.unique(given, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _classes(labels: ArrayLike) -> IntArray:
    given = np.asarray(labels)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu" or given.min() < 0:
        raise ValueError(f"labels have shape {given.shape} and type {given.dtype}: expected (n,) class numbers from 0")
    return given.astype(np.int64)


def _check_sizes(sizes: Mapping[str, int] | None, planted: int) -> None:
    if unknown := sorted(set(sizes or ()) - set(SIDES)):
        raise ValueError(f"there is no side {unknown[0]!r}: expected some of {', '.join(SIDES)}")
    for name, size in [*(sizes or {}).items(), ("planted", planted)]:
        if size < 0 or size != int(size):
            raise ValueError(f"the size of {name!r} is {size}: expected a whole number from 0")


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Class and group of each row (n,); rows of each class that may be used and that there are, (K,); names."""

    classes: IntArray
    units: IntArray
    supply: IntArray
    have: IntArray
    called: Sequence[str]
    balance: bool

    def too_few(self, least: int, why: str) -> NoReturn:
        number = int(self.have.argmin())
        many = f", one of {self.have.size:,} classes," if self.have.size > MANY_CLASSES else ""
        remedy = ("see that the labels are classes and not texts, ids or dates" if many else
                  "give more of that class, or ask for smaller sets")
        raise InputError(f"class {self.called[number]}{many} has {counted(int(self.have[number]), 'example')} and "
                         f"{least:,} are needed ({why}); {remedy}")


def _scaled(table: _Table, planted: int, part: float) -> IntArray:
    """The paper's sizes, or the same proportions of `part` of what there is, in multiples of the number of classes."""
    paper = np.array([PAPER_SIZES[side] for side in SIDES], dtype=np.int64)
    total, n_classes = int(paper.sum()), table.have.size
    available = int(part * min(int(table.supply.sum()) - planted, total))
    scaled: IntArray = paper * max(available, 0) // (total * n_classes) * n_classes
    if part == 1.0 and scaled.min() < n_classes:
        table.too_few(-(-total // int(paper.min())) + -(-planted // n_classes),
                      "the smallest set needs one of each class")
    return scaled


def _wanted(table: _Table, sizes: IntArray) -> IntArray:
    """Rows of each class on each side, (sides, K)."""
    total, n_classes = int(sizes.sum()), table.have.size
    if total > table.supply.sum() or not table.supply.min():
        table.too_few(max(-(-total // n_classes), 1), f"the sets take {total:,} rows in {n_classes} classes")
    wanted = rounded_shares(sizes, table.supply)
    empty = (wanted == 0).any(axis=1) & (sizes >= n_classes)
    if empty.any():
        table.too_few(-(-int(table.supply.sum()) // int(sizes[empty].min())),
                      "its share of a set is less than one row")
    return wanted


def _filled(table: _Table, asked: IntArray, planted: int, rng: Generator) -> tuple[list[IntArray], IntArray]:
    """Rows of each side, and the pool to plant."""
    *wanted, to_plant = _wanted(table, np.append(asked, planted))
    pool, free = _planted_pool(to_plant, table, rng)
    side_of = _assigned(np.array(wanted), table.classes, table.units, free, rng)
    return [_kept(np.flatnonzero(side_of == place), table.classes, want, rng, table.balance)
            for place, want in enumerate(wanted)], pool


def _planted_pool(wanted: IntArray, table: _Table, rng: Generator) -> tuple[IntArray, BoolArray]:
    """One row of each of as many groups as wanted, and which rows are free after that.

    Small groups go first: the rest of a group that gives a row is lost.
    """
    classes, units = table.classes, table.units
    order = rng.permutation(classes.size)
    order = order[np.argsort(np.bincount(units)[units[order]], kind="stable")]
    spent = np.zeros(int(units.max()) + 1, dtype=np.bool_)
    pool: list[int] = []
    for number in np.argsort(np.bincount(classes), kind="stable"):
        ranked = order[(classes[order] == number) & ~spent[units[order]]]
        _, firsts = np.unique(units[ranked], return_index=True)
        chosen = ranked[np.sort(firsts)[:wanted[number]]]
        if chosen.size < wanted[number]:
            raise InputError(f"class {table.called[number]} has {counted(chosen.size, 'group')} to plant records of "
                             f"and {wanted[number]:,} are needed; plant fewer, or see that 'group' names who belongs "
                             "together and is not the same for all")
        spent[units[chosen]] = True
        pool.extend(chosen.tolist())
    return np.sort(np.array(pool, dtype=np.int64)), ~spent[units]


def _assigned(wanted: IntArray, classes: IntArray, units: IntArray, free: BoolArray, rng: Generator) -> IntArray:
    """Side of each row, (n,), −1 for none; all rows of a group have one."""
    short, side_of = wanted.copy(), np.full(classes.size, -1, dtype=np.int64)
    size_of = np.bincount(units)
    shared = free & (size_of[units] > 1)
    side_of_unit = _groups_assigned(short, classes[shared], units[shared], size_of.size, rng)
    side_of[shared] = side_of_unit[units[shared]]
    for number in range(wanted.shape[1]):
        rows = rng.permutation(np.flatnonzero(free & ~shared & (classes == number)))
        places = rng.permutation(np.repeat(np.arange(wanted.shape[0]), short[:, number]))
        fits = min(rows.size, places.size)
        side_of[rows[:fits]] = places[:fits]
    return side_of


def _groups_assigned(short: IntArray, classes: IntArray, units: IntArray, n_units: int, rng: Generator) -> IntArray:
    """Side of each group, −1 for none; what is still wanted is taken off `short` in place."""
    side_of = np.full(n_units, -1, dtype=np.int64)
    names, places = np.unique(units, return_inverse=True)
    counts = np.zeros((names.size, short.shape[1]), dtype=np.int64)
    np.add.at(counts, (places, classes), 1)
    asked = np.maximum(short, 1)
    # Ties between groups fall at random, and ties between sides to one drawn beforehand: no side is the favourite.
    drawn, order = rng.permutation(names.size), rng.permutation(short.shape[0])
    for place in drawn[np.argsort(-counts.sum(axis=1)[drawn], kind="stable")]:
        used = np.minimum(counts[place], short).sum(axis=1)
        if not used.any():
            continue
        need = np.where(used == used.max(), (short / asked) @ counts[place], -1.0)
        best = order[need[order].argmax()]
        side_of[names[place]] = best
        short[best] = np.maximum(short[best] - counts[place], 0)
    return side_of


def _kept(rows: IntArray, classes: IntArray, wanted: IntArray, rng: Generator, balance: bool) -> IntArray:
    """Rows of one side, rising, cut at random to what was wanted."""
    there = np.minimum(np.bincount(classes[rows], minlength=wanted.size), wanted)
    if balance and (there < wanted).any():
        there = np.minimum(there, there[wanted > 0].min())
    parts = [rng.permutation(rows[classes[rows] == number])[:count] for number, count in enumerate(there)]
    return np.sort(np.concatenate(parts))


def _check_filled(table: _Table, kept: Sequence[IntArray], asked: IntArray) -> None:
    for side, rows, size in zip(SIDES, kept, asked, strict=True):
        got = np.bincount(table.classes[rows], minlength=table.have.size)
        if size >= got.size and not got.min():
            raise InputError(f"set {side!r} got 0 examples of class {table.called[int(got.argmin())]} and at least 1 "
                             f"is needed: groups stay whole, and they are too few or too large; give more groups, or "
                             f"ask for smaller sets")


def _notes(table: _Table, asked: IntArray, kept: Sequence[IntArray], planted: int, *, scaled: bool) -> tuple[str, ...]:
    got = [rows.size for rows in kept]
    notes = [f"{sum(got) + planted:,} of {table.have.sum():,} rows are used; the table has "
             + ", ".join(f"{count:,} of class {name}" for name, count in zip(table.called, table.have, strict=True))]
    if scaled and asked[0] < PAPER_SIZES["a"]:
        notes.append(f"sets are scaled to {asked[0] / PAPER_SIZES['a']:.3f} of the paper's")
    notes += [f"set {side!r} has {found:,} rows of {want:,}: groups stay whole"
              for side, found, want in zip(SIDES, got, asked, strict=True) if found < want]
    return tuple(notes)


def rounded_shares(sizes: IntArray, supply: IntArray) -> IntArray:
    """Counts (S, K) by rows of `sizes` (S,), each next to sizes[s] · supply[k] / sum(supply), to less than one.

    Rows sum to `sizes`; columns to no more than `supply` (K,), and to `supply` itself where the sizes use it up.
    Raises ValueError where they ask for more than there is.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    total = int(supply.sum())
    if sizes.sum() > total or min(sizes.min(initial=0), supply.min(initial=0)) < 0:
        raise ValueError(f"sizes sum to {sizes.sum()}: expected no more than {total}, and no number below 0")
    # Fractions in units of 1 / total: in whole numbers the sums hold exactly. The last row is what stays unused.
    exact = np.outer(np.append(sizes, total - sizes.sum()), supply).astype(np.int64)
    whole, part = np.divmod(exact, max(total, 1))
    # What the whole parts leave of a row or column is a whole number: a flow puts it, one a cell, where a fraction is.
    rows = len(part)
    most = np.zeros((sum(part.shape) + 2,) * 2, dtype=np.int32)
    most[0, 1 : rows + 1], most[rows + 1 : -1, -1] = (part.sum(axis=axis) // max(total, 1) for axis in (1, 0))
    most[1 : rows + 1, rows + 1 : -1] = part > 0
    flow = maximum_flow(csr_array(most), 0, len(most) - 1).flow.toarray()
    return np.asarray(whole + flow[1 : rows + 1, rows + 1 : -1], dtype=np.int64)[:-1]
