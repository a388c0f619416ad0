"""Texts to fit a guard on: read, freed of repeats, and dealt into three sets that share no text and no group."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import InputError
from discreet.core.records import Answer
from discreet.core.unicode import prepare
from discreet.data.answers import COLUMNS, REQUIRED, answer_from_row, unique
from discreet.data.rows import Place, iter_rows
from discreet.guard.defaults import LEAST_TEXTS, SHARES

Kind = Literal["safe", "unsafe", "borderline"]
Part = Literal["fit", "calibration", "evaluation"]
PARTS: tuple[Part, ...] = ("fit", "calibration", "evaluation")
MORE_COLUMNS = ("kind", "domain", "group", "document", "profile", "lineage", "register", "subtype", "generator")


@dataclass(frozen=True, slots=True)
class Sample:
    """One text of one side.

    Attributes
    ----------
    group : str or None
        The document or user that several texts may come from; such texts stay in one set.
    profile, register, subtype : str or None
        What tables are broken down by.
    generator : str or None
        What wrote it, where a machine did.
    """

    answer: Answer = field(repr=False)
    kind: Kind
    group: str | None = None
    profile: str | None = None
    register: str | None = None
    subtype: str | None = None
    generator: str | None = None

    @property
    def unsafe(self) -> bool:
        """Whether it holds a leak; borderline texts hold none."""
        return self.kind == "unsafe"


def read_side(paths: Sequence[Path], kind: Kind, domain: str) -> list[Sample]:
    """The texts of one side from JSON Lines, CSV or Parquet files with `id, answer` (and `question`).

    Where a file has the columns `kind` or `domain`, rows of another kind or domain are passed over, so that one file
    may hold several.

    Raises
    ------
    InputError
        Where a file cannot be read, or none of its rows is of this kind and domain.
    """
    found: list[Sample] = []
    for path in paths:
        rows = iter_rows(path, (*COLUMNS, *MORE_COLUMNS), REQUIRED)
        kept = [s for _, s in unique(rows, lambda place, row: _sample(place, row, kind, domain), _identity)
                if isinstance(s, Sample)]
        if not kept:
            raise InputError(f"{path} holds no {kind} text of {domain}: the columns 'kind' and 'domain' say otherwise; "
                             "name another file, or drop the columns")
        found += kept
    return found


def _identity(found: Sample | str) -> str:
    return found if isinstance(found, str) else found.answer.id


def _sample(place: Place, row: Mapping[str, Any], kind: Kind, domain: str) -> Sample | str:
    """A sample, or only its id where the row is of another kind or domain."""
    answer = answer_from_row(place, row)
    said = {name: _word(place, row, name) for name in MORE_COLUMNS}
    if said["kind"] not in (None, kind) or said["domain"] not in (None, domain):
        return answer.id
    said["profile"] = said["profile"] or said["lineage"]
    more = {name: said[name] for name in ("profile", "register", "subtype", "generator")}
    return Sample(answer, kind, said["group"] or said["document"], **more)


def _word(place: Place, row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        place.fail(f"{name!r} is no word; expected a string")
    return str(value)


def normalised(text: str) -> str:
    """The unit of "the same text": Unicode-normalised, case-folded, white space collapsed."""
    return " ".join(prepare(text).text.casefold().split())


def without_repeats(samples: Sequence[Sample]) -> tuple[list[Sample], dict[str, int]]:
    """Each text once, the first of them; a text that stands on both sides is dropped from both.

    Returns
    -------
    samples, counts
        `counts` says how many were `repeated` and how many `contradictory`.
    """
    keys = [normalised(s.answer.answer) for s in samples]
    sides: dict[str, set[bool]] = {}
    for key, sample in zip(keys, samples, strict=True):
        sides.setdefault(key, set()).add(sample.unsafe)
    kept, seen, counts = [], set(), Counter(repeated=0, contradictory=0)
    for key, sample in zip(keys, samples, strict=True):
        if len(sides[key]) > 1:
            counts["contradictory"] += 1
        elif key in seen:
            counts["repeated"] += 1
        else:
            seen.add(key)
            kept.append(sample)
    return kept, dict(counts)


def deal(samples: Sequence[Sample], seed: int) -> list[Part]:
    """To which set each text belongs, by the shares of `defaults.SHARES`, kind by kind.

    The order in which texts are given does not matter: groups (texts without one are their own) are taken in the
    order of a hash of the seed and their name or text. A group that has texts of several kinds stays in one set.

    Raises
    ------
    InputError
        Where a side has fewer than `defaults.LEAST_TEXTS` texts, or so few groups that a set stays empty.
    """
    for kind in ("safe", "unsafe"):
        have = sum(s.kind == kind for s in samples)
        if have < LEAST_TEXTS:
            raise InputError(f"{have} {kind} texts are left to fit on: at least {LEAST_TEXTS} are needed, add texts")
    names = [_group(s) for s in samples]
    members: dict[str, Counter[str]] = {}
    for name, sample in zip(names, samples, strict=True):
        members.setdefault(name, Counter())[sample.kind] += 1
    totals: Counter[str] = Counter(s.kind for s in samples)
    have_so_far: dict[Part, Counter[str]] = {part: Counter() for part in PARTS}
    home: dict[str, Part] = {}
    # The largest first, so that they do not burst a small set that is nearly full.
    for name in sorted(members, key=lambda n: (-members[n].total(), _order(seed, n))):
        home[name] = max(PARTS, key=lambda p: _room(p, members[name], have_so_far, totals))
        have_so_far[home[name]] += members[name]
    for part in PARTS:
        for kind in ("safe", "unsafe"):
            if not have_so_far[part][kind]:
                raise InputError(f"the groups of the {kind} texts are so few that none is left for {part}: give finer "
                                 "groups, or more of them")
    return [home[name] for name in names]


def _group(sample: Sample) -> str:
    return f"g:{sample.group}" if sample.group is not None else f"t:{normalised(sample.answer.answer)}"


def _order(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}\n{name}".encode("utf-8", "surrogatepass")).hexdigest()


def _room(part: Part, group: Counter[str], have: Mapping[Part, Counter[str]], totals: Counter[str]) -> float:
    """How far a set is from its share of the group's kinds, in shares of the set; the fuller, the lower."""
    share = SHARES[PARTS.index(part)]
    return sum(count * (1.0 - (have[part][kind] + count) / (share * totals[kind])) for kind, count in group.items())
