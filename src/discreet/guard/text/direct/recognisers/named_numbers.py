"""Numbers without a form of their own, or with one in each state, court or house, which a word must name.

Medical records, health plans, insurance policies, passports (up to two letters and six to nine digits, ICAO Doc 9303),
driver's licenses, members of a bar ("SBN 123456"), bank accounts, licences to practise, court dockets
("1:21-cv-01234", "Case No."). Medicare's beneficiary identifier has a form (CMS, "MBI format").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from discreet.guard.text.direct.detect import BOUND, PATTERNS, SHAPED, Facts, Hit, digits_of, recogniser, recognisers

_HOLDERS = ("patient", "hospital", "hosp", "hosp.", "unit", "chart", "clinic", "encounter", "admission")
_RECORD_STEMS = ("mrn", "crn", "record", "med rec",
                 *(f"{h}{gap}" for h in _HOLDERS for gap in (" n", " id", " #", "-", "#")))
_PLAN_STEMS = ("member", "subscriber", "beneficiary", "insur", "enrollee", "policy", "plan", "medica", "medi-cal",
               "hicn", "mbi", "group", "certificate")
_DOCKET_STEMS = ("no.", "number", "#", " no ", "nos", "num", "docket", "dkt")
_CLOSE, _NEXT, _AROUND = 12, 5, 80
_NO_TRADE = ("driv", "license plate", "licence plate")


def _register(kind: str, least_digits: int, stems: tuple[str, ...]) -> None:
    """Register a recogniser of values right behind their name, with `least_digits` digits or more."""
    recognisers.register(kind)(recogniser(kind, digits=least_digits, stems=stems)(
        lambda facts: facts.named_hits(kind, PATTERNS[kind.replace("_", " ")], least_digits=least_digits)))


_register("mrn", 4, _RECORD_STEMS)
_register("passport", 6, ("passport", "travel document"))
_register("driver_license", 5, ("driver", "driving", "dl#", "dl ", "dl:", "dln", "d.l."))
_register("bar_number", 4, ("bar", "sbn", "attorney", "juris"))


@recognisers.register("bank_account")
@recogniser("bank_account", digits=6, stems=("account", "acct", "a/c", "checking", "saving", "bank"))
def bank_account(facts: Facts) -> Iterator[Hit]:
    """6 to 17 digits right behind the cue, 8 to 17 within its reach; no dates, amounts or counts."""
    for match in PATTERNS["account form"].finditer(facts.text):
        digits = digits_of(match.group())
        if not 6 <= digits <= 17 or facts.is_money(*match.span()):
            continue
        near = facts.distance(*match.span(), PATTERNS["account cue" if digits >= 8 else "account sure cue"])
        if near is None or (digits < 8 and near > _CLOSE):
            continue
        if near <= _NEXT or not PATTERNS["account date"].fullmatch(match.group()):
            yield Hit("bank_account", *match.span(), BOUND, near)


@recognisers.register("health_plan")
@recogniser("health_plan", "insurance_policy", digits=5)
def health_plan(facts: Facts) -> Iterator[Hit]:
    """An MBI, or a named beneficiary number with five digits or more.

    A "policy number" is that of a health plan where a word of health stands near it, else of some insurance; that of a
    house's own rules ("hospital policy number 10234") is none.
    """
    for match in PATTERNS["mbi form"].finditer(facts.text):
        if not facts.is_other(match.start()):
            yield Hit("health_plan", *match.span(), SHAPED)
    if any(stem in facts.lower for stem in _PLAN_STEMS):
        for hit in facts.named_hits("health_plan", PATTERNS["health plan"], least_digits=5):
            cue, low = hit.start - hit.distance, max(0, hit.start - hit.distance - _AROUND)
            if not PATTERNS["policy"].match(facts.lower, cue):
                yield hit
            elif not PATTERNS["house rule"].search(facts.lower, low, cue + len("policy")):
                of_health = PATTERNS["of health"].search(facts.lower, low, hit.end + _AROUND)
                yield hit if of_health else replace(hit, type="insurance_policy")


@recognisers.register("professional_license")
@recogniser("professional_license", digits=4, stems=("licens", "licenc"))
def professional_license(facts: Facts) -> Iterator[Hit]:
    """Licence numbers with four digits or more, unless a driver or a number plate is spoken of."""
    for hit in facts.named_hits("professional_license", PATTERNS["professional license"], least_digits=4):
        cue = hit.start - hit.distance
        if not any(word in facts.lower[max(0, cue - 12) : hit.start] for word in _NO_TRADE):
            yield hit


@recognisers.register("docket")
@recogniser("docket", digits=4)
def docket(facts: Facts) -> Iterator[Hit]:
    """Numbers in a court's form, and named ones with four digits or more.

    A reporter citation ("347 U.S. 483 (1954)") names a published case and is none; nor is an agency's rule-making
    docket, or the number that a database citation carries ("No. 1:19-cv-00123, 2020 WL 123456").
    """
    state = ("docket state",) if PATTERNS["docket state hint"].search(facts.text) else ()
    hits = [Hit("docket", *match.span(), SHAPED)
            for name in ("docket federal", *state) for match in PATTERNS[name].finditer(facts.text)]
    if any(stem in facts.lower for stem in _DOCKET_STEMS):
        named = facts.named_hits("docket", PATTERNS["docket"], least_digits=4)
        hits += [hit for hit in named if not PATTERNS["docket agency"].match(facts.text[hit.start : hit.end])]
    return (hit for hit in hits if not PATTERNS["docket database"].match(facts.text, hit.end))
