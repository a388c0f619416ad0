"""Layer 1 against Presidio's pattern recognisers: recall, decoys, latency, memory; and the forms of other countries.

    OMP_NUM_THREADS=1 python -m benchmarks.layer1_presidio [--seed 7] [--count 200] [--texts 2000] [--json FILE]

Presidio: `AnalyzerEngine.analyze` over a blank spaCy pipeline with the twelve recognisers that share a type with
ours, at two operating points (every result, which is its default, and a score of .4 or more). Ours: `prepare` and
`find_direct`, with the same twelve types for the latencies that are compared, and with all types besides.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.layer1_abroad import decoys_abroad, positives_abroad
from benchmarks.layer1_cases import Case, decoys, positives, texts
from discreet.core.unicode import prepare
from discreet.guard.text.direct.detect import find_direct
from discreet.guard.text.direct.presidio import ENTITIES, pattern_engine

Span = tuple[str, int, int]
Detect = Callable[[str], list[Span]]

LENGTHS = (148, 448, 1348, 6148)
REPEATS = 5
WARM_UP = 50
POINT = 0.4


def ours(text: str) -> list[Span]:
    return [(s.type, s.start, s.end) for s in find_direct(prepare(text))]


def ours_same_types(text: str) -> list[Span]:
    return [(s.type, s.start, s.end) for s in find_direct(prepare(text), types=SHARED)]


SHARED = frozenset(ENTITIES.values())


def presidio(threshold: float) -> Detect:
    engine = pattern_engine()
    entities = list(ENTITIES)

    def detect(text: str) -> list[Span]:
        results = engine.analyze(text, "en", entities=entities, score_threshold=threshold)
        return [(ENTITIES[r.entity_type], r.start, r.end) for r in results]

    return detect


def is_found(case: Case, spans: list[Span]) -> bool:
    wanted = case.kind.partition(":")[0]
    return any(kind == wanted and start < case.end and case.start < end for kind, start, end in spans)


def accuracy(detectors: dict[str, Detect], cases: list[Case], traps: list[Case], count: int) -> dict[str, Any]:
    recall: dict[str, dict[str, float]] = {case.kind: {} for case in cases}
    flagged: dict[str, dict[str, int]] = {case.kind: {} for case in traps}
    for name, detect in detectors.items():
        found = Counter(case.kind for case in cases if is_found(case, detect(case.text)))
        taken = Counter(case.kind for case in traps if detect(case.text))
        for kind, shares in recall.items():
            shares[name] = found[kind] / count
        for kind, counts in flagged.items():
            counts[name] = taken[kind]
    totals = {name: sum(row[name] for row in flagged.values()) for name in detectors}
    return {
        "positives": len(cases), "decoys": len(traps), "recall": recall, "decoys_flagged": flagged,
        "decoys_flagged_total": totals,
    }  # fmt: skip


def latency(detectors: dict[str, Detect], seed: int, count: int) -> dict[str, Any]:
    """Milliseconds a text, repeats of the detectors interleaved; docs/s from the fastest repeat's sum.

    CPU time of the thread is shown next to the wall clock: on a machine that others use, it is the fairer of the two.
    """
    rows: dict[str, Any] = {}
    for length in LENGTHS:
        sample = texts(np.random.default_rng(seed + length), count, length)
        for detect in detectors.values():
            for text in sample[:WARM_UP]:
                detect(text)
        times: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in detectors}
        for _ in range(REPEATS):
            for name, detect in detectors.items():
                run = []
                for text in sample:
                    begin, cpu = time.perf_counter(), time.thread_time()
                    detect(text)
                    run.append((time.perf_counter() - begin, time.thread_time() - cpu))
                times[name].append(run)
        rows[str(length)] = {
            name: {
                "p50_ms": round(float(np.median(runs[..., 0])) * 1e3, 4),
                "p95_ms": round(float(np.percentile(runs[..., 0], 95)) * 1e3, 4),
                "cpu_p50_ms": round(float(np.median(runs[..., 1])) * 1e3, 4),
                "docs_per_s": round(count / float(runs[..., 0].sum(axis=1).min()), 1),
            }
            for name, runs in ((name, np.asarray(all_runs)) for name, all_runs in times.items())
        }
    return rows


def memory(name: str) -> dict[str, float]:
    """Peak resident memory (MB), and time to the first result, of a process that loads one detector only."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FOOTPRINT.format(load=LOAD[name])],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    peak, first = json.loads(done.stdout.strip().splitlines()[-1])
    return {"peak_rss_mb": round(peak, 1), "import_and_first_s": round(first, 2)}


