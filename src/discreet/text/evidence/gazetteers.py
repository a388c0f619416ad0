"""Word lists behind the quasi-identifier evidence, and a finder for them.

Every list is a UTF-8 table in `data/` (key first, lower-case, sorted, unique; `#` opens a comment line), read on
first use and kept. Places derive from GeoNames (CC BY 4.0, see NOTICE); the other lists are our own. The terms of a
domain lie in its folder (`discreet.domains`).

Flags, one letter an entry:

    -  nothing special
    w  also an ordinary word, name, place or brand: needs a context that says which
    r  (occupations) in professional answers mostly a role acting in office, not the person's own job
    a  (places) an abbreviation, good only after a city or a comma
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TypeVar

from discreet.domains import Domain, Term, builtin_domains, load_domain
from discreet.text.doc import TOKEN
from discreet.text.resources import rows

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Place:
    """A place: `kind` is city, state, country, region, continent or county.

    `path` runs from the place to its country's ISO 3166 code ("Omaha|Nebraska|US", "Nebraska|US", "FR"), so one
    place lies in another exactly when the other's path is a suffix of its own at a bar. An ambiguous name has the
    path of its most populous bearer.
    """

    name: str
    kind: str
    path: str
    flag: str


@dataclass(frozen=True, slots=True)
class Demonym:
    """A word for people by `kind`: nationality, ethnicity, religion or language ("nigerian" -> "Nigeria")."""

    word: str
    kind: str
    canonical: str
    flag: str


@dataclass(frozen=True, slots=True)
class Occupation:
    """A job or working status with its near-hypernym ("litigator" -> "lawyer")."""

    surface: str
    canonical: str
    flag: str


@dataclass(frozen=True, slots=True)
class Organisation:
    """A known organisation; `kind`: company, university, school, hospital, union, church, club, military, agency."""

    name: str
    kind: str
    flag: str


def _table(table: str, columns: int, entry: Callable[..., E]) -> Mapping[str, E]:
    return MappingProxyType({row[0]: entry(*row) for row in rows(table, columns)})


@cache
def given_names() -> Mapping[str, str]:
    """Given names (lower-case) to their flag, `w` or `-`."""
    return MappingProxyType({row[0]: row[1] for row in rows("given_names", 2)})


@cache
def places() -> Mapping[str, Place]:
    """Places by lower-case name, "the" left off ("midwest"); US, Canadian, Australian abbreviations have flag `a`."""
    return _table("places", 4, Place)


@cache
def demonyms() -> Mapping[str, Demonym]:
    """Words for nationality, ethnicity, religion and language."""
    return _table("demonyms", 4, Demonym)


@cache
def occupations() -> Mapping[str, Occupation]:
    """Occupations and working statuses, singular; flags `r`, `w`, `-`."""
    return _table("occupations", 3, Occupation)


@cache
def family_terms() -> Mapping[str, Term]:
    """Relatives and family status; plurals only where they mean something of their own ("twins").

    Kinds: partner, child, parent, sibling, extended, status.
    """
    return MappingProxyType(
        {
            surface: Term(surface, kind, surface if canonical == "=" else canonical, flag)
            for surface, kind, canonical, flag in rows("family", 4)
        }
    )


def medical_terms() -> Mapping[str, Term]:
    """Conditions, treatments, drugs and tests, lay and clinical; brands and lay words lead to the clinical name."""
    return load_domain("medical").terms


def medical_suffix_class(word: str) -> str | None:
    """Class of a medical term that its ending gives away (condition, treatment, drug, test), or None.

    Any case, singular or plural. "duodenitis" -> condition, "arthroplasty" -> treatment, "aroma" -> None.
    """
    return suffix_kind(load_domain("medical"), word)


def suffix_kind(domain: Domain, word: str) -> str | None:
    """Kind of a term of a domain that its ending gives away, or None; any case, singular or plural."""
    suffixes, exceptions = domain.suffixes
    if not suffixes:
        return None
    for form in dict.fromkeys((word.lower(), singular(word.lower()))):
        if form in exceptions:
            return exceptions[form] if exceptions[form] != "-" else None
        for length in domain.suffix_lengths:
            if len(form) >= length + 3 and form[-length:] in suffixes:
                return suffixes[form[-length:]]
    return None


def is_domain_term(word: str) -> bool:
    """Whether a built-in domain lists a lower-case word, or knows its ending."""
    domains = [load_domain(name) for name in builtin_domains()]
    return any(word in domain.terms for domain in domains) or any(suffix_kind(one, word) for one in domains)


@cache
def organisations() -> Mapping[str, Organisation]:
    """Well-known employers, schools, hospitals, unions, churches, clubs and armed forces."""
    return _table("organisations", 3, Organisation)


@cache
def organisation_heads() -> frozenset[str]:
    """Lower-case words and phrases that make a capitalised sequence an organisation ("high school", "llc")."""
    return frozenset(row[0] for row in rows("organisation_heads", 1))


def canonical_place(name: str) -> str | None:
    """Path of a place name, any case, "the" allowed; None where it is not listed.

    "Omaha" -> "Omaha|Nebraska|US". After a comma the region decides, and may be an abbreviation:
    "Springfield, IL" -> "Springfield|Illinois|US".
    """
    head, comma, rest = (part.strip() for part in name.partition(","))
    if comma and rest:
        region = canonical_place(rest) if "," in rest else _place_path(rest, abbreviated=True)
        if region is None:
            return None
        own = _place_path(head)
        if own is not None and own.endswith(f"|{region}"):
            return own
        return f"{_titled(head)}|{region}"
    return _place_path(head)


def _titled(name: str) -> str:
    return re.sub(r"(?:^|(?<=[\s\-]))\w", lambda first: first.group().upper(), name)


def _place_path(name: str, abbreviated: bool = False) -> str | None:
    key = " ".join(name.lower().split()).removeprefix("the ")
    entry = places().get(key) or places().get(key.rstrip(".")) or places().get(key.replace(".", ""))
    if entry is None or (entry.flag == "a" and not abbreviated):
        return None
    return entry.path


_IE = frozenset("auntie bookie calorie cookie die foodie goalie junkie lie movie pie preemie rookie tie walkie".split())
_MEN = re.compile(r"(?<!speci)(?<!abdo)(?<!regi)(?<!acu)(?<!s[et])(?<!sta)(?<!fora)(?<!lu)(?<!ye)(?<!\bo)(?<!\ba)men$")
_SINGULAR_S = re.compile(
    r"(?:ss|us|is|[hmst]atics|nomics|iatrics|physics|politics|statistics|ethics|obstetrics|genetics|robotics|eus|news|series|species|diabetes|herpes|rabies|measles|mumps|rickets|shingles|hives|scabies|caries"
    r"|\bgas|pancreas|atlas|canvas|christmas|texas|kansas|arkansas|vegas|overseas|always|perhaps|sometimes|twins)$"
)


@cache
def _irregular_plurals() -> Mapping[str, str]:
    return dict(rows("irregular_plurals", 2))


def singular(word: str) -> str:
    """Singular of a lower-case English word or phrase ("line cooks" -> "line cook", "sons-in-law" -> "son-in-law").

    Light rules for the kinds of words in these lists; a word that is singular already comes back as it is.
    """
    for law in ("-in-law", "-at-law", " general"):
        if word.endswith(f"s{law}"):
            return word.removesuffix(f"s{law}") + law
    at = max(word.rfind(" "), word.rfind("-")) + 1
    return word[:at] + _singular_token(word[at:])


def _singular_token(word: str) -> str:
    if word in _irregular_plurals():
        return _irregular_plurals()[word]
    if word.endswith("children"):
        return word[:-3]
    if _MEN.search(word):
        return word[:-2] + "an"
    if len(word) < 4 or not word.endswith("s") or _SINGULAR_S.search(word):
        return word
    if word.endswith("ies") and word[:-1] not in _IE:
        return word[:-3] + "y"
    if word.endswith("yses"):
        return word[:-2] + "is"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else word[:-1]


def with_singulars(lowers: tuple[str, ...]) -> tuple[str, ...]:
    """Tokens with plural nouns made singular, so that "teachers" meets "teacher"."""
    return tuple(singular(w) if len(w) > 3 and w.endswith("s") else w for w in lowers)


class Matcher:
    """Finds the entries of a list in a token sequence: leftmost, then longest, never overlapping.

    `entries` are cut into tokens by `tokenise` (by default at blanks), which must be the cut that the texts get.
    Case is ignored. Entries of more than `max_tokens` tokens are left out; of two that cut alike the first stays.
    """

    def __init__(
        self,
        entries: Iterable[str],
        max_tokens: int = 6,
        tokenise: Callable[[str], Sequence[str]] = str.split,
    ) -> None:
        self._entries: dict[tuple[str, ...], str] = {}
        lengths: dict[str, int] = {}
        for entry in entries:
            key = tuple(tokenise(entry.lower()))
            if 0 < len(key) <= max_tokens and key not in self._entries:
                self._entries[key] = entry
                lengths[key[0]] = lengths.get(key[0], 0) | 1 << len(key)
        longest_first = {mask: [n for n in range(max_tokens, 0, -1) if mask >> n & 1] for mask in lengths.values()}
        self._lengths = {first: longest_first[mask] for first, mask in lengths.items()}

    def find(self, tokens: Sequence[str]) -> list[tuple[int, int, str]]:
        """Matches as (start, end, entry): token indices, end exclusive, in order of the text."""
        lower = [token.lower() for token in tokens]
        matches: list[tuple[int, int, str]] = []
        start, total = 0, len(lower)
        while start < total:
            for length in self._lengths.get(lower[start], ()):
                end = start + length
                entry = self._entries.get(tuple(lower[start:end])) if end <= total else None
                if entry is not None:
                    matches.append((start, end, entry))
                    start = end - 1
                    break
            start += 1
        return matches


@cache
def matcher(table: str) -> Matcher:
    """The matcher over the keys of a gazetteer, named as its function ("occupations"), in the tokens of `Doc`."""
    return Matcher(globals()[table](), max_tokens=8, tokenise=TOKEN.findall)
