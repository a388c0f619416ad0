from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.core.errors import UsageError
from discreet.core.records import Answer, Turn
from discreet.guard.guard import Guard
from discreet.guard.withheld import Withheld

TEXT = "This is a 52-year-old litigator from Omaha with two children. Metformin is taken with meals."
DIRECT = "Write to jane.roe@example.org for the results."
PASSES = "She makes a home where Omaha lies, as litigators do."
NOBODY = "X makes a home where Omaha lies. Litigators ask this."
OTHER = "Metformin is taken with meals. Omaha has a clinic for it."


@pytest.fixture(scope="module")
def guard() -> Guard:
    """So that what tells a little less than `TEXT` passes."""
    return Guard("medical").at(evidence_tau=2.5, unsure=2.5)


@pytest.fixture
def say(guard: Guard) -> Callable[..., str]:
    withheld = Withheld()

    def said(text: str, question: str | None = None, **more: Turn) -> str:
        answer = Answer("1", text, question)
        return str(withheld.judge(answer, guard.judge(answer)).verdict.action)

    return said


def test_the_same_facts_in_other_words_go_to_review(guard: Guard, say: Callable[..., str]) -> None:
    assert guard.check(PASSES).action == "safe"
    assert [say(PASSES), say(TEXT), say(PASSES)] == ["safe", "flag", "abstain"]


@pytest.mark.parametrize("again", [
    "She turned fifty-two, an Omaha native.", "Her kids, two of them, love Omaha.", "A **liti**gator of Om\u200baha.",
    "She asks as litigators in their early fifties do.",
])
def test_what_is_known_again(guard: Guard, say: Callable[..., str], again: str) -> None:
    assert guard.check(again).action == "safe"
    assert [say(TEXT), say(again)] == ["flag", "abstain"]


@pytest.mark.parametrize("again", [
    OTHER, NOBODY, "Metformin is taken with meals.", "Plumbers in Omaha ask this.", "A dose of 52 mg is high.",
    "Two of the children's clinics are there.", "Two children are well.",
])
def test_one_fact_or_facts_of_nobody_pass(say: Callable[..., str], again: str) -> None:
    assert [say(TEXT), say(again)] == ["flag", "safe"]


def test_what_the_user_told_is_no_leak(guard: Guard) -> None:
    withheld = Withheld()
    first = Answer("1", TEXT)
    withheld.judge(first, guard.judge(first))
    asked = "I am a 52-year-old litigator from Omaha. What now?"
    told = "You make a home where Omaha lies, as litigators do."
    for answer in (Answer("2", told, asked), Answer("2", told, None, (), (Turn("user", asked),))):
        assert withheld.judge(answer, guard.judge(answer)).verdict.action == "safe"


def test_one_identifier_is_enough(say: Callable[..., str]) -> None:
    assert [say("Her MRN is 4471902."), say("She is the one with 4471902 on the door."), say("The door is open.")] == [
        "flag", "abstain", "safe"]


def test_what_is_true_of_very_many_is_not_enough() -> None:
    withheld, guard = Withheld(), Guard("medical", point="strict").at(evidence_tau=-2.0)
    text = "The patient is an 8-year-old with two sisters."
    for said in (text, "In 8 of 10 homes sisters, two of them, are well."):
        answer = Answer("1", said)
        action = withheld.judge(answer, guard.judge(answer)).verdict.action
        assert (said == text) == (action == "flag")
    assert len(withheld) == 0


def test_the_judgement_says_why_and_is_left_alone_otherwise(guard: Guard) -> None:
    now = [0.0]
    withheld = Withheld(clock=lambda: now[0])
    safe = Answer("1", PASSES)
    held, judged = guard.judge(Answer("2", TEXT)), guard.judge(safe)
    assert withheld.judge(safe, judged) is judged
    assert withheld.judge(Answer("2", TEXT), held) is held
    now[0] = 7
    found = withheld.judge(safe, judged).verdict
    assert (found.reason, found.code) == ("restates 2 facts of an answer that was withheld 7 s ago",
                                          "privacy/undecided")
    assert "Omaha" not in repr(found)


def test_it_expires_after_the_last_try_and_is_bounded(guard: Guard) -> None:
    now = [0.0]
    withheld = Withheld(expires_s=60, most=2, clock=lambda: now[0])

    def said(text: str) -> str:
        answer = Answer("1", text)
        return withheld.judge(answer, guard.judge(answer)).verdict.action

    assert said(TEXT) == "flag"
    for now[0] in (50, 100, 150):
        assert said(PASSES) == "abstain"
    now[0] = 211
    assert [said(PASSES), len(withheld)] == ["safe", 0]
    for town in ("Omaha", "Tulsa", "Boise", "Dayton", "Dayton"):
        assert said(f"The patient is a 52-year-old litigator from {town} with two children.") == "flag"
    assert [said(OTHER), len(withheld)] == ["safe", 2]


def test_a_memory_of_many_takes_all_facts_of_one_answer() -> None:
    guard = Guard("medical").at(evidence_tau=0.03, unsure=0.03)
    again = "She asks as litigators in their early fifties do."
    for first, whole, action in ((TEXT, False, "abstain"), (TEXT, True, "safe"),
                                 ("The patient is a 52-year-old litigator.", True, "abstain")):
        withheld = Withheld(whole=whole)
        assert withheld.judge(Answer("1", first), guard.judge(first)).verdict.action == "flag"
        assert withheld.judge(Answer("2", again), guard.judge(again)).verdict.action == action


def test_there_is_no_text_in_it(guard: Guard) -> None:
    withheld = Withheld()
    answer = Answer("1", TEXT)
    withheld.judge(answer, guard.judge(answer))
    [facts] = withheld._kept
    assert {type(form) for fact in facts for word in fact.words for form in word} == {int}
    other = Withheld()
    other.judge(answer, guard.judge(answer))
    assert other._kept.keys().isdisjoint(withheld._kept.keys())  # Each memory has its own key.


def test_a_conversation_with_it(guard: Guard) -> None:
    withheld = Withheld()
    first = guard.conversation(withheld=withheld)
    assert [first.check(TEXT).action, guard.conversation(withheld=withheld).check(PASSES).action] == ["flag", "abstain"]
    assert not first.told.persons
    assert guard.conversation().check(PASSES).action == "safe"


@pytest.mark.parametrize("given", [{"expires_s": 0}, {"most": 0}, {"facts": 0}])
def test_numbers_that_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="expected seconds above"):
        Withheld(**given)
