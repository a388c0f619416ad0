"""Published cases: what a court's opinion says of its parties is public already.

A text that cites a reported case ("347 U.S. 483", "Smith v. Jones (9th Cir. 1997)") and speaks of what the court did
there describes its parties by that case. Policies decide whether that counts; by default it does not.
"""

from __future__ import annotations

import re

from discreet.text.doc import Doc
from discreet.text.evidence.mentions import Context

_PARTY = r"(?:[A-Z][\w.'&-]*|ex rel\.|of|the|and|&|de|ex parte)"
VERSUS = re.compile(
    rf"\b[A-Z][\w.'&-]*(?: {_PARTY}){{0,6}} v(?:s)?\.? [A-Z][\w.'&-]*(?: {_PARTY}){{0,6}}|"
    rf"\b(?:In re|Ex parte|Matter of|Estate of)(?: {_PARTY}){{1,6}}"
)
REPORTER = re.compile(
    r"\b\d{1,4} (?:U\. ?S\.|S\. ?Ct\.|L\. ?Ed\.(?: ?2d)?|F\.(?: ?(?:2d|3d|4th)| ?Supp\.(?: ?[23]d)?)?|F\. ?App['’]?x|B\. ?R\.|"
    r"(?:A|P|N\. ?E|N\. ?W|S\. ?E|S\. ?W|So|Cal|N\. ?Y|Ill|Mass|Ohio St|Wash|Tex)\.(?: ?(?:Rptr|App|S)\.)?(?: ?(?:2d|3d|4th|5th))?) \d{1,5}\b"
)
COURT_ACTS = re.compile(
    r"\b(?:court|justices?|judge|panel|circuit|opinion|plurality|dissent|tribunal)\b[^.]{0,80}?"
    r"\b(?:held|holding|ruled|affirmed|reversed|decided|found|concluded|remanded|granted|denied|vacated|rejected|"
    r"explained|reasoned|upheld|determined)\b",
    re.I,
)
PARTY = frozenset("plaintiff defendant petitioner respondent appellant appellee claimant prisoner inmate relator "
                  "complainant movant intervenor cross-appellant".split())

# Words that make somebody the writer's own matter and not the case's.
OWN = frozenset("client clients my our tenant patient".split())
OWN_BEFORE = re.compile(r"\b(?:my|our|client|patient|tenant)\b[^.;]*$", re.I)


def cases(doc: Doc) -> list[tuple[int, int]]:
    """Spans of case names and reporter citations that the text treats as decided by a court."""
    found = [m.span() for m in VERSUS.finditer(doc.text)]
    cited = [m.span() for m in REPORTER.finditer(doc.text)]
    if (found and cited) or ((found or cited) and COURT_ACTS.search(doc.text)):
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
        words = set(context.doc.lowers[r.first : r.last])
        near = {context.doc.tokens[r.first].sentence, context.doc.tokens[r.first].sentence - 1} & cited
        if near and ((r.form == "noun" and words & PARTY) or (r.form == "name" and words & captions)):
            found.add(r.person)
        if r.form == "noun" and words & OWN:
            own.add(r.person)
    return frozenset(found - own)


def caption_words(text: str, spans: list[tuple[int, int]]) -> frozenset[str]:
    """Lower-case capitalised words of the captions."""
    return frozenset(w.lower() for start, end in spans for w in re.findall(r"[A-Z][\w'-]+", text[start:end]))


def named_by_caption(doc: Doc, start: int, end: int) -> bool:
    """Whether a name at [start, end) of the normalised text is a party of a case that is cited with its reporter.

    Refused where somebody's own client is spoken of: "our client Tom Jones" is not the Jones of Smith v. Jones.
    """
    if not REPORTER.search(doc.text) or OWN_BEFORE.search(doc.text[max(0, start - 40) : start]):
        return False
    words = {w.lower() for w in re.findall(r"[A-Z][\w'-]+", doc.text[start:end])}
    return bool(words & caption_words(doc.text, cases(doc)))
