"""Small trained models for membership_validity.py: the sides of a seed, TF-IDF features, one hidden layer, score tables."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from discreet.audit.scores.table import Examples, Model, ReferenceKind, Role, ScoreTable
from discreet.stats import auroc_estimate

FEATURES, HIDDEN = 2_048, 16
SIDES = ("a", "b", "clean", "leak-free", "control", "neutral-1", "neutral-2")
PLANTED = {1: 300, 4: 80, 16: 60}
SELECTOR = 600


@dataclass(frozen=True, slots=True)
class Corpus:
    """Features (n, 2048) sparse, label (n,) in {0, 1}, group (n,) int or None, texts (n,)."""
    name: str
    features: Any
    label: NDArray[np.int64]
    group: NDArray[np.int64] | None
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Full-batch Adam on the log loss: how many steps, how fast, how penalised (L2)."""
    steps: int
    rate: float
    decay: float


RECIPES = {"overfitted": Recipe(80, 0.03, 0.0), "regularised": Recipe(60, 0.03, 0.015),
           "stopped early": Recipe(10, 0.03, 0.0), "strongly regularised": Recipe(60, 0.03, 0.03)}


def read(folder: Path, name: str) -> Corpus:
    files = sorted((folder / name).glob("*.jsonl.gz"))
    rows = [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).decode().splitlines()]
    unsafe = {"diasafety": "unsafe", "hate_stormfront": "hate"}[name]
    rows = [row for row in rows if row["label"] in (unsafe, "safe", "noHate")]
    kept: dict[str, Any] = {}
    clash = set()
    for row in rows:
        text = " ".join(row["text"].casefold().split())
        if kept.setdefault(text, row)["label"] != row["label"]:
            clash.add(text)
    rows = [row for text, row in kept.items() if text not in clash]
    texts = [row["text"] for row in rows]
    counts = HashingVectorizer(n_features=FEATURES, alternate_sign=False, norm=None, dtype=np.float32).transform(texts)
    features = TfidfTransformer(sublinear_tf=True).fit_transform(counts).astype(np.float32).tocsr()
    group = np.unique([row["user_id"] for row in rows], return_inverse=True)[1] if name == "hate_stormfront" else None
    return Corpus(name, features, np.array([int(row["label"] == unsafe) for row in rows]), group, texts)


def balanced(corpus: Corpus, rng: Generator) -> NDArray[np.int64]:
    """Rows with classes 50/50 by sub-sampling; all rows where groups are to stay whole."""
    if corpus.group is not None:
        return np.arange(corpus.label.size)
    size = int(np.bincount(corpus.label).min())
    return np.concatenate([rng.choice(np.flatnonzero(corpus.label == one), size, replace=False) for one in (0, 1)])


def deal(corpus: Corpus, rng: Generator) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64], NDArray[np.int64]]:
    """Rows of each side, repetitions (n,) of the planted pool, and the coin (n,) of every row; units stay whole."""
    rows = balanced(corpus, rng)
    unit = np.arange(corpus.label.size) if corpus.group is None else corpus.group
    sizes = np.bincount(unit[rows], minlength=int(unit.max()) + 1)
    order = rng.permutation(np.unique(unit[rows]))
    # Nobody who has very many records is planted, so that sixteen copies of theirs do not swamp the training set.
    queue, times = [one for one in order.tolist() if sizes[one] <= 20], np.zeros(sizes.size, dtype=np.int64)
    for repetitions, wanted in PLANTED.items():
        got = 0
        while got < wanted:
            one = queue.pop()
            times[one] = repetitions
            got += int(sizes[one])
    rest = order[times[order] == 0]
    total = np.cumsum(sizes[rest])
    side_of = np.full(sizes.size, -1)
    # The selector's records first, then seven sides of equal size.
    bounds = SELECTOR + np.arange(len(SIDES) + 1) * ((total[-1] - SELECTOR) / len(SIDES))
    side_of[rest] = np.searchsorted(bounds, total, side="left") - 1
    sides = {name: rows[side_of[unit[rows]] == place] for place, name in enumerate(SIDES)}
    sides["selector"] = rows[(side_of[unit[rows]] == -1) & (times[unit[rows]] == 0)]
    coin = rng.integers(0, 2, sizes.size)
    return sides, times[unit], coin[unit]


