"""Several conversations of one user as one input, and tables of several sources pooled without overlap.

The paper on training-set membership of safety classifiers concatenates the conversations of a user in order of time
(section 5.1), and divides a source between its multi-turn and its multi-conversation role before it bundles, so that
no conversation is in two inputs. Where a source names no users, a seeded rule makes them up, and their names begin with
"synthetic:": they show nothing about what users really write over time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.inputs.duplicates import without_duplicates
from discreet.inputs.texts import MULTI_CONVERSATION, LabelledText, joined, marked

SIZES = (2, 4)
_Run: TypeAlias = tuple[str | None, str, str | None]


@dataclass(frozen=True, slots=True)
class Source:
    """One source of conversations to pool.

    `bundled` is the share of them, in [0, 1], that is set aside for bundles of `sizes`; `label` is one for all rows in
    place of their own, and `structure` one for rows that do not say theirs.
    """

    name: str
    rows: Sequence[LabelledText]
    bundled: float = 0.0
    sizes: tuple[int, int] = SIZES
    label: str | None = None
    structure: str | None = None


def bundle(rows: Sequence[LabelledText], rng: Generator, *, sizes: tuple[int, int] = SIZES) -> list[LabelledText]:
    """Bundles of `sizes[0]` to `sizes[1]` conversations, each of one user, one label and one split, in row order.

    Conversations of a user (`LabelledText.group`) go in the order of the table, which must be that of time, in runs of
    a size drawn uniformly. Rows without a group are given to synthetic users: shuffled within their label, cut into
    runs by the same rule, and put back into the order of the table within each. A conversation without marks is one
    turn of the user. A bundle keeps its user as `group`; its id is that of its first conversation, "+" and how many
    follow. Remainders, and users with fewer conversations of a label than the smallest bundle, are in none.

    Raises InputError for rows that are bundles already or planted, and for a row whose id is that of a bundle;
    ValueError unless 2 <= sizes[0] <= sizes[1].
    """
    low, high = sizes
    if not 2 <= low <= high:
        raise ValueError(f"sizes are {low} to {high}: expected at least 2, and no more than the second")
    for number, row in enumerate(rows):
        if row.structure == MULTI_CONVERSATION or row.planted:
            raise InputError(f"row {number} is {'planted' if row.planted else 'a bundle'} before bundling; expected "
                             f"single conversations that are not planted")
    parts: list[IntArray] = []
    for (group, _, _), places in _by_user(rows).items():
        run = np.array(places, dtype=np.int64)
        parts += [np.sort(part) for part in _cut(run if group is not None else rng.permutation(run), low, high, rng)]
    bundled = [_bundled([rows[place] for place in part]) for part in sorted(parts, key=lambda part: int(part[0]))]
    if taken := len({row.id for row in rows} & {row.id for row in bundled}):
        raise InputError(f"{taken:,} rows have the id of a bundle, which ends in '+' and a number; expected other ids")
    return bundled


def pool(sources: Sequence[Source], rng: Generator) -> list[LabelledText]:
    """All sources as one table of single conversations and bundles; ids and groups begin with the source and "/".

    Texts that stand in any two places are first cut to one, over all sources (`without_duplicates`, on the text as it
    stands in a bundle). Then each source is divided, whole users at a time and label by label, and only after that
    bundled; so no conversation is in two bundles or two structures. Only users who have enough conversations of one
    label are set aside; what cannot be bundled is left out.

    Raises InputError where a source has no rows or the name of another, and as `bundle`; ValueError for a share
    outside [0, 1].
    """
    _check_sources(sources)
    named = [replace(row, id=f"{source.name}/{row.id}", group=row.group and f"{source.name}/{row.group}",
                     label=row.label if source.label is None else source.label,
                     structure=row.structure or source.structure)
             for source in sources for row in source.rows]
    _, found = without_duplicates([replace(row, text=marked(row.text)) for row in named])
    dropped = set(found.dropped.tolist())
    rows: list[LabelledText] = []
    begin = 0
    for source in sources:
        end = begin + len(source.rows)
        kept = [named[place] for place in range(begin, end) if place not in dropped]
        begin = end
        aside = _set_aside(kept, source, rng)
        rows += [row for row, taken in zip(kept, aside, strict=True) if not taken]
        rows += bundle([row for row, taken in zip(kept, aside, strict=True) if taken], rng, sizes=source.sizes)
    return rows


def _run_of(row: LabelledText) -> _Run:
    """What all conversations of a bundle have in common."""
    return row.group, row.label, row.split


def _by_user(rows: Sequence[LabelledText]) -> dict[_Run, list[int]]:
    found: dict[_Run, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(_run_of(row), []).append(place)
    return found


def _cut(places: IntArray, low: int, high: int, rng: Generator) -> Iterator[IntArray]:
    """Runs of `low` to `high`; fewer than `low` remain only where no sizes would use them up."""
    while places.size >= low:
        size = min(int(rng.integers(low, high + 1)), places.size)
        if 0 < places.size - size < low:
            size = places.size if places.size <= high else max(low, places.size - low)
        yield places[:size]
        places = places[size:]


def _bundled(rows: Sequence[LabelledText]) -> LabelledText:
    name = f"{rows[0].id}+{len(rows) - 1}"
    return LabelledText(name, joined([row.text for row in rows]), rows[0].label, rows[0].group or f"synthetic:{name}",
                        frozenset().union(*(row.categories for row in rows)), rows[0].split,
                        structure=MULTI_CONVERSATION)


def _set_aside(rows: Sequence[LabelledText], source: Source, rng: Generator) -> list[bool]:
    """Which rows are for bundles: of each label about the share asked for, all rows of a user or none."""
    users: dict[str | int, list[int]] = {}
    for place, row in enumerate(rows):
        users.setdefault(row.group if row.group is not None else place, []).append(place)
    counts = {key: len(places) for key, places in _by_user(rows).items()}
    able: dict[str, list[list[int]]] = {}
    for user, places in users.items():
        if isinstance(user, int) or max(counts[_run_of(rows[place])] for place in places) >= source.sizes[0]:
            able.setdefault(rows[places[0]].label, []).append(places)
    aside = [False] * len(rows)
    for label, of_label in able.items():
        wanted = round(source.bundled * sum(row.label == label for row in rows))
        for number in rng.permutation(len(of_label)):
            if wanted >= len(of_label[number]):
                wanted -= len(of_label[number])
                for place in of_label[number]:
                    aside[place] = True
    return aside


def _check_sources(sources: Sequence[Source]) -> None:
    names = [source.name for source in sources]
    if len(set(names)) < len(names) or not sources:
        raise InputError(f"{len(sources)} sources have {len(set(names))} names; expected at least one source, each "
                         f"with a name of its own")
    for source in sources:
        if not source.rows:
            raise InputError(f"the source {source.name} has no rows; expected at least one conversation")
        if not 0.0 <= source.bundled <= 1.0:
            raise ValueError(f"bundled is {source.bundled}: expected a share from 0 to 1")
