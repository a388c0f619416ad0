"""Published cases: what a court's opinion says of its parties is public already.

A text that cites a reported case ("347 U.S. 483", "Smith v. Jones (9th Cir. 1997)") and speaks of what the court did
there describes its parties by that case. Policies decide whether that counts; by default it does not.
"""

from __future__ import annotations

import re

from discreet.text.doc import Doc
from discreet.text.mentions import Context, Mention

_PARTY = r"(?:[A-Z][\w.'&-]*|ex rel\.|of|the|and|&|de|ex parte)"
VERSUS = re.compile(rf"\b[A-Z][\w.'&-]*(?: {_PARTY}){{0,6}} v(?:s)?\.? [A-Z][\w.'&-]*(?: {_PARTY}){{0,6}}")
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
PARTY_NOUN = re.compile(
    r"\b(?:plaintiff|defendant|petitioner|respondent|appellant|appellee|claimant|prisoner|inmate|party|employee|"
    r"accused|officer)s?\b",
    re.I,
)


def cases(doc: Doc) -> list[tuple[int, int]]:
    """Spans of case names and reporter citations that the text treats as decided by a court."""
    found = [m.span() for m in VERSUS.finditer(doc.text)] if " v" in doc.text else []
    cited = [m.span() for m in REPORTER.finditer(doc.text)]
    if (found and cited) or ((found or cited) and COURT_ACTS.search(doc.text)):
        return found + cited
    return []


def is_party(context: Context, mention: Mention, spans: list[tuple[int, int]]) -> bool:
    """Whether a third person in the paragraph of a cited case is one of its parties."""
    text = context.text
    begin = text.rfind("\n\n", 0, mention.start) + 1
    stop = text.find("\n\n", mention.end)
    stop = len(text) if stop < 0 else stop
    return any(begin <= start < stop for start, _ in spans)
