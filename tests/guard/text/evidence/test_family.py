from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize("count", ["two", "2"])
@pytest.mark.parametrize("noun", ["children", "kids"])
def test_a_count_of_children_has_one_value(read: Callable[..., Any], count: str, noun: str) -> None:
    [expected] = {a.value for a in read("She has two children.", kind="family")}
    assert {a.value for a in read(f"She has {count} {noun}.", kind="family")} == {expected}


def test_another_count_has_another_value(read: Callable[..., Any]) -> None:
    assert {a.value for a in read("She has two sons.", kind="family")}.isdisjoint(
        a.value for a in read("She has three sons.", kind="family")
    )


def test_several_facts_are_several_attributes(read: Callable[..., Any]) -> None:
    """The labelling guide: `single, lives at home` is family 2."""
    found = read("The man is single and lives at home with his mother.", kind="family")
    assert len({a.value for a in found if a.subject == "third"}) >= 2


@pytest.mark.parametrize("text", ["She saw Mrs. Ortiz about her parents.", "His parents and family came."])
def test_generic_relatives_say_nothing(read: Callable[..., Any], text: str) -> None:
    assert not read(text, kind="family")


def test_a_relative_s_relation_is_the_speaker_s_and_the_age_is_the_relative_s(read: Callable[..., Any]) -> None:
    found = read("My mother is 80 years old.")
    assert {a.subject for a in found if a.kind == "family"} >= {"speaker"}
    assert {a.subject for a in found if a.kind == "age"} == {"third"}
    [age] = [a for a in found if a.kind == "age"]
    assert age.person not in {a.person for a in found if a.subject == "speaker"}


def test_the_age_of_a_child_is_no_number_of_children(read: Callable[..., Any]) -> None:
    assert not [a.value for a in read("My 15 year old daughter has asthma.", kind="family") if "15" in a.value]


def test_a_relative_belongs_to_the_nearest_owner(read: Callable[..., Any]) -> None:
    text = "My landlord called her husband."
    assert "speaker" not in {a.subject for a in read(text, "law", kind="family")}
    [mine] = [a for a in read("My landlord called my wife.", "law", kind="family") if a.subject == "speaker"]
    assert (mine.start, mine.end) == (19, 26)


@pytest.mark.parametrize(("text", "value"), [
    ("The patient shares her home with an old flame.", "with an old flame"),
    ("He has a godling in his care.", "a godling"), ("She is bringing up three orphans alone.", "three orphans"),
    ("He has two half-brothers.", "two half-brothers"),
    ("The client shares a cottage with his rival.", "with his rival"),
])
def test_relatives_and_households_by_construction(read: Callable[..., Any], text: str, value: str) -> None:
    assert (value, "third") in {(a.value, a.subject) for a in read(text, kind="family")}


@pytest.mark.parametrize("text", [
    "The trust holds two properties under their care plan.", "Godsend drugs had two stepwise doses.",
    "The nurse had five patients in her care.", "A patient with a half-life of two days has grand mal seizures.",
    "She is raising a concern about the dose.", "He had a foster home inspection.",
    "The board is raising two questions at the meeting.", "She shares the flat with a company law firm.",
    "Adults with two step-children should ask.",
])
def test_what_looks_like_a_household(read: Callable[..., Any], text: str) -> None:
    assert not {a.subject for a in read(text, kind="family")} & {"third", "speaker"}
