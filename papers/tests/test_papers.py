"""The figures of both papers as data, and what checking them and reading them side by side finds."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import discreet_papers
from discreet.audit.labels.published_table import check_cells, read_cells
from discreet_papers.shared import paper_figures

Record = dict[str, Any]
FOLDER = Path(discreet_papers.__file__).parent


@pytest.fixture(scope="module")
def found() -> Record:
    return check_cells(read_cells(FOLDER / "blia" / "paper.csv"))


def violations(found: Record, attack: str, *, halved: bool = False) -> list[tuple[str | None, float]]:
    return [(one["benchmark"], one["epsilon"]) for one in found["cells"] if one["attack"] == attack and one["ceiling"]
            and one["ceiling"]["above_halved" if halved else "above"]]


def test_tables_3_to_8_are_whole() -> None:
    given = paper_figures("blia")
    assert len(given) == 84
    assert {row["table"] for row in given} == set("345678")
    for table in "345678":
        epsilons = [row["epsilon"] for row in given if row["table"] == table and row["attack"] == "lia_threshold"]
        assert epsilons == ["inf", "4", "2", "1", "0.8", "0.5", "0.3"]
    sizes = {(row["benchmark"], row["n_train"], row["n_canaries"]) for row in given}
    assert sizes == {("census", "26048", "520"), ("imdb", "25000", "500"), ("fashion_mnist", "60000", "1200"),
                     ("cifar10", "50000", "1000"), ("cifar100", "50000", "1000"), ("big_vul", "150908", "3018")}


def test_table_2_repeats_the_rows_without_a_mechanism_but_for_one_digit() -> None:
    key = ("benchmark", "attack", "train_accuracy", "success")
    with_none = {tuple(row[name] for name in key) for row in paper_figures("blia") if row["epsilon"] == "inf"}
    with (FOLDER / "blia" / "paper_table2.csv").open(encoding="utf-8", newline="") as handle:
        table_2 = {tuple(row[name] for name in key) for row in csv.DictReader(handle)}
    assert table_2 - with_none == {("big_vul", "lia_delta_margin", "97.91", "52.08")}
    assert with_none - table_2 == {("big_vul", "lia_delta_margin", "97.91", "52.09")}


def test_ten_delta_cells_and_four_threshold_cells_are_above_their_ceiling(found: Record) -> None:
    assert found["tests"]["ceiling"] == 72
    assert violations(found, "lia_threshold") == [("imdb", 1.0), ("imdb", 0.8), ("imdb", 0.5), ("imdb", 0.3)]
    assert violations(found, "lia_delta_margin") == [
        ("cifar100", 0.3), ("imdb", 2.0), ("imdb", 1.0), ("imdb", 0.8), ("imdb", 0.5), ("imdb", 0.3),
        ("fashion_mnist", 1.0), ("fashion_mnist", 0.5), ("fashion_mnist", 0.3), ("cifar10", 1.0)]
    # Half the flips explain the cells of LIA-Threshold and leave six.
    assert violations(found, "lia_threshold", halved=True) == []
    assert len(violations(found, "lia_delta_margin", halved=True)) == 6
    clearest = next(one["ceiling"]["p"] for one in found["cells"]
                    if (one["benchmark"], one["epsilon"], one["attack"]) == ("imdb", 0.3, "lia_delta_margin"))
    assert clearest / 72 == pytest.approx(6e-55, rel=0.1)
    assert found["impossible"] == 16
    assert {one["benchmark"] for one in found["cells"] if one["impossible"]} == {
        "imdb", "fashion_mnist", "cifar10", "cifar100"}


def test_train_accuracy_forces_more_success_than_fashion_mnist_reports(found: Record) -> None:
    outside = [one for one in found["cells"] if one["accuracy"] and one["accuracy"]["outside"]]
    assert {(one["benchmark"], one["epsilon"]) for one in outside} == {("fashion_mnist", "inf"), ("fashion_mnist", 4.0)}
    least = next(one["accuracy"]["least"] for one in outside if one["epsilon"] == "inf")
    assert least == pytest.approx(0.82, abs=0.003)


def test_three_tables_flip_half_as_often_and_census_as_it_says(found: Record) -> None:
    distances = {one["benchmark"]: (100 * one["distance_claimed"], 100 * one["distance_halved"])
                 for one in found["flips"]}
    known = {"cifar10": (12.6, 0.87), "big_vul": (13.4, 0.56), "cifar100": (15.3, 4.2), "census": (0.57, 9.7)}
    for benchmark, pair in known.items():
        assert distances[benchmark] == pytest.approx(pair, abs=0.06)
    assert {one["benchmark"]: one["fits"] for one in found["flips"]} == {
        "cifar10": "halved", "big_vul": "halved", "cifar100": "halved", "census": "claimed",
        "imdb": "neither", "fashion_mnist": "neither"}


ROWS = paper_figures("mia")
MODELS = ("Llama-3.2-1B-IT", "Llama-3.2-3B-IT", "Llama-3.1-8B-IT", "Gemma-3-12B-IT")
STRUCTURES = ("single-turn", "multi-turn", "multi-conversation", "pooled")


def value(item: str, **asked: str) -> float:
    [row] = [row for row in ROWS if row["item"] == item and all(row[name] == one for name, one in asked.items())]
    return float(row["value"])


def test_the_tables_are_whole() -> None:
    assert Counter(row["item"] for row in ROWS) == {
        "table 1": 24, "table 2": 20, "table 6": 24, "table 7": 128, "table 8": 5, "table 9": 18, "table 10": 6,
        "figure 2": 9, "figure 3": 3, "figure 4": 2, "section 7.2": 1, "section 8.2": 6, "abstract": 2}
    keys = [tuple(row[name] for name in list(row)[:8]) for row in ROWS]
    assert len(set(keys)) == len(keys)
    of_7 = Counter((row["structure"], row["model"], row["regime"], row["metric"]) for row in ROWS
                   if row["item"] == "table 7")
    assert of_7 == {(structure, model, regime, metric): count for structure in STRUCTURES for model in MODELS
                    for regime in ("full", "lora r=64") for metric, count in (("auc", 3), ("tpr_at_5pct_fpr", 1))}


def test_every_figure_is_a_number_inside_its_interval() -> None:
    for row in ROWS:
        found = [float(row[name]) for name in ("low", "value", "high") if row[name]]
        assert found, row
        assert found == sorted(found), row
        if row["metric"] in ("auc", "tpr_at_1pct_fpr", "tpr_at_5pct_fpr"):
            assert 0.0 <= found[0] <= found[-1] <= 1.0


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_sides_of_table_1_add_up(structure: str) -> None:
    sides = [value("table 1", structure=structure, metric=f"n {side}") for side in ("a", "b", "val", "cal", "eval")]
    assert sum(sides) == value("table 1", structure=structure, metric="n total")


def test_tables_1_and_2_disagree_on_how_many_there_are() -> None:
    totals = {structure: [value(item, structure=structure, metric="n total") for item in ("table 1", "table 2")]
              for structure in STRUCTURES}
    assert totals["multi-conversation"] == [3100, 2558]
    assert totals["pooled"] == [20000, 20001]
    assert len(set(totals["single-turn"])) == len(set(totals["multi-turn"])) == 1


def test_tables_6_and_7_disagree_on_the_same_models() -> None:
    def pair(model: str, regime: str, attack: str = "reference") -> tuple[float, float]:
        first, second = (value(item, structure="single-turn", model=model, regime=regime, attack=attack, metric="auc")
                         for item in ("table 6", "table 7"))
        return first, second

    assert pair("Llama-3.2-1B-IT", "lora r=64") == (0.759, 0.625)
    assert pair("Llama-3.1-8B-IT", "lora r=64") == (0.795, 0.653)
    cells = [pair(model, regime, attack) for model in ("Llama-3.2-1B-IT", "Llama-3.1-8B-IT")
             for regime in ("full", "lora r=64") for attack in ("probe", "loss", "reference")]
    assert all(first != second for first, second in cells)


def test_some_rows_of_table_7_give_lora_and_full_one_auc() -> None:
    same = [(structure, model) for structure in STRUCTURES for model in MODELS if len({
        value("table 7", structure=structure, model=model, regime=regime, attack="reference", metric="auc")
        for regime in ("full", "lora r=64")}) == 1]
    assert same == [("multi-turn", "Gemma-3-12B-IT"), ("multi-conversation", "Llama-3.2-1B-IT"),
                    ("multi-conversation", "Gemma-3-12B-IT")]


def test_the_19_percent_of_the_abstract_is_a_global_figure_of_table_7() -> None:
    assert value("abstract", metric="tpr_at_5pct_fpr") == 0.19
    largest = max(float(row["value"]) for row in ROWS if row["item"] == "table 7"
                  and row["structure"] == "multi-conversation" and row["metric"] == "tpr_at_5pct_fpr")
    assert largest == 0.189
    assert round(largest, 2) == 0.19


def test_the_fall_at_little_noise_is_more_than_that_at_much() -> None:
    [least] = [float(row["low"]) for row in ROWS if row["item"] == "section 7.2"]
    fall = value("figure 4", metric="auc at sigma 0") - value("figure 4", metric="auc at sigma 0.5")
    assert fall == pytest.approx(0.17)
    assert fall < least


def test_the_rates_of_table_10_are_sixteenths() -> None:
    """As few members as a boundary has can give few rates: 5/16 and 6/16, which 20 of a label alone do not."""
    rates = {float(row["value"]) for row in ROWS if row["item"] == "table 10" and row["metric"].startswith("tpr")}
    assert rates == {0.313, 0.375}
    assert all(abs(rate - round(16 * rate) / 16) <= 0.00051 for rate in rates)


def test_the_gain_of_the_depression_use_case_is_the_difference_of_its_tables() -> None:
    gains = [value("table 10", model=model, metric="auc") - value("table 9", model=model, attack="reference",
                                                                  metric="auc") for model in MODELS[:2]]
    assert sorted(gains) == pytest.approx([0.215, 0.261])
