"""Decided cases that a text cites ("347 U.S. 483", "Smith v. Jones (9th Cir. 1997)"): names of parties are public."""

from __future__ import annotations

import re

from discreet.guard.text.doc import Doc
from discreet.guard.text.resources import patterns

_CASES = patterns("cases")
_TITLES = frozenset("mr mrs ms miss mx dr judge justice".split())
_CAPITALISED = re.compile(r"[A-Z][\w'-]+")


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
