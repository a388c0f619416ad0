from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from discreet.audit.defences.frontier import frontier as computed
from discreet.audit.membership.simulate import World, simulated_table
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


def test_the_placebo_is_drawn_under_every_mechanism(record: dict[str, Any]) -> None:
    figure = frontier(record)
    assert figure is not None
    mechanisms = {(p["mechanism"], p["strength"], p["queried"]) for p in record["points"]}
    # One dot more in the legend.
    assert figure.body.count('class="dot-placebo"') == len(mechanisms) + 1
    assert figure.body.count(">placebo<") == len(mechanisms)
    alone = copy.deepcopy(record)
    for point in alone["points"]:
        for row in point["attacks"]:
            row["placebo_auc"] |= {"value": None, "low": None, "high": None, "reason": "none"}
    bare = frontier(alone)
    assert bare is not None
    assert "dot-placebo" not in bare.body


def test_the_boundary_has_a_figure_of_its_own(record: dict[str, Any]) -> None:
    figure = frontier(record, "boundary")
    assert figure is not None
    point = record["points"][0]
    row = next(r for r in point["attacks"] if (r["attack"], r["scale"], r["reference_kind"], r["selection"])
               == ("reference", "logit", "neutral", "boundary"))
    assert (figure.name, figure.data[0]["auc"], figure.data[0]["placebo_auc_low"]) == (
        "frontier-boundary", row["auc"]["value"], row["placebo_auc"]["low"])


def test_what_users_get_stands_there_with_its_intervals(record: dict[str, Any]) -> None:
    figure = frontier(record)
    assert figure is not None
    accuracy = record["points"][0]["utility"]["accuracy"]
    said = f"{accuracy['value']:.3f} [{accuracy['low']:.3f}, {accuracy['high']:.3f}] / ".replace("0.", ".")
    assert said in figure.body
