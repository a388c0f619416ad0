"""Passport numbers: up to two letters and six to nine digits (ICAO Doc 9303), where a word names them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.direct.detect import Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import keyed, keyed_hits

_NAMED = keyed(r"passports?(?: (?:book|card))?|travel document", r"[A-Za-z]{0,2}\d{6,9}")


@recognisers.register("passport")
@recogniser("passport", digits=6, stems=("passport", "travel document"))
def passport(facts: Facts) -> Iterator[Hit]:
    """A named value with six digits or more."""
    return keyed_hits(facts, "passport", _NAMED, least_digits=6)
