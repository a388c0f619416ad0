"""What is asked of a membership audit before any score is read: its options, and the parts that a table names.

Parts are named by the class of a record, its categories and its input structure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Any, TypedDict, Unpack

import numpy as np

from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import check_at_least
from discreet.audit.scores.table import IN, OUT, UNKNOWN, PartKind, ScoreTable
from discreet.core.calls import check_facts
from discreet.core.errors import InputError, UsageError, meant, shown
from discreet.core.types import BoolArray, IntArray


class AuditOptions(TypedDict, total=False):
    """The options of `audit_membership` that do not depend on where scores come from."""

    design: str
    tolerance_auc: float
    tolerance_part: float
    exclude_parts: Sequence[str]
    base_rates: Sequence[float]
    permutations: int
    bootstraps: int
    seed: int
    attacks: Sequence[str] | None


def check_options(known: Iterable[str] = (), /, **options: Unpack[AuditOptions]) -> None:
    """UsageError for an option that `audit_membership` cannot take; `known` are further ones that may be meant."""
    if unknown := set(options) - set(AuditOptions.__annotations__):
        raise UsageError(f"there is no option {min(unknown)!r}; "
                         f"{meant(min(unknown), {*known, *AuditOptions.__annotations__})}")
    values: Mapping[str, Any] = options
    for option, kind, expected in (("exclude_parts", str, "names, such as ['class 0']"),
                                   ("attacks", str, "names, such as ['loss']"), ("base_rates", Real, "shares of 1")):
        given = values.get(option, ())
        if option == "attacks" and given is None:
            continue
        if isinstance(given, str) or not isinstance(given, Collection | np.ndarray):
            raise UsageError(f"{option} is {shown(given)}: expected a list of {expected}")
        if wrong := [shown(one) for one in given if not isinstance(one, kind)]:
            raise UsageError(f"{option} holds {wrong[0]}: expected a list of {expected}")
    for name, usual in (("AUC", 0.55), ("part", 0.65)):
        value = values.get(f"tolerance_{name.lower()}", usual)
        if not isinstance(value, Real) or not 0.5 < float(value) < 1.0:
            raise UsageError(f"tolerance {name} is {shown(value)}: expected a number from 0.5 to 1, such as {usual}")
    for rate in options.get("base_rates", ()):
        if not 0.0 < rate < 1.0:
            raise UsageError(f"base rate is {rate}: expected a share between 0 and 1, such as 0.01")
    check_at_least("permutations", options.get("permutations", 0))
    check_at_least("bootstraps", options.get("bootstraps", 1), 1)
    check_at_least("seed", options.get("seed", 0))


def check_brought(texts: Any, features: Any, provenance: Any, examples: int) -> None:
    """UsageError for `texts`, `features` of so many `examples`, or `provenance` that `audit_membership` cannot take."""
    if texts is not None and not (isinstance(texts, Mapping)
                                  and all(isinstance(one, str) for one in (*texts, *texts.values()))):
        what = "a mapping with other things than words" if isinstance(texts, Mapping) else shown(texts)
        raise UsageError(f"texts is {what}: expected a mapping of example ids to texts")
    shape: tuple[int, ...] = tuple(getattr(features, "shape", ()))
    if features is not None and (len(shape) != 2 or shape[0] != examples):
        what = f"have the shape {shape}" if shape else f"are {shown(features)}"
        raise UsageError(f"features {what}: expected an array or a sparse matrix with a row for each of the "
                         f"{examples:,} examples")
    if provenance is not None:
        check_facts(provenance, "provenance")


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