def fit(features: Any, label: NDArray[np.int64], weight: NDArray[np.float64], recipe: Recipe,
        rng: Generator) -> Callable[[Any], NDArray[np.float64]]:
    """One hidden ReLU layer; `weight` is how often a record stands in the training set. Returns the log odds of 1."""
    turned, share = features.T.tocsr(), (weight / weight.sum()).astype(np.float32)
    wide = [rng.normal(0, 0.5, (FEATURES, HIDDEN)), np.zeros(HIDDEN), rng.normal(0, HIDDEN**-0.5, HIDDEN), np.zeros(1)]
    w = [one.astype(np.float32) for one in wide]
    m, v = [np.zeros_like(one) for one in w], [np.zeros_like(one) for one in w]
    for step in range(1, recipe.steps + 1):
        hidden = np.maximum(features @ w[0] + w[1], 0)
        error = share * (1 / (1 + np.exp(-(hidden @ w[2] + w[3]))) - label)
        back = error[:, None] * w[2] * (hidden > 0)
        slopes = [turned @ back, back.sum(0), hidden.T @ error, error.sum(keepdims=True)]
        for at, slope in enumerate(slopes):
            pulled = slope + recipe.decay * w[at]
            m[at] += 0.1 * (pulled - m[at])
            v[at] += 0.001 * (pulled**2 - v[at])
            w[at] -= recipe.rate * m[at] / (1 - 0.9**step) / (np.sqrt(v[at] / (1 - 0.999**step)) + 1e-8)
    return lambda given: np.asarray(np.maximum(given @ w[0] + w[1], 0) @ w[2] + w[3], dtype=np.float64)


class World:
    """One seed: the sides, and the models trained on them as they are asked for."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self.corpus, self.seed = corpus, seed
        self.sides, self.times, coin = deal(corpus, np.random.default_rng((seed, 0)))
        self.planted = (self.times > 0) & (coin == 1)
        pool = np.flatnonzero(self.times > 0)
        self.rows = np.concatenate([self.sides["a"], self.sides["b"], self.sides["clean"], pool])
        self.made: dict[tuple[str, str, bool], NDArray[np.float64]] = {}
        self.utility: dict[str, list[float | None]] = {}

    def odds(self, side: str, recipe: str, planted: bool = False) -> NDArray[np.float64]:
        key = (side, recipe, planted)
        if key not in self.made:
            corpus, rows = self.corpus, self.sides[side]
            weight = np.ones(rows.size)
            if planted:
                extra = np.flatnonzero(self.planted)
                rows, weight = np.concatenate([rows, extra]), np.concatenate([weight, self.times[extra]])
            place = (*SIDES, "selector").index(side)
            rng = np.random.default_rng((self.seed, 1, place, list(RECIPES).index(recipe)))
            model = fit(corpus.features[rows], corpus.label[rows], weight, RECIPES[recipe], rng)
            self.made[key] = model(corpus.features[self.rows])
            self.utility[f"{side}, {recipe}"] = [
                auroc_estimate(model(corpus.features[at]), corpus.label[at]).value
                for at in (self.sides[side], self.sides["clean"])]
        return self.made[key]

    def table(self, target: str, recipe: str) -> ScoreTable:
        """Scores with the membership of side a claimed for the target, whatever the target was trained on."""
        rows, corpus = self.rows, self.corpus
        ours = np.isin(rows, self.sides["a"]) | self.planted[rows]
        nobody = np.zeros(rows.size, dtype=bool)
        found: list[tuple[Role, ReferenceKind | None, NDArray[np.bool_], NDArray[np.float64]]] = [
            ("target", None, ours, self.odds(target, recipe, planted=True)),
            ("reference", "paired", np.isin(rows, self.sides["b"]), self.odds("b", recipe)),
            ("reference", "neutral", nobody, self.odds("neutral-1", recipe)),
            ("reference", "neutral", nobody, self.odds("neutral-2", recipe)),
            ("selection", None, nobody, self.odds("selector", "overfitted")),
            ("control", None, nobody, self.odds("control", recipe)),
        ]
        odds = np.stack([one[3] for one in found])
        return ScoreTable(
            tuple(Model(f"{role}-{place}", role, kind) for place, (role, kind, _, _) in enumerate(found)),
            Examples(np.array([f"e{row}" for row in rows], dtype=object), corpus.label[rows], self.times[rows],
                     group=None if corpus.group is None else corpus.group[rows]),
            np.stack([-odds / 2, odds / 2], axis=-1)[:, :, None, :], np.stack([one[2] for one in found]).astype(np.int8))

    def small(self, table: ScoreTable, n: int, rng: Generator) -> ScoreTable:
        """The same audit with about n members and n clean non-members, whole units; b left out, all planted kept."""
        kept = np.flatnonzero(table.examples.planted > 0)
        unit = self.rows if self.corpus.group is None else self.corpus.group[self.rows]
        for side in ("a", "clean"):
            rows = np.flatnonzero(np.isin(self.rows, self.sides[side]))
            names, sizes = np.unique(unit[rows], return_counts=True)
            order = rng.permutation(names.size)
            most = int(np.searchsorted(np.cumsum(sizes[order]), n)) + 1
            kept = np.concatenate([kept, rows[np.isin(unit[rows], names[order[:most]])]])
        old = table.examples
        return ScoreTable(
            table.models, replace(old, id=old.id[kept], label=old.label[kept], planted=old.planted[kept],
                                  group=None if old.group is None else old.group[kept]),
            table.logits[:, kept], table.member[:, kept])
