"""Published cases: what a court's opinion says of its parties is public already.

A text that cites a reported case ("347 U.S. 483", "Smith v. Jones (9th Cir. 1997)") and speaks of what the court did
there describes its parties by that case. Policies decide whether that counts; by default it does not.
"""

from __future__ import annotations

import re

from discreet.text.doc import Doc
from discreet.text.evidence.mentions import Context
from discreet.text.resources import patterns, words

_P = patterns("cases")
_WORDS = words("referents")
_CAPITALISED = re.compile(r"[A-Z][\w'-]+")


def cases(doc: Doc) -> list[tuple[int, int]]:
    """Spans of case names and reporter citations that the text treats as decided by a court."""
    found = [m.span() for m in _P["versus"].finditer(doc.text)]
    cited = [m.span() for m in _P["reporter"].finditer(doc.text)]
    if (found and cited) or ((found or cited) and _P["court acts"].search(doc.text)):
        return found + cited
    return []


def parties(context: Context) -> frozenset[str]:
    """Persons whom a text calls a party, or names as the caption does, in the sentence of a decided case or the next.

    A party noun further off is one's own matter beside a citation, and so is anybody whom the text calls its client.
    """
    spans = cases(context.doc)
    if not spans:
        return frozenset()
    captions = caption_words(context.text, spans)
    cited = {context.doc.tokens[context.doc.token_at(start)].sentence for start, _ in spans}
    found, own = set(), set()
    for r in context.referents:
        said = set(context.doc.lowers[r.first : r.last])
        near = {context.doc.tokens[r.first].sentence, context.doc.tokens[r.first].sentence - 1} & cited
        if near and ((r.form == "noun" and said & _WORDS["parties"]) or (r.form == "name" and said & captions)):
            found.add(r.person)
        if r.form == "noun" and said & _WORDS["own"]:
            own.add(r.person)
    return frozenset(found - own)


def caption_words(text: str, spans: list[tuple[int, int]]) -> frozenset[str]:
    """Lower-case capitalised words of the captions."""
    return frozenset(w.lower() for start, end in spans for w in _CAPITALISED.findall(text[start:end]))


def named_by_caption(doc: Doc, start: int, end: int) -> bool:
    """Whether a name at [start, end) of the normalised text is a party of a case that is cited with its reporter.

    Refused where somebody's own client is spoken of: "our client Tom Jones" is not the Jones of Smith v. Jones.
    """
    if not _P["reporter"].search(doc.text) or _P["own before"].search(doc.text[max(0, start - 40) : start]):
        return False
    named = {w.lower() for w in _CAPITALISED.findall(doc.text[start:end])}
    return bool(named & caption_words(doc.text, cases(doc)))
