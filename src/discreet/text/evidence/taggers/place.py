"""Places that a person comes from, lives, works or was born in; a town that is only mentioned is nobody's.

`place_construction.py` reads those that no list holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.gazetteers import matcher
from discreet.text.evidence.mentions import Context, Mention, taggers
from discreet.text.resources import patterns, words

_P = patterns("places")
_WORDS = words("constructions")
_SCHEMES = {name[-2:].upper(): name for name in _P.texts if name.startswith("scheme of ")}
# Beginnings of the words that tie a place for sure, where they stand near it.
_STRONG = (
    "live livi resi born rais grew nati from base move relo immi emig i'm im i work home domi here loca rura stat"
).split()
_ORDINARY_CAPITALS = frozenset(["IN", "OR", "ME", "OK", "HI"])
_MAY_PRECEDE = frozenset(["i", "location", "north", "south"])


@taggers.register("place")
class PlaceTagger:
    """Listed places with a tie to a person, and described ones."""

    kinds = ("place",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Gazetteer places with a tie in their clause; vague but narrowing places; postal codes."""
        text = context.text
        skip_until = 0
        for first, last, key in matcher("places").find(context.doc.lowers):
            if first < skip_until or not self._is_name(context, first, last, key):
                continue
            skip_until, joint = with_region(context, key, last, (2, 1))
            tie = self._tie(context, first, skip_until)
            if tie is not None:
                value = joint or gazetteers.places()[key].path
                yield context.mention("place", value, first, skip_until, tie[0], weak=tie[1])
        for m in _P["vague"].finditer(text):
            yield Mention("place", m.group(1).lower(), m.start(1), m.end(1), "a described place", weak=True)
        for country, name in _SCHEMES.items() if context.is_personal else ():
            for m in _P[name].finditer(text):
                yield Mention("place", country, m.start(), m.end(), "scheme of a country", "speaker", weak=True)
        for m in _P["only in"].finditer(text):
            value = f"the only one in {m.group(1).lower()}"
            yield Mention("place", value, m.start(1), m.end(1), "the only one in a place", weak=True)
        for m in _P["moved here"].finditer(text):
            yield Mention("place", "moved here", m.start(), m.end(), "a move to a place", weak=True)
        for m in _P["zip"].finditer(text):
            yield Mention("place", m.group(1), m.start(1), m.end(1), "postal code")

    @staticmethod
    def _is_name(context: Context, first: int, last: int, key: str) -> bool:
        """Whether a listed word is written as the place, and not inside another name."""
        doc = context.doc
        token, entry = doc.tokens[first], gazetteers.places()[key]
        before = doc.lowers[first - 1] if first else ""
        if entry.flag == "a":
            if not token.text.isupper():
                return False
            end = doc.tokens[last - 1].end
            prefixed = before in ("in", "from") and context.text[token.start : end] not in _ORDINARY_CAPITALS
            bracketed = before in ("[", "(") and context.text[end : end + 1] in ("]", ")")
            return prefixed or bracketed or (context.is_personal and token.lower in _WORDS["sure states"])
        if not token.text[0].isupper():
            return False
        begin, end = doc.sentence_of(first)
        if last < end and doc.tokens[last].text[0].isupper():
            following = doc.tokens[last]
            if _P["title place"].match(following.text) or following.lower in gazetteers.organisation_heads():
                return False
        inside = first > begin and doc.tokens[first - 1].text[0].isupper() and before.isalpha()
        if inside and before not in lex.FUNCTION and before not in _MAY_PRECEDE:
            return False
        return entry.flag != "w" or before in _WORDS["before a place"]

    def _tie(self, context: Context, first: int, last: int) -> tuple[str, bool] | None:
        """Why the place is somebody's: (reason, weak), or None."""
        doc = context.doc
        begin, end = doc.sentence_of(first)
        start = doc.tokens[first].start
        before = context.lower[max(doc.tokens[begin].start, start - 96) : start]
        following = doc.lowers[last] if last < end else "."
        if following == "-" and last + 1 < end and doc.lowers[last + 1] in ("based", "born", "area"):
            return "based in a place", False
        located = first - 2 >= begin and doc.lowers[first - 1] in ("in", "from", "near", "outside")
        if (
            following in lex.PERSON_NOUNS
            or following in gazetteers.occupations()
            or (located and self._is_person(doc.lowers[max(begin, first - 4) : first - 1]))
        ):
            return "a person of a place", False
        found = _P["ties"].search(before)
        if found:
            word = found.group().split()[0]
            return "tied to a person", not (word[:4] in _STRONG and len(found.group()) < 30)
        if not context.is_personal:
            return None
        if _P["live first"].search(context.text[max(0, start - 14) : start]):
            return "stated location", True
        entry = gazetteers.places().get(doc.words(first, last))
        abbreviated = entry is not None and entry.flag == "a"
        if abbreviated or following in _WORDS["law after a place"] or doc.lowers[first - 1 : first] == ("in",):
            return "where a speaker's matter is", True
        return None

    @staticmethod
    def _is_person(words: tuple[str, ...]) -> bool:
        """Whether words end in somebody: "tenants", "bank teller"."""
        last = gazetteers.singular(words[-1])
        if last in lex.PERSON_NOUNS or last in lex.KIN:
            return True
        jobs = (gazetteers.occupations().get(" ".join((*words[-n:-1], last))) for n in (1, 2, 3))
        return any(job is not None and job.flag != "w" for job in jobs)


def with_region(context: Context, name: str, last: int, widths: tuple[int, ...]) -> tuple[int, str | None]:
    """The end of a place that ends at `last` with the region after its comma, and their joint path: "Springfield, IL".

    `widths` are the numbers of tokens that a region may have, in the order to try them.
    """
    doc = context.doc
    if doc.lowers[last : last + 1] == (",",):
        for end in (last + 1 + width for width in widths):
            region = doc.words(last + 1, end)
            listed = end <= len(doc.tokens) and region in gazetteers.places()
            if listed and doc.tokens[last + 1].text[0].isupper():
                return end, gazetteers.canonical_place(f"{name}, {region}")
    return last, None
