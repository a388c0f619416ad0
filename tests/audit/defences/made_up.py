"""A made-up table of scores, from a model that remembers its members."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.audit.scores.table import Examples, Model, ScoreTable

KINDS: dict[str, tuple[Any, Any]] = {"target": ("target", None), "paired": ("reference", "paired"),
                                     "neutral": ("reference", "neutral"), "selector": ("selection", None),
                                     "control": ("control", None)}
GAIN = 1.5


def made(n: int = 150, seed: int = 0, *, models: tuple[str, ...] = tuple(KINDS), groups: int | None = None,
         n_classes: int = 2) -> ScoreTable:
    """Members 0…n−1, the paired reference's n, clean n (split "eval"); a model gains log odds on what it trained on."""
    rng = np.random.default_rng(seed)
    total = 3 * n
    label = rng.integers(0, n_classes, total)
    side = np.repeat([0, 1, 2], n)
    hard = rng.normal(0.8, 1.5, total)
    logits = rng.normal(0, 0.1, (len(models), total, 1, n_classes))
    member = np.zeros((len(models), total), dtype=np.int8)
    for place, name in enumerate(models):
        trained = {"target": side == 0, "paired": side == 1}.get(name, np.zeros(total, dtype=bool))
        member[place] = trained
        logits[place, np.arange(total), 0, label] += hard + 0.3 * rng.normal(size=total) + GAIN * trained
    examples = Examples(np.array([f"e{row}" for row in range(total)], dtype=object), label,
                        np.zeros(total, dtype=np.int64),
                        group=None if groups is None else rng.integers(0, groups, total) + groups * side,
                        split=np.array(["train", "train", "eval"], dtype=object)[side])
    return ScoreTable(tuple(Model(name, *KINDS[name]) for name in models), examples, logits, member)
