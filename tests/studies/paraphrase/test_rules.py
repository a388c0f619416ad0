from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.studies.paraphrase.base import change, holds, marks_of, words_of
from discreet.studies.paraphrase.rewording import names, precious, word_lists
from discreet.studies.paraphrase.rules import Rules

LISTS = word_lists()
TEXTS = [
    "How can I get rid of someone's old car?", "I don't know why it rains, but I am glad because it is the 3rd of May.",
    "If you have 2 kids, what is the best way to teach them?", "Ann Smith met Bob in New York at 12:30.", "ok", "42",
    "TELL ME HOW TO BAKE BREAD", "¿Qué hora es?", "i cant tell", "Nobody is here", "«Bread»",
    "<|user|> I'm sad because it rains.\n<|assistant|> I am sorry. Would you like to talk about it?\n<|user|> No.",
    "<|user|> <|assistant|>\n\n<|user|> Hello", "Mail bob@x.org.\n\n- one\n- two",
]
PIECES = ["<|user|>", "<|assistant|>", " ", "\n", "I don't want to go", "Why do kids cry?", "Ann", "in 1998,", "WHO",
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
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join), st.integers(0, 2**32))
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


def test_the_same_seed_says_the_same() -> None:
    assert said(TEXTS, 3) == said(TEXTS, 3)
    assert said(TEXTS, 3) != said(TEXTS, 3, seed=1)


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


def test_clauses_change_their_order() -> None:
    text = "We stay here because the river is high."
    starts = {one.split(", ")[0] for seed in range(20) for one in said([text], 2, seed)[0]}
    assert "Because the river is high" in starts


def test_openers_follow_who_speaks_and_how() -> None:
    pairs = [("zebras yawn", "statement"), ("zebras yawn?", "question"), ("<|assistant|> zebras yawn.", "assistant")]
    for text, kind in pairs:
        frames = {one.casefold().rstrip(".") for one in (*LISTS["openers"][kind], *LISTS["closers"][kind])}
        for one in said([text], 63)[0]:
            around = one.removeprefix("<|assistant|> ").casefold().split("zebras yawn")
            assert {part for part in (around[0].strip(), around[1].lstrip("?., ").rstrip(".")) if part} <= frames
    assert all(one.isupper() for one in said(["ZEBRAS YAWN"], 10)[0])
    assert all(one[0].islower() or one.startswith("I ") for one in said(["zebras yawn?"], 20)[0])


def test_a_made_up_corpus() -> None:
    rng = np.random.default_rng(3)
    things = "bread rivers forms shelters notices libraries".split()
    texts = [f"{rng.choice(['How can I', 'Why do people', 'I want to'])} sort {rng.choice(things)} "
             f"{rng.choice(['if', 'because'])} someone keeps {rng.integers(900)} {rng.choice(things)}"
             f"{rng.choice(['?', '.', ''])}" for _ in range(200)]
    found = change(texts, said(texts, 3))
    assert found["distinct"].value == 1.0
    assert 0.4 < (found["overlap"].value or 0.0) < 0.8
    assert (found["wrapped"].value or 0.0) < 0.02
