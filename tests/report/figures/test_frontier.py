from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from discreet.audit.frontier import frontier as computed
from discreet.audit.simulate import World, simulated_table
from discreet.report.figures.frontier import frontier


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    table = simulated_table(World(members=60, others=60, clean=60, selector=30, leak=2.0), np.random.default_rng(0))
    found = computed(table, 0, np.random.default_rng(0), strengths={"sigma": [2.0], "decimals": [1.0]}, queries=(1, 64),
                     draws=2)
    return dict(json.loads(json.dumps(found.to_json())))


def test_a_row_per_mechanism_strength_and_number_of_queries(record: dict[str, Any]) -> None:
    figure = frontier(record)
    assert figure is not None
    found = {(row["mechanism"], row["queried"], row["queries"]) for row in figure.data}
    assert found == {(p["mechanism"], p["queried"], p["queries"]) for p in record["points"]}
    assert "64 queries" in figure.body
    assert "near-duplicates" in figure.body


def test_figures_are_those_of_the_primary_row_and_no_oracle(record: dict[str, Any]) -> None:
    figure = frontier(record)
    assert figure is not None
    none = next(row for row in figure.data if row["mechanism"] == "none")
    point = next(p for p in record["points"] if p["mechanism"] == "none")
    row = next(r for r in point["attacks"] if (r["attack"], r["scale"], r["reference_kind"], r["selection"])
               == ("reference", "logit", "neutral", "global"))
    assert none["auc"] == row["auc"]["value"]
    assert none["accuracy"] == point["utility"]["accuracy"]["value"]
