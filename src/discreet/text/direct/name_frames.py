"""Names that no list holds: by the frame that only a person fits, and by words that are neither English nor a place.

Two or more capitalised words make a name where the words beside them say so ("my neighbour ...", "... called to ask")
and none of them is a common English word, a place, an organisation, a people or a term of a domain. Behind the
strongest frames ("my name is ...", "Dear ...", "her husband ...") one such word is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from discreet.text.evidence import lexicon
from discreet.text.resources import patterns, words

_P, _WORDS = patterns("names"), words("names")
_ENDINGS = (("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("er", ""),
            ("ers", ""))
_LISTS = (words("ordinary")["ordinary"], *(_WORDS[section] for section in (
    "common", "things", "offices", "offices plural", "titles", "assistants", "place heads")))
_REACH, _ITS = 72, 32


@lru_cache(maxsize=4096)
def is_english(lower: str) -> bool:
    """Whether a lower-case word is a common English one, by list or by ending, and no common surname."""
    if lower in _WORDS["surnames"] or lower in _WORDS["mostly names"]:
        return False
    stems = {lower, *(lower.removesuffix(end) + more for end, more in _ENDINGS if lower.endswith(end))}
    return not all(map(stems.isdisjoint, _LISTS)) or _P["english ending"].search(lower) is not None


@lru_cache(maxsize=4096)
def is_taken(lower: str) -> bool:
    """Whether a lower-case word belongs to an organisation, a people or a domain's terms."""
    return (lower in lexicon.organisation_heads() or lower in lexicon.organisations() or lower in lexicon.demonyms()
            or lexicon.is_domain_term(lower))


def is_name_shaped(spelt: Sequence[str], *, sure: bool = False) -> bool:
    """Whether capitalised words (as written) can be a person's name and nothing else that is listed.

    `sure`: the last word may be a common English one ("Reece Power"), and the first a place.
    """
    lowers = [word.lower() for word in spelt]
    whole = " ".join(lowers)
    if whole in lexicon.organisations() or whole in lexicon.demonyms() or lexicon.canonical_place(whole) is not None:
        return False
    checked = lowers[:-1] if sure and len(lowers) > 1 and lowers[-1] not in _WORDS["things"] else lowers
    if any(is_english(lower) or is_taken(lower) for lower in checked if len(lower) > 1):
        return False
    given = lexicon.given_names()
    if lowers[-1] == "i" or (not sure and lowers[0] not in given and lexicon.canonical_place(lowers[0]) is not None):
        return False
    last = lexicon.places().get(lowers[-1])
    if len(lowers) > 1 and last is not None and last.kind in ("country", "continent", "region"):
        return False
    return all(_P["titlecase"].fullmatch(word) or len(word) == 1 for word in spelt)


def frame_of(lower: str, start: int, end: int) -> int:
    """2 where the words around `lower[start:end]` fit only a person, 1 where they fit a person better, else 0."""
    low = max(0, start - _REACH)
    if _P["frame sure"].search(lower, low, start) or _P["frame kin"].search(lower, low, start):
        return 2
    if any(_P[name].search(lower, low, start) for name in ("frame of", "frame label")):
        return 1
    # "... has published its figure": whose is "its" is a firm.
    if _P["frame not"].search(lower, low, start) or " its " in lower[end : end + _ITS]:
        return 0
    return int(bool(_P["frame before"].search(lower, low, start) or _P["frame after"].match(lower, end)))


def noted_names(text: str, capitals: int) -> Iterator[tuple[int, int]]:
    """Where names stand in a note without capitals: a listed given name and a word that is nothing else, in a frame.

    `capitals`: how many capitalised words the text has; where it has as many as prose does, none is looked for.
    """
    if capitals > 1 + len(text) // 160:
        return
    given = lexicon.given_names()
    for match in (*_P["noted"].finditer(text), *_P["noted first"].finditer(text)):
        first, last = match["first"], match["last"]
        parts = first.split("-")
        known = all(given.get(part) == "-" or (part in given and part in _WORDS["mostly names"]) for part in parts)
        # Behind "name:" two words that are nothing else are one.
        spelt = known or (match.group().startswith("name") and not (is_english(first) or is_taken(first)))
        if not spelt or f"{first} {last}" in _WORDS["public"]:
            continue
        surname = last in _WORDS["surnames"]
        if not surname and (is_english(last) or is_taken(last) or last.endswith("ing")
                            or lexicon.canonical_place(last) is not None):
            continue
        if lexicon.canonical_place(f"{first} {last}") is None and not _P["thing after"].match(text, match.end("last")):
            yield match.start("first"), match.end("last")
