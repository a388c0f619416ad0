"""Licences to practise (attorney, medicine, nursing, accounting, property), where a word names them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.direct.detect import Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import keyed, keyed_hits

_TRADE = (
    r"(?:attorney|law|legal|medical|physician|nurs(?:e|ing)|rn|lpn|np|pharmac(?:y|ist)|dental|dentist|chiropract\w{1,6}|"
    r"psycholog\w{1,6}|therap\w{1,6}|social work\w{0,3}|cpa|accountant|real estate|broker|insurance|contractor|"
    r"veterinar\w{1,4}|professional|state|practice)"
)
_NAMED = keyed(
    rf"{_TRADE}(?:'s)? (?:board )?licen[cs]e|licen[cs](?:e|ure) ?(?:no\b\.?|num\b\.?|number|id\b|#)",
    r"[A-Za-z]{0,4}\.?-?\d{1,10}(?:[.-]\d{1,8}){0,3}[A-Z]?",
)
_DRIVER = ("driv", "license plate", "licence plate")


@recognisers.register("professional_license")
@recogniser("professional_license", digits=4, stems=("licens", "licenc"))
def professional_license(facts: Facts) -> Iterator[Hit]:
    """A named value with four digits or more, unless a driver or a number plate is spoken of."""
    for hit in keyed_hits(facts, "professional_license", _NAMED, least_digits=4):
        cue = hit.start - hit.distance
        if not any(word in facts.lower[max(0, cue - 12) : hit.start] for word in _DRIVER):
            yield hit
