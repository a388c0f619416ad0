"""Relatives and households by construction: what a list of kin does not hold."""

from __future__ import annotations

import pytest

from discreet.core.records import Answer
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer


def families(text: str) -> list[tuple[str, str]]:
    read = read_answer(Answer("1", text), Policy.of("medical"))
    return [(a.value, a.subject) for a in read.attributes if a.kind == "family"]


@pytest.mark.parametrize(("text", "value"), [
    ("The patient shares her home with an old flame.", "with an old flame"),
    ("He has a godling in his care.", "a godling"),
    ("She is bringing up three orphans alone.", "three orphans"),
    ("He has two half-brothers.", "two half-brothers"),
    ("The client shares a cottage with his rival.", "with his rival"),
])
def test_found_and_bound_to_the_person(text: str, value: str) -> None:
    assert (value, "third") in families(text)


@pytest.mark.parametrize("text", [
    "The trust holds two properties under their care plan.", "Godsend drugs had two stepwise doses.",
    "The nurse had five patients in her care.", "A patient with a half-life of two days has grand mal seizures.",
    "She is raising a concern about the dose.", "He had a foster home inspection.",
    "The board is raising two questions at the meeting.", "She shares the flat with a company law firm.",
])
def test_what_looks_alike(text: str) -> None:
    assert not [found for found in families(text) if found[1] in ("third", "speaker")]


def test_a_cohort_is_nobodys() -> None:
    assert all(subject == "cohort" for _, subject in families("Adults with two step-children should ask."))
