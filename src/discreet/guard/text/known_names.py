"""Public names: those that nearly every reader knows, of public and historic persons and of characters, and the parties
of decided cases that a text cites ("347 U.S. 483", "Smith v. Jones (9th Cir. 1997)").

Others have the same known name, and such persons have private facts too: a known name clears nobody. Whoever asks about
one need only not ask about somebody private (`identifiers.whose`). The list, `data/known_names.tsv`, was written for
this project from general knowledge, by writers who saw neither the guard nor its texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from discreet.guard.text.doc import TOKEN, Doc
from discreet.guard.text.resources import patterns, rows

_TITLED = re.compile(r"\s*(?:dr|mr|mrs|ms|miss|mx|prof|professor|sir|dame|lord|lady)\b", re.IGNORECASE)
_LONGEST = 6
"""Words of a name that are looked up."""
_CASES = patterns("cases")
_TITLES = frozenset("mr mrs ms miss mx dr judge justice".split())
_CAPITALISED = re.compile(r"[A-Z][\w'-]+")
Name = tuple[str, ...]


def words_of(name: str) -> Name:
    """The words of a name as they are compared: lower-case, without accents, marks, titles and a possessive ending."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)).casefold()
    found = [word for word in TOKEN.findall(plain.replace("’", "'")) if word[0].isalnum()]
    return tuple(found[1:] if len(found) > 1 and _TITLED.fullmatch(found[0]) else found)


def is_known(name: str, docs: Iterable[Doc]) -> bool:
    """Whether nearly every reader knows a bearer of a name, or it is a part of a known name in one of some texts
    ("Disney"). "Mr Newton" alone is anybody."""
    words = words_of(name)
    if words in _known() and (len(words) > 1 or _TITLED.match(name) is None):
        return True
    return bool(words) and any(set(words) <= set(full) for doc in docs for full in known_in(doc) if len(full) > 1)


def known_in(doc: Doc) -> frozenset[Name]:
    """The known names in a text, by words. Time grows with the text only."""
    return doc.once("known names", lambda: _known_in(words_of(doc.text)))


def _known_in(words: Name) -> frozenset[Name]:
    runs = (words[at : at + size] for at in range(len(words)) for size in range(1, _LONGEST + 1))
    return frozenset(run for run in runs if run in _known())


@cache
def _known() -> frozenset[Name]:
    return frozenset(words_of(name) for [name] in rows("known_names", 1))


def cases(doc: Doc) -> list[tuple[int, int]]:
    """Spans of case names and reporter citations that the text treats as decided by a court."""
    return doc.once("cases", lambda: _cases(doc))


def _cases(doc: Doc) -> list[tuple[int, int]]:
    found = [m.span() for m in _CASES["versus"].finditer(doc.text)]
    cited = [m.span() for m in _CASES["reporter"].finditer(doc.text)]
    if (found and cited) or ((found or cited) and _CASES["court acts"].search(doc.text)):
        return found + cited
    return []


def _caption_words(doc: Doc) -> frozenset[str]:
    """Lower-case capitalised words of the captions."""
    return doc.once("caption words", lambda: frozenset(
        w.lower() for start, end in cases(doc) for w in _CAPITALISED.findall(doc.text[start:end])))


def named_by_caption(doc: Doc, start: int, end: int) -> bool:
    """Whether a name at [start, end) of the normalised text is a party of a case that is cited with its reporter.

    All words of it stand in a caption ("Karen Miller" is not the Miller of Miller v. California). Refused where
    somebody's own client is spoken of: "our client Tom Jones" is not the Jones of Smith v. Jones.
    """
    reported = doc.once("reporter", lambda: _CASES["reporter"].search(doc.text) is not None)
    if not reported or _CASES["own before"].search(doc.text[max(0, start - 40) : start]):
        return False
    named = {w.lower() for w in _CAPITALISED.findall(doc.text[start:end])} - _TITLES
    return bool(named) and named <= _caption_words(doc)
