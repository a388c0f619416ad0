"""The paper's figures as shares, by benchmark and ε."""

from __future__ import annotations

from math import inf

import pytest

from discreet.studies.blia.paper import TABLES, paper_accuracy, paper_figures, paper_sizes


@pytest.mark.parametrize(("benchmark", "epsilon", "train", "threshold", "delta"), [
    ("cifar100", 0.3, 0.7820, 0.5070, 0.7600), ("census", inf, 0.8472, 0.5173, 0.5115),
    ("imdb", 0.5, 0.9915, 0.8040, 0.9200), ("big_vul", 0.8, 0.8239, 0.4940, 0.5096)])
def test_figures_are_those_that_are_printed(benchmark: str, epsilon: float, train: float, threshold: float,
                                            delta: float) -> None:
    assert paper_figures(benchmark, epsilon) == {"train_accuracy": train, "threshold": threshold, "delta_margin": delta}


def test_what_the_paper_has_not_is_none() -> None:
    assert paper_figures("census", 3.0) is None
    assert paper_figures("mnist", inf) is None


def test_every_table_has_sizes_and_an_accuracy_without_noise() -> None:
    assert sorted(TABLES.values()) == [f"table {number}" for number in range(3, 9)]
    assert paper_sizes("fashion_mnist") == {"n_train": 60000, "n_canaries": 1200, "architecture": "cnn"}
    assert {name: paper_accuracy(name) for name in TABLES} == {
        "cifar100": 0.8827, "census": 0.8472, "imdb": 0.9935, "fashion_mnist": 0.9964, "cifar10": 0.9267,
        "big_vul": 0.9791}
