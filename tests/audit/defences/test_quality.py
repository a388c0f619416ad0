from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.defences.quality import balanced_change


def balanced(right: np.ndarray, label: np.ndarray) -> float:
    return float(np.mean([right[label == one].mean() for one in np.unique(label)]))


def problem(n: int = 900) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    label = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    old = rng.random(n) < 0.8
    return old, np.where(rng.random(n) < 0.15, rng.random(n) < 0.5, old), label


def test_the_interval_is_that_of_the_bootstrap() -> None:
    old, new, label = problem()
    found = balanced_change(old, new, label)
    assert found.value == pytest.approx(balanced(new, label) - balanced(old, label))
    rng, draws = np.random.default_rng(1), []
    for _ in range(2000):
        rows = np.concatenate([rng.choice(np.flatnonzero(label == one), (label == one).sum()) for one in range(3)])
        draws.append(balanced(new[rows], label[rows]) - balanced(old[rows], label[rows]))
    low, high = np.quantile(draws, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.006)


def test_records_of_a_group_are_one() -> None:
    """Everything three times, under one group: as if it were there once."""
    old, new, label = problem(300)
    once = balanced_change(old, new, label)
    before, after, classes, group = (np.repeat(one, 3) for one in (old, new, label, np.arange(300)))
    thrice = balanced_change(before, after, classes, group)
    assert thrice.value == pytest.approx(once.value)
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))
    assert (thrice.n, thrice.unit, once.unit) == (300, "group", "example")


def test_no_changed_answer_is_not_certainty() -> None:
    old, _, label = problem(60)
    found = balanced_change(old, old, label)
    assert found.value == 0.0
    assert found.low is not None
    assert found.low < -0.01
