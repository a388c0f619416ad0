"""Membership tools side by side, on models whose leak is known: none, one in the rare class, one everywhere.

    OMP_NUM_THREADS=1 python -m benchmarks.membership_compared --data DATA --runs RUNS [--seeds 3] [--tools sacroml,art]

Cases are those of `membership_truth.py`: forests of 25 trees on its set *imbalance 1:50*. Every tool runs in a process
of its own, under the interpreter of the environment that `make compare` made for it, and is given the same records and
the same forests. RUNS gets a file a seed and tool; what it has is not run again. Prints tables in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.membership_compared_tools import MODELS, TOOLS, fitted
from benchmarks.membership_truth import Corpus, Draw, corpus_of
from benchmarks.page import machine, table
from discreet.inputs.splits import halves

ROOT = Path(__file__).resolve().parent.parent
SET = "imbalance 1:50"
CASES = ("no leak", "rare class", "everywhere")
"""Of `membership_truth.py`."""
Line = Mapping[str, Any]


def write_seed(corpus: Corpus, seed: int, path: Path) -> None:
    """The records of a seed, what each target is trained on, and the scores of targets and references."""
    draw = Draw(corpus, seed)
    members, others, control = (np.flatnonzero(draw.side == place) for place in (0, 1, 3))
    judged, label, rng = np.concatenate([members, others]), corpus.label, np.random.default_rng((seed, 5))
    given: dict[str, Any] = {
        "seed": seed, "cases": CASES, "label": label, "members": members, "others": others, "control": control,
        "data": corpus.tfidf.data, "indices": corpus.tfidf.indices, "indptr": corpus.tfidf.indptr,
        "shape": corpus.tfidf.shape}
    targets = {case: draw.trained_on(case)[0] for case in CASES}
    strata = 2 * label + (draw.side == 0)
    drawn = [half for _ in range(MODELS // 2) for half in halves(judged, strata, corpus.unit, rng)]
    for name, rows in [*targets.items(), *((f"reference {place}", rows) for place, rows in enumerate(drawn))]:
        given[f"rows_{name}"] = rows
        model = fitted(corpus.tfidf, given, name, seed if name in targets else 1000 * (seed + 1) + len(given))
        given[f"score_{name}"] = model.predict_proba(corpus.tfidf[judged])[np.arange(judged.size), label[judged]]
    names = [f"reference {place}" for place in range(MODELS)]
    given["references"] = np.stack([given.pop(f"score_{name}") for name in names])
    given["inside"] = np.stack([np.isin(judged, given.pop(f"rows_{name}")) for name in names])
    np.savez(path, **given)


def python_of(tool: str) -> str:
    path = Path(sys.executable) if tool == "discreet" else ROOT / ".benchenv" / tool / "bin" / "python"
    if not path.exists():
        raise SystemExit(f"{path} is not there: run `make compare`, which makes the peers' environments")
    return str(path)


def run(data: Path, runs: Path, seeds: int, tools: Sequence[str]) -> None:
    runs.mkdir(parents=True, exist_ok=True)
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    corpus = None
    for seed in range(seeds):
        given = runs / f"seed{seed}.npz"
        if not given.is_file():
            corpus = corpus or corpus_of(data, SET, runs)
            write_seed(corpus, seed, given)
        for tool in tools:
            result = runs / f"{tool}-{seed}.json"
            if not result.is_file():
                subprocess.run([python_of(tool), "-m", "benchmarks.membership_compared_tools", tool, given, result],
                               cwd=ROOT, env={**os.environ, **one}, check=True, stdout=subprocess.DEVNULL)


def figures(lines: Sequence[Line]) -> list[str]:
    """A row a tool and case, its figures seed by seed."""
    rows = []
    for tool, case in product(TOOLS, CASES):
        of_cell = [line for line in lines if (line["tool"], line["case"]) == (tool, case)]
        if of_cell:
            rows.append([tool, case, ", ".join(line.get("verdict", "–") for line in of_cell), *(
                ", ".join(f"{line.get(name, line['auc']):.3f}".lstrip("0") for line in of_cell)
                for name in ("reported_auc", "rare_auc"))])
    return table(["tool", "case", "verdict", "AUC that it reports", "AUC in the rare class"], rows)


def costs(lines: Sequence[Line]) -> list[str]:
    """CPU seconds of a case, as a median over all, and as a ratio to ours."""
    seconds = {tool: [line["cpu_s"] for line in lines if line["tool"] == tool] for tool in TOOLS}
    versions = {line["tool"]: line["version"] for line in lines}
    return table(["tool", "version", "CPU seconds a case", "ratio to ours"], [
        [tool, versions[tool], f"{np.median(spent):.1f}", f"{np.median(spent) / np.median(seconds['discreet']):.2f}"]
        for tool, spent in seconds.items() if spent])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tools", default=",".join(TOOLS))
    args = parser.parse_args()
    run(args.data, args.runs, args.seeds, args.tools.split(","))
    files = sorted(args.runs.glob("*-*.json"))
    lines = [line for file in files for line in json.loads(file.read_text(encoding="utf-8"))]
    print("\n".join([*figures(lines), "", *costs(lines)]), end="\n\n")
    print(json.dumps({**machine(), "differs": max(line["target_differs"] for line in lines)}))


if __name__ == "__main__":
    main()
