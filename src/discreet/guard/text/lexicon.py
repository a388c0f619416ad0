"""The words that the evidence rests on: closed classes that say who a clause is about, gazetteers, and their finder.

Closed classes come from `data/words/referents.txt`. A gazetteer is a UTF-8 table in `data/` (key first, lower-case,
sorted, unique; `#` opens a comment line), read on first use. Places derive from GeoNames (CC BY 4.0, see NOTICE); the
other lists are our own. The terms of a domain lie in its folder (`discreet.guard.domains`).

Flags, one letter an entry:

    -  nothing special
    w  also an ordinary word, name, place or brand: needs a context that says which
    r  (occupations) in professional answers mostly a role acting in office, not the person's own job
    a  (places) an abbreviation, good only after a city or a comma
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from discreet.guard.domains import Domain, Term, builtin_domains, load_domain
from discreet.guard.text.doc import TOKEN
from discreet.guard.text.resources import given_names, patterns, rows, words

_WORDS = words("referents")

FIRST = _WORDS["first person"]
FIRST_PLURAL = _WORDS["first person plural"]
SECOND = _WORDS["second person"]
THIRD = dict.fromkeys(_WORDS["he"], "m") | dict.fromkeys(_WORDS["she"], "f")
THEY = _WORDS["they"]
OFFICIALS = _WORDS["officials"]
FUNCTION = _WORDS["function"]
PERSON_NOUNS: dict[str, str | None] = {
    **dict.fromkeys(_WORDS["person nouns"]), **dict.fromkeys(_WORDS["person nouns m"], "m"),
    **dict.fromkeys(_WORDS["person nouns f"], "f"),
}
PLURAL_NOUNS = _WORDS["plural nouns"]
OWNED = _WORDS["owned plurals"]
COUNTS = _WORDS["counts"]
NOT_JOBS = _WORDS["not jobs"]
BARE_ROLES = _WORDS["bare roles"]
COMPOUND_AFTER = words("compounds")
ANYBODY = _WORDS["anybody"]
PREDICATES = _WORDS["predicates"]
AGE_WORDS = _WORDS["age words"]
DETERMINERS = _WORDS["determiners"]
GENERIC_DETERMINERS = _WORDS["generic determiners"]
CONDITIONALS = _WORDS["conditionals"]
MODALS = _WORDS["modals"]
PAST_AUX = _WORDS["past auxiliaries"]
CLAUSE_BREAKS = _WORDS["clause breaks"]
PHRASE_BREAKS = _WORDS["phrase breaks"]
STOPS_KIN = _WORDS["kin stops"]
RULE_VERBS = _WORDS["rule verbs"]
RULE_STATES = _WORDS["rule states"]
RULE_THINGS = _WORDS["rule things"]
NOT_PERSONS = _WORDS["not persons"]
KIN = {word: (canonical, None if gender == "-" else gender) for word, canonical, gender in rows("kin", 3)}
RELATIVES = frozenset(KIN) - {"so"}
"""Words that mean a relative wherever they stand: "so" means one in few places."""


class PersonWords(NamedTuple):
    """Nouns for a person and for several; `own` are those that only a domain has, and stand as "patient" does."""

    nouns: frozenset[str]
    plurals: frozenset[str]
    own: frozenset[str]


@cache
def person_words(person: str = "person", people: str = "people") -> PersonWords:
    """The listed words, and the nouns of what a domain calls its persons ("pupil", "pupils in care")."""
    def head(phrase: str) -> set[str]:
        words = list(takewhile(lambda word: word not in FUNCTION, phrase.lower().split()))
        return {word.rpartition("-")[2] for word in words[-1:]}

    known = PERSON_NOUNS.keys() | KIN.keys() | PLURAL_NOUNS | NOT_PERSONS
    own = frozenset(head(person) - known)
    return PersonWords(own | frozenset(PERSON_NOUNS), PLURAL_NOUNS | (head(people) - known), own)


def _table(name: str, columns: int, entry: Callable[..., Term] = Term) -> Mapping[str, Term]:
    return MappingProxyType({row[0]: entry(*row) for row in rows(name, columns)})


@cache
def places() -> Mapping[str, Term]:
    """Places by lower-case name, "the" left off; kind city, state, country, region, continent or county.

    The canonical form runs from the place to its country's ISO 3166 code ("Omaha|Nebraska|US", "FR"), so one place lies
    in another exactly when the other's is a suffix of its own at a bar. A shared name means its most populous place;
    US, Canadian and Australian abbreviations have flag `a`.
    """
    return _table("places", 4)


@cache
def demonyms() -> Mapping[str, Term]:
    """Words for people, kind nationality, ethnicity, religion or language ("nigerian" -> "Nigeria")."""
    return _table("demonyms", 4)


@cache
def occupations() -> Mapping[str, Term]:
    """Occupations and working statuses, singular, with a near-hypernym ("litigator" -> "lawyer")."""
    return _table("occupations", 3, lambda surface, canonical, flag: Term(surface, "job", canonical, flag))


@cache
def organisations() -> Mapping[str, Term]:
    """Known employers, schools, hospitals, unions, churches, clubs and armed forces, by kind."""
    return _table("organisations", 3, lambda name, kind, flag: Term(name, kind, name, flag))


@cache
def organisation_heads() -> frozenset[str]:
    """Lower-case words and phrases that make a capitalised sequence an organisation ("high school", "llc")."""
    return frozenset(row[0] for row in rows("organisation_heads", 1))


@lru_cache(maxsize=8192)
def suffix_kind(domain: Domain, word: str) -> str | None:
    """Kind of a term of a domain that its ending gives away, or None; any case, singular or plural."""
    suffixes, exceptions = domain.suffixes
    if not suffixes:
        return None
    for form in dict.fromkeys((word.lower(), singular(word.lower()))):
        if form in exceptions:
            return exceptions[form] if exceptions[form] != "-" else None
        for start in range(max(3, len(form) - max(map(len, suffixes))), len(form)):
            if form[start:] in suffixes:
                return suffixes[form[start:]]
    return None


def is_domain_term(word: str) -> bool:
    """Whether a built-in domain lists a lower-case word, or knows its ending: then it is hardly anybody's name.

    All of them are asked whatever the domain of a guard is: recognisers read nothing but the text, so that a name is
    the same to every guard, and an answer about law may name a medicine.
    """
    domains = [load_domain(name) for name in builtin_domains()]
    return any(word in domain.terms for domain in domains) or any(suffix_kind(one, word) for one in domains)


def canonical_place(name: str) -> str | None:
    """Path of a place name, any case, "the" allowed; None where it is not listed.

    "Omaha" -> "Omaha|Nebraska|US". After a comma the region decides, and may be an abbreviation:
    "Springfield, IL" -> "Springfield|Illinois|US".
    """
    head, comma, rest = (part.strip() for part in name.partition(","))
    own = _listed_place(head)
    if not comma or not rest:
        return own
    region = canonical_place(rest) if "," in rest else _listed_place(rest, abbreviated=True)
    if region is None or (own is not None and own.endswith(f"|{region}")):
        return region and own
    titled = re.sub(r"(?:^|(?<=[\s\-]))\w", lambda first: first.group().upper(), head)
    return f"{titled}|{region}"


def _listed_place(name: str, abbreviated: bool = False) -> str | None:
    key = " ".join(name.lower().split()).removeprefix("the ")
    entry = places().get(key) or places().get(key.rstrip(".")) or places().get(key.replace(".", ""))
    return entry.canonical if entry is not None and (entry.flag != "a" or abbreviated) else None


@cache
def _irregular_plurals() -> Mapping[str, str]:
    return dict(rows("irregular_plurals", 2))


@lru_cache(maxsize=8192)
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
    plurals = patterns("plurals")
    if plurals["men"].search(word):
        return word[:-2] + "an"
    if len(word) < 4 or not word.endswith("s") or plurals["singular"].search(word):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("yses"):
        return word[:-2] + "is"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else word[:-1]


class Matcher:
    """Finds the entries of a list in a sequence of lower-case tokens: leftmost, then longest, never overlapping.

    `entries` are cut into tokens by `tokenise` (by default at blanks), which must be the cut that texts get. Entries of
    more than `max_tokens` tokens are left out; of two that cut alike the first stays.
    """

    def __init__(self, entries: Iterable[str], max_tokens: int = 6,
                 tokenise: Callable[[str], Sequence[str]] = str.split) -> None:
        self._entries: dict[tuple[str, ...], str] = {}
        for entry in entries:
            key = tuple(tokenise(entry.lower()))
            if 0 < len(key) <= max_tokens:
                self._entries.setdefault(key, entry)
        self._lengths: dict[str, list[int]] = {}
        for first, length in sorted({(key[0], len(key)) for key in self._entries}, reverse=True):
            self._lengths.setdefault(first, []).append(length)

    def find(self, tokens: Sequence[str]) -> list[tuple[int, int, str]]:
        """Matches as (start, end, entry): token indices, end exclusive, in order of the text."""
        matches: list[tuple[int, int, str]] = []
        lengths, end = self._lengths, 0
        for start in [i for i, token in enumerate(tokens) if token in lengths]:
            for length in lengths[tokens[start]] if start >= end else ():
                entry = self._entries.get(tuple(tokens[start : start + length]))
                if entry is not None and start + length <= len(tokens):
                    end = start + length
                    matches.append((start, end, entry))
                    break
        return matches


@cache
def matcher(table: str) -> Matcher:
    """The matcher over the keys of a gazetteer, named as its function ("occupations"), in the tokens of `Doc`."""
    return Matcher(globals()[table](), max_tokens=8, tokenise=TOKEN.findall)


_NAMES, _OF_NAMES = patterns("names"), words("names")
_ENDINGS = (("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("er", ""),
            ("ers", ""))
_LISTS = (words("ordinary")["ordinary"], *(_OF_NAMES[section] for section in (
    "common", "things", "offices", "offices plural", "titles", "assistants", "place heads")))
_REACH, _ITS = 72, 32


@lru_cache(maxsize=4096)
def is_english(lower: str) -> bool:
    """Whether a lower-case word is a common English one, by list or by ending, and no common surname."""
    if lower in _OF_NAMES["surnames"] or lower in _OF_NAMES["mostly names"]:
        return False
    stems = {lower, *(lower.removesuffix(end) + more for end, more in _ENDINGS if lower.endswith(end))}
    return not all(map(stems.isdisjoint, _LISTS)) or _NAMES["english ending"].search(lower) is not None


@lru_cache(maxsize=4096)
def is_taken(lower: str) -> bool:
    """Whether a lower-case word belongs to an organisation, a people or a domain's terms."""
    return (lower in organisation_heads() or lower in organisations() or lower in demonyms()
            or is_domain_term(lower))


