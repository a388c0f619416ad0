"""Does the guard err more by origin of a name, by sex, or in a learner's English? One content, told of different people.

    python -m benchmarks.reader.slices [--rules] [--point balanced] [--json F]

Names of ten origins, three of women and three of men each, in forty frames; and forty contents as a native says them and as
learners of five languages do (`slices.yaml`). Flagged and held are by context, layer 1 off. Given names of thirteen origins alone, in
eight frames in which nothing else says who is meant, are judged with layer 1. Intervals are of 95%: percentiles over
2,000 draws of frames or of contents, since what shares one errs alike; differences are taken within a frame or content.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import discreet
from discreet.core.records import Answer
from discreet.stats import clopper_pearson

Row = dict[str, Any]
DRAWS, SEED = 2000, 20261122
WORDS = {"f": {"s": "she", "o": "her", "p": "her", "w": "woman"}, "m": {"s": "he", "o": "him", "p": "his", "w": "man"}}
# A surname stands first in these origins.
SURNAME_FIRST = ("Chinese", "Vietnamese")


def filled(frame: str, name: str, sex: str, origin: str) -> str:
    """A frame about one person."""
    first, *_, last = name.split()
    given, family = (" ".join(name.split()[1:]), first) if origin in SURNAME_FIRST else (first, last)
    words = WORDS[sex]
    return frame.format(n=name, g=given, l=family, S=words["s"].capitalize(), P=words["p"].capitalize(), **words)


def named(said: Row) -> list[Row]:
    """Every name in every frame."""
    return [{"unit": f"{truth}{i}", "truth": truth, "domain": domain, "origin": origin, "sex": sex, "name": k,
             "text": filled(frame, name, sex, origin)}
            for truth, frames in said["frames"].items() for i, (domain, frame) in enumerate(frames)
            for origin, people in said["names"].items() for sex, names in people.items() for k, name in enumerate(names)]


def learned(said: Row) -> list[Row]:
    """Every content twice."""
    return [{"unit": str(i), "truth": truth, "domain": domain, "language": language, "by": by, "text": text}
            for i, (language, domain, truth, *texts) in enumerate(said["learners"])
            for by, text in zip(("native", "learner"), texts, strict=True)]


def alone(said: Row, guard: discreet.Guard) -> Row:
    """Of each origin and each frame: how many answers that name somebody by a given name alone are held, of how many."""
    held: Row = {}
    for question, frame in said["lone"]:
        for origin, names in said["given"].items():
            for name in names.split():
                action = guard.check(Answer("1", frame.format(g=name), user_words=question)).action
                for group in (origin, frame):
                    one = held.setdefault(group, [0, 0])
                    one[0], one[1] = one[0] + (action != "safe"), one[1] + 1
    return held


def judged(rows: Iterable[Row], guards: dict[str, discreet.Guard]) -> list[Row]:
    """Rows with `flagged` and `held`, by evidence or for the language, and the log-odds."""
    found = []
    for row in rows:
        guard = guards[row["domain"]]
        judgement = guard.judge(row["text"])
        if judgement.evidence is None:
            raise SystemExit(f"a text of unit {row['unit']} was not judged: {judgement.verdict.reason}")
        odds, flagged = judgement.evidence.logit, judgement.evidence.flags(guard.evidence_tau)
        held = flagged or odds > guard.model.unsure_above(guard.point) or judgement.verdict.action == "abstain"
        found.append({**row, "flagged": flagged, "held": held, "odds": odds})
    return found


def mean(rows: list[Row], what: str, one: Callable[[Row], bool], other: Callable[[Row], bool] | None = None) -> Row:
    """Mean of `what` over the rows of `one`, less that over those of `other` where it is given, with its interval.

    A share that no draw of units changes has the exact interval of so many units (Clopper-Pearson)."""
    units = sorted({r["unit"] for r in rows})
    sums = [np.array([(sum(v), len(v)) for v in ([r[what] for r in rows if r["unit"] == unit and chosen(r)] for unit in units)], float)
            for chosen in filter(None, (one, other))]
    draws = np.random.default_rng(SEED).multinomial(len(units), np.full(len(units), 1 / len(units)), DRAWS)

    def value(weights: Any) -> Any:
        means = [(weights @ s[:, 0]) / (weights @ s[:, 1]) for s in sums]
        return means[0] - means[1] if other else means[0]

    found = float(value(np.ones(len(units))))
    low, high = np.percentile(value(draws), (2.5, 97.5))
    if other is None and found in (0.0, 1.0):
        low, high = clopper_pearson(int(found) * len(units), len(units))
    return {"value": found, "low": float(low), "high": float(high), "n": int(sums[0][:, 1].sum()), "units": len(units)}


def table(rows: list[Row], mine: dict[str, Callable[[Row], bool]], others: Callable[[str], Callable[[Row], bool]]) -> Row:
    """Of each group and kind of text: shares flagged and held, and mean log-odds less those of the others."""
    out: Row = {}
    for group, chosen in mine.items():
        out[group] = {}
        for truth in dict.fromkeys(r["truth"] for r in rows):
            part = [r for r in rows if r["truth"] == truth]
            out[group][truth] = {what: mean(part, what, chosen) for what in ("flagged", "held")} | {
                "log-odds less": mean(part, "odds", chosen, others(group))}
    return out


def shown(found: Row) -> str:
    """A table in Markdown."""
    columns = [(truth, what) for truth, one in next(iter(found.values())).items() for what in one]
    lines = ["| | " + " | ".join(f"{truth}: {what}" for truth, what in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for group, one in found.items():
        cells = [f"{c['value']:{sign}.{n}f} [{c['low']:{sign}.{n}f}, {c['high']:{sign}.{n}f}]" for c, sign, n in (
            (one[truth][what], *(("+", 2) if "odds" in what else ("", 3))) for truth, what in columns)]
        lines.append(f"| {group} ({', '.join(str(of['flagged']['n']) for of in one.values())}) | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--point", default="balanced")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    said = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    guards = {d: discreet.Guard(d, point=args.point) for d in ("medical", "finance", "law")}
    names, speakers = judged(named(said), guards), judged(learned(said), guards)

    def is_(key: str, value: str) -> Callable[[Row], bool]:
        return lambda r: bool(r[key] == value)

    def by(key: str, *values: str) -> dict[str, Callable[[Row], bool]]:
        return {value: is_(key, value) for value in values}

    def rest(key: str) -> Callable[[str], Callable[[Row], bool]]:
        return lambda group: lambda r: bool(r[key] != group)

    spoken = {language: [r for r in speakers if r["language"] == language] for language in sorted({r["language"] for r in speakers})}
    found = {"origin": table(names, by("origin", *said["names"]), rest("origin")), "sex": table(names, by("sex", "f", "m"), rest("sex")),
             "English": table(speakers, by("by", "native", "learner"), rest("by"))}
    found["English"] |= {language: table(part, by("by", "learner"), rest("by"))["learner"] for language, part in spoken.items()}
    lone = alone(said, guards["medical"])
    print("## a given name alone\n\n| | held |\n|---|---|\n" + "\n".join(f"| {group} | {k} of {n} |" for group, (k, n) in lone.items()) + "\n")
    for name, one in found.items():
        print(f"## {name}\n\n{shown(one)}\n")
    if args.json:
        args.json.write_text(json.dumps({**found, "lone": lone}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
