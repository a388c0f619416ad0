from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

import pytest

from discreet.core.errors import UsageError
from discreet.core.records import Answer
from discreet.guard.conversation import FACTS, PERSONS, Conversation, Told, judge_turn
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy

AGE, JOB, PLACE = "The patient is 52 years old.", "She works as a litigator.", "The same patient lives in Omaha."
GENERAL = "Metformin lowers blood glucose and is taken with meals."


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard("medical")


def actions(guard: Guard, *turns: str | tuple[str, str]) -> list[str]:
    conversation = guard.conversation()
    given = [(one, None) if isinstance(one, str) else (one[1], one[0]) for one in turns]
    return [conversation.check(answer, question).action for answer, question in given]


@pytest.mark.parametrize("turns", [(AGE, JOB), (AGE, GENERAL, JOB), (AGE, GENERAL, GENERAL, PLACE), (JOB, AGE)])
def test_the_turn_in_which_the_cluster_closes_is_flagged(guard: Guard, turns: Sequence[str]) -> None:
    assert actions(guard, *turns) == ["safe"] * (len(turns) - 1) + ["flag"]
    assert [guard.check(one).action for one in turns] == ["safe"] * len(turns)


@pytest.mark.parametrize("turns", [
    (AGE, "Another patient works as a litigator."), (AGE, ("What about the next patient?", JOB)),
    (AGE, "A 30-year-old is treated alike."), (AGE, AGE, AGE), (GENERAL, AGE, GENERAL),
    (("My patient is 52 years old and works as a litigator.", AGE), JOB),
    (("My patient works as a litigator.", GENERAL), ("And more?", AGE), ("And more?", JOB)),
    ("He is 52 years old.", JOB),
])
def test_what_is_nobodys_cluster(guard: Guard, turns: Sequence[str | tuple[str, str]]) -> None:
    assert actions(guard, *turns) == ["safe"] * len(turns)


def test_persons_are_told_apart_and_found_again(guard: Guard) -> None:
    said = actions(guard, AGE, "Another patient lives in Tulsa.", "The second patient has two children.")
    assert said == ["safe", "safe", "safe"]  # By the words a third person: nobody is joined who is not meant.
    assert actions(guard, AGE, "Another patient lives in Tulsa.", "He works as a litigator.")[-1] == "flag"


def test_what_was_withheld_did_not_go_out(guard: Guard) -> None:
    conversation = guard.conversation()
    assert [conversation.check(one).action for one in (AGE, JOB, GENERAL)] == ["safe", "flag", "safe"]
    assert {fact.kind for fact in conversation.told.persons[-1].facts} == {"age"}
    assert conversation.check(JOB).action == "flag"
    conversation.shown()  # A reviewer let it go out.
    assert {fact.kind for fact in conversation.told.persons[-1].facts} == {"age", "occupation"}
    assert conversation.check(JOB).action == "safe"  # Nothing new is told.


def test_the_verdict_says_where_and_since_when(guard: Guard) -> None:
    conversation = guard.conversation()
    conversation.check(AGE)
    verdict = conversation.check(JOB)
    assert (verdict.code, verdict.layer, verdict.policy) == ("privacy/contextual", "contextual", guard.policy.label())
    assert verdict.reason == ("over turns: 2 attributes bound to one person (third): age, occupation; 1 of them in "
                              "earlier answers")
    assert all("litigator" in JOB[one.start : one.end] for one in verdict.evidence)
    assert {one.type for one in verdict.evidence} == {"occupation"}


def test_facts_are_forgotten_in_time(guard: Guard) -> None:
    now = [0.0]
    clock: Callable[[], float] = lambda: now[0]  # noqa: E731
    conversation = guard.conversation(expires_s=60, clock=clock)
    conversation.check(AGE)
    now[0] = 59
    assert conversation.check(JOB).action == "flag"
    now[0] = 61
    assert conversation.check(JOB).action == "safe"
    with pytest.raises(UsageError, match="expires_s is 0; expected seconds above 0"):
        Conversation(guard, expires_s=0)


def test_no_text_is_held_and_the_size_is_bounded(guard: Guard) -> None:
    conversation = guard.conversation()
    for number in range(PERSONS + 4):
        conversation.check(f"Another patient is {20 + number} years old.", "I am a litigator.")
    assert len(conversation.told.persons) == PERSONS
    assert sum(len(one.facts) for one in conversation.told.persons) <= FACTS
    kept = pickle.dumps(conversation.told)
    assert not any(word in kept.lower() for word in (b"litigator", b"omaha", b"patient", b"lawyer"))
    assert "litigator" not in repr(conversation.told)
    other = Told()
    assert not other.hashed(["omaha"]) & conversation.told.hashed(["omaha"])
    assert conversation.told.hashed(["omaha"]) == conversation.told.hashed(["omaha"])


def test_a_turn_is_a_pure_function(guard: Guard) -> None:
    told = judge_turn(guard, Answer("1", AGE), Told(), now=1.0).shown
    first, again = (judge_turn(guard, Answer("1", JOB), told, now=2.0) for _ in range(2))
    assert first.judgement.verdict.action == "flag"
    assert (first.shown, first.held) == (again.shown, again.held)
    assert first.held == told


def test_a_detector_that_breaks_lets_nothing_pass(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*given: object) -> None:
        raise RuntimeError("the patient")

    conversation = guard.conversation()
    conversation.check(AGE)
    monkeypatch.setattr("discreet.guard.conversation._linked", breaks)
    verdict = conversation.check(JOB)
    assert (verdict.action, verdict.reason) == ("failed", "a detector failed with RuntimeError; the answer was not "
                                                "judged")


def test_a_policy_that_counts_nobody(guard: Guard) -> None:
    treating = Guard(Policy.of("medical", "treating"))
    assert actions(treating, AGE, JOB, PLACE) == ["safe"] * 3
    three = Guard(Policy.of("medical", "clinician"))
    assert actions(three, AGE, JOB, PLACE) == ["safe", "safe", "flag"]
