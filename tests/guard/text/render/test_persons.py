from __future__ import annotations

import pytest

from discreet.guard.text.render.persons import is_sentence, tells_of_one


@pytest.mark.parametrize("text", [
    "52-year-old litigator from Omaha with two children", "58yo plumber from Omaha, 3 daughters",
    "Retired welder, 71, widowed, lives near Boise", "Mother of two, 34, night-shift nurse in Duluth",
    "He drives a truck out of Tulsa and has three sons", "The plaintiff is fifty-two, a litigator in Omaha",
    "Her husband, a farmer near Duluth, has two grandsons", "Patient aged 45, a dentist from Boise, divorced"])
def test_prose_about_one_person(text: str) -> None:
    assert tells_of_one(text)


@pytest.mark.parametrize("text", [
    "", "500 mg", "Nurse", "52-year-old man", "He is 52",
    "Registered nurse with twenty years of experience in hospitals",
    "Single filer, aged 65 or older, with no dependents", "Men aged 45 to 54 who smoke and drink daily",
    "Women aged 55-64 who work as nurses in Texas", "Divorced mother with two children under 18",
    "Tell the patient to call his or her doctor at once", "Elementary school teacher, 40 hours a week, Nebraska"])
def test_drugs_strata_and_advice(text: str) -> None:
    assert not tells_of_one(text)


@pytest.mark.parametrize(("text", "expected"), [
    ("The patient works as a litigator.", True), ('"Does he live in Omaha?"', True), ("Rent is due.", False),
    ("Registered nurse with twenty years", False), ("$1,200.50", False), ("", False)])
def test_a_sentence_has_words_and_an_end(text: str, expected: bool) -> None:
    assert is_sentence(text) is expected
