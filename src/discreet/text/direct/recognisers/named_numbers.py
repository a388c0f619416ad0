"""Numbers without a form of their own, or with one in each state or house, which a word must name.

Medical records, health plans, passports (up to two letters and six to nine digits, ICAO Doc 9303), driver's licenses,
members of a bar, licences to practise. Medicare's beneficiary identifier has a form (CMS, "MBI format").
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.direct.cues import PATTERNS, is_other, named_hits
from discreet.text.direct.detect import SHAPED, Facts, Hit, recogniser, recognisers

_HOLDERS = ("patient", "hospital", "chart", "clinic", "encounter", "admission")
_RECORD_STEMS = ("mrn", "record", "med rec", *(f"{h}{gap}" for h in _HOLDERS for gap in (" n", " id", " #", "-", "#")))
_PLAN_STEMS = (
    "member", "subscriber", "beneficiary", "insur", "enrollee", "policy", "plan", "medica", "medi-cal", "hicn", "mbi",
    "group", "certificate",
)  # fmt: skip
_PLAN_LABELS = (" id", "-id", "number", " no.", " no ", " num", "#", "identif", "hicn", "mbi")
_NO_TRADE = ("driv", "license plate", "licence plate")


@recognisers.register("mrn")
@recogniser("mrn", digits=4, stems=_RECORD_STEMS)
def mrn(facts: Facts) -> Iterator[Hit]:
    """Medical record numbers with four digits or more."""
    return named_hits(facts, "mrn", PATTERNS["mrn"], least_digits=4)


@recognisers.register("health_plan")
@recogniser("health_plan", digits=5)
def health_plan(facts: Facts) -> Iterator[Hit]:
    """An MBI, or a named beneficiary number with five digits or more."""
    for match in PATTERNS["mbi form"].finditer(facts.text):
        if not is_other(facts, match.start()):
            yield Hit("health_plan", *match.span(), SHAPED)
    if any(stem in facts.lower for stem in _PLAN_STEMS) and any(label in facts.lower for label in _PLAN_LABELS):
        yield from named_hits(facts, "health_plan", PATTERNS["health plan"], least_digits=5)


@recognisers.register("passport")
@recogniser("passport", digits=6, stems=("passport", "travel document"))
def passport(facts: Facts) -> Iterator[Hit]:
    """Passport numbers with six digits or more."""
    return named_hits(facts, "passport", PATTERNS["passport"], least_digits=6)


@recognisers.register("driver_license")
@recogniser("driver_license", digits=5, stems=("driver", "driving", "dl#", "dl ", "dl:", "dln", "d.l."))
def driver_license(facts: Facts) -> Iterator[Hit]:
    """Driver's license numbers with five digits or more."""
    return named_hits(facts, "driver_license", PATTERNS["driver license"], least_digits=5)


@recognisers.register("bar_number")
@recogniser("bar_number", digits=4, stems=("bar", "sbn", "attorney", "juris"))
def bar_number(facts: Facts) -> Iterator[Hit]:
    """Numbers of members of a bar with four digits or more ("State Bar No. 123456", "SBN 123456")."""
    return named_hits(facts, "bar_number", PATTERNS["bar number"], least_digits=4)


@recognisers.register("professional_license")
@recogniser("professional_license", digits=4, stems=("licens", "licenc"))
def professional_license(facts: Facts) -> Iterator[Hit]:
    """Licence numbers with four digits or more, unless a driver or a number plate is spoken of."""
    for hit in named_hits(facts, "professional_license", PATTERNS["professional license"], least_digits=4):
        cue = hit.start - hit.distance
        if not any(word in facts.lower[max(0, cue - 12) : hit.start] for word in _NO_TRADE):
            yield hit
