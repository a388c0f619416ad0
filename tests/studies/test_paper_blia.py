"""The tables of the label inference paper, and what checking them finds."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import discreet.studies
from discreet.audit.labels.published_table import check_cells, read_cells

Record = dict[str, Any]
FOLDER = Path(discreet.studies.__file__).parent


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.fixture(scope="module")
def found() -> Record:
    return check_cells(read_cells(FOLDER / "blia" / "paper.csv"))


def violations(found: Record, attack: str, *, halved: bool = False) -> list[tuple[str | None, float]]:
    return [(one["benchmark"], one["epsilon"]) for one in found["cells"] if one["attack"] == attack and one["ceiling"]
            and one["ceiling"]["above_halved" if halved else "above"]]


def test_tables_3_to_8_are_whole() -> None:
    given = rows("blia/paper.csv")
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
    with_none = {tuple(row[name] for name in key) for row in rows("blia/paper.csv") if row["epsilon"] == "inf"}
    table_2 = {tuple(row[name] for name in key) for row in rows("blia/paper_table2.csv")}
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
