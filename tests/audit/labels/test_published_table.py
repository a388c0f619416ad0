from __future__ import annotations

import json
from math import exp, inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import stats

from discreet.audit.labels.bounds import ceiling
from discreet.audit.labels.published_table import Cell, check_cells, implied_flips, noisy_accuracy, read_cells
from discreet.core.errors import InputError
from discreet.stats.mechanisms.labels.base import truth_probability
from discreet.stats.mechanisms.labels.rr import HalvedRandomisedResponse, RandomisedResponse, halved_truth

HEAD = "n_canaries,train_accuracy,epsilon,success"
EPSILONS = (4.0, 2.0, 1.0, 0.5)


def read(folder: Path, *rows: str, head: str = HEAD) -> list[Cell]:
    path = folder / "table.csv"
    path.write_text("\n".join((head, *rows)) + "\n", encoding="utf-8")
    return read_cells(path)


@pytest.mark.parametrize(("row", "epsilon", "success", "accuracy", "units"), [
    ("520,84.72,inf,51.73", inf, 0.5173, 0.8472, (1e-4, 1e-4)),
    ("1000,0.9267,1,0.769", 1.0, 0.769, 0.9267, (1e-3, 1e-4)),
    # A percent sign is percent however small; a share written short is not taken for a rounded one.
    ("1000,99%,1,0.5 %", 1.0, 0.005, 0.99, (1e-3, 0.01)), ("100,1,1,1", 1.0, 1.0, 1.0, (0.01, 0.01)),
    *((f"10,.5,{written},.5", inf, 0.5, 0.5, (0.01, 0.01)) for written in ("Infinity", " INF ", "∞", "none", "1e999"))])
def test_numbers_as_they_are_written(tmp_path: Path, row: str, epsilon: float, success: float, accuracy: float,
                                     units: tuple[float, float]) -> None:
    [cell] = read(tmp_path, row)
    assert (cell.epsilon, cell.success, cell.train_accuracy) == (epsilon, success, accuracy)
    assert (cell.success_unit, cell.accuracy_unit) == pytest.approx(units)


def test_a_column_is_percent_throughout(tmp_path: Path) -> None:
    assert read(tmp_path, "520,84.72,inf,51.73", "520,,0.3,50.4")[1] == Cell(
        2, 520, 0.3, 0.504, None, success_unit=1e-4, accuracy_unit=1e-4)


def test_everything_that_a_row_may_say(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    row = {"n_canaries": 100, "train_accuracy": None, "epsilon": 2, "success": 0.25, "n_classes": 10, "n_train": 5000,
           "benchmark": " digits ", "attack": "mine", "guess": "Prediction", "more": [1]}
    path.write_text(json.dumps(row), encoding="utf-8")
    [cell] = read_cells(path)
    assert cell == Cell(1, 100, 2.0, 0.25, None, 10, 5000, "digits", "mine", "prediction", 0.01, cell.accuracy_unit)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table({"n_canaries": [10, 20], "train_accuracy": [0.5, None], "epsilon": [1.0, 2.0],
                                  "success": [0.5, 0.75]}), path)
    assert [(c.n_canaries, c.train_accuracy, c.success) for c in read_cells(path)] == [(10, 0.5, 0.5), (20, None, 0.75)]


