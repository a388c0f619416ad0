"""A few telling words in a long text about other things, and rows that are not read at first."""

from __future__ import annotations

import pytest

from discreet import Guard

ADVICE = ("The committee met on Tuesday to discuss the budget.", "Blood pressure is measured every three months.",
          "Take the tablets with food.", "A dry cough is common and harmless.", "The usual dose is small.",
          "Several members asked how the new rules would change the reports.", "Call the clinic if a rash appears.",
          "Regular walks help the heart.", "The form is on the second page.", "Most plans cover the visit.")
LONG = " ".join(ADVICE * 2)


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard("medical")


@pytest.mark.parametrize("telling", [
    "Bed 4: Yoruba welder, 47, Walney.", "age=47 eth=Yoruba job=welder city=Leeds", "F, 34, Somali, airport cleaner",
    "Patient Jennifer Kowalski has HIV."])
@pytest.mark.parametrize("behind", [True, False])
def test_few_words_in_a_long_text_are_found(guard: Guard, telling: str, behind: bool) -> None:
    text = f"{LONG}\n\n{telling}" if behind else f"{telling}\n\n{LONG}"
    assert guard.check(text).action != "safe"
    assert guard.check(LONG).action == "safe"


@pytest.mark.parametrize("text", [
    "| Ref | Age | Ethnicity | Job | Town | Rate |\n|---|---|---|---|---|---|\n"
    "| A1 | 47 | Eritrean | taxi driver | Leeds | 4 |\n| A2 | 33 | Fijian | prison officer | Princetown | 5 |",
    "| Bed | Diagnosis | Room of |\n|---|---|---|\n| 4 | TB | Jennifer Kowalski |\n| 5 | asthma | Robert Nguyen |",
    "| Name | Age | Town |\n|---|---|---|\n| Siosaia Vaipulu | 47 | Apia |\n| Pirkko Laine | over 80 | Kuopio |"])
def test_rows_among_totals_and_bands_are_read_where_they_tell_of_somebody(guard: Guard, text: str) -> None:
    assert guard.check(text).action == "flag"


@pytest.mark.parametrize("text", [
    "| Job | State | Median wage |\n|---|---|---|\n| Nurse | Texas | 91,000 |\n| Cook | Ohio | 41,000 |",
    "| Name | Age | Dose |\n|---|---|---|\n| Children | 2-12 | 5 mg |\n| Adults | 13-64 | 10 mg |"])
def test_rows_of_nobody_stay_unread(guard: Guard, text: str) -> None:
    assert guard.check(text).action == "safe"
