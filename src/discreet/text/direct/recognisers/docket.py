"""Court docket numbers: federal ("1:21-cv-01234"), usual state forms, and whatever "Case No." names.

A reporter citation ("347 U.S. 483 (1954)") names a published case and is none; nor is an agency's rule-making docket,
or the docket number that a database citation carries ("No. 1:19-cv-00123, 2020 WL 123456").
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.direct.cues import PATTERNS, named_hits
from discreet.text.direct.detect import SHAPED, Facts, Hit, recogniser, recognisers

_STEMS = ("no.", "number", "#", " no ", "nos", "num", "docket", "dkt")


@recognisers.register("docket")
@recogniser("docket", digits=4)
def docket(facts: Facts) -> Iterator[Hit]:
    """Numbers in a court's form, and named ones with four digits or more."""
    state = ("docket state",) if PATTERNS["docket state hint"].search(facts.text) else ()
    for name in ("docket federal", *state):
        for match in PATTERNS[name].finditer(facts.text):
            if not PATTERNS["docket database"].match(facts.text, match.end()):
                yield Hit("docket", *match.span(), SHAPED)
    if any(stem in facts.lower for stem in _STEMS):
        for hit in named_hits(facts, "docket", PATTERNS["docket"], least_digits=4):
            cited = PATTERNS["docket database"].match(facts.text, hit.end)
            if not cited and not PATTERNS["docket agency"].match(facts.text[hit.start : hit.end]):
                yield hit
