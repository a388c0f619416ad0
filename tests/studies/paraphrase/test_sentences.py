from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.studies.paraphrase.sentences import (
    is_loud,
    is_name,
    keeps,
    lowered,
    names,
    precious,
    raised,
    turns_of,
)

PIECES = ["<|user|>", "<|assistant|>", " ", "\n", "\n\n", "I am.", "Dr. No", "why?", "No.", "U.S. law", "12.5", "…",
          "a"]


def test_turns_and_sentences() -> None:
    first, second = turns_of(" Hi there.  It is Dr. Smith of the U. S. army!\nWhy?\n<|assistant|> No.\n")
    assert (first.before, first.sentences) == ("", ("Hi there.", "It is Dr. Smith of the U. S. army!", "Why?"))
    assert first.between == (" ", "  ", "\n", "\n")
    assert (second.before, second.sentences, second.by_assistant) == ("<|assistant|>", ("No.",), True)
    assert not first.by_assistant
    assert first.text(("a", "b", "c")) == " a  b\nc\n"


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_turns_are_the_text(text: str) -> None:
    turns = turns_of(text)
    assert "".join(turn.text() for turn in turns) == text
    assert all(one == one.strip() and one for turn in turns for one in turn.sentences)
    assert all(not one.strip() for turn in turns for one in turn.between)


@pytest.mark.parametrize(("given", "expected"), [
    ("The end", "the end"), ("A cat", "a cat"), ("I am", "I am"), ("I'm", "I'm"), ("George is", "George is"),
    ("WHO is", "WHO is"), ("What’s up", "what’s up"), ("the", "the"), ("", ""), ("?!", "?!"), ("Thereby", "Thereby")])
def test_a_capital_goes_where_it_is_no_name(given: str, expected: str) -> None:
    assert lowered(given) == expected


def test_capitals() -> None:
    assert (raised("the end", "A"), raised("the end", "a"), raised("", "A")) == ("The end", "the end", "")
    assert (is_loud("GO AWAY 2"), is_loud("GO aWAY"), is_loud("I?"), is_loud("12")) == (True, False, False, False)
    assert [is_name(one) for one in ("Bob", "iPhone", "KKK", "I", "I'm", "bob", "12")] == [True, True, True, False,
                                                                                        False, False, False]


def test_what_must_stay() -> None:
    text = "Mail bob@x.org, (at 12:30) for $5. See http://a.b/c_d. #tag covid-19"
    assert precious(text) == {"bob@x.org": 1, "12:30": 1, "$5": 1, "http://a.b/c_d": 1, "#tag": 1, "covid-19": 1}
    assert precious("<|user|>http://a.b/c<|assistant|>12,<|user|>") == {"http://a.b/c": 1, "12": 1}
    assert names("The Smiths and I'm in New York. Bob and Bob. GO AWAY BOB.") == {"Smiths": 1, "New": 1, "York": 1,
                                                                                  "Bob": 1}


@pytest.mark.parametrize(("candidate", "kept"), [
    ("<|user|> So Ann has 2.", True), ("<|user|> So 2 has Ann, well.", True), ("<|user|> So ann has 2.", False),
    ("<|user|> So Ann has 3.", False), ("<|user|> So Ann has 2 2.", False), ("So Ann has 2.", False),
    ("<|assistant|> So Ann has 2.", False), ("<|user|> <|user|> So Ann has 2.", False)])
def test_candidates_that_keep_it(candidate: str, kept: bool) -> None:
    assert keeps("<|user|> so Ann has 2.", candidate) is kept
