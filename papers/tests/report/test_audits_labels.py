"""Tables, figures and page of a rerun of the label inference paper, of rows written by hand."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from tests.report.reading import words_of

from discreet.core.records import Estimate
from discreet.report import summarise, to_html, to_markdown
from discreet_papers.report.audits import tables_of

Row = dict[str, Any]


def one(value: float | None) -> Row:
    found = Estimate.unresolved("none") if value is None else Estimate(value, value - 0.02, value + 0.02, n=500)
    return found.to_json()


def attack(name: str, kind: str, success: float, control: float = 0.5, p: float = 0.5) -> Row:
    return {"name": name, "attack": kind, "success": one(success), "control": one(control), "difference_p": p,
            "holm_p": p, "alpha": None, "beta": None}


def row(mechanism: str = "rr", epsilon: float | str = 2.0, **more: Any) -> Row:
    honest = [attack("LIA-Threshold, fixed", "lia_threshold", 0.71, 0.51, 1e-6),
              {**attack("LIA-Delta-Margin at predicted, β/α 1", "lia_delta_margin", 0.69), "alpha": 1.0, "beta": 1.0},
              {**attack("LIA-Delta-Margin at predicted, β/α 2", "lia_delta_margin", 0.70), "alpha": 1.0, "beta": 2.0}]
    return {"corpus": "imdb", "mechanism": mechanism, "epsilon": epsilon, "seeds": ["1"], "epochs": [5], "chance": 0.5,
            "stands_for": "IMDB", "n_trained": 6400, "n_canaries": 600, "n_controls": 600,
            "ceiling": 0.881 if epsilon != "inf" else 1.0, "epsilon_lower": one(0.75),
            "flips": {"expected": 0.119, "observed": one(0.06), "ok": mechanism != "rr_halved"},
            "planted": [{"copies": 16, "success": one(0.9)}], "honest": honest, "strongest": honest[0],
            "paper": {"train_accuracy": 0.994, "threshold": 0.922, "delta_margin": 0.962},
            "paper_sizes": {"n_train": 25000}, "train_accuracy": dict.fromkeys(("trained", "canary", "original"),
                                                                                one(0.95)),
            "test_accuracy": one(0.8 - 0.05 * len(mechanism)), "threshold": honest[0],
            "threshold_trained": attack("LIA-Threshold, fixed", "lia_threshold", 0.97, 0.5, 1e-9),
            "delta_margin": attack("LIA-Delta-Margin at secret, β/α 1", "lia_delta_margin", 0.93, 0.74), **more}


RIVAL: Row = {"corpus": "imdb", "mechanism": "none", "epsilon": "inf", "n_canaries": 600, "attack": "LiRA-label, shift",
              "right": 580, "baseline_right": 540, "baseline": "LIA-Threshold, mean", "only_attack": 60,
              "only_baseline": 20, "holm_p": 0.0004, "difference_p": 1e-9, "stronger": True}


@pytest.fixture
def record() -> Row:
    rows = [row("none", "inf"), row(), row("rr_halved")]
    items = {"table 2": [row("none", "inf")], "table 5": rows, "table 8": [], "figure 2": rows,
             "section utility": [*rows[:2], row("alibi")],
             "section stronger": [RIVAL, {**row(), "attack": None, "stronger": False}],
             "section prevalence": [row("none", "inf", prevalence=0.1, paper=None)]}
    return {"kind": "reproduce blia", "schema": 1, "scale": "small", "analogue": True,
            "items": {name: {"title": f"Title of {name}", "rows": made} for name, made in items.items()},
            "provenance": {"discreet": "0", "data": "public", "finished": "2026-01-01T00:00:00+00:00", "corpora": {
                "imdb": {"recipe": {"name": "rnn", "tokens": 100}, "rows": 8000, "seeds": [1], "references": 2}}}}


def cells(name: str, rows: list[Row], table: int = 0, **options: Any) -> list[dict[str, str]]:
    found = tables_of("reproduce blia", name, rows, **options)[table]
    return [dict(zip(found.head, line, strict=True)) for line in found.rows]


def test_the_papers_definitions_stand_beside_the_paper() -> None:
    found = cells("table 5", [row("none", "inf"), row("rr_halved")])
    assert [line["ε"] for line in found] == ["∞", "2"]
    assert found[1]["mechanism"] == "rr, flips halved"
    assert found[1]["labels changed"] == "6.0% of 11.9%, broken"
    assert found[1]["LIA-Delta-Margin, paper"] == "96.20%"
    assert found[1]["LIA-Delta-Margin, shown the label"] == "93.0% [91.0%, 95.0%]"
    assert found[1]["train accuracy, paper"] == "99.40%"
    assert found[0]["ceiling"] == "100.0%"


def test_honest_attacks_have_their_controls_and_a_star() -> None:
    [found] = cells("table 5", [row()], table=1)
    assert found["LIA-Threshold, fixed"] == "71.0%* (51.0%)"
    assert found["LIA-Delta-Margin at predicted, β/α 1"] == "69.0% (50.0%)"
    assert found["LIA-Threshold at the label trained on"] == "97.0%* (50.0%)"
    assert found["ε at least"] == "0.75"
    assert "LIA-Delta-Margin at predicted, β/α 2" not in found
    unheld = row()
    unheld["honest"] = [{**unheld["honest"][0], "holm_p": 0.02}]
    assert cells("table 5", [unheld], table=1)[0]["LIA-Threshold, fixed"] == "71.0% (51.0%)"


def test_the_paper_is_left_out_where_it_says_nothing() -> None:
    [found] = cells("table 2", [row("none", "inf", paper=None)])
    assert not any("paper" in name for name in found if name != "trained on, paper")
    assert found["planted canaries right"] == "16×: 90% [88%, 92%]"
    [smoke] = cells("table 2", [row("none", "inf")], paper=False)
    assert not any("paper" in name for name in smoke)


def test_rivals_are_told_with_both_tests() -> None:
    won, lost = cells("section stronger", [RIVAL, {**row(), "attack": None, "stronger": False}])
    assert (won["right"], won["right by LIA-Threshold"], won["of type"], won["stronger"]) == ("580", "540", "mean",
                                                                                            "yes")
    assert won["Holm p"] == "< .001"
    assert (lost["attack"], lost["stronger"]) == ("–", "no")


def test_markdown_has_all_items(record: Row) -> None:
    said = to_markdown(summarise(record))
    assert said.split("\n\n")[1].startswith("*Analogue*")
    assert said.count("### ") == 7
    assert "### Table 8: Title of table 8\n\nNothing was asked for that has such a row." in said
    for table in said.split("\n\n"):
        if table.startswith("| "):
            assert len({line.count("|") for line in table.splitlines()}) == 1


def test_figures_have_distinct_names_and_their_data(record: Row) -> None:
    figures = {figure.name: figure for figure in summarise(record).figures}
    assert list(figures) == ["figure-2-imdb", "utility-imdb"]
    data = list(csv.DictReader(io.StringIO(figures["figure-2-imdb"].csv)))
    assert [(one["panel"], one["mechanism"]) for one in data] == [("rr", "none"), ("rr", "rr"), ("rr_halved", "none"),
                                                                ("rr_halved", "rr_halved")]
    assert {one["paper_delta_margin"] for one in data} == {"0.962"}
    assert len(figures["utility-imdb"].data) == 3


def test_made_up_data_have_no_paper_beside_them(record: Row) -> None:
    small, smoke = to_html(summarise(record)), to_html(summarise({**record, "scale": "smoke"}))
    assert "LIA-Delta-Margin, paper" in small
    assert "LIA-Threshold</text>" in small
    for said in ("LIA-Delta-Margin, paper", "paper's LIA", "analogue</span>", "no noise: by"):
        assert said not in smoke


def test_the_page_says_what_was_found_first(record: Row) -> None:
    page = to_html(summarise(record))
    assert "reproduce blia · scale small" in page
    assert ("imdb, no noise: by the paper's definition LIA-Delta-Margin is right 93.0% of the time, and 74.0% on "
            "held-out canaries; the strongest honest attack (LIA-Threshold, fixed) 71.0%, and 51.0% on held-out "
            "canaries.") in words_of(page)
    assert page.count("<table") == 1 + 2 + 1 + 1 + 1 + 1 + len(summarise(record).figures)
    assert "rnn (tokens 100); rows 8000; seeds 1; references 2" in page


def test_a_corpus_of_one_dot_has_no_frontier(record: Row) -> None:
    record["items"]["section utility"]["rows"] = [row()]
    record["items"]["figure 2"]["rows"] = [row(strongest=None)]
    assert summarise(record).figures == []
