from __future__ import annotations

import json
from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.audit.labels.bounds import ceiling
from discreet.audit.labels.check_table import check_cells, implied_flips, least_right, most_right, noisy_accuracy
from discreet.audit.labels.published import Cell
from discreet.core.files import dump_json
from discreet.mechanisms.labels.base import LabelMechanism, truth_probability
from discreet.mechanisms.labels.rr import HalvedRandomisedResponse, RandomisedResponse, halved_truth

RNG = np.random.default_rng


class TestRounding:
    @settings(deadline=None)
    @given(st.integers(1, 3000), st.integers(0, 4), st.data())
    def test_the_count_behind_a_figure_is_among_those_that_round_to_it(self, n: int, digits: int, data: st.DataObject
                                                                       ) -> None:
        right = data.draw(st.integers(0, n))
        unit = 10.0**-digits
        cell = Cell(1, n, 1.0, min(1.0, round(right / n, digits)), success_unit=unit)
        assert least_right(cell) <= right <= most_right(cell)
        assert (most_right(cell) - least_right(cell)) / n <= unit + 1e-9


class TestCeiling:
    def test_is_an_exact_tail_times_the_cells_with_a_finite_epsilon(self) -> None:
        cells = [Cell(1, 500, 0.3, 0.65), Cell(2, 500, inf, 1.0), Cell(3, 500, 1.0, 0.7),
                 Cell(4, 500, 2.0, 0.3, None, 10)]
        found = check_cells(cells)
        assert (found.ceilings, found.accuracies) == (3, 0)
        assert found.cells[1].ceiling is None
        for cell, checked in zip(cells, found.cells, strict=True):
            if checked.ceiling is not None:
                k, e = cell.n_classes, exp(cell.epsilon)
                tail = stats.binomtest(round(500 * cell.success), 500, e / (e + k - 1), alternative="greater").pvalue
                assert checked.ceiling.p == pytest.approx(min(1.0, 3 * tail))
                assert checked.ceiling.above == (3 * tail <= 0.05)
        assert [cell.impossible for cell in found.cells] == [True, False, False, False]
        assert found.impossible == (found.cells[0],)

    def test_more_cells_ask_for_more(self) -> None:
        high = Cell(1, 500, 1.0, 0.775)
        assert check_cells([high]).impossible
        assert not check_cells([high] * 30).impossible

    def test_what_a_halved_mechanism_would_allow_is_said_too(self) -> None:
        cells = [Cell(1, 1000, 0.3, 0.76), Cell(2, 1000, 0.3, 0.90)]
        found = [cell.ceiling for cell in check_cells(cells).cells]
        assert found[0] is not None
        assert found[1] is not None
        assert (found[0].above, found[0].above_halved) == (True, False)
        assert (found[1].above, found[1].above_halved) == (True, True)
        assert found[0].halved == pytest.approx((1 + ceiling(0.3, 2)) / 2)

    def test_the_epsilon_that_it_takes_is_above_the_one_stated_just_where_it_cannot_be(self) -> None:
        for success in (0.6, 0.66, 0.7, 0.8):
            [one] = check_cells([Cell(1, 400, 0.5, success)]).cells
            assert one.ceiling is not None
            assert one.ceiling.epsilon_needed.value is not None
            assert (one.ceiling.epsilon_needed.value > 0.5) == one.ceiling.above

    @pytest.mark.parametrize("n_classes", [2, 10])
    def test_honest_tables_are_impossible_as_rarely_as_promised(self, n_classes: int) -> None:
        """A perfect memoriser, twelve cells a table."""
        rng, impossible = RNG(n_classes), 0
        for _ in range(300):
            cells = []
            for row, epsilon in enumerate((0.3, 0.5, 1.0, 2.0) * 3, start=1):
                secret = rng.integers(0, n_classes, 500)
                right = int((RandomisedResponse.at(epsilon, n_classes).apply(secret, rng) == secret).sum())
                cells.append(Cell(row, 500, epsilon, right / 500, None, n_classes))
            impossible += bool(check_cells(cells).impossible)
        assert impossible <= 28

    def test_a_memoriser_behind_a_halved_mechanism_is_found_out(self) -> None:
        rng = RNG(3)
        secret = rng.integers(0, 2, 500)
        trained = HalvedRandomisedResponse.at(0.5, 2).apply(secret, rng)
        [one] = check_cells([Cell(1, 500, 0.5, float((trained == secret).mean()))]).cells
        assert one.ceiling is not None
        assert one.ceiling.above
        assert not one.ceiling.above_halved


