"""Court docket numbers: federal ("1:21-cv-01234"), usual state forms, and whatever "Case No." names.

A reporter citation ("347 U.S. 483 (1954)") names a published case and is none; nor is an agency's rule-making docket,
or the docket number that a database citation carries ("No. 1:19-cv-00123, 2020 WL 123456").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import BOUND, SHAPED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import keyed

_FEDERAL = re.compile(
    r"\d(?<![\w.-]\d)(?:\d?:\d)?(?:\d{2})?\d(?:[- ]c[vr][- ]|-(?:mc|mj|md|bk|ap|po|sw|gj|misc|civ|crim|adv)-)\d{3,6}"
    r"(?:-[A-Z0-9]{1,5}){0,4}\b",
    re.I,
)
_STATE_HINT = re.compile(r"\d(?:[- ]?[A-Z]{2}|(?<=[A-Z][- ]\d))")
_STATE = re.compile(
    r"\b(?<![.-])(?:"
    r"(?:[A-Z]-?\d{1,3}-)?(?:CV|CR|DR|FA|CF|CJ|JV|FC|GS|DM|PB|CVS|CRS|FD|DV)-(?:19|20)?\d{2}-\d{3,8}"
    r"(?:-[A-Z0-9]{1,4})?|"
    r"(?:\d{1,3}-)?(?:19|20)\d{2}-(?:CV|CR|DR|FA|CF|CJ|CA|CP|JV|FC|DM|PB|PR|FD|DV|SC|MC)-?\d{3,8}"
    r"(?:-[A-Z0-9]{1,4})?|"
    r"\d{2}[A-Z]{2}(?:CV|CR|FL|PB|UD|SC|ST)\d{5,6}"
    r")\b"
)
_NAMED = keyed(
    r"(?:(?:case|docket|cause|index|dkt|file|matter|petition|indictment|complaint)\.?(?: file)?|"
    r"(?:civil|criminal|adversary)(?: (?:action|case|docket|proceeding|matter))|civ\.?(?: a\.?)?)"
    r" ?(?:nos?\b\.?|numbers?|num\b\.?|#)|docket(?= ?[#:])|dkt\.",
    r"\d{2,4} [A-Z]{1,4} \d{2,8}|[A-Z0-9]{1,14}(?:[:/-][A-Za-z0-9]{1,8}){0,6}",
    link=r"[ \t:#=(\[,*_\"-]{0,4}(?:(?i:is|was|in|of)\b[ :]{1,2})?",
)
_STEMS = ("no.", "number", "#", " no ", "nos", "num", "docket", "dkt")
_AGENCY = re.compile(
    r"(?:FDA|CMS|EPA|USCIS|DEA|IRS|SEC|FTC|FCC|HHS|OSHA|NHTSA|DOL|DOJ|DOT|FAA|USDA|OCC|CFPB|FERC|NRC|ED)\b"
)
_DATABASE = re.compile(r",? ?(?:\([^()]{0,30}\),? ?)?\d{4} (?:WL|U\.S\. (?:Dist|App)\. LEXIS|LEXIS)\b")


@recognisers.register("docket")
@recogniser("docket", digits=4)
def docket(facts: Facts) -> Iterator[Hit]:
    """Numbers in a court's form, and named ones with four digits or more."""
    for pattern in (_FEDERAL, _STATE) if _STATE_HINT.search(facts.text) else (_FEDERAL,):
        for match in pattern.finditer(facts.text):
            if not _DATABASE.match(facts.text, match.end()):
                yield Hit("docket", *match.span(), SHAPED)
    for match in _NAMED.finditer(facts.text) if any(stem in facts.lower for stem in _STEMS) else ():
        start, end = match.span("value")
        value = match["value"]
        if sum(map(str.isdigit, value)) >= 4 and not _AGENCY.match(value) and not _DATABASE.match(facts.text, end):
            yield Hit("docket", start, end, BOUND, start - match.start())
