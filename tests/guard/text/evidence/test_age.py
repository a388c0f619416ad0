from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from discreet.guard.text.evidence.mentions import Context, taggers
from discreet.guard.text.evidence.taggers.age import value_of
from hypothesis import given
from hypothesis import strategies as st

from discreet.guard.text.doc import Doc

FIFTY_TWO = [
    "A 52-year-old man was seen.", "The man is 52 years old.", "The man is fifty-two years old.", "He is 52.",
    "The patient, aged 52, was seen.", "The patient is a 52 y/o man.", "The 52 year old was seen by us.",
]


@pytest.mark.parametrize("text", FIFTY_TWO)
def test_one_age_has_one_value(read: Callable[..., Any], text: str) -> None:
    assert {a.value for a in read(text, kind="age")} == {"52"}


def test_months_are_not_years(read: Callable[..., Any]) -> None:
    [months] = read("A 9-month-old girl was seen.", kind="age")
    [years] = read("A 9-year-old girl was seen.", kind="age")
    assert months.value != years.value


@given(st.integers(1, 120))
def test_any_age_in_figures(age: int) -> None:
    text = f"The patient is {age} years old."
    found = list(taggers["age"].find(Context(Doc.of(text), "medical")))
    assert {m.value for m in found} == {str(age)}
    assert {text[m.start : m.end] for m in found} <= {f"{age} years old", f"is {age} years old"}


@given(st.integers(20, 99))
def test_words_and_figures_agree(age: int) -> None:
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()[age // 10 - 2]
    ones = ["", *"one two three four five six seven eight nine".split()][age % 10]
    assert value_of(str(age)) == age
    assert value_of(f"{tens}-{ones}" if ones else tens) == age
    assert value_of(f"{tens} {ones}".strip()) == age


@pytest.mark.parametrize("number", ["121", "300", "999"])
def test_nobody_is_that_old(number: str) -> None:
    assert value_of(number) is None