class TestAccuracy:
    @settings(deadline=None)
    @given(st.integers(10, 400), st.integers(0, 200), st.data())
    def test_without_a_mechanism_it_is_arithmetic(self, n: int, errors: int, data: st.DataObject) -> None:
        n_train = n + 600
        right = data.draw(st.integers(0, n))
        cell = Cell(1, n, inf, right / n, 1 - errors / n_train, n_train=n_train, guess="prediction")
        [one] = check_cells([cell]).cells
        assert one.accuracy is not None
        assert one.accuracy.outside == (n - right > errors)
        assert one.accuracy.least == pytest.approx(max(0.0, 1 - errors / n))
        assert one.impossible == one.accuracy.outside

    def test_rounding_is_forgiven(self) -> None:
        """99.64% of 60,000 may be 219 errors, so 219 of 1,200 canaries may be wrong and 220 may not."""
        for wrong, outside in ((219, False), (220, True)):
            cell = Cell(1, 1200, inf, 1 - wrong / 1200, 0.9964, n_train=60_000, guess="prediction", accuracy_unit=1e-4)
            [one] = check_cells([cell]).cells
            assert one.accuracy is not None
            assert one.accuracy.outside == outside

    @pytest.mark.parametrize(("memorised", "epsilon"), [(1.0, 1.0), (1.0, 4.0), (0.97, 0.5), (0.9, 2.0)])
    def test_real_models_are_inside(self, memorised: float, epsilon: float) -> None:
        rng, outside = RNG(4), 0
        for _ in range(200):
            secret = rng.integers(0, 2, 400)
            trained = RandomisedResponse.at(epsilon, 2).apply(secret, rng)
            guess = np.where(rng.random(400) < memorised, trained, 1 - trained)
            errors = int((guess != trained).sum()) + 20
            cell = Cell(1, 400, epsilon, float((guess == secret).mean()), 1 - errors / 10_000, n_train=10_000,
                        guess="prediction")
            [one] = check_cells([cell]).cells
            assert one.accuracy is not None
            outside += one.accuracy.outside
        assert outside <= 15

    def test_both_sides_with_a_mechanism(self) -> None:
        """A model without an error on noisy labels is right about the drawn ones e^ε / (1 + e^ε) of the time."""
        base = {"train_accuracy": 1.0, "n_train": 10_000, "guess": "prediction"}
        found = [check_cells([Cell(1, 1000, 1.0, success, **base)]).cells[0].accuracy  # type: ignore[arg-type]
                 for success in (0.66, 0.731, 0.80)]
        assert [one.outside for one in found if one is not None] == [True, False, True]
        assert found[1] is not None
        assert found[1].least < ceiling(1.0, 2) < found[1].most
        flip = 1 - ceiling(1.0, 2)
        low, high = stats.binom.ppf(0.025, 1000, flip), stats.binom.isf(0.025, 1000, flip)
        assert found[1].least == pytest.approx(1 - high / 1000)
        assert found[1].most == pytest.approx(1 - low / 1000)

    @pytest.mark.parametrize("missing", ["guess", "n_train", "train_accuracy"])
    def test_it_is_asked_only_where_all_is_known(self, missing: str) -> None:
        given = {"train_accuracy": 1.0, "n_train": 1000, "guess": "prediction"}
        del given[missing]
        found = check_cells([Cell(1, 100, inf, 0.5, **given)])  # type: ignore[arg-type]
        assert found.cells[0].accuracy is None
        assert found.accuracies == 0
        assert not found.impossible


def test_json_counts_and_says_everything() -> None:
    cells = [Cell(1, 500, 0.3, 0.9, 0.6, n_train=1000, benchmark="a", attack="b", guess="prediction"),
             Cell(2, 500, inf, 0.2, 0.99, n_train=1000, benchmark="a", attack="b", guess="prediction")]
    said = json.loads(dump_json(check_cells(cells)))
    assert {name: said[name] for name in ("impossible", "n_cells", "above_ceiling", "above_halved_ceiling",
                                          "outside_accuracy", "suspect_flips", "alpha", "tests")} == {
        "impossible": 2, "n_cells": 2, "above_ceiling": 1, "above_halved_ceiling": 1, "outside_accuracy": 1,
        "suspect_flips": 0, "alpha": 0.05, "tests": {"ceiling": 1, "accuracy": 4}}
    first, second = said["cells"]
    assert list(first) == list(second)
    assert first["success"]["value"] == 0.9
    assert first["ceiling"]["epsilon_needed"]["low"] > 0.3
    assert (second["epsilon"], second["ceiling"], second["accuracy"]["outside"]) == ("inf", None, True)
    assert said["flips"][0]["benchmark"] == "a"


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_alpha_is_a_chance(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha is"):
        check_cells([Cell(1, 10, 1.0, 0.5)], alpha)


def test_a_single_canary_proves_nothing() -> None:
    assert not check_cells([Cell(1, 1, 0.3, 1.0)]).impossible


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
