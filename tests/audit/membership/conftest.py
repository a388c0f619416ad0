"""Views of small made-up audits: a target, references of every kind, population records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import log_softmax

from discreet.audit.membership.attack import References, View

MakeView = Callable[..., View]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def make_view() -> MakeView:
    """`make(seed, n, queries, classes, models)`: the first half is judged, the rest population."""

    def make(seed: int = 0, n: int = 40, queries: int = 2, classes: int = 3, models: int = 7,
             spread: float = 2.0) -> View:
        rng = np.random.default_rng(seed)
        label = rng.integers(0, classes, n)

        def of(count: int, member: np.ndarray, checkpoints: np.ndarray | None = None) -> References:
            logits = rng.normal(0, spread, (count, n, queries, classes))
            logits += 1.0 * (label[:, None] == np.arange(classes))[:, None, :]
            return References(log_softmax(logits, axis=-1), member.astype(np.int8), checkpoints)

        halves = rng.permuted(np.arange(models * n) % 2).reshape(models, n)
        sides = np.broadcast_to(rng.permutation(np.arange(n) % 2), (2, n))
        before = -np.random.default_rng(seed + 1).exponential(size=(models + 4, n, 3))
        return View(
            target=log_softmax(rng.normal(0, spread, (n, queries, classes)), axis=-1), label=label,
            references={"population": of(models, halves, before[:models]),
                        "neutral": of(3, np.zeros((3, n)), before[models:-1]), "paired": of(2, sides)},
            population=np.arange(n // 2, n), judged=np.arange(n // 2), steadiness=rng.random(n), checkpoints=before[-1])

    return make
