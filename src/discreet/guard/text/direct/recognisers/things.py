"""Numbers of somebody's things, and identity numbers of other countries than the United States.

Vehicles: identification numbers (ISO 3779; the check digit of 49 CFR 565 suffices, else a word must name them) and
plates behind or before a word for them. Devices: hardware addresses (MAC), IMEI (3GPP TS 23.003, Luhn), and serial
numbers behind their name. Identity numbers: form, check digits (python-stdnum) and, where these are too weak, a word
(`data/identity_numbers.tsv`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from stdnum import luhn

from discreet.guard.text.direct.detect import BOUND, CHECKED, PATTERNS, Facts, Hit, digits_of, recogniser, recognisers
from discreet.guard.text.resources import rows

_LETTER_VALUES = [*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)]
_VIN_VALUES = dict(zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", [*range(10), *_LETTER_VALUES], strict=True))
_DEVICE_STEMS = ("serial", "s/n", "device", "implant", "equipment", "hardware", "product", "machine", "udi", "idfa",
                 "imsi", "iccid", "meid", "imei", "android", "advertising", "pacemaker")
_TAX_FILE = re.compile("tfn|tax file")
_LONG_RUN = re.compile(r"[A-Z\d](?:[ .+-]?[A-Z\d]){8,}+")
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def is_vin(number: str) -> bool:
    """Whether the ninth of 17 characters is the check digit of the rest (49 CFR 565.15)."""
    remainder = sum(w * _VIN_VALUES[c] for w, c in zip(_VIN_WEIGHTS, number.upper(), strict=True)) % 11
    return "0123456789X"[remainder] == number[8].upper()


@recognisers.register("vehicle")
@recogniser("vehicle", digits=1)
def vehicle(facts: Facts) -> Iterator[Hit]:
    """Identification numbers that are valid or named, and named plates."""
    for match in PATTERNS["vin"].finditer(facts.text) if facts.digits >= 5 else ():
        mixed = any(c.isalpha() for c in match.group())
        near = facts.distance(*match.span(), PATTERNS["vin cue"])
        if near is not None or (mixed and match.group().isupper() and is_vin(match.group())
                                and not facts.is_other(match.start())):
            yield Hit("vehicle", *match.span(), CHECKED if is_vin(match.group()) else BOUND, near or 0)
    if PATTERNS["plate cue"].search(facts.lower):
        for match in PATTERNS["plate"].finditer(facts.text):
            size = sum(map(str.isalnum, match.group()))
            if 4 <= size <= 10 and 0 < digits_of(match.group()) < size:
                near = facts.distance(*match.span(), PATTERNS["plate cue"], reach=32)
                if near is not None:
                    yield Hit("vehicle", *match.span(), BOUND, near)


@recognisers.register("device")
@recogniser("device", digits=1, priority=1)
def device(facts: Facts) -> Iterator[Hit]:
    """Hardware addresses, IMEI with a word or in their groups, and named serial numbers."""
    if facts.text.count(":") >= 5 or facts.text.count("-") >= 5 or facts.text.count(".") >= 2:
        for match in PATTERNS["mac"].finditer(facts.text):
            lettered = any(c.isalpha() for c in match.group()) and digits_of(match.group())
            if lettered or facts.distance(*match.span(), PATTERNS["mac cue"]) is not None:
                yield Hit("device", *match.span(), CHECKED)
    if facts.digits >= 15:
        for match in PATTERNS["imei"].finditer(facts.text):
            near = facts.distance(*match.span(), PATTERNS["imei cue"])
            if luhn.is_valid(re.sub(r"\D", "", match.group())) and near is not None:
                yield Hit("device", *match.span(), CHECKED)
    if facts.digits >= 3 and any(stem in facts.lower for stem in _DEVICE_STEMS):
        yield from facts.named_hits("device", PATTERNS["device"], least_digits=3)


@cache
def _identities() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str], bool], ...]:
    return tuple((module, re.compile(rf"(?<![\w.$-])(?:{form})(?!\w|[-.,]\d)"), re.compile(cue), alone == "+")
                 for module, form, cue, alone in rows("identity_numbers", 4))


def _is_identity(module: str, number: str) -> bool:
    # Imported here: only the countries whose form was seen.
    return module == "-" or bool(import_module(f"stdnum.{module}").is_valid(number))


@recognisers.register("national_id")
@recogniser("national_id", digits=4)
def national_id(facts: Facts) -> Iterator[Hit]:
    """Identity, insurance and tax numbers abroad, each valid, with its word where its form says too little."""
    # All but the shorter Australian tax file number have nine letters and digits or more, four of them digits.
    runs = [digits_of(m.group()) for m in _LONG_RUN.finditer(facts.text)]
    if not runs or (max(runs) < 4 and not _TAX_FILE.search(facts.lower)):
        return
    for module, form, cue, alone in _identities():
        if not alone and not cue.search(facts.lower):
            continue
        for match in form.finditer(facts.text):
            if _is_identity(module, match.group()):
                near = facts.distance(*match.span(), cue)
                if near is not None or (alone and not facts.is_other(match.start())):
                    yield Hit("national_id", *match.span(), CHECKED, near or 0)
