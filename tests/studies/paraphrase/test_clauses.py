from __future__ import annotations

import pytest

from discreet.studies.paraphrase.base import words_of
from discreet.studies.paraphrase.clauses import reordered

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
