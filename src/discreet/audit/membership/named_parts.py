"""The parts that a table of scores names, before any score is read: how many, how large, and whether they can decide.

Parts are named by the class of a record, its categories and its input structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

import numpy as np

from discreet.audit.core.resampling import Units
from discreet.audit.scores.table import IN, OUT, UNKNOWN, PartKind, ScoreTable
from discreet.core.errors import InputError, UsageError
from discreet.core.types import BoolArray, IntArray

WHOLE: PartKind = "all records"
LEAST_LIKELY: PartKind = "least likely records"
COLUMN_OF: Mapping[str, str] = {"class": "label"}
"""The column that names the parts of a kind, where it is not called as the kind."""

FEWEST = 10
"""Members, and non-members, from which a part can leak: fewer never decide anything."""
MOST_SMALL = 50
"""Parts of one kind that may be too small to decide; with more, and fewer larger ones, a column is nearly an id."""


PartSizes = Mapping[PartKind, Mapping[str, tuple[int, int]]]
"""Members and non-members of each part, by kind and name."""


def check_parts(table: ScoreTable, excluded: Sequence[str] | None = ()) -> PartSizes:
    """The sizes of the parts of a table (`part_sizes`), if the parts can be judged, before scores are read. `excluded`
    is None where parts cannot be excluded.

    UsageError where `excluded` holds a name that is neither a part of the table nor a kind of part that it has;
    InputError where a column that names parts is nearly an id: more than `MOST_SMALL` of its parts, and more than half
    of them, have fewer than `FEWEST` members or non-members, so that they can neither pass nor fail.
    """
    _check_excluded(table, () if excluded is None else excluded)
    found = part_sizes(table, excluded or ())
    for kind, sizes in found.items():
        small = [one for one in sizes.values() if min(one) < FEWEST]
        if len(small) > MOST_SMALL and 2 * len(small) > len(sizes):
            ways = ["merge values", *([] if kind == "class" else ["leave the column out"]), *(
                [] if excluded is None else [f"exclude {kind!r}, which stands for all of them (--exclude-parts)"])]
            raise InputError(
                f"{COLUMN_OF.get(kind, kind)!r} names {len(sizes):,} parts of the records, and {len(small):,} of them "
                f"have fewer than {FEWEST} members or non-members, which is too few to decide anything; expected few "
                f"values with many records each: {', or '.join(ways)}")
    return found


def small_parts(found: PartSizes, *, can_exclude: bool = True) -> list[str]:
    """A sentence for each kind of part of which some are too small to decide. `can_exclude` says whether the user can
    exclude parts."""
    sentences, exclude = [], ", or exclude them (--exclude-parts)" if can_exclude else ""
    for kind, sizes in found.items():
        few = {name: one for name, one in sizes.items() if min(one) < FEWEST}
        if few:
            name, (members, others) = min(few.items(), key=lambda one: min(one[1]))
            of_all = f"{name} has" if len(sizes) == 1 else (
                f"{len(few)} of the {len(sizes)} parts by {COLUMN_OF.get(kind, kind)!r} have")
            smallest = "" if len(sizes) == 1 else f"the smallest, {name}, has "
            sentences.append(f"{of_all} fewer than {FEWEST} members or non-members ({smallest}{members} and {others}), "
                             "too few to decide, so that no audit of these records passes: give more records, or merge "
                             f"values{exclude}")
    return sentences


def part_sizes(table: ScoreTable, excluded: Sequence[str] = ()) -> PartSizes:
    """Members and non-members of each class, category and structure that is not excluded and has members; planted
    records apart. Groups, where records belong to groups; of several targets, the one with most."""
    examples, units, names = table.examples, Units.of(table), set(excluded)
    codes = [np.where(examples.planted == 0, table.member[target], UNKNOWN) for target in table.of_role("target")]
    found: dict[PartKind, dict[str, tuple[int, int]]] = {}
    for kind, places_of in examples.places.items():
        for value, places in places_of.items():
            name = part_name(kind, value, table)
            if places.size == len(examples) or names & {name, f"{kind} {value}", kind}:
                continue
            sizes = [(units.count(places[code[places] == IN]), units.count(places[code[places] == OUT]))
                     for code in codes]
            most = max((one for one in sizes if one[0]), key=min, default=None)
            if most is not None:
                found.setdefault(kind, {})[name] = most
    return found


def _check_excluded(table: ScoreTable, excluded: Sequence[str]) -> None:
    if not excluded:
        return
    named = [(kind, value) for kind, places_of in table.examples.places.items() for value in places_of]
    called = [part_name(kind, value, table) for kind, value in named]
    parts = called + ([LEAST_LIKELY] if table.of_role("selection") else [])
    known = {*parts, *(kind for kind, _ in named), *(f"{kind} {value}" for kind, value in named)}
    if unknown := [name for name in excluded if name not in known]:
        # A part without its kind, or a very near one: that both begin with "class" says nothing.
        near = [one for one in parts if one.endswith(f" {unknown[0]}")] or get_close_matches(unknown[0], parts, 1, 0.9)
        raise UsageError(f"{unknown[0][:40]!r} is no part that can be excluded: "
                         f"{f'did you mean {near[0]!r}? Expected' if near else 'expected'} some of {', '.join(parts)}")


def part_name(kind: PartKind, value: str, table: ScoreTable) -> str:
    """The name of a class, category or structure as a part: "class toxic", "category fraud"."""
    return f"{kind} {class_called(kind, value, table) or value}"


def class_called(kind: PartKind, value: str, table: ScoreTable) -> str | None:
    """The name of a class, where the table has names."""
    return table.class_names[int(value)] if kind == "class" and table.class_names is not None else None


def named_parts(rows: IntArray, table: ScoreTable) -> Iterator[tuple[PartKind, str, BoolArray]]:
    """Kind, value and the examples (m,) of each class, category and structure among `rows` (m,)."""
    for kind, places_of in table.examples.places.items():
        for value, places in places_of.items():
            inside = np.zeros(len(table.examples), dtype=np.bool_)
            inside[places] = True
            if inside[rows].any():
                yield kind, value, inside[rows]
