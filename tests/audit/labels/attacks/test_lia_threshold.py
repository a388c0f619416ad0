from __future__ import annotations

from collections.abc import Callable
from math import log
from statistics import mean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.labels.attacks.lia_threshold import LiaThreshold, best_threshold
from discreet.audit.labels.view import View, all_attacks

P1 = st.lists(st.sampled_from([0.01, 0.2, 0.4999, 0.5, 0.5001, 0.7, 0.93, 1.0 - 1e-9]), min_size=1, max_size=30)


def view_of(p1: list[float]) -> View:
    given = np.array(p1)
    return View(np.log(np.stack([1.0 - given, given], axis=1)))


def algorithm_1(p1: list[float], kind: str | float) -> list[int]:
    taus: dict[str, Callable[[list[float]], float]] = {"fixed": lambda _: 0.5, "mean": mean, "median": median}
    tau = taus[kind](p1) if isinstance(kind, str) else kind
    found = []
    for one in p1:
        if one >= tau:
            found.append(1)
        else:
            found.append(0)
    return found


@given(P1, st.sampled_from(["fixed", "median", 0.3, 0.6]))
def test_as_the_algorithm(p1: list[float], kind: Any) -> None:
    exact = np.exp(view_of(p1).log_p[:, 1]).tolist()
    assert LiaThreshold(kind).guess(view_of(p1)).label.tolist() == algorithm_1(exact, kind)


def test_the_mean_is_over_the_rows_at_hand() -> None:
    p1 = [0.9, 0.81, 0.7, 0.95, 0.65]
    assert LiaThreshold("mean").guess(view_of(p1)).label.tolist() == algorithm_1(p1, "mean") == [1, 1, 0, 1, 0]


def test_a_probability_on_the_threshold_is_a_one() -> None:
    assert LiaThreshold().guess(View(np.log([[0.5, 0.5]]))).label.tolist() == [1]
    assert LiaThreshold("median").guess(view_of([0.1, 0.2, 0.3])).label.tolist() == [0, 1, 1]


def test_confidence_is_the_way_from_the_threshold_in_log_odds() -> None:
    found = LiaThreshold(0.25).guess(view_of([0.25, 0.5, 0.1])).confidence
    assert found == pytest.approx([0.0, log(3.0), log(3.0)])


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_thresholds_at_the_ends(tau: float) -> None:
    found = LiaThreshold(tau).guess(view_of([0.2, 0.9]))
    assert found.label.tolist() == [1 - int(tau)] * 2
    assert np.isfinite(found.confidence).all()


@pytest.mark.parametrize("threshold", ["half", -0.1, 1.1, float("nan")])
def test_thresholds_that_cannot_be(threshold: Any) -> None:
    with pytest.raises(ValueError, match="threshold is"):
        LiaThreshold(threshold)


def test_two_classes_only() -> None:
    with pytest.raises(ValueError, match="3 classes"):
        LiaThreshold().guess(View(np.log(np.full((2, 3), 1 / 3))))
    assert not [one for one in all_attacks(3) if one.settings.attack == "lia_threshold"]


def test_all_three_types_are_printed() -> None:
    found = [one.settings.threshold for one in all_attacks(2) if one.settings.attack == "lia_threshold"]
    assert found == ["fixed", "mean", "median"]


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.3, 0.5, 0.52, 0.9, 1.0]), st.integers(0, 1)), min_size=1,
                max_size=12))
def test_the_best_threshold_is_no_worse_than_any(rows: list[tuple[float, int]]) -> None:
    p1, labels = np.array([p for p, _ in rows]), np.array([label for _, label in rows])

    def right(tau: float) -> int:
        return sum((p >= tau) == bool(label) for p, label in rows)

    tau = best_threshold(p1, labels)
    assert 0.0 <= tau <= 1.0
    assert right(tau) == max(right(other) for other in (*np.linspace(0.0, 1.0, 101), *p1))


def test_of_equally_good_thresholds_the_one_nearest_one_half() -> None:
    assert best_threshold(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 1, 0, 1])) == pytest.approx(0.15)
    assert best_threshold(np.array([0.1, 0.3, 0.8, 0.9]), np.array([0, 0, 1, 1])) == pytest.approx(0.55)


def test_a_best_threshold_cuts_neighbours_apart() -> None:
    low = 0.3
    high = float(np.nextafter(low, 1.0))
    tau = best_threshold(np.array([low, high]), np.array([0, 1]))
    assert low < tau <= high


def test_no_rows_have_no_best_threshold() -> None:
    with pytest.raises(ValueError, match="n >= 1"):
        best_threshold(np.array([]), np.array([], dtype=np.int64))
