"""The parts that a table of scores names, before any score is read: how many, how large, and whether they can decide.

Parts are named by the class of a record, its categories and its input structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from discreet.audit.scores.table import IN, OUT, ScoreTable
from discreet.core.errors import InputError, UsageError
from discreet.core.types import BoolArray, IntArray

PartKind = Literal["all records", "class", "category", "structure", "least likely records"]

WHOLE: PartKind = "all records"
LEAST_LIKELY: PartKind = "least likely records"
COLUMN_OF: Mapping[str, str] = {"class": "label"}
"""The column that names the parts of a kind, where it is not called as the kind."""

FEWEST = 10
"""Members, and non-members, from which a part can leak: fewer never decide anything."""
MOST_SMALL = 50
"""Parts of one kind that may be too small to decide; with more, and fewer larger ones, a column is nearly an id."""


def check_parts(table: ScoreTable, excluded: Sequence[str] | None = ()) -> None:
    """Whether the parts of a table can be judged, before scores are read. `excluded` is None where parts cannot be
    excluded.

    UsageError where `excluded` holds a name that is neither a part of the table nor a kind of part that it has;
    InputError where a column that names parts is nearly an id: more than `MOST_SMALL` of its parts, and more than half
    of them, have fewer than `FEWEST` members or non-members, so that they can neither pass nor fail.
    """
    _check_excluded(table, () if excluded is None else excluded)
    for kind, sizes in part_sizes(table, excluded or ()).items():
        small = [one for one in sizes.values() if min(one) < FEWEST]
        if len(small) > MOST_SMALL and 2 * len(small) > len(sizes):
            ways = ["merge values", *([] if kind == "class" else ["leave the column out"]), *(
                [] if excluded is None else [f"exclude {kind!r}, which stands for all of them (--exclude-parts)"])]
            raise InputError(
                f"{COLUMN_OF.get(kind, kind)!r} names {len(sizes):,} parts of the records, and {len(small):,} of them "
                f"have fewer than {FEWEST} members or non-members, which is too few to decide anything; expected few "
                f"values with many records each: {', or '.join(ways)}")


def small_parts(table: ScoreTable, excluded: Sequence[str] | None = ()) -> list[str]:
    """A sentence for each kind of part of which some are too small to decide, before scores are read. `excluded` as of
    `check_parts`."""
    found, exclude = [], "" if excluded is None else ", or exclude them (--exclude-parts)"
    for kind, sizes in part_sizes(table, excluded or ()).items():
        few = {name: one for name, one in sizes.items() if min(one) < FEWEST}
        if few:
            name, (members, others) = min(few.items(), key=lambda one: min(one[1]))
            of_all = f"{name} has" if len(sizes) == 1 else (
                f"{len(few)} of the {len(sizes)} parts by {COLUMN_OF.get(kind, kind)!r} have")
            smallest = "" if len(sizes) == 1 else f"the smallest, {name}, has "
            found.append(f"{of_all} fewer than {FEWEST} members or non-members ({smallest}{members} and {others}), too "
                         "few to decide, so that no audit of these records passes: give more records, or merge values"
                         f"{exclude}")
    return found


def part_sizes(table: ScoreTable, excluded: Sequence[str] = ()) -> dict[PartKind, dict[str, tuple[int, int]]]:
    """Members and non-members of each class, category and structure that is not excluded and has members, by kind and
    name; planted records apart. Groups, where records belong to groups; of several targets, the one with most."""
    examples, names = table.examples, set(excluded)
    plain = examples.planted == 0
    sets = [((table.member[target] == IN) & plain, (table.member[target] == OUT) & plain)
            for target in table.of_role("target")]
    unit = np.arange(len(examples)) if examples.group is None else examples.group
    found: dict[PartKind, dict[str, tuple[int, int]]] = {}
    for kind, value, rows in _places(np.arange(len(examples)), table):
        name = part_name(kind, value, table)
        sizes = [(_units(unit, rows, members), _units(unit, rows, others)) for members, others in sets]
        most = max((one for one in sizes if one[0]), key=min, default=None)
        if most is not None and rows.size < len(examples) and not names & {name, f"{kind} {value}", kind}:
            found.setdefault(kind, {})[name] = most
    return found


def _units(unit: IntArray, rows: IntArray, inside: BoolArray) -> int:
    """The units of those of `rows` that are inside."""
    return int(np.unique(unit[rows[inside[rows]]]).size)


def _check_excluded(table: ScoreTable, excluded: Sequence[str]) -> None:
    if isinstance(excluded, str):
        raise UsageError(f"exclude_parts is {excluded[:40]!r}; expected a list of names, such as [{excluded[:40]!r}]")
    if not excluded:
        return
    named = [(kind, value) for kind, value, _ in named_parts(np.arange(len(table.examples)), table)]
    called = [part_name(kind, value, table) for kind, value in named]
    parts = called + ([LEAST_LIKELY] if table.of_role("selection") else [])
    known = {*parts, *(kind for kind, _ in named), *(f"{kind} {value}" for kind, value in named)}
    if unknown := [name for name in excluded if name not in known]:
        raise UsageError(f"{unknown[0][:40]!r} is no part that can be excluded: expected some of {', '.join(parts)}")


def part_name(kind: PartKind, value: str, table: ScoreTable) -> str:
    """The name of a class, category or structure as a part: "class toxic", "category fraud"."""
    return f"{kind} {class_called(kind, value, table) or value}"


def class_called(kind: PartKind, value: str, table: ScoreTable) -> str | None:
    """The name of a class, where the table has names."""
    return table.class_names[int(value)] if kind == "class" and table.class_names is not None else None


def named_parts(rows: IntArray, table: ScoreTable) -> Iterator[tuple[PartKind, str, BoolArray]]:
    """Kind, value and the examples (m,) of each class, category and structure among `rows` (m,)."""
    for kind, value, places in _places(rows, table):
        inside = np.zeros(rows.size, dtype=np.bool_)
        inside[places] = True
        yield kind, value, inside


def _places(rows: IntArray, table: ScoreTable) -> Iterator[tuple[PartKind, str, IntArray]]:
    """Kind, value and the places in `rows` of each class, category and structure."""
    examples = table.examples
    for label in np.unique(examples.label[rows]):
        yield "class", str(label), np.flatnonzero(examples.label[rows] == label)
    categories, structures = examples.categories, examples.columns.get("structure")
    named: list[tuple[PartKind, list[Iterable[str]]]] = []
    if categories is not None:
        named.append(("category", [categories[row] for row in rows]))
    if structures is not None:
        named.append(("structure", [() if one is None else (str(one),) for one in structures[rows]]))
    for kind, held in named:
        places = dict[str, list[int]]()
        for place, names in enumerate(held):
            for name in names:
                places.setdefault(name, []).append(place)
        for name in sorted(places):
            yield kind, name, np.array(places[name], dtype=np.int64)
