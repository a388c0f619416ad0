"""Items by name, in one order, and their record."""

from __future__ import annotations

from typing import Any

import pytest

from discreet_papers.mia import reproduction as extras
from discreet_papers.mia.reproduction import ORDER, reproduce
from discreet_papers.mia.settings import SETTINGS, Study
from discreet_papers.mia.tables import ITEMS, ROWS
from discreet_papers.report.charts import at_boundary
from discreet_papers.shared import chosen_items


def test_items_are_asked_for_by_number_and_name() -> None:
    asked = chosen_items(ORDER, [7, 1], [4], ["8.2", "users"])
    assert asked == ["table 1", "table 7", "figure 4", "section 8.2", "users"]
    assert chosen_items(ORDER, [], [], []) == list(ORDER)
    assert {item.rows for item in ITEMS.values()} == {*ROWS, *extras.MADE}


@pytest.mark.parametrize(("corpus", "model", "analogue"), [
    ("hub_beavertails", "Llama-3.2-1B-IT", False), ("hub_depression", "Llama-3.2-3B-IT", False),
    ("hub_multi_turn", None, False), ("hub_beavertails", "MiniLM", True), ("beavertails", "Llama-3.2-1B-IT", True),
    ("hub_pooled", "Llama-3.1-8B-IT", True), ("hub_support", "Llama-3.1-8B-IT", True)])
def test_no_analogue_are_the_papers_models_data_and_sizes_alone(corpus: str, model: str | None, analogue: bool) -> None:
    row = {"corpus": corpus, **({} if model is None else {"model": model})}
    items = {"table 7": {"title": "t", "rows": [{"corpus": "hub_beavertails", "model": "Gemma-3-12B-IT"}, row]}}
    assert extras.is_analogue("paper", SETTINGS["paper"], items) == analogue
    assert extras.is_analogue("small", SETTINGS["paper"], items)
    assert extras.is_analogue("paper", SETTINGS["paper"], {"table 7": {"title": "t", "rows": []}})


def test_the_record_has_a_title_and_rows_for_each_item(tiny: Study) -> None:
    found = reproduce(tiny.setting, tiny, ["table 2", "table 10", "users"], engine="inline", quiet=True)
    assert list(found["items"]) == ["table 2", "table 10", "users"]
    assert all(item["title"] and item["rows"] for item in found["items"].values())
    assert {row["selection"] for row in found["items"]["table 10"]["rows"]} == {"boundary"}
    users = [row for row in found["items"]["users"]["rows"] if row["unit"] == "user"]
    assert len(users) == 1
    assert users[0]["control"]["value"] is not None


QUIET: dict[str, Any] = {"engine": "inline", "quiet": True}


def test_sizes_of_sets_are_next_to_the_papers(tiny: Study) -> None:
    [row] = extras.set_sizes("table 1", ITEMS["table 1"].conditions(tiny.setting), tiny, **QUIET)
    assert row["sides"] == {"a": 60, "b": 60, "val": 24, "cal": 36, "eval": 60, "neutral": 60, "control": 60}
    assert row["paper"] == {"a": 2000, "b": 2000, "val": 800, "cal": 1200, "eval": 2000, "total": 8000}
    [eight] = extras.set_sizes("table 8", ITEMS["table 8"].conditions(tiny.setting), tiny, **QUIET)
    assert eight["paper"] == {"a": 2000, "b": 2000, "val": 800, "cal": 1200, "eval": 2000}


def test_statistics_are_those_of_the_file(tiny: Study) -> None:
    [row] = extras.statistics("table 2", ITEMS["table 2"].conditions(tiny.setting), tiny)
    assert (row["n"], row["positive_share"], row["words_mean"], row["words_median"], row["words_max"]) == (
        1400, 0.5, 9.0, 9.0, 9)
    assert row["paper"]["tokens mean"] == 16


def test_the_frontier_begins_without_noise_and_has_both_definitions(tiny: Study) -> None:
    [row] = extras.noise("figure 4", ITEMS["figure 4"].conditions(tiny.setting), tiny, **QUIET)
    points = row["frontier"]["points"]
    assert row["frontier"]["draws"] == 2
    assert {(point["mechanism"], point["strength"]) for point in points} == {
        ("none", None), ("laplace", 0.5), ("keyed", 0.5)}
    assert {point["queries"] for point in points} == set(extras.QUERIES)
    for name in ("paper", "honest"):
        figure = at_boundary(points[0], name)
        assert figure is not None
        assert figure["auc"]["value"] is not None
        assert figure["control_auc"]["value"] is not None


def test_diagnostics_are_of_every_representation(tiny: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"hidden": extras.REPRESENTATIONS["hidden"], "words": extras.REPRESENTATIONS["words"]}
    monkeypatch.setattr(extras, "REPRESENTATIONS", kinds)
    rows = extras.diagnostics("section 7.1", ITEMS["section 7.1"].conditions(tiny.setting), tiny, **QUIET)
    assert [row["embedding"]["representation"] for row in rows] == list(kinds.values())
    for row in rows:
        assert row["embedding"]["target"] == "f_A"
        assert len(row["embedding"]["diagnostics"]) == 5
        assert {point["set"] for point in row["embedding"]["points"]} >= {"boundary members", "boundary non-members"}
