"""Texts in sentences, clauses in other orders, phrases of the lists, the lists themselves, and what the rules say."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet_papers.paraphrase.rewording import (
    Edit,
    edited,
    edits_of,
    holds,
    is_loud,
    is_name,
    keeps,
    lowered,
    marks_of,
    names,
    precious,
    raised,
    reordered,
    turns_of,
    word_lists,
    words_of,
)
from discreet_papers.paraphrase.rules import Rules

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


MOVED = [
    ("I left because it rained.", "Because it rained, I left."),
    ("Because it rained, I left.", "I left because it rained."),
    ("They went home because it rained.", "Because it rained, they went home."),
    ("Because it rained, they went home.", "They went home because it rained."),
    ("because of the rain, they went home", "they went home because of the rain"),
    ("If it rains, then we stay here!", "We stay here if it rains!"),
    ("What would you do if it rained?", "If it rained, what would you do?"),
    ("If it rained, what would you do?", "What would you do if it rained?"),
    ("George Smith stays if it rains.", "If it rains, George Smith stays."),
    ("I was glad, but they were sad.", "Although I was glad, they were sad."),
    ("Although the rain fell, we went.", "We went although the rain fell."),
    ("In 1998, they moved away.", "They moved away in 1998."),
    ("After the long war, people came back.", "People came back after the long war."),
]


@pytest.mark.parametrize(("sentence", "expected"), MOVED)
def test_orders(sentence: str, expected: str) -> None:
    found = reordered(sentence)
    assert found[0] == expected
    for one in found:
        assert set(words_of(one)) ^ set(words_of(sentence)) <= {"but", "although", "then"}


def test_but_and_although() -> None:
    assert reordered("Although the rain fell, we went.") == ["We went although the rain fell.",
                                                             "The rain fell, but we went."]


@pytest.mark.parametrize("sentence", [
    "I wonder if it rains now.", "It looks as if it rained.", "He is sad just because it rains.",
    "He left because he was tired and went home.", "He said that they left because it rained.",
    "If it rains, we go, but if not, we stay.", "They asked me when it rains.", "What if it rains?",
    "In short, they moved away.", "In fact, they moved away.", "He said \"I left because it rained\".",
    "They left (because it rained).", "Note: they left because it rained.", "Is it sad, but are they glad?",
    "Hit him, but not hard.", "If so, we stay.", "HE LEFT BECAUSE IT RAINED.", "It is more than they want if it rains.",
    "", "?", "rain"])
def test_sentences_that_are_left_alone(sentence: str) -> None:
    assert reordered(sentence) == []


def all_made(sentence: str) -> set[str]:
    """The sentence after each option of each edit alone."""
    return {sentence[: one.start] + option + sentence[one.end :] for one in edits_of(sentence)
            for option in one.options}


@pytest.mark.parametrize(("sentence", "expected"), [
    ("I do not know.", {"I don't know."}), ("I don't know.", {"I do not know."}), ("he can’t", {"he cannot"}),
    ("They cannot.", {"They can't."}), ("I will not.", {"I won't."}), ("We're late.", {"We are late."}),
    ("It's the end.", {"It is the end."}), ("Somebody came.", {"Someone came."}),
    ("GET RID OF IT", {"DISPOSE OF IT"}),
    ("find out", {"learn", "discover", "please find out", "I would like you to find out",
                  "I am asking you to find out"}),
    ("because of", {"due to", "owing to"}),
    ("Why don't you?", {"For what reason don't you?", "For which reason don't you?"}),
    ("I need to go.", {"I have to go."}), ("he won't", {"he will not"}), ("someone's", {"somebody's"}),
    ("i think he is", {"i believe he is", "i feel he is"}),
    ("Why do i?", {"For what reason do i?", "For which reason do i?"}),
    ("Tell me how.", {"Let me know how.", "Please tell me how.", "I would like you to tell me how.",
                      "I am asking you to tell me how."}),
])
def test_what_may_stand_there(sentence: str, expected: set[str]) -> None:
    assert all_made(sentence) == expected


@pytest.mark.parametrize("sentence", [
    "the need to go", "what it is", "as it's", "who you are and", "a start", "since then",
    "so many books", "I will and", "Nobody Else came", "My Dad came", "Mr. Car is here", "visit start.car/movie",
    "car@home.org", "#car", "car_park", "e-car", "car-free", "MOVIE star", "the very best", "big deal",
    "keep nothing", "some news", "founding father"])
def test_what_stays(sentence: str) -> None:
    assert all_made(sentence) == set()


def test_capitals_of_the_first_word_alone() -> None:
    assert "How could I go?" in all_made("How can I go?")
    assert "how could i go?" in all_made("how can i go?")
    assert all_made("Kids Bop is here.") == set()
    assert all_made("Kids came.") == {"Children came."}
    assert all_made("What is the Big Car?") == {"What exactly is the Big Car?", "Could you tell me the Big Car?",
                                              "What's the Big Car?"}


def test_edits_do_not_overlap() -> None:
    edits = [Edit(0, 4, ("x", "y")), Edit(0, 2, ("z",)), Edit(3, 6, ("w",)), Edit(6, 7, ("v",))]
    found = {edited("abcdefg", edits, np.random.default_rng(seed), 0.5) for seed in range(400)}
    first = ("xef", "yef", "zcw", "zcdef", "abcw", "abcdef")
    assert found == {one + last for one in first for last in "gv"}
    assert edited("abcdefg", edits, np.random.default_rng(0), 0.0) == "abcdefg"


def test_the_share_of_edits_that_is_made() -> None:
    sentence = "someone " * 400
    said = edited(sentence, edits_of(sentence), np.random.default_rng(0), 0.8)
    assert 280 < said.count("somebody") < 360
    assert said.replace("somebody", "someone") == sentence


LISTS = word_lists()
PATTERNS = [*LISTS["in_context"], *LISTS["frames"], *LISTS["contractions"]]


def test_phrases_stand_in_one_list() -> None:
    both_ways = list(chain.from_iterable(LISTS["either_way"]))
    assert len(both_ways) == len(set(both_ways))
    assert not set(both_ways) & set(LISTS["one_way"])
    assert all(phrase == phrase.lower() for phrase in (*both_ways, *LISTS["one_way"]))
    assert all(phrase not in options for phrase, options in LISTS["one_way"].items())


@pytest.mark.parametrize(("pattern", "options"), PATTERNS, ids=[pattern for pattern, _ in PATTERNS])
def test_options_have_the_groups_of_their_pattern(pattern: str, options: tuple[str, ...]) -> None:
    groups = re.compile(pattern).groups
    assert options
    assert len(set(options)) == len(options)
    assert groups <= 1
    assert all(("{0}" in option) <= (groups == 1) for option in options)
    assert groups == 0 or all("{0}" in option for option in options)


def test_frames_enough_for_the_largest_number_of_copies() -> None:
    for kind, openers in LISTS["openers"].items():
        closers = LISTS["closers"][kind]
        assert len(set(openers)) * (1 + len(set(closers))) >= 63
        assert not any(one.isdigit() for text in (*openers, *closers) for one in text)
        assert all(text[0].isupper() for text in (*openers, *closers))


# The paraphraser

TEXTS = [
    "How can I get rid of someone's old car?", "I don't know why it rains, but I am glad because it is the 3rd of May.",
    "If you have 2 kids, what is the best way to teach them?", "Ann Smith met Bob in New York at 12:30.", "ok", "42",
    "TELL ME HOW TO BAKE BREAD", "¿Qué hora es?", "i cant tell", "Nobody is here", "«Bread»",
    "<|user|> I'm sad because it rains.\n<|assistant|> I am sorry. Would you like to talk about it?\n<|user|> No.",
    "<|user|> <|assistant|>\n\n<|user|> Hello", "Mail bob@x.org.\n\n- one\n- two",
]
PARTS = ["<|user|>", "<|assistant|>", " ", "\n", "I don't want to go", "Why do kids cry?", "Ann", "in 1998,", "WHO",
          "because it is big", "if you can't", "?", ".", "someone's car", "http://car.com/kids", "Mom", "é", "’",
          ", but "]


def said(texts: list[str], n: int, seed: int = 0) -> list[list[str]]:
    return Rules().paraphrase(texts, n, np.random.default_rng(seed))


@pytest.mark.parametrize("n", [1, 3, 63])
def test_every_text_has_as_many_as_were_asked_for(n: int) -> None:
    for text, ours in zip(TEXTS, said(TEXTS, n), strict=True):
        assert len(ours) == n
        assert len({words_of(text), *map(words_of, ours)}) == n + 1, text


@settings(max_examples=150)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join), st.integers(0, 2**32))
def test_marks_numbers_and_names_stay(text: str, seed: int) -> None:
    [ours] = said([text], 3, seed)
    for one in ours:
        assert marks_of(one) == marks_of(text)
        assert precious(one) == precious(text)
        assert all(name in one for name in names(text))
    spoken = words_of(text)
    assert len({spoken, *map(words_of, ours)}) == (4 if spoken else 1)
    assert spoken or ours == [text] * 3


def test_white_space_between_turns_stays() -> None:
    [ours] = said([TEXTS[-3]], 5)
    assert all(one.count("\n") == 2 and one.startswith("<|user|> ") and "\n<|assistant|> " in one for one in ours)


def test_fewer_are_the_first_of_more_and_texts_do_not_meddle() -> None:
    more = said(TEXTS, 4)
    assert [ours[:2] for ours in more] == said(TEXTS, 2)
    assert said([TEXTS[0], "other", *TEXTS[2:]], 4)[2:] == more[2:]
    rng = np.random.default_rng(0)
    portions = [Rules().paraphrase(TEXTS[start : start + 5], 4, rng) for start in range(0, len(TEXTS), 5)]
    assert [ours for portion in portions for ours in portion] == more


def test_more_than_an_opener_where_a_rule_fits() -> None:
    text = "How can I get rid of someone's old car?"
    ours = [one for seed in range(30) for one in said([text], 3, seed)[0]]
    assert not any(holds(one, text) for one in ours)
    assert any("dispose of" in one for one in ours)
    assert any("vehicle" in one for one in ours)
    assert any(one.startswith("What can I do to ") for one in ours)
    assert {one[0].isupper() for one in ours} == {True}


def test_a_rule_goes_before_an_opener() -> None:
    ours = [said(["zebras watch a movie"], 1, seed)[0][0] for seed in range(60)]
    assert all("film" in one for one in ours)


def test_openers_follow_who_speaks_and_how() -> None:
    pairs = [("zebras yawn", "statement"), ("zebras yawn?", "question"), ("<|assistant|> zebras yawn.", "assistant")]
    for text, kind in pairs:
        frames = {one.casefold().rstrip(".") for one in (*LISTS["openers"][kind], *LISTS["closers"][kind])}
        for one in said([text], 63)[0]:
            around = one.removeprefix("<|assistant|> ").casefold().split("zebras yawn")
            assert {part for part in (around[0].strip(), around[1].lstrip("?., ").rstrip(".")) if part} <= frames
    assert all(one.isupper() for one in said(["ZEBRAS YAWN"], 10)[0])
    assert all(one[0].islower() or one.startswith("I ") for one in said(["zebras yawn?"], 20)[0])
