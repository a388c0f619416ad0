"""Small problems that a classifier can learn, from made-up words."""

from __future__ import annotations

import numpy as np

from discreet.audit.train.base import Data

TOPICS = (("river boat harbour sail anchor", "tide"), ("oven flour bread yeast dough", "crust"),
          ("violin concert chord melody tune", "choir"))
FILLER = "today they said again maybe later around people found little".split()


def task(n: int, n_classes: int, seed: int = 0) -> Data:
    """n different texts; each holds two words of its class's topic among fillers."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    texts = []
    for row, label in enumerate(labels):
        topic = " ".join(TOPICS[label]).split()
        words = [*rng.choice(topic, 2, replace=False), *rng.choice(FILLER, 3, replace=False), f"number{seed}x{row}"]
        texts.append(" ".join(rng.permutation(words)))
    return Data(tuple(texts), labels)


def nothing(like: Data) -> Data:
    """No rows."""
    return like.take(np.array([], dtype=np.int64))


def seeds(count: int, entropy: int = 4) -> list[np.random.SeedSequence]:
    return [np.random.SeedSequence(entropy, spawn_key=(m,)) for m in range(count)]
