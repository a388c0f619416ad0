from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit.labels.flips import implied_flips, noisy_accuracy
from discreet.audit.labels.table_rows import Cell
from discreet.mechanisms.labels.base import LabelMechanism, truth_probability
from discreet.mechanisms.labels.rr import HalvedRandomisedResponse, RandomisedResponse, halved_truth

EPSILONS = (4.0, 2.0, 1.0, 0.5)


def table(accuracy: dict[float, float], n_classes: int = 2, benchmark: str | None = "a") -> list[Cell]:
    return [Cell(row, 500, epsilon, 0.5, value, n_classes, benchmark=benchmark)
            for row, (epsilon, value) in enumerate(accuracy.items(), start=1)]


@pytest.mark.parametrize(("kind", "fits"), [(RandomisedResponse, "claimed"), (HalvedRandomisedResponse, "halved")])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_that_memorises_nothing_shows_the_flip_rate(
    kind: type[RandomisedResponse] | type[HalvedRandomisedResponse], fits: str, n_classes: int
) -> None:
    rng = np.random.default_rng(0)
    clean = rng.integers(0, n_classes, 40_000)
    predicted = np.where(rng.random(40_000) < 0.93, clean, (clean + 1) % n_classes)
    accuracy = {inf: float((predicted == clean).mean())}
    for epsilon in EPSILONS:
        mechanism: LabelMechanism = kind.at(epsilon, n_classes)
        accuracy[epsilon] = float((mechanism.apply(clean, rng) == predicted).mean())
    [found] = implied_flips(table(accuracy, n_classes))
    assert found.fits == fits
    assert min(found.distance_claimed, found.distance_halved) < 0.01
    for row in found.rows:
        real = kind.at(row.epsilon, n_classes).exact_epsilon()
        assert row.implied_epsilon == pytest.approx(real, rel=0.08)


@settings(deadline=None)
@given(st.floats(0.5, 1.0), st.floats(0.0, 1.0), st.integers(2, 20))
def test_accuracy_against_noise_falls_from_that_on_truth_to_chance(clean: float, flip: float, n_classes: int) -> None:
    noisy = noisy_accuracy(clean, flip, n_classes)
    assert noisy_accuracy(clean, 0.0, n_classes) == clean
    assert noisy_accuracy(clean, 1 - 1 / n_classes, n_classes) == pytest.approx(1 / n_classes)
    assert 0.0 <= noisy <= clean + 1e-12 or flip > 1 - 1 / n_classes


def test_a_model_that_fits_the_noise_tells_nothing() -> None:
    [found] = implied_flips(table({inf: 0.99, 4.0: 0.99, 1.0: 0.98, 0.3: 0.99}))
    assert found.fits == "neither"
    assert found.rows[0].implied_flip == 0.0
    assert found.rows[0].implied_epsilon == inf


def test_where_both_are_near_neither_is_preferred() -> None:
    claimed, halved = (noisy_accuracy(0.9, 1 - of(4.0, 2), 2) for of in (truth_probability, halved_truth))
    [found] = implied_flips(table({inf: 0.9, 4.0: (claimed + halved) / 2}))
    assert found.fits == "both"


def test_attacks_on_one_model_count_once_and_benchmarks_are_apart() -> None:
    one = table({inf: 0.9, 1.0: 0.7})
    other = table({inf: 0.8, 1.0: 0.6, 0.5: 0.5}, benchmark="b")
    found = implied_flips(one + one + other)
    assert [(group.benchmark, len(group.rows)) for group in found] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("accuracy", [
    {1.0: 0.7, 2.0: 0.8}, {inf: 0.9}, {inf: 0.5, 1.0: 0.5}, {inf: None, 1.0: 0.7},
])
def test_without_a_clean_accuracy_above_chance_or_a_noisy_one_nothing_is_said(accuracy: dict[float, float]) -> None:
    assert implied_flips(table(accuracy)) == ()


def test_two_clean_accuracies_are_no_one_model() -> None:
    assert implied_flips(table({inf: 0.9, 1.0: 0.7}) + table({inf: 0.8})) == ()
