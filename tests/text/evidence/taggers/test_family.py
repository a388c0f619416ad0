from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("medical", "The patient is married and works from home.", "third", "married"),
    ("medical", "She has two daughters.", "third", "two daughters"),
    ("medical", "The patient lives alone and cooks for himself.", "third", "lives alone"),
    ("medical", "A divorced mother of three came with headaches.", "third", "mother of three"),
    ("medical", "Her husband noticed the swelling.", "third", "husband"),
    ("medical", "The patient's sister has lupus.", "third", "sister"),
    ("medical", "I am a single mom and sleep badly.", "speaker", "single mom"),
    ("medical", "My wife and I are trying to conceive.", "speaker", "wife"),
    ("medical", "The girl lives with her mother.", "third", "with her mother"),
    ("medical", "We have been married for eleven years.", "speaker", "married for eleven"),
    ("finance", "The client is a widow with one son.", "third", "widow"),
    ("finance", "My husband and I are married and file jointly.", "speaker", "husband"),
    ("finance", "I have three kids in college.", "speaker", "three kids"),
    ("finance", "He supports his elderly mother.", "third", "mother"),
    ("finance", "My fiancé lost his job.", "speaker", "fiancé"),
    ("law", "My ex-husband stopped paying support.", "speaker", "ex-husband"),
    ("law", "The plaintiff and her twin brother own the house.", "third", "brother"),
    ("law", "The petitioner is engaged to a dancer.", "third", "engaged"),
    ("law", "The decedent left two sons.", "third", "two sons"),
    ("law", "I live with my grandmother.", "speaker", "with my grandmother"),
    (
        "law",
        "In Obergefell v. Hodges, 576 U.S. 644 (2015), the Court held for the petitioner; he was a widower.",
        "public",
        "widower",
    ),
]
NOT_SAID = [
    ("medical", "Family history should be taken from every patient."),
    ("medical", "Parents should watch for a rash."),
    ("medical", "A single dose is enough."),
    ("medical", "A Sister Mary Joseph nodule is a sign of cancer."),
    ("medical", "Children and their siblings are vaccinated together."),
    ("medical", "The daughter cells divide again."),
    ("finance", "Married couples can file jointly."),
    ("finance", "The parent company reported a loss."),
    ("finance", "You can give $18,000 to each child."),
    ("finance", "A widow may claim the benefit of her late husband."),
    ("finance", "Single filers pay more tax than married couples."),
    ("law", "If the parents are divorced, the court decides on custody."),
    ("law", "A spouse cannot be forced to testify."),
    ("law", "In some states, a grandparent can ask for visitation."),
    ("law", "Sister companies share a board."),
]


@pytest.mark.parametrize(("domain", "text", "subject", "cue"), SAID)
def test_family_of_one_person(assert_said: Callable[..., None], domain: str, text: str, subject: str, cue: str) -> None:
    assert_said("family", domain, text, subject, cue)


@pytest.mark.parametrize(("domain", "text"), NOT_SAID)
def test_family_of_nobody(assert_not_said: Callable[..., None], domain: str, text: str) -> None:
    assert_not_said("family", domain, text)


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