@pytest.mark.parametrize(("row", "message"), [
    ("0,.5,1,.5", "line 2: 'n_canaries' is 0; expected a whole number, at least 1"),
    ("1.5,.5,1,.5", "'n_canaries' is 1.5"), ("1e99,.5,1,.5", "'n_canaries' is 1E"),
    ("x,.5,1,.5", "'n_canaries' is not a number; expected a whole number"),
    ("10,.5,0,.5", "'epsilon' is 0; expected a number above 0, or inf"),
    ("10,.5,-1,.5", "'epsilon' is -1"), ("10,.5,nan,.5", "'epsilon' is not a number"),
    ("10,.5,,.5", "'epsilon' is not a number"), ("10,.5,1,", "'success' is not a number"),
    ("10,.5,1,nan", "'success' is NaN or infinite"),
    ("10,.5,1,-0.1", "'success' is -0.1; expected a number from 0 to 1"),
    ("10,.5,1,101", "'success' is 101; expected a number from 0 to 100, since the column holds percent"),
    ("10,101,1,.5", "'train_accuracy' is 101"),
    ({"n_classes": 1}, "'n_classes' is 1; expected a whole number, at least 2"),
    ({"n_train": 5}, "'n_train' is 5; expected a whole number, at least 10"),
    ({"guess": "perhaps"}, "'guess' is not one that is known; expected prediction or other"),
    ({"benchmark": 3}, "'benchmark' is a number; expected a name or null"),
    ({"success": True}, "'success' is true or false"), ({"epsilon": True}, "'epsilon' is not a number"),
    ({"epsilon": [1]}, "'epsilon' is not a number"),
])
def test_values_that_cannot_be(tmp_path: Path, row: str | dict[str, Any], message: str) -> None:
    path = tmp_path / ("table.csv" if isinstance(row, str) else "table.jsonl")
    whole = {"n_canaries": 10, "train_accuracy": 0.5, "epsilon": 1, "success": 0.5}
    path.write_text(f"{HEAD}\n{row}\n" if isinstance(row, str) else json.dumps(whole | row), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_cells(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="there is no 'success'"):
        read(tmp_path, "10,.5,1", head="n_canaries,train_accuracy,epsilon")


@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(0, 4), st.data())
def test_the_count_behind_a_figure_is_among_those_that_round_to_it(n: int, digits: int, data: st.DataObject) -> None:
    right, unit = data.draw(st.integers(0, n)), 10.0**-digits
    cell = Cell(1, n, 1.0, min(1.0, round(right / n, digits)), success_unit=unit)
    assert cell.least_right <= right <= cell.most_right
    assert (cell.most_right - cell.least_right) / n <= unit + 1e-9


def above(*cells: Cell) -> list[dict[str, Any]]:
    return [one["ceiling"] for one in check_cells(cells)["cells"]]


class TestCeiling:
    def test_is_an_exact_tail_times_the_cells_with_a_finite_epsilon(self) -> None:
        cells = [Cell(1, 500, 0.3, 0.65), Cell(2, 500, inf, 1.0), Cell(3, 500, 1.0, 0.7),
                 Cell(4, 500, 2.0, 0.3, None, 10)]
        found = check_cells(cells)
        assert found["tests"] == {"ceiling": 3, "accuracy": 0}
        assert found["cells"][1]["ceiling"] is None
        for cell, checked in zip(cells, found["cells"], strict=True):
            if checked["ceiling"] is not None:
                k, e = cell.n_classes, exp(cell.epsilon)
                tail = stats.binomtest(round(500 * cell.success), 500, e / (e + k - 1), alternative="greater").pvalue
                assert checked["ceiling"]["p"] == pytest.approx(min(1.0, 3 * tail))
                assert checked["ceiling"]["above"] == (3 * tail <= 0.05)
        assert [one["impossible"] for one in found["cells"]] == [True, False, False, False]
        assert (found["impossible"], found["n_cells"], found["above_ceiling"]) == (1, 4, 1)

    def test_what_a_halved_mechanism_would_allow_and_the_epsilon_that_it_takes_are_said_too(self) -> None:
        found = above(Cell(1, 1000, 0.3, 0.76), Cell(2, 1000, 0.3, 0.90))
        assert [(one["above"], one["above_halved"]) for one in found] == [(True, False), (True, True)]
        assert found[0]["halved"] == pytest.approx((1 + ceiling(0.3, 2)) / 2)
        for success in (0.6, 0.66, 0.7, 0.8):
            [one] = above(Cell(1, 400, 0.5, success))
            assert (one["epsilon_needed"]["value"] > 0.5) == one["above"]
        # More cells ask for more.
        high = Cell(1, 500, 1.0, 0.775)
        tables = ([high], [high] * 30, [Cell(1, 1, 0.3, 1.0)])
        assert [bool(check_cells(cells)["impossible"]) for cells in tables] == [True, False, False]


def accuracy_of(*cell: Any, **given: Any) -> dict[str, Any]:
    [one] = check_cells([Cell(1, *cell, **{"guess": "prediction", **given})])["cells"]
    assert one["impossible"] >= one["accuracy"]["outside"]
    return dict(one["accuracy"])


