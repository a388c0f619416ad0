"""The paper's tables 2 to 8 as data: train accuracy and both attacks of each benchmark at each ε."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from math import inf, isclose
from pathlib import Path

PAPER = Path(__file__).parent.parent / "paper_blia.csv"
TABLES: Mapping[str, str] = {"cifar100": "table 3", "census": "table 4", "imdb": "table 5", "fashion_mnist": "table 6",
                             "cifar10": "table 7", "big_vul": "table 8"}
"""Which table is of which benchmark; table 2 is the first row of each."""
SHARES: Mapping[str, str] = {"lia_threshold": "threshold", "lia_delta_margin": "delta_margin"}


def paper_figures(benchmark: str, epsilon: float) -> dict[str, float] | None:
    """`{"train_accuracy", "threshold", "delta_margin"}` as shares in [0, 1]; None for an ε that the paper has not."""
    found: dict[str, float] = {}
    for row in _rows():
        if row["benchmark"] == benchmark and isclose(float(row["epsilon"]), epsilon):
            # The paper's figures have two decimals of a percentage: not more is kept.
            found |= {"train_accuracy": round(float(row["train_accuracy"]) / 100.0, 6),
                      SHARES[row["attack"]]: round(float(row["success"]) / 100.0, 6)}
    return found or None


def paper_sizes(benchmark: str) -> dict[str, int | str]:
    """`{"n_train", "n_canaries", "architecture"}` of the paper's table 1."""
    row = next(row for row in _rows() if row["benchmark"] == benchmark)
    return {"n_train": int(row["n_train"]), "n_canaries": int(row["n_canaries"]), "architecture": row["architecture"]}


def paper_accuracy(benchmark: str) -> float:
    """The train accuracy at ε = ∞, in (0, 1]."""
    found = paper_figures(benchmark, inf)
    assert found is not None
    return found["train_accuracy"]


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with PAPER.open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))