def is_name_shaped(spelt: Sequence[str], *, sure: bool = False) -> bool:
    """Whether capitalised words (as written) can be a person's name and nothing else that is listed.

    `sure`: the last word may be a common English one ("Reece Power"), and the first a place.
    """
    lowers = [word.lower() for word in spelt]
    whole = " ".join(lowers)
    if whole in organisations() or whole in demonyms() or canonical_place(whole) is not None:
        return False
    checked = lowers[:-1] if sure and len(lowers) > 1 and lowers[-1] not in _OF_NAMES["things"] else lowers
    if any(is_english(lower) or is_taken(lower) for lower in checked if len(lower) > 1):
        return False
    given = given_names()
    if lowers[-1] == "i" or (not sure and lowers[0] not in given and canonical_place(lowers[0]) is not None):
        return False
    last = places().get(lowers[-1])
    if len(lowers) > 1 and last is not None and last.kind in ("country", "continent", "region"):
        return False
    return all(_NAMES["titlecase"].fullmatch(word) or len(word) == 1 for word in spelt)


def frame_of(lower: str, start: int, end: int) -> int:
    """2 where the words around `lower[start:end]` fit only a person, 1 where they fit a person better, else 0."""
    low = max(0, start - _REACH)
    if _NAMES["frame sure"].search(lower, low, start) or _NAMES["frame kin"].search(lower, low, start):
        return 2
    if any(_NAMES[name].search(lower, low, start) for name in ("frame of", "frame label")):
        return 1
    # "... has published its figure": whose is "its" is a firm.
    if _NAMES["frame not"].search(lower, low, start) or " its " in lower[end : end + _ITS]:
        return 0
    return int(bool(_NAMES["frame before"].search(lower, low, start) or _NAMES["frame after"].match(lower, end)))


def noted_names(text: str, capitals: int) -> Iterator[tuple[int, int]]:
    """Where names stand in a note without capitals: a listed given name and a word that is nothing else, in a frame.

    `capitals`: how many capitalised words the text has; where it has as many as prose does, none is looked for.
    """
    if capitals > 1 + len(text) // 160:
        return
    given = given_names()
    for match in (*_NAMES["noted"].finditer(text), *_NAMES["noted first"].finditer(text)):
        first, last = match["first"], match["last"]
        parts = first.split("-")
        known = all(given.get(part) == "-" or (part in given and part in _OF_NAMES["mostly names"]) for part in parts)
        # Behind "name:" two words that are nothing else are one.
        spelt = known or (match.group().startswith("name") and not (is_english(first) or is_taken(first)))
        if not spelt or f"{first} {last}" in _OF_NAMES["public"]:
            continue
        surname = last in _OF_NAMES["surnames"]
        if not surname and (is_english(last) or is_taken(last) or last.endswith("ing")
                            or canonical_place(last) is not None):
            continue
        if canonical_place(f"{first} {last}") is None and not _NAMES["thing after"].match(text, match.end("last")):
            yield match.start("first"), match.end("last")
