"""Texts to fit a guard on: read, freed of repeats, and split into three sets that share no text and no group."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import InputError, UsageError
from discreet.core.files import progress
from discreet.core.records import Answer
from discreet.core.unicode import prepare
from discreet.guard.identifiers import counts_directly
from discreet.guard.policy import Policy
from discreet.guard.reading import Reading, read_answer
from discreet.inputs.answers import COLUMNS, REQUIRED, answer_from_row
from discreet.inputs.rows import Place, Row, iter_rows, unique

Kind = Literal["safe", "unsafe", "borderline"]
Part = Literal["fit", "calibration", "evaluation"]
SIDES: tuple[Kind, ...] = ("safe", "unsafe")
PARTS: tuple[Part, ...] = ("fit", "calibration", "evaluation")
SHARES = (0.7, 0.15, 0.15)
"""Of the texts of each side: to fit, to calibrate, to evaluate."""
LEAST_TEXTS = 40
"""Distinct texts a side that a fit needs: 28 to fit and 6 each to calibrate and to evaluate."""
MORE_COLUMNS = ("kind", "domain", "group", "document", "profile", "subtype", "generator")

Texts = Path | str | Sequence[Path | str | Mapping[str, Any] | Answer]
"""A file (a path, or a string that stands alone), or a list of strings (texts), of mappings (rows, with `answer` and
what else a file may have), of answers, or of paths (files)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One text of one side; texts of one `group`, a document or user, stay in one set."""

    answer: Answer = field(repr=False)
    kind: Kind
    group: str | None = None
    profile: str | None = None
    subtype: str | None = None
    generator: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Texts that layer 1 lets pass, what was read in each, and the set that each belongs to.

    `counts` are the texts `read`; `repeated`, `contradictory`, `direct`, `empty` and `not_english` ones that were
    dropped, in this order; and `PART_KIND` for what was left.
    """

    policy: Policy
    samples: Sequence[Sample] = field(repr=False)
    reads: Sequence[Reading] = field(repr=False)
    parts: Sequence[Part] = field(repr=False)
    counts: Mapping[str, int]
    files: tuple[tuple[Kind, Path], ...] = ()

    def of(self, part: Part) -> tuple[list[Sample], list[Reading]]:
        """The texts of one set."""
        places = [i for i, p in enumerate(self.parts) if p == part]
        return [self.samples[i] for i in places], [self.reads[i] for i in places]


def read_corpus(policy: Policy, safe: Texts, unsafe: Texts, borderline: Texts = (), *, seed: int = 42,
                quiet: bool = True) -> Corpus:
    """Read the texts of all sides, drop repeats and what never reaches layer 2, and split the rest into three sets.

    InputError for files that cannot be read and sides with too few texts.
    """
    sides: dict[Kind, Texts] = {"safe": safe, "unsafe": unsafe, "borderline": borderline}
    samples = [s for kind, given in sides.items() for s in read_side(given, kind, policy.domain.name)]
    counts = Counter(read=len(samples))
    samples, repeats = without_repeats(samples)
    reads = [read_answer(s.answer, policy)
             for s in progress(samples, len(samples), quiet=quiet, label="texts read")]
    lost = [never_judged(read, policy) for read in reads]
    counts.update({**repeats, **{why: lost.count(why) for why in ("direct", "empty", "not_english")}})
    kept = [i for i, why in enumerate(lost) if why is None]
    samples, reads = [samples[i] for i in kept], [reads[i] for i in kept]
    parts = split(samples, seed)
    counts.update(f"{part}_{s.kind}" for part, s in zip(parts, samples, strict=True))
    files = tuple((kind, item) for kind, given in sides.items() for item in _items(given) if isinstance(item, Path))
    return Corpus(policy, samples, reads, parts, dict(counts), files)


def never_judged(read: Reading, policy: Policy) -> str | None:
    """Why layer 2 would never be asked about a text: what layer 1 flags, what is empty and what is not English."""
    if any(counts_directly(span, subject, policy) for span, subject in read.direct):
        return "direct"
    if read.empty:
        return "empty"
    return None if read.language.english else "not_english"


def read_side(given: Texts, kind: Kind, domain: str) -> list[Sample]:
    """The texts of one side.

    Rows that say another `kind` or `domain` are passed over, so that one file may hold several. InputError where a file
    cannot be read or none of its rows is of this kind and domain, UsageError for a list of strings that names a file.
    """
    items = _items(given)
    found: list[Sample] = []
    for path in (item for item in items if isinstance(item, Path)):
        kept = _of_kind(iter_rows(path, (*COLUMNS, *MORE_COLUMNS), REQUIRED), kind, domain)
        if not kept:
            raise InputError(f"{path} holds no {kind} text of {domain}: the columns 'kind' and 'domain' say otherwise; "
                             "name another file, or drop the columns")
        found += kept
    return found + _of_kind(_rows_in_memory([item for item in items if not isinstance(item, Path)], kind), kind, domain)


