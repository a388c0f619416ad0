"""One person across an answer: the whole answer is judged, and windows of other guards do not see what it says."""

from __future__ import annotations

import random

import pytest
from benchmarks import windowing

from discreet import Guard


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard("medical")


@pytest.mark.parametrize("name", windowing.CUTS)
def test_windows_hold_every_word_and_nothing_else(name: str) -> None:
    text = windowing.answer(random.Random(1), 100)
    covered = [False] * len(text)
    before = 0
    for out, window, after in windowing.CUTS[name](text):
        at = text.index(window, max(0, min(out, after - len(window))))
        covered[at:at + len(window)] = [True] * len(window)
        assert before <= out <= after <= len(text)
        before = out
    assert all(covered)
    assert after == len(text)


@pytest.mark.parametrize(("gap", "seen"), [(0, True), (400, False)])
def test_a_person_across_an_answer(guard: Guard, gap: int, seen: bool) -> None:
    text = windowing.answer(random.Random(2), gap)

    def flagged(part: str) -> bool:
        return guard.check(part).action == "flag"

    assert windowing.outcome(windowing.whole(text), text, flagged) == (True, False)
    assert windowing.outcome(windowing.overlapping(text), text, flagged) == (seen, not seen)
    assert windowing.outcome(windowing.rolling(text, stream_first=False), text, flagged) == (seen, not seen)
    assert windowing.outcome(windowing.sentences(text), text, flagged) == (False, True)
    # It looks at all so far, but what was said before its next look is out.
    assert windowing.outcome(windowing.growing(text), text, flagged)[1]
