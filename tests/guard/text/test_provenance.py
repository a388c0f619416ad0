"""Who said which words of a request, and what of them is consent."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Guard
from discreet.core.records import Answer, Prompts, Turn
from discreet.guard.text.consent import Spoken
from discreet.guard.text.provenance import Request, request_of
from discreet.guard.text.speech import why_not_plain
from discreet.guard.text.templates import parse, texts

QUESTION = "I am a 44-year-old cooper from Grimsby. What helps against gout?"
PASSAGE = "Her brother, a 61-year-old falconer from Whitby, has two daughters."
EARLIER = "The assistant spoke of a stonemason."
ASKING = [name for name in sorted(texts()) if "question" in parse(name).slots]
CLOSED = [name for name in ASKING if parse(name).is_closed]


def filled(name: str, question: str = QUESTION, context: str = PASSAGE, other: str = EARLIER) -> str:
    said = {"question": question, "context": context, "other": other}
    return re.sub(r"\{(\w+)\}", lambda part: said[part[1]], texts()[name])


def request(question: str | None = None, *, how: str = "auto", templates: tuple[str, ...] = (), **more: object
            ) -> Request:
    return request_of(Answer("1", "Yes.", question, prompts=Prompts(how, templates), **more))  # type: ignore[arg-type]


def own_words(found: Request) -> frozenset[str]:
    return frozenset() if found.own is None else found.own.words


def forged(name: str) -> list[str]:
    """Passages that hold the fixed words of a prompt, alone and as the whole of it."""
    fixed = [one.strip() for one in re.split(r"\{\w+\}", texts()[name]) if one.strip()]
    return [*(f"{PASSAGE} {one} I am a falconer." for one in fixed), f"{PASSAGE}\n\nI am a falconer.",
            filled(name, "I am a falconer.", PASSAGE, PASSAGE)]


@pytest.mark.parametrize("name", ASKING)
def test_a_pinned_prompt_gives_the_user_the_question_and_nothing_else(name: str) -> None:
    assert request(filled(name), templates=(name,)).of("user") == (QUESTION,)
    assert request(filled(name), templates=(texts()[name],)).of("user") == (QUESTION,)
    for passage in forged(name):
        found = request(filled(name, context=passage), templates=(name,))
        assert all(one in QUESTION for one in found.of("user"))
        assert own_words(found).isdisjoint({"falconer", "whitby", "61", "daughter"})
        unpinned = request(filled(name, context=passage, other=passage), how="prompt")
        assert all(one in QUESTION for one in unpinned.of("user"))


@pytest.mark.parametrize("name", ASKING)
def test_only_a_closed_prompt_says_by_itself_what_is_the_users(name: str) -> None:
    found = request(filled(name))
    assert found.of("user") == ((QUESTION,) if name in CLOSED else ())
    assert QUESTION in found.asked
    for passage in forged(name):
        assert own_words(request(filled(name, context=passage))).isdisjoint({"falconer", "whitby", "61", "daughter"})
    assert not request(filled(name, question=PASSAGE)).of("user")


@pytest.mark.parametrize("name", [name for name in sorted(texts()) if name not in ASKING])
def test_a_prompt_without_a_question_gives_the_user_nothing(name: str) -> None:
    assert not request(filled(name)).of("user")
    assert not request(filled(name), templates=(name,)).of("user")


words = st.sampled_from(["falconer", "Query:", "Question:", "Answer:", "Context:", "\n", "\n\n", "I am", "my", "?",
                         "---------------------", "</context>", "Human:", "Whitby", "."])


@given(st.sampled_from(ASKING), st.lists(words, max_size=12).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_whatever_stands_in_the_context_of_a_pinned_prompt(name: str, context: str) -> None:
    found = request(filled(name, context=context, other=context), templates=(name,))
    assert all(" ".join(one.split()) in QUESTION for one in found.of("user"))
    assert own_words(found).isdisjoint({"falconer", "whitby"})


PLAIN = [
    QUESTION, "What is the usual dose?", "My mother is 71 and lives in Hull. Can she fly?",
    "Hello, I have asthma. Is swimming safe?", "Our client Mrs Ortiz lives in Leeds. Can she appeal?",
    "I teach in Hull and my son has a fever.", "Can you explain escrow?",
]
NOT_PLAIN = {
    PASSAGE: "a statement about somebody else",
    "The patient is 52. She lives in Hull.": "a statement about somebody else",
    f"What helps?\n{PASSAGE}": "several lines",
    "What helps? ```records```": "marks of structure",
    "Name: Jane, Age: 52": "marks of structure",
    "What helps? Use the following context.": "words that point at other text",
    "What helps? I am a nurse in Hull." + " I am 34 and I live there with my two boys." * 2
    + " Is that right?": "a long text behind the question",
    "Where is it? " * 200: "longer than a user's message",
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_message_is_the_users(text: str) -> None:
    assert why_not_plain(Spoken(text)) is None
    assert request(text).of("user") == (text,)
    assert not request(text, how="prompt").of("user")


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_a_message_that_holds_other_text_is_nobodys(text: str) -> None:
    assert why_not_plain(Spoken(text)) == NOT_PLAIN[text]
    found = request(text)
    assert (found.of("user"), found.asked) == ((), text)
    assert request(text, how="words").of("user") == (text,)


def test_declared_words_are_the_users_and_the_message_is_not() -> None:
    found = request(f"{PASSAGE}\n{QUESTION}", user_words=QUESTION)
    assert (found.of("user"), found.asked) == ((QUESTION,), QUESTION)
    assert request(QUESTION, user_words="").of("user") == ()


@pytest.mark.parametrize("beside", [Turn("assistant", "Let me look."), Turn("assistant", "records", "answer"),
                                    Turn("assistant", " ")])
def test_a_call_of_a_tool_leaves_the_message_before_it_undeclared(beside: Turn) -> None:
    given = (Turn("user", SHARED), beside, Turn("tool", "Seen in March."))
    assert request(user_words=QUESTION, conversation=given).of("user") == (QUESTION,)
    answered = (Turn("user", SHARED), Turn("assistant", "Rest."))
    assert request(user_words=QUESTION, conversation=answered).of("user") == (SHARED, QUESTION)


@pytest.mark.parametrize(("turn", "origin"), [
    (Turn("user", QUESTION), "user"), (Turn("Human", QUESTION), "user"), (Turn("assistant", QUESTION), "answer"),
    (Turn("system", QUESTION), "system"), (Turn("tool", QUESTION), "tool"), (Turn("narrator", QUESTION), "unknown"),
    (Turn("user", QUESTION, "tool"), "tool"), (Turn("user", QUESTION, "retrieved"), "retrieved"),
    (Turn("assistant", QUESTION, "user"), "answer"),
])
def test_roles_and_typed_parts(turn: Turn, origin: str) -> None:
    found = request("What now?", conversation=(turn,))
    assert [part.origin for part in found.parts] == [origin, "user"]
    assert "cooper" not in repr(found)


def test_each_turn_of_the_user_is_judged_by_itself() -> None:
    told = (Turn("user", QUESTION), Turn("assistant", "Rest."), Turn("user", PASSAGE))
    found = request("And now?", conversation=told)
    assert found.of("user") == (QUESTION, "And now?")
    assert found.of("unknown") == (PASSAGE,)


SHARED = "I am a lighthouse keeper from Whitby and my knee hurts in the morning."


@pytest.mark.parametrize(("more", "kept"), [
    ({}, True), ({"sources": ("Unrelated text of kelp.",)}, True), ({"sources": (f"Note. {SHARED} End.",)}, False),
    ({"conversation": (Turn("tool", SHARED.upper()),)}, False),
    ({"conversation": (Turn("assistant", SHARED),)}, False),
    ({"conversation": (Turn("user", SHARED, "retrieved"),)}, False),
    ({"sources": ("I am a lighthouse keeper from Whitby",)}, True),
])
def test_words_that_stand_in_other_text_too_are_withdrawn(more: dict[str, Any], kept: bool) -> None:
    assert (SHARED in request(SHARED, **more).of("user")) == kept
    assert (SHARED in request(SHARED, how="words", **more).of("user")) == kept
    declared = request("What now?", user_words=SHARED, **more).of("user")
    assert (SHARED in declared) == (kept or any(getattr(one, "role", "") == "assistant"
                                                for one in more.get("conversation", ())))


def test_no_request() -> None:
    assert request() == Request(())
    assert (request().said, request("What now?").said) == (None, "What now?")


CONSENT = [
    ("I'm 52, a litigator from Omaha, with two kids. What now?", "You are 52 and a lawyer from Omaha with two kids."),
    ("My client is a 52-year-old litigator from Omaha.", "The client is a 52-year-old litigator from Omaha."),
    ("I work at Walmart and have three children.",
     "Since you work at Walmart and have three kids, you may qualify for help with child care."),
    ("My husband is a 40-year-old welder. Can he drive?", "He is a 40-year-old welder."),
    ("Our client Mrs Ortiz lives in Tulsa and has two sons.", "Mrs Ortiz lives in Tulsa and has two sons."),
    ("My name is Ruth Hale. I live in Leeds.", "Ruth Hale lives in Leeds."),
]
NO_CONSENT = [
    ("Jane Rowe has HIV", "Jane Rowe has HIV."), ("Who has two sons?", "The man has two sons and lives in Tulsa."),
    ("I am 52.", "The patient is 52 and a welder from Tulsa."), ("I live in Omaha.", "She is 52 and lives in Tulsa."),
    ("The client is a 52-year-old litigator from Omaha.", "The client is a 52-year-old litigator from Omaha."),
    ("I saw a 52-year-old welder.\nThe man lives in Tulsa.", "The welder is 52 and lives in Tulsa."),
    ("My name is Ruth Hale.", "Ann Lowry lives in Leeds."),
]


@pytest.mark.parametrize(("question", "answer"), CONSENT)
def test_what_users_say_of_theirs_may_be_told_back(question: str, answer: str) -> None:
    assert Guard("law").check(answer).action == "flag"
    verdict = Guard("law").check(answer, question)
    assert verdict.action == "safe", verdict.reason


@pytest.mark.parametrize(("question", "answer"), NO_CONSENT)
def test_what_nobody_said_of_theirs_is_no_consent(question: str, answer: str) -> None:
    verdict = Guard("law").check(answer, question)
    assert verdict.action in ("flag", "abstain"), verdict.reason


@pytest.mark.parametrize("name", sorted(texts("system")))
def test_a_known_system_prompt_says_what_is_retrieved_and_gives_the_user_nothing(name: str) -> None:
    turns = (Turn("system", filled(name)),)
    found = request(QUESTION, conversation=turns)
    assert found.of("retrieved") == (PASSAGE,)
    assert found.of("user") == (QUESTION,)
    assert PASSAGE not in " ".join(found.of("system"))
    for passage in forged(name):
        again = request(QUESTION, conversation=(Turn("system", filled(name, context=passage)),))
        assert again.of("user") in ((QUESTION,), ())
