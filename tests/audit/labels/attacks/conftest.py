"""Views of small made-up label audits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet.audit.labels.attacker_view import References, View
from discreet.core.arrays import log_softmax

MakeView = Callable[..., View]


@pytest.fixture
def make_view() -> MakeView:
    """`make(seed, n, classes, models)`: every reference was trained on nine rows of ten, with a label of its own."""

    def make(seed: int = 0, n: int = 40, classes: int = 3, models: int = 12, spread: float = 2.0) -> View:
        rng = np.random.default_rng(seed)

        def of(rows: int) -> References:
            label = rng.integers(0, classes, (models, rows))
            logits = rng.normal(0, spread, (models, rows, classes)) + (label[..., None] == np.arange(classes))
            return References(tuple(f"r{place}" for place in range(models)), log_softmax(logits),
                              np.where(rng.random((models, rows)) < 0.1, -1, label))

        log_p = log_softmax(rng.normal(0, spread, (n, classes)))
        return View(log_p, of(n), of(2 * n)) if models else View(log_p)

    return make
