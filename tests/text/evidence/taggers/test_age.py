from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.text.doc import Doc
from discreet.text.evidence.mentions import Context
from discreet.text.evidence.taggers.age import AgeTagger, value_of

SAID = [
    ("medical", "A 52-year-old man presented with chest pain.", "third", "52-year-old"),
    ("medical", "The patient, aged 67, was started on warfarin.", "third", "67"),
    ("medical", "She turned 41 last week and still smokes.", "third", "41"),
    ("medical", "The patient is in her late 50s and takes metformin.", "third", "late 50s"),
    ("medical", "This 9-month-old girl was seen for fever.", "third", "9-month-old"),
    ("medical", "A sixty-three year old woman came with dizziness.", "third", "sixty-three"),
    ("medical", "The patient is a 45 y/o F with asthma.", "third", "45 y/o"),
    ("medical", "The resident, born on 3 March 1950, has dementia.", "third", "1950"),
    ("medical", "I'm 29 and my periods have stopped.", "speaker", "29"),
    ("medical", "I am a high-school senior and cannot sleep.", "speaker", "high-school senior"),
    ("medical", "My mother is 80 years old and falls a lot.", "third", "80 years old"),
    ("finance", "My client is 58 and wants to retire next year.", "third", "58"),
    ("finance", "The borrower, 34, earns $82,000 a year.", "third", "34"),
    ("finance", "I was born in 1961 and hold two annuities.", "speaker", "1961"),
    ("finance", "He is in his early thirties and rents a flat.", "third", "early thirties"),
    ("finance", "At 52, she still has a mortgage.", "third", "52"),
    ("law", "The plaintiff, a 71-year-old widow, fell in the store.", "third", "71-year-old"),
    ("law", "The defendant was 17 years old when he was arrested.", "third", "17 years old"),
    ("law", "I'm 22 years old and my landlord kept my deposit.", "speaker", "22 years old"),
    ("law", "My tenant is an octogenarian who refuses to move.", "third", "octogenarian"),
    ("medical", "The patient is 78 years old. Adults should rest.", "third", "78 years old"),
    ("medical", "He is 61 years old.\n\nPatients who smoke should stop.", "third", "61 years old"),
    ("medical", "My mother turned 80 in May.", "third", "80"),
    ("medical", "I'm turning 45 soon.", "speaker", "45"),
    ("finance", "The client (58, divorced) wants to sell.", "third", "58"),
    ("finance", "We are a couple in our early 30s.", "speaker", "early 30s"),
    ("law", "This is my third decade on the bench.", "speaker", "third decade"),
    (
        "law",
        "In Miller v. Alabama, 567 U.S. 460 (2012), the Court held that the sentence of the 14-year-old petitioner "
        "was cruel.",
        "public",
        "14-year-old",
    ),
]
NOT_SAID = [
    ("medical", "Adults aged 50 to 70 should be screened every year."),
    ("medical", "Patients over 65 have a higher risk of falls."),
    ("medical", "Children under 5 years old need two doses."),
    ("medical", "Screening starts at the age of 45 for people at average risk."),
    ("medical", "Take one tablet every 24 hours for 10 days."),
    ("medical", "The mean age of the participants was 54 years."),
    ("medical", "In the 1990s the drug was withdrawn."),
    ("medical", "Women in their 40s may notice irregular periods."),
    ("medical", "A 50-year-old man should be offered a colonoscopy."),
    ("finance", "You can withdraw without a penalty after age 59."),
    ("finance", "The bond matures in 30 years and pays 4 percent."),
    ("finance", "People in their thirties often hold more stock than bonds."),
    ("finance", "Form 1040 must be filed by April 15."),
    ("finance", "The company is 52 years old and has 300 employees."),
    ("law", "A minor under the age of 18 cannot sign a contract."),
    ("law", "The statute of limitations is 6 years."),
    ("law", "If a 15-year-old signs a lease, the contract can be voided."),
]
FIFTY_TWO = [
    "A 52-year-old man was seen.",
    "The man is 52 years old.",
    "The man is fifty-two years old.",
    "He is 52.",
    "The patient, aged 52, was seen.",
    "The patient is a 52 y/o man.",
    "The 52 year old was seen by us.",
]


@pytest.mark.parametrize(("domain", "text", "subject", "cue"), SAID)
def test_ages_of_one_person(assert_said: Callable[..., None], domain: str, text: str, subject: str, cue: str) -> None:
    assert_said("age", domain, text, subject, cue)


@pytest.mark.parametrize(("domain", "text"), NOT_SAID)
def test_ages_of_nobody(assert_not_said: Callable[..., None], domain: str, text: str) -> None:
    assert_not_said("age", domain, text)


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
    found = list(AgeTagger().find(Context(Doc.of(text), "medical")))
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
