"""Sealed coins: false alarms and power by simulation, and models of real text.

    python benchmarks/seal.py --data DATA [--only simulation|real] [--seed 0]

DATA holds `beavertails_mini` and `hate_stormfront`, whose text is neither printed nor kept. Prints the tables; `--write`
puts them between the marks of docs/results/seal.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import subprocess
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import binomtest, norm
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from benchmarks.page import replace_between, table
from discreet.audit.sealed import POWER, Datum, Scores, findings, reveal
from discreet.audit.sealed import seal as seal_data
from discreet.core.files import KeyedHash
from discreet.stats.epsilon import detection_power, ladder_epsilon, least_size, rate_of_epsilon
from discreet.stats.evalues import KINDS, first_crossing, log_e_average

Array = NDArray[np.float64]
ALPHA = 0.05
RUNS, PAIRS = 2_000, 400
SIZES = (25, 50, 100, 200, 400, 800, 1600)


# Leak-free models: scores of both of each pair, (scores, pairs, 2), drawn before any coin.
SHAPE = (1, PAIRS, 2)
LEAK_FREE: dict[str, Callable[[Generator], Array]] = {
    "normal": lambda g: g.normal(size=SHAPE),
    "heavy-tailed (Cauchy)": lambda g: g.standard_cauchy(SHAPE),
    "many ties": lambda g: np.round(g.normal(size=SHAPE)),
    "random walk that grows": lambda g: np.cumsum(g.normal(size=2 * PAIRS)).reshape(SHAPE) * np.linspace(0.01, 10, PAIRS)[:, None],
    "first of a pair always higher": lambda g: g.exponential(size=(1, PAIRS, 1)) * [1, 0],
    "two scores, alike": lambda g: g.normal(size=SHAPE) + 0.1 * g.normal(size=(2, PAIRS, 2)),
    "two scores, opposed": lambda g: g.normal(size=SHAPE) * np.array([1, -1])[:, None, None],
}


def leak_free_models(seed: int) -> list[str]:
    rows: list[list[object]] = []
    for name, family in LEAK_FREE.items():
        rng = np.random.default_rng([seed, len(rows)])
        alarms = bounds = 0
        for _ in range(RUNS):
            scores = family(rng)
            coins = 1 - 2 * rng.integers(0, 2, PAIRS)
            ahead = coins * (scores[:, :, 0] - scores[:, :, 1])
            alarms += first_crossing(log_e_average(ahead), ALPHA) is not None
            bounds += ladder_epsilon(ahead, ALPHA).epsilon > 0.0
        p = [binomtest(k, RUNS, ALPHA, alternative="greater").pvalue for k in (alarms, bounds)]
        rows.append([name, f"{alarms} ({alarms / RUNS:.2%})", f"{p[0]:.3f}",
                     f"{bounds} ({bounds / RUNS:.2%})", f"{p[1]:.3f}"])
    said = table(["leak-free scores", "detected", "p against 5%", "ε bound above 0", "p against 5%"], rows)
    return [f"### Leak-free models, {RUNS:,} runs of {PAIRS} pairs each", "", *said]


def _sees(rate: float, n: int) -> bool:
    return bool(detection_power(n, rate, KINDS / ALPHA) >= POWER)


def power(seed: int) -> list[str]:
    rows = []
    # Two normal scores that are apart by what gives this win rate.
    for rate in (0.55, 0.6, 0.65, 0.7, 0.8, 0.9):
        apart = float(norm.ppf(rate)) * 2**0.5
        rng = np.random.default_rng([seed, 1, int(100 * rate)])
        found = [first_crossing(log_e_average(rng.normal(apart, 2**0.5, (1, max(SIZES)))), ALPHA) or 10**9
                 for _ in range(400)]
        rows.append([f"{rate:.2f}", *(f"{np.mean(np.array(found) <= n):.2f}" for n in SIZES),
                     f"{np.median(found):.0f}" if np.median(found) < 10**9 else "more",
                     f"{least_size(partial(_sees, rate)):,}"])
    return ["### Power: share of 400 leaking models detected, by win rate and number of pairs", "",
            *table(["win rate", *(f"n = {n}" for n in SIZES), "median pairs to e ≥ 20", "pairs promised for power .8"],
                   rows)]


def epsilons(seed: int) -> list[str]:
    rows = []
    for truth in (0.0, 0.5, 1.0, 2.0, 4.0):
        rng = np.random.default_rng([seed, 2, int(10 * truth)])
        found = []
        for _ in range(1_000):
            right = rng.random((1, PAIRS)) < rate_of_epsilon(truth)
            found.append(ladder_epsilon(np.where(right, 1.0, -1.0) * rng.exponential(size=(1, PAIRS)), ALPHA).epsilon)
        above = int((np.array(found) > truth).sum())
        rows.append([truth, f"{np.median(found):.2f}", f"{above / 1_000:.1%}",
                     f"{binomtest(above, 1_000, ALPHA, alternative='greater').pvalue:.3f}"])
    return [f"### ε lower bound where every coin is answered by randomised response at a known ε, {PAIRS} pairs", "",
            *table(["true ε", "median bound", "bound above the truth (1,000 runs)", "p against 5%"], rows)]


def read(folder: Path, group: str | None) -> list[Datum]:
    rows = map(json.loads, gzip.decompress((folder / "all.jsonl.gz").read_bytes()).decode().splitlines())
    return [Datum(r["id"], r["text"], r["label"], None if group is None else r[group]) for r in rows
            if r["label"] in ("safe", "unsafe", "noHate", "hate")]


class Model:
    """TF-IDF (words and word pairs) and a classifier."""
    def __init__(self, kind: str, seed: int, train: Sequence[Datum]) -> None:
        self.features = TfidfVectorizer(ngram_range=(1, 2), max_features=20_000, sublinear_tf=True)
        self.head = (MLPClassifier((32,), alpha=0.0, max_iter=25, tol=0.0, learning_rate_init=0.005, random_state=seed)
                     if kind == "overfitted" else LogisticRegression(C=0.1, max_iter=500))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.head.fit(self.features.fit_transform([d.text for d in train]), [d.label for d in train])

    def logits(self, data: Sequence[Datum]) -> Array:
        p = self.head.predict_proba(self.features.transform([d.text for d in data]))
        return np.asarray(np.log(np.maximum(p, 1e-300)), dtype=np.float64)

    def accuracy(self, data: Sequence[Datum]) -> float:
        return float(np.mean(self.head.classes_[self.logits(data).argmax(axis=1)] == [d.label for d in data]))

    def scores(self, data: Sequence[Datum]) -> Scores:
        logits, classes = self.logits(data), list(self.head.classes_)
        mine = np.array([classes.index(d.label) for d in data])
        own = logits[np.arange(len(data)), mine]
        other = np.where(np.arange(len(classes)) == mine[:, None], -np.inf, logits).max(axis=1)
        return Scores(("log_p", "margin"), tuple(d.id for d in data), np.stack([own, own - other], axis=1))


def judged(sealed: Any, scores: Scores) -> dict[str, Any]:
    revealed = reveal(sealed.opening, KeyedHash(sealed.key), scores)
    return findings(revealed.differences(), revealed.names, unit=sealed.opening.unit, source=sealed.opening.source)


def real(name: str, data: Sequence[Datum], pairs: int, seals: int, seed: int) -> list[str]:
    rows: list[list[object]] = []
    runs: dict[str, list[dict[str, Any]]] = {"overfitted": [], "regularised": [], "control (overfitted)": []}
    accuracy: dict[str, list[tuple[float, float]]] = {kind: [] for kind in runs}
    for number in range(seals):
        sealed = seal_data(data, pairs, seed=seed + number)
        inside, probe = ({d.id for d in part} for part in (sealed.train, sealed.probe))
        for kind, judgements in runs.items():
            train = [d for d in sealed.train if not kind.startswith("control") or d.id not in probe]
            model = Model("regularised" if kind == "regularised" else "overfitted", seed + number, train)
            judgements.append(judged(sealed, model.scores(sealed.probe)))
            left = [d for d in sealed.probe if d.id not in inside]
            accuracy[kind].append((model.accuracy(train), model.accuracy(left)))
    for kind, found in runs.items():
        at = sorted(f["rejected_at"] or 10**9 for f in found)
        fit, test = np.mean(accuracy[kind], axis=0)
        rows.append([kind, f"{fit:.3f} / {test:.3f}", f"{np.mean([f['win_rate']['log_p']['value'] for f in found]):.3f}",
                     f"{sum(f['rejected'] for f in found)} of {seals}",
                     f"{at[seals // 2]:,}" if at[seals // 2] < 10**9 else "never",
                     f"{np.median([f['log10_e_value'] for f in found]):.1f}",
                     f"{np.median([f['epsilon_lower'] for f in found]):.2f}"])
    unit = "users" if data[0].group else "records"
    return [f"### {name}: {pairs:,} pairs of {unit}, {seals} seals", "", *table(
        ["model", "accuracy, trained on / left out", "win rate", "detected", "median pairs to e ≥ 20", "median log10 e",
         "median ε lower bound"], rows)]


def control_runs(name: str, data: Sequence[Datum], pairs: int, times: int, seed: int) -> list[object]:
    """Fresh seals of one half against an overfitted model of the other half."""
    units = sorted({d.group or d.id for d in data})
    half = set(np.random.default_rng(seed).permutation(units)[: len(units) // 2].tolist())
    ours, theirs = ([d for d in data if ((d.group or d.id) in half) is side] for side in (True, False))
    scores = Model("overfitted", seed, theirs).scores(ours)
    found = [judged(seal_data(ours, pairs, seed=seed + 1_000 + i), scores) for i in range(times)]
    alarms = sum(f["rejected"] for f in found)
    bounds = sum(f["epsilon_lower"] > 0 for f in found)
    p = binomtest(alarms, times, ALPHA, alternative="greater").pvalue
    return [name, pairs, times, f"{alarms} ({alarms / times:.2%})", f"{p:.3f}", f"{bounds} ({bounds / times:.2%})"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=("simulation", "real"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    parts: list[list[str]] = [[f"Made by `python benchmarks/seal.py --data DATA --write --seed {args.seed}` on the code of "
                               f"commit {commit.strip()}, {platform.machine()}, 2 cores, Python "
                               f"{platform.python_version()}; α = {ALPHA}."]]
    if args.only != "real":
        parts += [leak_free_models(args.seed), power(args.seed), epsilons(args.seed)]
    if args.only != "simulation":
        beaver, storm = read(args.data / "beavertails_mini", None), read(args.data / "hate_stormfront", "user_id")
        rows = [control_runs(name, data, 400, 300, args.seed)
                for name, data in (("beavertails_mini", beaver), ("hate_stormfront, by user", storm))]
        parts += [real("beavertails_mini", beaver, 800, 11, args.seed),
                  real("hate_stormfront, by user", storm, 800, 3, args.seed),
                  ["### Real text, leak-free: an overfitted model of one half, seals of the other half", "",
                   *table(["data", "pairs", "seals", "detected", "p against 5%", "ε bound above 0"], rows)]]
    text = "\n\n".join("\n".join(part) for part in parts)
    if args.write:
        replace_between("seal.md", "<!-- figures -->", "<!-- /figures -->", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
