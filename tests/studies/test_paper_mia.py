"""The figures of the membership paper as data, and what reading them side by side finds."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

import discreet.studies

with (Path(discreet.studies.__file__).parent / "mia" / "paper.csv").open(encoding="utf-8", newline="") as handle:
    ROWS = list(csv.DictReader(handle))

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
