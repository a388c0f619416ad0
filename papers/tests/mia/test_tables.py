"""Tables from audits written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from papers.tests.mia.conftest import row_of as row
from papers.tests.mia.conftest import utility_of as utility

from discreet_papers.mia.settings import FULL, LORA, SETTINGS, Condition, Setting
from discreet_papers.mia.tables import ALL_REGIMES, ITEMS, ROWS, grouped

COPIES = ("plain", "duplicated x2", "duplicated x4", "paraphrased x2", "paraphrased x4")

SETTING = Setting({"small": {FULL: "tfidf-mlp", LORA: "tfidf-mlp"}, "large": {FULL: "tfidf-mlp"}},
                  {"single-turn": "made_up", "pooled": "pooled", "depression": "depression", "users": "stormfront"},
                  (1, 2), further=("davidson",), sweep=("small",), mismatched="made_up_users", curve=(10, 20))


def audited(rows: list[dict[str, Any]], test: float = 0.8, **more: Any) -> dict[str, Any]:
    targets = [{"utility": utility(0.9, test)}, {"utility": utility(0.9, test)}]
    models = {name: {"best_step": 10, "planned_steps": 30} for name in ("f_A", "f_B")}
    return {"audit": {"attacks": rows, "targets": targets, **more}, "training": {"models": models}}


def made(name: str, audit: Callable[[Condition], dict[str, Any]], setting: Setting = SETTING) -> list[dict[str, Any]]:
    return ITEMS[name].of_audits(setting, {one: audit(one) for one in ITEMS[name].conditions(setting)})


def test_cells_of_the_tables() -> None:
    def shown(name: str) -> list[tuple[str, str, str, str]]:
        return [(one.corpus, one.model, one.regime, one.variant) for one in ITEMS[name].conditions(SETTING)
                if one.seed == 1]

    assert {len(item.conditions(SETTING)) % 2 for item in ITEMS.values() if item.rows in ROWS} == {0}
    assert shown("table 7") == [(corpus, "small", regime, "") for corpus in ("made_up", "pooled", "davidson")
                                for regime in (LORA, FULL)]
    assert shown("figure 3") == [("made_up", "small", LORA, ""), ("made_up", "small", FULL, ""),
                                 ("made_up", "large", FULL, "")]
    assert shown("table 9") == shown("table 10") == [("depression", "small", LORA, "")]
    assert shown("section 8.2") == [("made_up", "small", regime, variant) for variant in COPIES
                                    for regime in (LORA, FULL)]
    assert shown("size") == [("made_up", "small", regime, f"size {size}") for size in (10, 20)
                             for regime in (LORA, FULL)]
    assert [one[3] for one in shown("mismatched")] == ["", "", *["mismatched made_up_users"] * 2]
    assert shown("users") == [("stormfront", "small", LORA, ""), ("stormfront", "small", FULL, "")]
    broad = replace(SETTING, broad=("small", "large"), depressed=("small", "large"))
    assert {condition.model for condition in ITEMS["table 7"].conditions(broad)} == {"small", "large"}
    assert {condition.model for condition in ITEMS["table 9"].conditions(broad)} == {"small"}


def test_what_is_drawn_once_is_of_the_first_seed_and_the_models_asked_for() -> None:
    assert {(one.model, one.seed) for one in ITEMS["figure 4"].conditions(SETTING)} == {("small", 1), ("large", 1)}
    assert {(one.model, one.seed) for one in ITEMS["section 7.1"].conditions(SETTING)} == {("small", 1)}


def test_no_mismatched_reference_without_another_corpus() -> None:
    assert ITEMS["mismatched"].conditions(replace(SETTING, mismatched="")) == []


def test_every_item_has_cells_at_every_scale() -> None:
    for scale, setting in SETTINGS.items():
        assert all(item.conditions(setting) for item in ITEMS.values()), scale


def test_seeds_are_one_group() -> None:
    conditions = ITEMS["figure 3"].conditions(SETTING)
    groups = list(grouped(conditions, {condition: {"audit": {"n": condition.seed}} for condition in conditions}))
    assert [[condition.seed for condition in held] for held, _ in groups] == [[1, 2]] * 3
    assert groups[0][1] == [{"n": 1}, {"n": 2}]


def test_table_7_has_every_definition_the_papers_figures_and_parts_of_the_pool() -> None:
    def audit(condition: Condition) -> dict[str, Any]:
        rows = [row(0.7), row(0.72), row(0.6, definition="honest, p"), row(0.6, definition="honest, logit"),
                row(0.65, definition="paper, clean non-members"), row(0.55, attack="loss"),
                row(0.9, label=1), row(0.66, structure="multi-turn"), row(0.8, 0.75, structure="single-turn")]
        return audited(rows)

    found = made("table 7", audit)
    one = [found_row for found_row in found if (found_row["corpus"], found_row["regime"], found_row["attack"]) == (
        "made_up", FULL, "reference")]
    assert [found_row["definition"] for found_row in one] == [
        "paper", "paper, clean non-members", "honest, p", "honest, logit"]
    assert one[0]["auc"]["value"] == pytest.approx(0.71)
    assert one[0]["paper"] == {"low": 0.698, "high": 0.869, "models": 4}
    assert one[0]["paper_tpr"] == {"low": 0.327, "high": 0.491, "models": 4}
    assert one[0]["accuracy"]["value"] == pytest.approx(0.8)
    assert one[0]["accuracy_gap"]["value"] == pytest.approx(0.1)
    assert all("paper" not in found_row for found_row in one[1:])
    parts = {found_row["part"]: found_row for found_row in found
             if (found_row["corpus"], found_row["regime"], found_row["attack"], found_row["definition"]) == (
                 "pooled", FULL, "reference", "paper")}
    assert set(parts) == {None, "multi-turn", "single-turn"}
    assert parts["single-turn"]["control"]["value"] == pytest.approx(0.75)
    assert "paper" in parts[None]
    assert "paper" not in parts["multi-turn"]


def test_the_papers_figures_of_safety_do_not_stand_beside_another_task() -> None:
    """dreaddit is of distress in posts: not what table 7 of the paper and its figure 2 are of."""
    rows = [row(0.7, label=label, selection=selection, n=n) for label in (None, 0, 1)
            for selection, n in (("global", None), ("boundary", 20))]
    setting = replace(SETTING, further=("davidson", "dreaddit"))
    for name, column in (("table 7", "paper"), ("figure 2", "paper")):
        found = made(name, lambda _: audited(rows), setting)
        compared = {corpus: [one[column] for one in found if one["corpus"] == corpus and one.get(column)]
                    for corpus in ("davidson", "dreaddit")}
        assert compared["davidson"]
        assert not compared["dreaddit"]
        assert {one["structure"] for one in found if one["corpus"] == "dreaddit"} == {"depression"}


def test_figure_2_is_by_label_with_the_controls_gain() -> None:
    rows = [row(auc, control, definition=definition, label=label, selection=selection, n=n)
            for definition in ("paper", "honest, p", "honest, logit") for label in (0, 1, None)
            for selection, n, auc, control in (
                ("global", None, 0.6, 0.5),
                ("boundary", 20, 0.65 if label is None else 0.6 + 0.1 * label, 0.58))]
    found = made("figure 2", lambda _: audited(rows))
    assert len(found) == len(ITEMS["figure 2"].conditions(SETTING)) // 2 * 9
    for one in found:
        assert one["gain"]["value"] == pytest.approx({"unsafe": 0.1, "safe": 0.0, "both": 0.05}[one["label"]])
        assert one["label"] != "both" or one["paper"] is None
        assert one["control_gain"]["value"] == pytest.approx(0.08)
        assert (one["global_auc"]["value"], one["boundary_control"]["value"]) == pytest.approx((0.6, 0.58))
    [paper] = [one for one in found if (one["corpus"], one["regime"], one["label"], one["definition"]) == (
        "pooled", LORA, "safe", "paper")]
    assert paper["paper"] == {"low": 0.04, "high": 0.16, "models": None}


def test_figure_3_has_the_reach_of_the_directions_and_categories_over_regimes() -> None:
    def audit(regime: str) -> dict[str, Any]:
        shift = 0.1 if regime == FULL else 0.0
        rows = [row(value, definition=definition, **stratum) for definition in ("paper", "honest, logit")
                for value, stratum in ((0.6 + shift, {"category": "theft"}), (0.64 + shift, {"category": "theft"}),
                                       (0.5, {"decile": 0, "decile_by": "target"}),
                                       (0.7, {"decile": 0, "decile_by": "target"}),
                                       (0.9, {"decile": 0, "decile_by": "selector"}))]
        return audited(rows)

    found = made("figure 3", lambda condition: audit(condition.regime))
    tenth = [one for one in found if one["decile_by"] == "target"]
    assert {(one["least"], one["most"]) for one in tenth} == {(0.5, 0.7)}
    assert [one["auc"]["value"] for one in tenth] == pytest.approx([0.6] * len(tenth))
    bars = {(one["model"], one["regime"]): one["auc"]["value"] for one in found
            if one["category"] == "theft" and one["definition"] == "paper"}
    assert bars == {("small", LORA): pytest.approx(0.62), ("small", FULL): pytest.approx(0.72),
                    ("small", ALL_REGIMES): pytest.approx(float(np.mean([0.62, 0.72]))),
                    ("large", FULL): pytest.approx(0.72), ("large", ALL_REGIMES): pytest.approx(0.72)}
    assert all(one["category"] for one in found if one["regime"] == ALL_REGIMES)


def test_section_8_2_is_against_the_plain_training_set_of_the_same_seed() -> None:
    def audit(condition: Condition) -> dict[str, Any]:
        shift = COPIES.index(condition.variant) * 0.02 + (condition.seed - 1) * 0.1
        rows = [row(0.5 + shift / factor, 0.5 + shift / 4, definition=definition, selection=selection, n=n)
                for definition in ("paper", "honest, logit")
                for selection, n, factor in (("global", None, 2), ("boundary", 20, 1), ("non-boundary", 20, 4))]
        return audited(rows, test=0.7 + shift)

    found = made("section 8.2", audit)
    by_variant = {one["variant"]: one for one in found if one["regime"] == FULL and one["definition"] == "paper"}
    assert list(by_variant) == list(COPIES)
    assert not {"boundary_change", "accuracy_change", "paper", "paper_non_boundary"} & set(by_variant["plain"])
    assert by_variant["plain"]["steps"] == {"kept": 10.0, "planned": 30.0}
    one = by_variant["paraphrased x4"]
    assert one["boundary_auc"]["value"] == pytest.approx(0.63)
    assert one["boundary_change"]["value"] == pytest.approx(0.08)
    assert one["boundary_control_change"]["value"] == pytest.approx(0.02)
    assert one["global_change"]["value"] == pytest.approx(0.04)
    assert one["non_boundary_change"]["value"] == pytest.approx(0.02)
    assert one["non_boundary_auc"]["value"] == pytest.approx(0.5325)
    assert one["accuracy_change"]["value"] == pytest.approx(0.08)
    assert one["paper"] == {"low": -0.1, "high": -0.1, "models": 1}
    assert one["paper_non_boundary"] == {"low": 0.5, "high": 0.59, "models": None}
    assert ITEMS["section 8.2"].supplementary
    assert ITEMS["users"].supplementary


def test_users_are_units_of_their_own() -> None:
    users = [{"group_auc": row(value)["auc"], "control_auc": row(0.51)["auc"]} for value in (0.7, 0.8)]
    rows = [row(0.6, definition=definition, attack=attack) for attack in ("reference", "loss")
            for definition in ("paper", "honest, p", "honest, logit")]
    found = made("users", lambda _: audited(rows, users=users))
    of_users = [one for one in found if one["unit"] == "user"]
    assert len(of_users) == 2
    assert of_users[0]["auc"]["value"] == pytest.approx(0.75)
    assert of_users[0]["control"]["value"] == pytest.approx(0.51)
    assert {one["unit"] for one in found} == {"user", "record"}
    assert {one["definition"] for one in found if one["attack"] == "loss"} == {"paper", "honest, p"}


def test_a_mismatched_reference_is_shown_by_honest_definitions_alone() -> None:
    rows = [row(auc, definition=definition, selection=selection, n=n)
            for definition in ("paper", "honest, p", "honest, logit")
            for selection, n, auc in (("global", None, 0.6), ("boundary", 20, 0.7))]
    found = made("mismatched", lambda _: audited(rows))
    assert {one["definition"] for one in found} == {"honest, p", "honest, logit"}
    assert {one["variant"] for one in found} == {"matched", "mismatched made_up_users"}
    assert {(one["selection"], one["auc"]["value"]) for one in found} == {("global", 0.6), ("boundary", 0.7)}
