"""`defend training`: the same split and seeds without and with defences, one record, and a sentence that names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.audit.experiments.membership.made_up import SAFE, UNSAFE, write_rows
from tests.cli.conftest import Cli, Refused, content, rendered_again, result, run_kept

from discreet.report import summarise, to_html, to_text

WORDS = ("defend", "training", "--recipe", "tfidf-mlp:steps=40,columns=256", "--sizes", "a=200", "--planted", "1,4",
         "--seeds", 2)
NAMES = ["weight decay 0.02", "one of near-duplicates", "DP-SGD, ε 4"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "d.jsonl", 1500)


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    return run_kept(tmp_path_factory, *WORDS, "--data", data, "--defences", "weight-decay=0.02,deduplicate,dp-sgd=4",
                    "--engine", "inline")


def test_a_run_and_its_record(done: tuple[int, str, Path]) -> None:
    code, printed, out = done
    assert code == 0
    record = result(out)
    assert [one["name"] for one in record["defences"]] == NAMES
    assert record["undefended"]["name"] == "no defence"
    assert {name: one.get("decay") for name, one in record["recipes"].items()} == dict(
        zip(NAMES, (0.02, 0.0, None), strict=True))
    assert [one["guarantee"] is None for one in (record["undefended"], *record["defences"])] == [True] * 3 + [False]
    private, trained = record["defences"][2]["guarantee"], record["trained"]["DP-SGD, ε 4"]
    assert 3.9 < private["epsilon"] <= 4.0
    assert trained["epsilon"] <= 4.0
    assert trained["delta"] * trained["trained_on"] == pytest.approx(0.01)
    assert (record["verdict"], private["broken"]) == (None, False)
    assert "guarantees an ε of at most" in " ".join(printed.split())
    assert record["trained"]["one of near-duplicates"]["near_left_out"] > 0
    assert record["trained"]["no defence"]["near_left_out"] == 0
    assert {one["effect"] for one in record["defences"]} <= {"helps", "unclear", "worse", "no leak", "control"}
    assert printed.splitlines()[0].endswith(".")
    assert "weight decay 0.02  " in printed
    assert max(map(len, printed.splitlines())) <= 180
    words = {word.encode() for word in (*SAFE, *UNSAFE) if len(word) > 5}
    assert not any(word in held for word in words for held in content(out).values())


def test_the_page_is_made_again(cli: Cli, done: tuple[int, str, Path]) -> None:
    rendered_again(cli, done[2])


def test_a_recipe_that_draws_nothing_is_trained_once(cli: Cli, data: Path, tmp_path: Path) -> None:
    ended = cli("defend", "training", "--recipe", "tfidf-linear:C=1000,columns=2048", "--sizes", "a=200", "--data",
                data, "--planted", "none", "--defences", "penalty=0.005", "--engine", "inline", "--out",
                tmp_path / "run")
    assert ended.code == 0
    assert "the recipe 'tfidf-linear' draws nothing from its seed, so that it is trained once" in ended.err
    record = result(tmp_path / "run")
    assert (record["seeds"], record["recipes"]["L2 penalty, C 0.005"]["C"]) == (1, 0.005)
    assert record["defences"][0]["leak_change"]["high"] < 0.0
    assert ended.out.startswith("The defence that was tried leaks less: L2 penalty, C 0.005.")
    page = " ".join((tmp_path / "run" / "report.html").read_text(encoding="utf-8").split())
    assert "mean over f_A and f_B, with 95% intervals over records;" in page
    assert "over its retrainings" not in page


def named(record: dict[str, Any], *effects: str) -> dict[str, Any]:
    """The record as if its defences had these effects, and cost the less the later they stand."""
    rows = [{**record["defences"][0], "name": f"way {place}", "effect": effect} for place, effect in enumerate(effects)]
    helping = [one["name"] for one in rows if one["effect"] == "helps"]
    return {**record, "defences": rows, "cheapest": helping[:2], "next_name": helping[2] if helping[2:] else None,
            "next_change": {**record["defences"][0]["auc_change"], "value": -0.02, "low": -0.03, "high": -0.01}}


@pytest.mark.parametrize(("effects", "said"), [
    (("helps", "helps", "unclear"), "Two defences leak less and cost least: way 0 and way 1."),
    (("unclear", "helps", "worse"), "Of 3 defences, one leaks less: way 1."),
    (("unclear", "worse", "control"), "None of 3 defences is shown to leak less"),
    (("no leak", "no leak", "no leak"), "The undefended recipe shows no leak"),
    (("helps", "helps", "helps"), "The next that helps, way 2, differs in the AUC of the task from way 1 by −.020"),
])
def test_what_it_ends_with(done: tuple[int, str, Path], effects: tuple[str, ...], said: str) -> None:
    shown = summarise(named(result(done[2]), *effects))
    assert said in " ".join(to_text(shown).split())
    assert "The task, and the audit" in to_html(shown)


def test_a_broken_guarantee_comes_first(done: tuple[int, str, Path]) -> None:
    record = named(result(done[2]), "broken", "helps")
    record["defences"][0]["guarantee"] = {**result(done[2])["defences"][2]["guarantee"], "broken": True}
    shown = summarise({**record, "verdict": "fail", "reasons": ["way 0: the guarantee does not hold"]})
    assert shown.sentence == "Fail: training with differential privacy gives away more than it guarantees: way 0."
    assert shown.leads[0] == "way 0: the guarantee does not hold"
    assert "guarantee broken" in to_text(shown)


@pytest.mark.parametrize(("words", "said"), [
    (("--defences", "dp-sgd=-1"), "expected a number above 0"),
    (("--defences", "noise"), "there is no defence 'noise'"),
    (("--defences", "weight-decay=-1"), "expected a number above 0"),
    (("--sizes", "a"), "--sizes holds 'a'"), (("--planted", "0"), "--planted holds '0'"),
    (("--recipe", "mlp"), "the recipe 'mlp' takes no texts"), (("--seeds", "1"), "expected at least 2"),
])
def test_one_line_for_a_mistake(refused: Refused, data: Path, words: tuple[str, ...], said: str) -> None:
    refused(said, *WORDS, "--data", data, *words)
