"""Who stands where: rows without duplicates dealt into sides, and planted records to A and B by halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.data.duplicates import Duplicates, find_duplicates, merged_groups
from discreet.data.splits import PAPER_SIZES, SIDES, Split, halves, split_texts
from discreet.data.texts import LabelledText
from discreet.experiments.membership.plant import assign_planted, planted_notes, planted_rows, records_to_plant

IntArray = NDArray[np.int64]

SCORED = "scored"
NUMBERS = (*(side for side in SIDES if side != "cal"), "selector", "aside", SCORED)
OF_ROWS = ("in_a", "unit")


def classes_of(rows: Sequence[LabelledText]) -> list[str]:
    """Names of the classes in order: numbers by value, words by alphabet."""
    names = {row.label for row in rows}
    return sorted(names, key=lambda name: (0, int(name), "") if name.isdecimal() else (1, 0, name))


def deal(rows: Sequence[LabelledText], params: Mapping[str, Any], rng: Generator, source: str) -> dict[str, Any]:
    """The sides of a world.

    Returns arrays of row numbers in the file, in the order of the rows' ids: `NUMBERS`, the sides with cal in its
    halves `selector` and `aside`, and `scored`, what every model scores. Besides, `times`, how often each scored row is
    repeated (0 = not planted); `in_a` (n,), whether A trains on a planted row; `unit` (n,), the group of
    each row; classes, sizes, counts of duplicates and of planted records (those of A and of B together are twice as
    many), notes. A file in another order gives the same world. Raises InputError, beginning with `source`, for data
    that cannot be dealt.
    """
    order = np.array(sorted(range(len(rows)), key=lambda row: rows[row].id), dtype=np.int64)
    found = _dealt([rows[row] for row in order], params, rng, source)
    place = np.argsort(order)
    return {**found, **{name: order[found[name]] for name in NUMBERS}, **{name: found[name][place] for name in OF_ROWS}}


def _dealt(rows: Sequence[LabelledText], params: Mapping[str, Any], rng: Generator, source: str) -> dict[str, Any]:
    """The same in row numbers of `rows`."""
    classes = classes_of(rows)
    if len(classes) < 2:
        raise InputError(f"{source}: all {len(rows):,} rows have one label; expected two classes or more")
    grouped = any(row.group is not None for row in rows)
    if grouped and any(row.group is None for row in rows):
        raise InputError(f"{source}: {sum(row.group is None for row in rows):,} of {len(rows):,} rows have no group; "
                         "expected one for every row, or none")
    found = find_duplicates(rows, near=params["near"])
    kept = np.setdiff1d(np.arange(len(rows)), found.dropped)
    left = [rows[row] for row in kept]
    code = {name: number for number, name in enumerate(classes)}
    labels = np.array([code[row.label] for row in left], dtype=np.int64)
    counts = np.bincount(labels, minlength=len(classes))
    if not counts.min():
        raise InputError(f"{source}: no example of class {classes[int(counts.argmin())]!r} is left: the texts of "
                         f"{found.conflicting.size:,} of {len(rows):,} rows have several labels, and such rows are "
                         f"left out; give each text one label")
    units = _units(left, kept, found, grouped=grouped)
    sizes = _sizes(params["sizes"], source)
    try:
        split, planted = _split(labels, units, sizes, params["planted"], rng, classes)
        _check_sides(split.sides, labels, classes)
        first, second = halves(split.sides["cal"], labels, units, rng)
        _check_sides({"cal": first}, labels, classes)
        _check_sides({"cal": second}, labels, classes)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    rarest = int(np.bincount(labels).argmin())
    why = "" if sizes else f", as classes are balanced and {classes[rarest]!r} has {np.bincount(labels)[rarest]:,}"
    notes = [*split.notes, *planted_notes(params["planted"], planted, _smaller(split), why)]
    return {**_arrays(kept, split.sides, first, second, split.planted, planted, labels, units, len(rows), rng),
            "classes": classes, "grouped": grouped, "duplicates": found.to_json(), "notes": notes,
            "sides": {side: int(at.size) for side, at in split.sides.items()},
            "planted": {str(times): number for times, number in planted.items()}}


def training_rows(arrays: Mapping[str, IntArray], role: str) -> IntArray:
    """Row numbers that the model of a role is trained on; planted ones stand there as often as they are repeated."""
    if role not in ("a", "b"):
        return arrays[role]
    scored, times = arrays[SCORED], arrays["times"]
    pool, again = scored[times > 0], times[times > 0]
    ours = arrays["in_a"][pool] == (role == "a")
    return np.concatenate([arrays[role], np.repeat(pool[ours], again[ours])])


def _sizes(given: Mapping[str, int], source: str) -> dict[str, int] | None:
    """Sides that are not named are in the paper's proportion to A; None where nothing is."""
    if not given:
        return None
    if unknown := [name for name in given if name not in SIDES]:
        raise InputError(f"{source}: there is no side {unknown[0]!r}; expected some of {', '.join(SIDES)}")
    if "a" not in given:
        raise InputError(f"{source}: sizes name {', '.join(given)} without a; expected a's size at least")
    return {side: int(given.get(side, round(given["a"] * PAPER_SIZES[side] / PAPER_SIZES["a"]))) for side in SIDES}


