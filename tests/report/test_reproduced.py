"""Tables of a rerun: what is said of a figure, and which columns stand."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.records import Estimate
from discreet.report.reproduced import apart, at_boundary, interval, markdown, number, signed, table_of, tabulated


def one(value: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return (Estimate.unresolved("too few") if value is None else Estimate(value, low, high)).to_json()


def row(**more: Any) -> dict[str, Any]:
    return {"corpus": "c", "structure": "single-turn", "model": "m", "regime": "full", "variant": "", "part": None,
            "attack": "reference", "definition": "paper", "selection": "global", "auc": one(0.7, 0.6, 0.8),
            "placebo": one(0.5), "tpr_at_1pct_fpr": one(0.1), "tpr_at_5pct_fpr": one(0.2),
            "accuracy": one(0.9), "accuracy_gap": one(-0.02, -0.1, 0.05), **more}


def test_numbers_have_three_decimals_and_no_nought() -> None:
    assert [number(value) for value in (0.71, 1.0, 0.0, -0.25)] == [".710", "1.000", ".000", "−.250"]
    assert interval(one(0.71, 0.693, 0.7261)) == ".710 [.693, .726]"
    assert interval(one(0.71)) == ".710"
    assert interval(one(None)) == interval(None) == "–"
    assert signed(one(0.025, -0.01, 0.06)) == "+.025 [−.010, +.060]"
    assert signed(one(-0.025)) == "−.025"
    assert signed(one(-0.0001)) == "+.000"


@pytest.mark.parametrize(("paper", "said"), [
    ({"low": 0.5, "high": 0.6, "models": 2}, ".500 to .600"), ({"low": 0.5, "high": 0.5, "models": 1}, ".500"),
    ({"low": None, "high": 0.22, "models": None}, "up to .220"), ({"low": -0.1, "high": -0.1, "models": 1}, "−.100")])
def test_the_papers_figures_stand_beside_where_they_are_asked_for(paper: dict[str, Any], said: str) -> None:
    rows = [row(paper=paper)]
    head, [cells] = tabulated("table 7", rows)
    assert cells[head.index("paper's AUC")] == said
    assert "paper" not in " ".join(name for name in tabulated("table 7", rows, paper=False)[0])


def test_columns_that_say_nothing_are_left_out() -> None:
    head, _ = tabulated("table 7", [row(), row(definition="honest, p")])
    assert head == ["structure", "corpus", "model", "regime", "attack", "definition", "AUC", "placebo", "TPR at 5% FPR",
                    "accuracy", "train–test gap"]
    assert "variant" in tabulated("size", [row(variant="size 20")])[0]
    assert "within" in tabulated("table 7", [row(part="multi-turn")])[0]
    assert "TPR at 1% FPR" in tabulated("table 9", [row()])[0]


def test_a_table_of_nothing_says_so() -> None:
    assert table_of("table 7", []) == "Nothing was asked for that has such a row."


def test_what_all_rows_share_can_stand_above() -> None:
    head = ["structure", "corpus", "model", "regime", "AUC"]
    lines = [["single-turn", "c", "m", "full", ".5"], ["single-turn", "c", "m", "lora", ".5"]]
    assert apart(head, lines) == ("single-turn, c, m", ["regime", "AUC"], [["full", ".5"], ["lora", ".5"]])
    assert apart(head, lines[:1]) == ("", head, lines[:1])


def test_counts_that_are_nought_are_left_out() -> None:
    sides = {"corpus": "c", "stands_for": "x", "sides": {"a": 2000, "b": 0}, "planted": {"1": 10, "4": 5},
             "duplicates": {"rows": 5, "near_rows": 0}, "paper": {"a": 2000}}
    assert tabulated("table 1", [sides])[1] == [["c", "x", "a 2,000", "10 ×1, 5 ×4", "rows 5", "a 2,000"]]


def test_markdown_says_what_the_figures_are() -> None:
    record = {"scale": "small", "items": {"table 7": {"title": "All attacks", "rows": [row(corpus="a|b")]}}}
    said = markdown(record)
    assert said.startswith("*Analogue*")
    assert "### Table 7: All attacks\n\n| structure | corpus |" in said
    assert "| single-turn | a/b | m | full | reference | paper | .700 [.600, .800] | .500 |" in said
    assert markdown({**record, "scale": "smoke"}).startswith("Made-up sentences")


def test_a_point_of_a_frontier_is_found_by_its_definition() -> None:
    attacks = [{"attack": "reference", "selection": selection, "reference_kind": kind, "scale": scale,
                "nonmembers": nonmembers, "auc": one(value), "placebo_auc": one(0.5)}
               for selection, kind, scale, nonmembers, value in (
                   ("global", "paired", "p", "reference_train", 0.6), ("boundary", "paired", "logit", "clean", 0.61),
                   ("boundary", "paired", "p", "reference_train", 0.62),
                   ("boundary", "neutral", "logit", "clean", 0.63), ("boundary", "neutral", "p", "clean", 0.64))]
    point = {"mechanism": "laplace", "noise": "fresh", "queried": "same", "strength": 0.5, "queries": 16,
             "utility": {"accuracy": one(0.9), "missed_positives": one(0.1)}, "attacks": attacks}
    paper, honest = at_boundary(point, "paper"), at_boundary(point, "honest")
    assert paper is not None
    assert honest is not None
    assert (paper["auc"]["value"], honest["auc"]["value"]) == (0.62, 0.63)
    other = {**point, "queried": "near-duplicates"}
    rows = [{"model": "m", "regime": "full", "frontier": {"points": [point, other]}}]
    head, lines = tabulated("figure 4", rows)
    assert lines == [["m", "full", "fresh", "0.5", "16", ".900", ".100", ".620", ".500", ".630", ".500"]]
    assert head[3:5] == ["σ", "queries"]
