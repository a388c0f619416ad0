"""Draw names, addresses, postal codes with towns and telephone numbers by faker, once; writes values.json.

    PYTHONHASHSEED=0 python benchmarks/reader/made/values.py      # in an environment of its own with faker 40.54.0

Drawn again where a house number is zero or missing. faker's lists teach nothing: these values judge only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from faker import Faker  # type: ignore[import-not-found]

SEED = 20261122
LOCALES = ["de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "pl_PL", "en_IN", "en_GB", "sv_SE", "pt_BR", "en_US"]
NAMES_ONLY = ["tr_TR"]  # its addresses in faker have an American form
COUNTS = {"name": 30, "name_lower": 8, "address": 25, "postal": 12, "phone": 20}
TOWN_FIRST = {"en_GB": "{town} {code}", "en_IN": "{town} - {code}", "pt_BR": "{town}, {code}"}


def name(fake: Faker) -> list[str]:
    return [fake.first_name(), fake.last_name()]


def street(fake: Faker, locale: str) -> str:
    while True:
        line = f"{fake.building_number()} {fake.street_name()}" if locale == "en_GB" else fake.street_address()
        line = re.sub(r"\s*\n\s*", ", ", line).strip()
        numbers = re.findall(r"\d+", line)
        if numbers and not any(set(n) == {"0"} for n in numbers):
            return line


def postal(fake: Faker, locale: str) -> str:
    if locale == "en_US":
        return f"{fake.city()}, {fake.state_abbr()} {fake.postcode()}"
    return TOWN_FIRST.get(locale, "{code} {town}").format(town=fake.city(), code=fake.postcode())


def distinct(make: Callable[[], object], count: int) -> list[object]:
    out: list[object] = []
    while len(out) < count:
        value = make()
        if value not in out:
            out.append(value)
    return out


def main() -> None:
    values: dict[str, dict[str, list[object]]] = {}
    for locale in LOCALES + NAMES_ONLY:
        fake = Faker(locale)
        fake.seed_instance(SEED)
        makes: dict[str, Callable[[], object]] = {"name": partial(name, fake), "name_lower": partial(name, fake)}
        if locale not in NAMES_ONLY:
            makes |= {"address": partial(street, fake, locale), "postal": partial(postal, fake, locale), "phone": fake.phone_number}
        values[locale] = {kind: distinct(make, COUNTS[kind]) for kind, make in makes.items()}
    path = Path(__file__).with_name("values.json")
    path.write_text(json.dumps(values, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
