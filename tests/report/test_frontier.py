from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.defences.frontier import frontier as computed
from discreet.core.numbers import interval
from discreet.report import summarise, to_text
from discreet.report.frontier import attacked, released, tables

Record = dict[str, Any]


def made(**changes: Any) -> Record:
    table = simulated_table(World(**{"members": 60, "others": 60, "clean": 60, "selector": 30, "leak": 2.0, **changes}),
                            np.random.default_rng(0))
    found = computed(table, 0, np.random.default_rng(0), strengths={"sigma": [2.0], "decimals": [1.0]},
                     queries=(1, 8, 64), draws=2)
    return {"kind": "defend-frontier", "schema": 1, **json.loads(json.dumps(found.to_json())),
            "provenance": {"input": "scores.csv", "seed": 0, "finished": "2026-01-02T03:04:05+00:00"}}


@pytest.fixture(scope="module")
def record() -> Record:
    return made()


def rows_of(record: Record) -> list[tuple[str, ...]]:
    return [row for table in tables(record) if table is not None for row in table.rows]


def test_every_auc_has_its_interval_and_its_control_at_every_number_of_queries(record: Record) -> None:
    rows = rows_of(record)
    pairs = {pair for row in rows for pair in pairwise(row)}
    for point in record["points"]:
        for selection in ("global", "boundary"):
            row = attacked(record, point, selection)
            assert row is not None
            assert (interval(row["auc"]), interval(row["control_auc"])) in pairs
        utility = point["utility"]
        assert (interval(utility["accuracy"]), interval(utility["missed_positives"])) in pairs
    # Fresh noise has a row for each number of queries; what many queries do not change is in one row.
    released_ = tables(record)[1]
    assert released_ is not None
    assert [row[1] for row in released_.rows if row[0] == "fresh noise, sigma 2"] == ["1", "8", "64"]
    assert released_.rows[0][1] == "1 to 64"


def test_where_there_is_nothing_to_take_away_the_summary_says_so(record: Record) -> None:
    said = "not clearly above chance: there is little to take away here"
    assert said not in " ".join(summarise(record).leads)
    quiet = copy.deepcopy(record)
    row = attacked(quiet, quiet["points"][0])
    assert row is not None
    row["auc"] |= {"value": 0.51, "low": 0.48, "high": 0.54}  # type: ignore[index]
    assert said in " ".join(summarise(quiet).leads)


def test_without_a_control_or_selector_the_summary_says_so(record: Record) -> None:
    bare = made(controls=0, selector=0)
    found = summarise(bare)
    assert "no control" in {cell for row in rows_of(bare) for cell in row}
    assert "There is no control model" in found.leads[0]
    assert "There are no figures at the boundary: the table has no scores of a selection model" in to_text(found)
    assert [figure.name for figure in found.figures] == ["frontier"]
    assert "control model" not in {row.get("model") for row in found.figures[0].data}
    assert [figure.name for figure in summarise(record).figures] == ["frontier", "frontier-boundary"]


def point(queries: int, auc: float, mechanism: str = "laplace", queried: str = "same") -> Record:
    def row(value: float, selection: str = "global", oracle: bool = False) -> Record:
        return {"attack": "reference", "scale": "logit", "reference_kind": "neutral", "selection": selection,
                "oracle": oracle, "auc": {"value": value, "low": None, "high": None, "reason": None},
                "control_auc": {"value": None, "low": None, "high": None, "reason": "none"}}

    none = {"value": 0.5, "low": None, "high": None}
    return {"mechanism": mechanism, "knob": "sigma", "strength": 0.5, "queried": queried, "queries": queries,
            "utility": {"accuracy": none, "missed_positives": none}, "local_epsilon": None,
            "attacks": [row(0.99, oracle=True), row(auc), row(auc + 0.1, "boundary")]}


def of(*points: Record) -> Record:
    primary = {"attack": "reference", "scale": "logit", "reference_kind": "neutral", "selection": "global"}
    facts = {"reference": {"attack_title": "reference ratio"}}
    return {"primary": primary, "attack_facts": facts, "points": list(points), "clip": None}


def test_points_of_one_mechanism_are_together_and_the_row_is_no_oracle() -> None:
    record = of(point(1, 0.6), point(1, 0.7, "keyed"), point(4, 0.8), point(4, 0.7, "keyed", "near-duplicates"),
                point(4, 0.7, "own_kind"))
    assert [(name, len(points)) for name, points in released(record).items()] == [
        ("fresh noise, sigma 0.5", 2), ("keyed noise, sigma 0.5", 1), ("keyed noise, sigma 0.5, near-duplicates", 1),
        ("own kind, sigma 0.5", 1)]
    found = attacked(record, record["points"][0], "boundary")
    assert found is not None
    assert (found["auc"]["value"], attacked(record, record["points"][0])["auc"]["value"]) == (0.7, 0.6)  # type: ignore[index]
    assert attacked(record, record["points"][0], "boundary_union") is None


def test_queries_that_change_nothing_are_one_row() -> None:
    whole = of(point(1, 0.6), point(16, 0.6), point(1024, 0.6), point(2048, 0.7), point(4096, 0.6))
    found = tables(whole)[1]
    assert found is not None
    assert [(row[1], row[2]) for row in found.rows] == [("1 to 1,024", ".600"), ("2,048", ".700"), ("4,096", ".600")]