# VmHWM, not ru_maxrss: the latter is handed down from the parent process.
FOOTPRINT = """
import time
begin = time.perf_counter()
import json
{load}
text = "Call (402) 555-0133, SSN 219-09-1234, Jane Whitfield. " * 25
detect(text)
first = time.perf_counter() - begin
for _ in range(200):
    detect(text)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps([peak / 1024, first]))
"""
LOAD = {
    "ours": (
        "from discreet.guard.text.direct.detect import find_direct\n"
        "from discreet.core.unicode import prepare\n"
        "detect = lambda text: find_direct(prepare(text))"
    ),
    "presidio": (
        "from discreet.guard.text.direct.presidio import ENTITIES, pattern_engine\n"
        "engine = pattern_engine()\n"
        "detect = lambda text: engine.analyze(text, 'en', entities=list(ENTITIES))"
    ),
}


def accuracy_tables(accuracy: dict[str, Any]) -> list[str]:
    names = list(accuracy["decoys_flagged_total"])
    lines = ["| type | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    lines += [f"| {kind} | " + " | ".join(f"{row[n]:.3f}" for n in names) + " |"
              for kind, row in accuracy["recall"].items()]  # fmt: skip
    each = accuracy["decoys"] // len(accuracy["decoys_flagged"])
    lines += ["", f"| decoy, {each} each | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    lines += [f"| {kind} | " + " | ".join(str(row[n]) for n in names) + " |"
              for kind, row in accuracy["decoys_flagged"].items()]  # fmt: skip
    totals = accuracy["decoys_flagged_total"]
    return [*lines, f"| **all {accuracy['decoys']}** | " + " | ".join(f"**{totals[n]}**" for n in names) + " |"]


def tables(result: dict[str, Any]) -> str:
    lines = [*accuracy_tables(result["accuracy"]), "", *accuracy_tables(result["abroad"])]
    lines += ["", "| characters | detector | p50 ms | p95 ms | CPU p50 ms | docs/s | p50 (CPU p50) of Presidio over it |",
              "|---|---|---|---|---|---|---|"]  # fmt: skip
    for length, row in result["latency"].items():
        for name, figures in row.items():
            wall, cpu = (row["presidio"][key] / figures[key] for key in ("p50_ms", "cpu_p50_ms"))
            lines.append(f"| {length} | {name} | {figures['p50_ms']:.3f} | {figures['p95_ms']:.3f} | "
                         f"{figures['cpu_p50_ms']:.3f} | {figures['docs_per_s']:.0f} | {wall:.1f}x ({cpu:.1f}x) |")  # fmt: skip
    lines += ["", "| process with | peak RSS MB | import and first text s |", "|---|---|---|"]
    lines += [f"| {n} | {m['peak_rss_mb']} | {m['import_and_first_s']} |" for n, m in result["memory"].items()]
    return "\n".join(lines)


def requirement(result: dict[str, Any]) -> dict[str, bool]:
    """Recall no lower for any type, fewer decoys, at least three times as fast at every length."""
    recall, totals = result["accuracy"]["recall"], result["accuracy"]["decoys_flagged_total"]
    rivals = [name for name in totals if name.startswith("presidio")]
    return {
        "recall": all(row["ours"] >= row[rival] for row in recall.values() for rival in rivals),
        "decoys": all(totals["ours"] < totals[rival] for rival in rivals),
        "speed": all(row["presidio"][key] >= 3 * row[name][key] for row in result["latency"].values()
                     for name in ("ours", "ours_same_types") for key in ("p50_ms", "p95_ms", "cpu_p50_ms")),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=200, help="sentences a type; a fifth of it a kind of decoy")
    parser.add_argument("--texts", type=int, default=2000, help="texts a length")
    parser.add_argument("--json", help="also write the figures here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    every, likely = presidio(0.0), presidio(POINT)
    result: dict[str, Any] = {"seed": options.seed, "count": options.count, "texts": options.texts, "repeats": REPEATS}
    every_one, rng = {"ours": ours, "presidio (all)": every, f"presidio (>= {POINT})": likely}, np.random.default_rng
    for name, good, bad in (("accuracy", positives, decoys), ("abroad", positives_abroad, decoys_abroad)):
        cases, traps = good(rng(options.seed), options.count), bad(rng(options.seed + 1), max(1, options.count // 5))
        result[name] = accuracy(every_one, cases, traps, options.count)
    result["latency"] = latency({"ours": ours, "ours_same_types": ours_same_types, "presidio": every},
                                options.seed, options.texts)  # fmt: skip
    result["memory"] = {name: memory(name) for name in LOAD}
    result["requirement"] = requirement(result)
    print(tables(result))
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as handle:
            handle.write(text + "\n")
    return 0 if all(result["requirement"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
