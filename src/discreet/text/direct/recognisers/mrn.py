"""Medical record numbers: every hospital has its own form, so a word must name them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.direct.detect import Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import keyed, keyed_hits

_NAMED = keyed(
    r"mrns?|emrn|medical[ -]record(?:s)?(?= ?(?:no|num|id|#|:|is))|medical record|med(?:ical)? rec|"
    r"(?:patient|hospital|chart|clinic|encounter|admission|health record)[ -]?(?:no|num|number|id|identifier|#)|"
    r"chart(?= ?#)|record (?:no|number|#)",
    r"[A-Za-z]{0,4}-?\d{1,12}(?:-\d{1,8}){0,4}",
)
_HOLDERS = ("patient", "hospital", "chart", "clinic", "encounter", "admission")
_STEMS = (
    "mrn", "record", "med rec", *(f"{holder}{gap}" for holder in _HOLDERS for gap in (" n", " id", " #", "-", "#"))
)  # fmt: skip


@recognisers.register("mrn")
@recogniser("mrn", digits=4, stems=_STEMS)
def mrn(facts: Facts) -> Iterator[Hit]:
    """A named value with four digits or more."""
    return keyed_hits(facts, "mrn", _NAMED, least_digits=4)