def _split(labels: IntArray, units: IntArray, sizes: Mapping[str, int] | None, times: Sequence[int], rng: Generator,
           classes: Sequence[str]) -> tuple[Split, dict[int, int]]:
    """The sides, and the records planted in each of A and B by repetitions: no more than A and B have room for."""
    counts, share = np.bincount(labels), PAPER_SIZES["a"] / sum(PAPER_SIZES.values())
    size = sizes["a"] if sizes else int(min(PAPER_SIZES["a"], share * counts.min() * counts.size))
    while True:
        planted = records_to_plant(times, size)
        split = split_texts(labels, units, sizes, rng, planted=2 * sum(planted.values()), names=classes)
        # What is planted is taken from the sides, and whole groups may leave a side short: A may be smaller than hoped.
        size = _smaller(split)
        if planted_rows(planted) <= planted_rows(records_to_plant(times, size)):
            return split, planted


def _smaller(split: Split) -> int:
    return min(split.sides["a"].size, split.sides["b"].size)


def _check_sides(sides: Mapping[str, IntArray], labels: IntArray, classes: Sequence[str]) -> None:
    """Refuse a side without an example of a class; only validation may be empty."""
    for side, at in sides.items():
        got = np.bincount(labels[at], minlength=len(classes))
        if not got.min() and side != "val":
            halved = ", halved," if side == "cal" else ""
            raise InputError(f"side {side!r}{halved} has {at.size:,} examples, and none of class "
                             f"{classes[int(got.argmin())]!r}; ask for more, or give more examples")


def _units(left: Sequence[LabelledText], kept: IntArray, found: Duplicates, *, grouped: bool) -> IntArray:
    """Codes of what stays together: the rows of a user, and rows that say nearly the same."""
    alone = np.arange(kept.size, dtype=np.int64)
    near = alone.copy()
    for cluster in found.near or ():
        at = np.searchsorted(kept, cluster)
        near[at] = at[0]
    users = np.unique(np.array([row.group for row in left], dtype=str), return_inverse=True)[1] if grouped else alone
    return merged_groups(users, near)


def _arrays(kept: IntArray, sides: Mapping[str, IntArray], first: IntArray, second: IntArray, pool: IntArray,
            planted: Mapping[int, int], labels: IntArray, units: IntArray, n_rows: int, rng: Generator
            ) -> dict[str, IntArray]:
    """Everything in row numbers of the file."""
    found = {side: kept[at] for side, at in sides.items() if side != "cal"}
    found |= {"selector": kept[first], "aside": kept[second]}
    times, in_a = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
    if pool.size:
        times[kept[pool]], in_a[kept[pool]] = assign_planted(pool, labels, planted, rng)
    scored = np.sort(np.concatenate([found["a"], found["b"], found["eval"], found["aside"], kept[pool]]))
    unit = np.full(n_rows, -1, dtype=np.int64)
    unit[kept] = units
    return {**found, SCORED: scored, "times": times[scored], "in_a": in_a, "unit": unit}
