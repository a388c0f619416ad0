"""Assign rows without duplicates to evaluation sets, and planted records to A and B by halves.

Planted records are the positive control: enough that a leak of AUC `PLANTED_AUC` in them is seen four times in five,
at every number of repetitions; but never so many that the audited models learn mostly repeated rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.audit.core.power import PLANTED_AUC, planted_detectable, planted_needed
from discreet.core.errors import InputError, UsageError
from discreet.core.numbers import counted
from discreet.core.types import IntArray
from discreet.inputs.duplicates import find_duplicates, merged_groups
from discreet.inputs.splits import PAPER_SIZES, SIDES, Split, halves, split_texts
from discreet.inputs.texts import LabelledText

SCORED = "scored"
NUMBERS = (*(side for side in SIDES if side != "cal"), "selector", "aside", SCORED)
OF_ROWS = ("in_a", "unit")
FEWEST_PLANTED = 10
"""Records of each number of repetitions in each of A and B, at the least: with fewer, those are not planted."""
MOST_PLANTED_ROWS = 0.25
"""Planted rows, repetitions counted, are at most this share of the rows of A, and of B."""


def classes_of(rows: Sequence[LabelledText]) -> list[str]:
    """Names of the classes in order: numbers by value, words by alphabet."""
    names = {row.label for row in rows}
    return sorted(names, key=lambda name: (0, int(name), "") if name.isdecimal() else (1, 0, name))


def assign(rows: Sequence[LabelledText], params: Mapping[str, Any], rng: Generator, source: str) -> dict[str, Any]:
    """Assign the rows of a file to the evaluation sets of an experiment.

    Returns arrays of row numbers in the file, in the order of the rows' ids: `NUMBERS`, the sets with cal in its
    halves `selector` and `aside`, and `scored`, what every model scores. Besides, `times`, how often each scored row is
    repeated (0 = not planted); `in_a` (n,), whether A trains on a planted row; `unit` (n,), the group of
    each row; classes, sizes, counts of duplicates and of planted records (those of A and of B together are twice as
    many), notes. A file in another order gives the same sets. Raises InputError, beginning with `source`, for data
    that cannot be assigned.
    """
    order = np.array(sorted(range(len(rows)), key=lambda row: rows[row].id), dtype=np.int64)
    try:
        found = _assigned([rows[row] for row in order], params, rng)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    place = np.argsort(order)
    return {**found, **{name: order[found[name]] for name in NUMBERS}, **{name: found[name][place] for name in OF_ROWS}}


def _assigned(rows: Sequence[LabelledText], params: Mapping[str, Any], rng: Generator) -> dict[str, Any]:
    """The same in row numbers of `rows`."""
    classes = classes_of(rows)
    if len(classes) < 2:
        raise InputError(f"all {len(rows):,} rows have one label; expected two classes or more")
    without = sum(row.group is None for row in rows)
    if 0 < without < len(rows):
        raise InputError(f"{without:,} of {len(rows):,} rows have no group; expected one for every row, or none")
    found = find_duplicates(rows, near=params["near"])
    kept = np.setdiff1d(np.arange(len(rows)), found.dropped)
    labels = np.array([classes.index(rows[row].label) for row in kept], dtype=np.int64)
    counts = np.bincount(labels, minlength=len(classes))
    rarest = int(counts.argmin())
    if not counts[rarest]:
        raise InputError(f"no example of class {classes[rarest]!r} is left: the texts of {found.conflicting.size:,} of "
                         f"{len(rows):,} rows have several labels, and such rows are left out; give each text one "
                         "label")
    # What stays together: the rows of a user, and rows that say nearly the same.
    users = near = np.arange(kept.size, dtype=np.int64)
    if not without:
        users = np.unique(np.array([rows[row].group for row in kept], dtype=str), return_inverse=True)[1]
    near = near.copy()
    for cluster in found.near or ():
        at = np.searchsorted(kept, cluster)
        near[at] = at[0]
    units = merged_groups(users, near)
    sizes = _sizes(params["sizes"])
    split, planted = _split(labels, units, sizes, params, rng, classes)
    _check_sets(split.sides.items(), labels, classes)
    first, second = halves(split.sides["cal"], labels, units, rng)
    _check_sets([("cal", first), ("cal", second)], labels, classes)
    cut = params["balance"] and not sizes
    why = f", as classes are balanced and {classes[rarest]!r} has {counts[rarest]:,}" if cut else ""
    sets = {name: kept[at] for name, at in split.sides.items() if name != "cal"}
    sets |= {"selector": kept[first], "aside": kept[second]}
    times, in_a = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    if split.planted.size:
        pool = kept[split.planted]
        times[pool], in_a[pool] = assign_planted(split.planted, labels, planted, rng)
    scored = np.sort(np.concatenate([*(sets[name] for name in ("a", "b", "eval", "aside")), kept[split.planted]]))
    unit = np.full(len(rows), -1, dtype=np.int64)
    unit[kept] = units
    return {**sets, SCORED: scored, "times": times[scored], "in_a": in_a, "unit": unit, "classes": classes,
            "grouped": not without, "duplicates": found.to_json(),
            "notes": [*_mixed_notes(classes), *split.notes,
                      *planted_notes(params["planted"], planted, _smaller(split), why)],
            "sides": {name: int(at.size) for name, at in split.sides.items()},
            "class_rows": np.bincount(labels[split.sides["a"]], minlength=len(classes)).tolist(),
            "planted": {str(times): number for times, number in planted.items()}}


def training_rows(arrays: Mapping[str, IntArray], role: str) -> IntArray:
    """Row numbers that the model of a role is trained on; planted ones stand there as often as they are repeated."""
    if role not in ("a", "b"):
        return arrays[role]
    scored, times = arrays[SCORED], arrays["times"]
    pool, again = scored[times > 0], times[times > 0]
    ours = arrays["in_a"][pool] == (role == "a")
    return np.concatenate([arrays[role], np.repeat(pool[ours], again[ours])])


def _sizes(given: Mapping[str, int]) -> dict[str, int] | None:
    """Sizes of sets that are not named are in the paper's proportion to A's; None where none is."""
    check_sizes(given)
    if not given:
        return None
    return {name: int(given.get(name, round(given["a"] * PAPER_SIZES[name] / PAPER_SIZES["a"]))) for name in SIDES}


def check_sizes(given: Mapping[str, int]) -> None:
    """Raise UsageError for sizes of a set that is not there, without a's, or that leave a set empty which may not be.
    """
    if unknown := [name for name in given if name not in SIDES]:
        raise UsageError(f"sizes name a set {unknown[0]!r}; expected some of {', '.join(SIDES)}")
    if given and "a" not in given:
        raise UsageError(f"sizes name {', '.join(given)} without a; expected the size of a, to which the sets that are "
                         "not named are in proportion")
    if empty := [name for name, size in given.items() if size < 1 and name != "val"]:
        raise UsageError(f"the size of {empty[0]} is {given[empty[0]]}; expected at least one example of each class: "
                         "only val may be empty")


def _split(labels: IntArray, units: IntArray, sizes: Mapping[str, int] | None, params: Mapping[str, Any],
           rng: Generator, classes: Sequence[str]) -> tuple[Split, dict[int, int]]:
    """The sets, and the records planted in each of A and B by repetitions: no more than A and B have room for."""
    counts, share = np.bincount(labels), PAPER_SIZES["a"] / sum(PAPER_SIZES.values())
    balance, times = params["balance"], params["planted"]
    usable = counts.min() * counts.size if balance else counts.sum()
    size = sizes["a"] if sizes else int(min(PAPER_SIZES["a"], share * usable))
    while True:
        planted = records_to_plant(times, size)
        split = split_texts(labels, units, sizes, rng, balance=balance,
                            planted=2 * sum(planted.values()), names=classes)
        # What is planted is taken from the sets, and whole groups may leave a set short: A may be smaller than hoped.
        size = _smaller(split)
        if planted_rows(planted) <= planted_rows(records_to_plant(times, size)):
            return split, planted


def _smaller(split: Split) -> int:
    return min(split.sides["a"].size, split.sides["b"].size)


def _check_sets(sets: Iterable[tuple[str, IntArray]], labels: IntArray, classes: Sequence[str]) -> None:
    """Refuse a set without an example of a class; only validation may be empty."""
    for name, at in sets:
        got = np.bincount(labels[at], minlength=len(classes))
        if not got.min() and name != "val":
            halved = ", halved," if name == "cal" else ""
            raise InputError(f"set {name!r}{halved} has {counted(at.size, 'example')}, and none of class "
                             f"{classes[int(got.argmin())]!r}; ask for a larger set, or give more examples")


def records_to_plant(times: Sequence[int], size: int) -> dict[int, int]:
    """Records planted in each of A and B, by repetitions, where A has `size` rows.

    As many of each as `planted_needed` asks for, or as `MOST_PLANTED_ROWS` leaves room for. Where that is fewer than
    `FEWEST_PLANTED`, the most repeated are not planted; an empty result means that there is no room for any.
    """
    kept = sorted(times)
    while kept:
        room = int(MOST_PLANTED_ROWS * size) // sum(kept)
        if room >= FEWEST_PLANTED:
            each = max(FEWEST_PLANTED, min(room, planted_needed(PLANTED_AUC, len(kept))))
            return dict.fromkeys(kept, each)
        kept.pop()
    return {}


def planted_rows(planted: Mapping[int, int]) -> int:
    """Rows that planting adds to each of A and B, repetitions counted."""
    return sum(times * number for times, number in planted.items())


def assign_planted(pool: IntArray, labels: IntArray, planted: Mapping[int, int], rng: Generator
                   ) -> tuple[IntArray, IntArray]:
    """How often each record of the pool is repeated, and whether A trains on it (1) or B (0).

    Exactly half of each number of repetitions goes to A, and every class is shared out evenly, to within one record.

    Parameters
    ----------
    pool : (p,) int
        Row numbers; p is twice the records of `planted`.
    labels : (n,) int
        Class of each row of the table.
    """
    cells = np.array([(times, in_a) for times in planted for in_a in (0, 1)], dtype=np.int64)
    shuffled = rng.permutation(pool.size)
    by_label = shuffled[np.argsort(labels[pool[shuffled]], kind="stable")]
    cell_of = np.empty(pool.size, dtype=np.int64)
    cell_of[by_label] = rng.permutation(len(cells))[np.arange(pool.size) % len(cells)]
    return cells[cell_of, 0], cells[cell_of, 1]


def planted_notes(times: Sequence[int], planted: Mapping[int, int], size: int, why: str = "") -> list[str]:
    """What was planted, what it costs and what it can show, a clause each; empty where nothing was asked for.

    `size` is the number of rows of A, or of B where that is smaller, and `why` follows it.
    """
    if not times:
        return []
    notes = []
    if missing := [one for one in sorted(times) if one not in planted]:
        enough = ceil(FEWEST_PLANTED * sum(times) / MOST_PLANTED_ROWS)
        notes.append(
            f"no records were planted {_listed(missing)} times: {FEWEST_PLANTED} of each number of repetitions are "
            f"needed, planted rows are at most {MOST_PLANTED_ROWS:.0%} of A, and A has {size:,} rows{why}; there is "
            f"room for all from {enough:,} rows")
    if not planted:
        return [*notes, "without planted records nothing shows that a leak would have been seen, so no model can pass"]
    each, rows = next(iter(planted.values())), planted_rows(planted)
    notes.append(f"planted records cost {rows:,} more rows to train on for each of f_A and f_B, {rows / size:.0%} of "
                 f"A's {size:,}, and {2 * each * len(planted):,} records that are in no set")
    found = planted_detectable(each, each * len(planted), 1.0 - 0.05 / len(planted))
    seen = "no leak" if found is None else f"an AUC of {found:.2f}"
    notes.append(f"{each} planted records of each number of repetitions show {seen} in them with power .8"
                 + ("" if found is not None and found <= PLANTED_AUC + 0.005 else
                    f", where {PLANTED_AUC:g} was aimed at: the control is weak, more examples would strengthen it"))
    return notes


def _mixed_notes(classes: Sequence[str]) -> list[str]:
    """That labels are numbers and words, as where two files were put together; empty where they are not."""
    numbers = [name for name in classes if name.isdecimal()]
    if len(numbers) in (0, len(classes)):
        return []
    return [f"labels are numbers in some rows ({', '.join(numbers[:3])}) and words in others, and count as "
            f"{len(classes)} classes: where they mean the same, write each class in one way"]


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(filter(None, [", ".join(map(str, numbers[:-1])), str(numbers[-1])]))
