"""What the page and the terminal say of a run that trained its models."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.report.reading import read, words_of

from discreet.cli.audit_words import audit_lines
from discreet.report.membership import membership_page
from discreet.report.training import lines, provenance, training

Record = dict[str, Any]
SIDES = {"a": 1200, "b": 1198, "val": 480, "cal": 720, "eval": 1200, "neutral": 1200, "placebo": 1200}
NEURAL: Record = {"family": "bert", "parameters": 22_713_000, "trained": 99_074, "layers": 6, "dtype": "float32",
                  "steps": 40,
                  "planned_steps": 120, "best_step": 30, "learning_rate": 0.001,
                  "learning_rate_by": "ours, for encoders", "token_share": 0.875}


def model(rows: int, planted: int = 0, accuracy: float | None = 0.75, **facts: Any) -> Record:
    return {"trained_on": rows, "planted_records": planted, "validation_accuracy": accuracy, **facts}


@pytest.fixture
def said() -> Record:
    return {
        "recipe": {"name": "transformer", "base": "/models/tiny-bert", "regime": "lora", "rank": 16,
                   "targets": ["q", "v"], "layers": None},
        "seed": 7, "copies": 1, "classes": ["safe", "unsafe"], "sides": SIDES, "planted": {"1": 96, "4": 48},
        "groups": None, "notes": ["7,198 of 9,000 rows are used", "side 'b' has 1,198 rows of 1,200"],
        "duplicates": {"rows": 9020, "kept": 9000, "repeated_rows": 14, "conflicting_rows": 6, "conflicting_texts": 3,
                       "near_clusters": 11, "near_rows": 25},
        "models": {"f_A": model(1400, 73, **NEURAL), "f_B": model(1390, 71, **NEURAL), "f_S": model(360, **NEURAL),
                   "neutral": model(1200, **NEURAL), "placebo": model(1200, **NEURAL)},
        "shadows": {"number": 8, "fewest_rows": 1190, "most_rows": 1200},
        "versions": {"python": "3.11.7", "torch": "2.6.0", "discreet.train": "source:" + "ab" * 32}}


@pytest.fixture
def record(innocent: Record, said: Record) -> Record:
    return {**copy.deepcopy(innocent), "training": said}


def test_the_page_says_who_was_trained_on_what(record: Record) -> None:
    html = membership_page(record)
    read(html)
    told = words_of(html)
    for part in ("What was trained", "by the recipe transformer (tiny-bert, lora, rank 16), to tell 2 classes apart",
                 "A draw with seed 7", "1,198", "48 of them 4×", "A and 73 planted records", "30 of 120", "87.5%",
                 "8 shadows", "1,190 to 1,200",
                 "20 of 9,020 rows were left out: the text of 14 stands in another row too,",
                 "25 rows in 11 clusters", "side 'b' has 1,198 rows of 1,200.", "a bert of 6 layers and 22,713,000",
                 "99,074 were trained", "long records were cut", "targets=q+v, layers=none", "torch 2.6.0",
                 "discreet.train abababababab"):
        assert part in told, part
    assert "ab" * 7 not in told
    # The section stands before the models' verdicts in detail.
    assert told.index("What was trained") < told.index("In detail")


def test_a_run_that_trained_nothing_says_nothing(innocent: Record) -> None:
    assert training(innocent) is None
    assert lines(innocent) == []
    assert provenance(innocent) == []
    assert "What was trained" not in membership_page(innocent)
    assert "What was trained" not in "\n".join(audit_lines(innocent))


def test_columns_that_nobody_fills_are_left_out(record: Record, said: Record) -> None:
    said["shadows"] = None
    said["models"] = {name: model(one["trained_on"], accuracy=None) for name, one in said["models"].items()}
    found = training(record)
    assert found is not None
    assert found["head"] == ["model", "role", "trained on", "rows"]
    assert found["models"][0] == ["f_A", "audited", "A", "1,400"]
    assert [row[0] for row in found["models"]] == ["f_A", "f_B", "neutral", "placebo", "f_S"]
    assert len(lines(record)) == 4


def test_the_terminal_says_it_in_a_few_lines(record: Record, said: Record) -> None:
    assert lines(record) == [
        "transformer (tiny-bert, lora, rank 16); seed 7.",
        "Rows trained on: f_A 1,400, f_B 1,390, neutral 1,200, placebo 1,200, f_S 360, 8 shadows 1,190 to 1,200. "
        "Planted in f_A or f_B: 144 records, 1 and 4 times.",
        "Accuracy on validation: f_A 75%, f_B 75%, neutral 75%, placebo 75%, f_S 75%.",
        "20 of 9,020 rows were left out: the text of 14 stands in another row too, that of 6 with two labels. "
        "25 rows in 11 clusters say nearly the same and stayed together.",
        "side 'b' has 1,198 rows of 1,200."]
    printed = audit_lines(record)
    at = printed.index("What was trained")
    assert printed[at + 1] == "  transformer (tiny-bert, lora, rank 16); seed 7."
    assert max(map(len, printed[at:])) <= 120


@pytest.mark.parametrize(("planted", "words"), [
    ({}, "No records were planted."), ({"1": 20}, "20 records, once."), ({"4": 20}, "20 records, 4 times."),
    ({"1": 20, "4": 20, "16": 20}, "60 records, 1, 4 and 16 times.")])
def test_what_was_planted_is_counted(record: Record, said: Record, planted: dict[str, int], words: str) -> None:
    said["planted"] = planted
    assert lines(record)[1].endswith(words)


def test_what_is_unusual_is_said(record: Record, said: Record) -> None:
    said["duplicates"] |= {"repeated_rows": 0, "conflicting_rows": 0, "near_clusters": None, "near_rows": None}
    said["groups"], said["copies"] = 310, 4
    said["models"]["mismatched"] = model(1200)
    found = training(record)
    assert found is not None
    assert "(310 groups)" in found["lead"]
    assert found["notes"][0] == ("None of 9,020 rows repeats another's text. Rows that say nearly the same were let "
                                 "stand on different sides.")
    assert "Every training row stood 4 times in its training set." in found["notes"]
    assert ["mismatched", "reference", "another corpus"] in [row[:3] for row in found["models"]]


def test_names_cannot_make_markup(record: Record, said: Record) -> None:
    said["classes"] = ["<b>safe</b>", "unsafe"]
    said["recipe"]["base"] = "<i>x"
    html = membership_page(record)
    assert "<b>safe" not in html
    assert "<i>x" not in html