def _items(given: Texts) -> list[Any]:
    if isinstance(given, str | Path):
        return [Path(given)]
    if hasattr(given, "to_dict"):  # a DataFrame, which yields the names of its columns
        return list(given.to_dict("records"))
    return list(given)


def _rows_in_memory(items: Sequence[Any], kind: Kind) -> Iterable[Row]:
    for number, item in enumerate(items, start=1):
        place = Place(f"the {kind} texts", "item", number)
        if isinstance(item, str) and len(item) < 256 and Path(item).is_file():
            raise UsageError(f"{place} is the name of a file; in a list, give files as pathlib.Path")
        if not isinstance(item, str | Answer | Mapping):
            place.fail(f"found a {type(item).__name__}; expected a string, a mapping with 'answer', an Answer, a Path")
        more = item if isinstance(item, Mapping) else {"answer": item}
        yield place, {"id": item.id if isinstance(item, Answer) else f"{kind}-{number}", **more}


def _of_kind(rows: Iterable[Row], kind: Kind, domain: str) -> list[Sample]:
    def sample(place: Place, row: Mapping[str, Any]) -> Sample | str:
        """A sample, or only its id where the row is of another kind or domain."""
        given = row.get("answer")
        answer = given if isinstance(given, Answer) else answer_from_row(place, row)
        said = {name: row[name] for name in MORE_COLUMNS if row.get(name) not in (None, "")}
        for name, value in said.items():
            if isinstance(value, bool) or not isinstance(value, str | int):
                place.fail(f"{name!r} is no word; expected a string")
            said[name] = str(value)
        if said.pop("kind", kind) != kind or said.pop("domain", domain) != domain:
            return answer.id
        document = said.pop("document", None)
        return Sample(answer, kind, said.pop("group", document), **said)

    def identity(one: Sample | str) -> str:
        return one if isinstance(one, str) else one.answer.id

    found = unique(rows, sample, identity)
    return [s for _, s in found if isinstance(s, Sample)]


def normalised(text: str) -> str:
    """What is equal of the same text: Unicode-normalised, case-folded, white space collapsed."""
    return " ".join(prepare(text).text.casefold().split())


def without_repeats(samples: Sequence[Sample]) -> tuple[list[Sample], dict[str, int]]:
    """Each text once, the first of them, none that is both unsafe and not; how many were repeated, contradictory."""
    keys = [normalised(s.answer.answer) for s in samples]
    leaks: dict[str, set[bool]] = {}
    for key, sample in zip(keys, samples, strict=True):
        leaks.setdefault(key, set()).add(sample.kind == "unsafe")
    first: dict[str, Sample] = {}
    for key, sample in zip(keys, samples, strict=True):
        if len(leaks[key]) == 1:
            first.setdefault(key, sample)
    contradictory = sum(len(leaks[key]) > 1 for key in keys)
    return list(first.values()), {"repeated": len(keys) - contradictory - len(first), "contradictory": contradictory}


def split(samples: Sequence[Sample], seed: int) -> list[Part]:
    """To which set each text belongs, by `SHARES`, kind by kind.

    The order in which texts are given does not matter: groups (texts without one are their own) are taken in the
    order of a hash of the seed and their name or text. A group that has texts of several kinds stays in one set.
    InputError where a side has fewer than `LEAST_TEXTS` texts, or so few groups that a set stays empty.
    """
    totals = Counter(s.kind for s in samples)
    for kind in SIDES:
        if totals[kind] < LEAST_TEXTS:
            raise InputError(
                f"{totals[kind]} {kind} texts are left to fit on: at least {LEAST_TEXTS} are needed, add texts"
            )
    names = [f"g:{s.group}" if s.group is not None else f"t:{normalised(s.answer.answer)}" for s in samples]
    members: dict[str, Counter[Kind]] = {}
    for name, sample in zip(names, samples, strict=True):
        members.setdefault(name, Counter())[sample.kind] += 1
    have: dict[Part, Counter[Kind]] = {part: Counter() for part in PARTS}
    home: dict[str, Part] = {}

    def order(name: str) -> tuple[int, str]:
        """The largest first, so that they do not burst a small set that is nearly full."""
        return -members[name].total(), hashlib.sha256(f"{seed}\n{name}".encode("utf-8", "surrogatepass")).hexdigest()

    def room(part: Part, group: Counter[Kind]) -> float:
        """How far a set is from its share of the group's kinds, in shares of the set; the fuller, the lower."""
        share = SHARES[PARTS.index(part)]
        return sum(count * (1.0 - (have[part][kind] + count) / (share * totals[kind])) for kind, count in group.items())

    for name in sorted(members, key=order):
        home[name] = max(PARTS, key=lambda part: room(part, members[name]))
        have[home[name]] += members[name]
    for part in PARTS:
        for kind in SIDES:
            if not have[part][kind]:
                raise InputError(f"the groups of the {kind} texts are so few that none is left for {part}: give finer "
                                 "groups, or more of them")
    return [home[name] for name in names]