class TestAccuracy:
    @settings(deadline=None)
    @given(st.integers(10, 400), st.integers(0, 200), st.data())
    def test_without_a_mechanism_it_is_arithmetic(self, n: int, errors: int, data: st.DataObject) -> None:
        right = data.draw(st.integers(0, n))
        found = accuracy_of(n, inf, right / n, 1 - errors / (n + 600), n_train=n + 600)
        assert found["outside"] == (n - right > errors)
        assert found["least"] == pytest.approx(max(0.0, 1 - errors / n))

    def test_rounding_is_forgiven(self) -> None:
        """99.64% of 60,000 may be 219 errors, so 219 of 1,200 canaries may be wrong and 220 may not."""
        outside = [accuracy_of(1200, inf, 1 - wrong / 1200, 0.9964, n_train=60_000, accuracy_unit=1e-4)["outside"]
                   for wrong in (219, 220)]
        assert outside == [False, True]

    def test_both_tails_with_a_mechanism(self) -> None:
        """A model without an error on noisy labels is right about the drawn ones e^ε / (1 + e^ε) of the time."""
        found = [accuracy_of(1000, 1.0, success, 1.0, n_train=10_000) for success in (0.66, 0.731, 0.80)]
        assert [one["outside"] for one in found] == [True, False, True]
        flip = 1 - ceiling(1.0, 2)
        low, high = stats.binom.ppf(0.025, 1000, flip), stats.binom.isf(0.025, 1000, flip)
        assert (found[1]["least"], found[1]["most"]) == pytest.approx((1 - high / 1000, 1 - low / 1000))
        assert found[1]["least"] < 1 - flip < found[1]["most"]

    @pytest.mark.parametrize("missing", ["guess", "n_train", "train_accuracy"])
    def test_it_is_asked_only_where_all_is_known(self, missing: str) -> None:
        given = {"train_accuracy": 1.0, "n_train": 1000, "guess": "prediction"}
        del given[missing]
        found = check_cells([Cell(1, 100, inf, 0.5, **given)])  # type: ignore[arg-type]
        assert found["cells"][0]["accuracy"] is None
        assert (found["tests"]["accuracy"], found["impossible"]) == (0, 0)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_alpha_is_a_chance(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha is"):
        check_cells([Cell(1, 10, 1.0, 0.5)], alpha)


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
        accuracy[epsilon] = float((kind.at(epsilon, n_classes).apply(clean, rng) == predicted).mean())
    [found] = implied_flips(table(accuracy, n_classes))
    assert found["fits"] == fits
    assert min(found["distance_claimed"], found["distance_halved"]) < 0.01
    for row in found["rows"]:
        assert row["implied_epsilon"] == pytest.approx(kind.at(row["epsilon"], n_classes).exact_epsilon(), rel=0.08)


@settings(deadline=None)
@given(st.floats(0.5, 1.0), st.floats(0.0, 1.0), st.integers(2, 20))
def test_accuracy_against_noise_falls_from_that_on_truth_to_chance(clean: float, flip: float, n_classes: int) -> None:
    noisy = noisy_accuracy(clean, flip, n_classes)
    assert noisy_accuracy(clean, 0.0, n_classes) == clean
    assert noisy_accuracy(clean, 1 - 1 / n_classes, n_classes) == pytest.approx(1 / n_classes)
    assert 0.0 <= noisy <= clean + 1e-12 or flip > 1 - 1 / n_classes


def test_a_model_that_fits_the_noise_tells_nothing_and_where_both_are_near_neither_is_preferred() -> None:
    [found] = implied_flips(table({inf: 0.99, 4.0: 0.99, 1.0: 0.98, 0.3: 0.99}))
    assert (found["fits"], found["rows"][0]["implied_flip"], found["rows"][0]["implied_epsilon"]) == (
        "neither", 0.0, "inf")
    claimed, halved = (noisy_accuracy(0.9, 1 - of(4.0, 2), 2) for of in (truth_probability, halved_truth))
    assert implied_flips(table({inf: 0.9, 4.0: (claimed + halved) / 2}))[0]["fits"] == "both"


def test_attacks_on_one_model_count_once_and_benchmarks_are_apart() -> None:
    one = table({inf: 0.9, 1.0: 0.7})
    other = table({inf: 0.8, 1.0: 0.6, 0.5: 0.5}, benchmark="b")
    found = implied_flips(one + one + other)
    assert [(group["benchmark"], len(group["rows"])) for group in found] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("accuracy", [
    {1.0: 0.7, 2.0: 0.8}, {inf: 0.9}, {inf: 0.5, 1.0: 0.5}, {inf: None, 1.0: 0.7},
])
def test_without_one_clean_accuracy_above_chance_or_a_noisy_one_nothing_is_said(accuracy: dict[float, float]) -> None:
    assert implied_flips(table(accuracy)) == []
    assert implied_flips(table({inf: 0.9, 1.0: 0.7}) + table({inf: 0.8})) == []
