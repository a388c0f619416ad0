"""Numbers of members of a bar, where a word names them ("State Bar No. 123456", "SBN 123456")."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.direct.detect import Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import keyed, keyed_hits

_NAMED = keyed(
    r"(?:state )?bar(?: of [A-Za-z]{3,12}(?: [A-Z][a-z]{3,10})?)?"
    r"(?: (?:member(?:ship)?|roll|card|registration|license))?"
    r" ?(?:no\b\.?|num\b\.?|number|id\b|#)|sbn|(?:state )?bar(?= ?[#:])|"
    r"attorney (?:registration|id|identification|roll|juris)(?: (?:no\b\.?|number|#))?|juris no\.?",
    r"[A-Za-z]{0,3}-?\d{4,9}",
)


@recognisers.register("bar_number")
@recogniser("bar_number", digits=4, stems=("bar", "sbn", "attorney", "juris"))
def bar_number(facts: Facts) -> Iterator[Hit]:
    """A named value with four digits or more."""
    return keyed_hits(facts, "bar_number", _NAMED, least_digits=4)
