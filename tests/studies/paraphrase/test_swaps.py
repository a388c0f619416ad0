from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from discreet.studies.paraphrase.swaps import Edit, edited, edits_of


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


class Fixed:
    """A stream of given numbers for `random`, and always the last option."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self.numbers = list(numbers)

    def random(self) -> float:
        return self.numbers.pop(0)

    def integers(self, n: int) -> int:
        return n - 1


def test_edits_do_not_overlap() -> None:
    edits = [Edit(0, 4, ("x", "y")), Edit(0, 2, ("z",)), Edit(3, 6, ("w",)), Edit(6, 7, ("v",))]

    def made(*numbers: float) -> str:
        return edited("abcdefg", edits, Fixed(numbers), 0.5)  # type: ignore[arg-type]

    assert made(0.1, 0.1) == "yefv"
    assert made(0.9, 0.1, 0.1, 0.1) == "zcwv"
    assert made(0.9, 0.9, 0.9, 0.9) == "abcdefg"


def test_the_share_of_edits_that_is_made() -> None:
    sentence = "someone " * 400
    said = edited(sentence, edits_of(sentence), np.random.default_rng(0), 0.8)
    assert 280 < said.count("somebody") < 360
    assert said.replace("somebody", "someone") == sentence
