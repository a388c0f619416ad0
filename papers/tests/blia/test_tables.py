"""Tables are made of records alone: the paper, oracles apart, the strongest honest attack, what is memorised."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from discreet_papers.blia.reproduction import SETTINGS
from discreet_papers.blia.results import Part, condition
from discreet_papers.blia.tables import (
    BENCHMARKS,
    TABLES,
    by_epsilon,
    line,
    memorised,
    paper_sizes,
    paper_values,
    prevalence,
    stronger,
    utility,
    without_noise,
)

Conditions = list[dict[str, Any]]


@pytest.fixture(scope="module")
def imdb(remembering: list[Part]) -> Conditions:
    """One simulated condition under five names."""
    made = {"corpus": "imdb", **condition(remembering), "epochs": [4, 4, 4]}
    return [{**made, "mechanism": name, "epsilon": epsilon} for name, epsilon in (
        ("none", "inf"), ("rr", 0.5), ("rr_halved", 0.5), ("rr", 2.0), ("alibi", 2.0))]


def row(success: float, control: float, p: float) -> dict[str, Any]:
    return {"success": {"value": success}, "control": {"value": control}, "difference_p": p, "vetoed": False}


def test_a_line_has_the_paper_beside(imdb: Conditions) -> None:
    said = line(imdb[3])
    assert said["paper"] == {"train_accuracy": 0.994, "threshold": 0.922, "delta_margin": 0.962}
    assert said["delta_margin"]["oracle"]
    assert (said["delta_margin"]["loss_labels"], said["delta_margin"]["margin"]) == ("canary", "p1-second")
    assert said["threshold"]["threshold"] == "fixed"
    assert said["threshold_trained"]["success"]["value"] > said["threshold"]["success"]["value"]
    assert not any(one["oracle"] for one in said["honest"])
    assert {one["attack"] for one in said["honest"]} == {"lia_threshold", "lia_delta_margin", "lira_label", "reference"}


def test_tables_go_down_in_epsilon_and_have_the_corpora_and_mechanisms_of_their_own(imdb: Conditions) -> None:
    assert [(one["mechanism"], one["epsilon"]) for one in by_epsilon({"imdb": imdb})] == [
        ("none", "inf"), ("rr", 2.0), ("rr", 0.5), ("rr_halved", 0.5)]
    assert [one["epsilon"] for one in without_noise({"imdb": imdb})] == ["inf"]
    assert without_noise({"imdb": imdb})[0]["paper_sizes"]["n_train"] == 25000
    assert [(one["mechanism"], one["epsilon"]) for one in utility({"imdb": imdb})] == [
        ("none", "inf"), ("rr", 2.0), ("alibi", 2.0), ("rr", 0.5)]
    [said] = prevalence([{**imdb[0], "prevalence": 0.4}])
    assert (said["prevalence"], said["paper"]) == (0.4, None)
    small = SETTINGS["small"]
    asked = {"table 3": ["cifar10_b"], "table 4": ["census"], "figure 2": list(small.corpora)}
    assert {name: TABLES[name].corpora(small.corpora) for name in asked} == asked
    assert TABLES["table 8"].corpora(small.only(["imdb"]).corpora) == []


def test_stars_pay_for_all_attacks_of_the_row(imdb: Conditions) -> None:
    said = line(imdb[1])
    family = [*said["honest"], said["threshold_trained"]]
    found = sorted((one["difference_p"], one["holm_p"]) for one in family)
    held = 0.0
    for place, (p, holm_p) in enumerate(found):
        held = max(held, min(1.0, (len(found) - place) * p))
        assert holm_p == pytest.approx(held)


def test_what_is_memorised_is_told_by_honest_attacks_at_the_secret() -> None:
    one = {**row(0.7, 0.5, 0.001), "access": "outputs", "target": "canary"}
    assert memorised({"attacks": [one]})
    for other in ({"access": "oracle"}, {"target": "trained"}, {"difference_p": 0.02}, {"difference_p": None},
                  {"success": {"value": 0.4}}):
        assert not memorised({"attacks": [{**one, **other}]})


def test_stronger_lists_leaders_of_conditions_in_which_something_is_memorised(imdb: Conditions) -> None:
    names = [{"attack": name, "right": right, "baseline_right": 50, "holm_p": p, "stronger": p < 0.05}
             for name, right, p in (("a", 60, 0.2), ("b", 70, 0.01), ("c", 40, 1.0))]
    led, unled = ({**imdb[0], "stronger": names}, {**imdb[3], "stronger": names[2:]})
    broken, quiet = {**imdb[2], "stronger": names}, {**imdb[1], "stronger": names, "attacks": []}
    rows = stronger({"imdb": [led, unled, broken, quiet]})
    assert [(one["mechanism"], one["attack"], one["stronger"]) for one in rows] == [
        ("none", "b", True), ("none", "a", False), ("rr", None, False)]


def test_figures_are_those_that_are_printed() -> None:
    printed = {("cifar100", 0.3): (0.7820, 0.5070, 0.7600), ("census", inf): (0.8472, 0.5173, 0.5115),
               ("imdb", 0.5): (0.9915, 0.8040, 0.9200), ("big_vul", 0.8): (0.8239, 0.4940, 0.5096)}
    for at, values in printed.items():
        assert paper_values(*at) == dict(zip(("train_accuracy", "threshold", "delta_margin"), values, strict=True))
    assert paper_values("census", 3.0) is paper_values("mnist", inf) is None
    assert sorted(table for table, _ in BENCHMARKS.values()) == [f"table {number}" for number in range(3, 9)]
    assert paper_sizes("fashion_mnist") == {"n_train": 60000, "n_canaries": 1200, "architecture": "cnn"}
