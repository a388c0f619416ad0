"""Driver's license numbers: every state has its own form, so a word must name them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.direct.detect import Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import keyed, keyed_hits

_NAMED = keyed(
    r"driv(?:er(?:'?s|s')?|ing)['\s-]{0,2}(?:licen[cs]e|lic\b\.?|permit)|driver id|"
    r"(?-i:DL)(?= [A-Z]{1,2}\d{4})|dl(?= ?(?:#|no|num|:))|dln|d\.l\.",
    r"(?:[A-Z]{2} )?[A-Za-z]{0,3}-?\d{1,16}(?:[ -]\d{1,6}){0,5}[A-Z]?",
)


@recognisers.register("driver_license")
@recogniser("driver_license", digits=5, stems=("driver", "driving", "dl#", "dl ", "dl:", "dln", "d.l."))
def driver_license(facts: Facts) -> Iterator[Hit]:
    """A named value with five digits or more."""
    return keyed_hits(facts, "driver_license", _NAMED, least_digits=5)
