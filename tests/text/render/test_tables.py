from __future__ import annotations

import pytest

from discreet.text.render import render
from discreet.text.render.tables import ALWAYS_LABELLED, MAX_LABELS

RECORDS = "Age, City.\n\x1e\nAge: 52.\nCity: Omaha.\n\x1e\nAge: 60.\nCity: Boise"
FIELDS = "Field: Value.\nAge: 52.\nCity: Omaha."


@pytest.mark.parametrize("text", [
    "| Age | City |\n|---|---|\n| 52 | Omaha |\n| 60 | Boise |", "Age | City\n:--|--:\n52 | Omaha\n60 | Boise",
    "| Age | City |\n| 52 | Omaha |\n| 60 | Boise |", "Age,City\n52,Omaha\n60,Boise",
    "Age\tCity\n52\tOmaha\n60\tBoise", "Age;City\n52;Omaha\n60;Boise",
    "┌─────┬───────┐\n│ Age │ City  │\n├─────┼───────┤\n│ 52  │ Omaha │\n│ 60  │ Boise │\n└─────┴───────┘",
    "| **Age** | `City` |\n|---|---|\n| 52 | *Omaha* |\n| 60 | Boise |"])
def test_a_row_is_a_record(text: str) -> None:
    assert render(text).text.strip().rstrip(".") == RECORDS


@pytest.mark.parametrize("text", [
    "| Field | Value |\n|---|---|\n| Age | 52 |\n| City | Omaha |",
    "+---+---+\n| Field | Value |\n+===+===+\n| Age | 52 |\n+---+---+\n| City | Omaha |"])
def test_two_columns_may_be_fields(text: str) -> None:
    assert render(text).text.strip() == FIELDS


@pytest.mark.parametrize(("text", "expected"), [
    ("| | A | B |\n|-|-|-|\n| Age | 52 | 60 |\n| City | Omaha | Boise |", "A; B.\nAge: 52; 60.\nCity: Omaha; Boise."),
    ("| Job | State | Median wage |\n|---|---|---|\n| Nurse | Texas | 7 |\n| Cook | Ohio | 5 |",
     "Job, State, Median wage.\n\x1dNurse, Texas, 7.\n\x1dCook, Ohio, 5."),
    ("| Age | State |\n|---|---|\n| 40-49 | Texas |", "Age, State.\n\x1d40-49, Texas."),
    ("| Age | City |\n|---|---|\n| 52 | |\n| | Boise |", "Age, City.\n\x1e\nAge: 52.\n\x1e\nCity: Boise."),
    ('id,answer\n1,"She, a nurse, is a tall person of 52"\nend',
    "id, answer.\n\x1e\nId: 1.\nAnswer:\nShe, a nurse, is a tall person of 52.\nend"),
])
def test_other_tables(text: str, expected: str) -> None:
    assert render(text).text == expected


@pytest.mark.parametrize("text", [
    "Yes, no\nand, or", "Omaha, Nebraska\nTulsa, Oklahoma", "Age, sex\n", "a | b", "one\ttwo\nthree\tfour",
    "| alone |", "Dear Ann,\nthank you, Bob"])
def test_what_is_no_table(text: str) -> None:
    assert render(text).text == text


@pytest.mark.parametrize("wide", [10, 1_000, 20_000])
def test_labels_of_many_records_are_bounded_and_what_is_left_is_told(wide: int) -> None:
    text = f"| Age | City {'x' * wide} |\n|---|---|\n" + "| 52 | Omaha |\n" * 2_000
    rendered = render(text)
    assert rendered.text.count("52") == rendered.text.count("Omaha") == 2_000
    assert len(rendered.text) <= 3 * len(text) + max(ALWAYS_LABELLED, MAX_LABELS * len(text))
    assert rendered.beyond == (wide > 100)
