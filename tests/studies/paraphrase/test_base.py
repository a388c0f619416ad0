from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.records import Estimate
from discreet.studies.paraphrase.base import change, holds, marks_of, overlap, paraphrasers, words_of


def test_words_are_what_is_left_without_case_punctuation_and_marks() -> None:
    assert words_of("<|user|> Don’t go, at 12:30!\n<|assistant|> OK_then.") == ("don't", "go", "at", "12", "30", "ok",
                                                                             "then")
    assert words_of("DON'T... go at 12 30 ok then") == words_of("<|user|> Don’t go, at 12:30!\n<|assistant|> OK_then.")
    assert words_of("?! <|user|>") == ()
    assert words_of("Straße") == words_of("STRASSE")


def test_marks_in_order() -> None:
    assert marks_of("<|user|> a <|assistant|> b<|user|>") == ["<|user|>", "<|assistant|>", "<|user|>"]
    assert marks_of("<user> |assistant|") == []


def test_overlap_is_the_jaccard_index() -> None:
    assert overlap("a b c", "C, b d!") == 0.5
    assert overlap("a a a b", "b a") == 1.0
    assert overlap("a", "?") == 0.0
    assert overlap("?", "!") is None


@given(st.text("ab c.'", max_size=12), st.text("ab c.'", max_size=12))
def test_overlap_and_holds_by_hand(first: str, second: str) -> None:
    a, b = words_of(first), words_of(second)
    assert overlap(first, second) == overlap(second, first)
    found = any(b[start : start + len(a)] == a for start in range(len(b) - len(a) + 1))
    if a:
        assert holds(second, first) == found


def test_what_is_said_of_a_change() -> None:
    texts = ["a b", "c d", "e f"]
    found = change(texts, [["so, a b", "b a"], ["d x", "d x!"], ["E, f.", "g"]])
    assert (found.distinct.value, found.distinct.n) == (1 / 3, 3)
    assert found.overlap.value == pytest.approx((2 / 3 + 1 + 1 / 3 + 1 / 3 + 1 + 0) / 6)
    assert (found.wrapped.value, found.wrapped.n) == (2 / 6, 6)
    assert set(found.to_json()) == {"distinct", "overlap", "wrapped"}


def test_nothing_to_compare_is_no_figure() -> None:
    found = change(["?"], [["!"]])
    assert not found.overlap.resolved
    assert isinstance(found.overlap, Estimate)
    assert found.distinct.value == 0.0
    assert not change([], []).distinct.resolved


def test_the_registry_holds_both() -> None:
    assert {"rules", "llm"} <= set(paraphrasers)
