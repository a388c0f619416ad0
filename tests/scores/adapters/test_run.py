from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError
from discreet.core.types import FloatArray
from discreet.scores.adapters.run import score_texts
from discreet.scores.adapters.scorer import Kind

TEXTS = [f"text {n}" for n in range(100)]


class Lengths:
    """Says of a text how often it holds each digit; fails when it was asked for too many texts."""

    name = "lengths"
    kind: Kind = "logit"
    classes = None

    def __init__(self, most: int = 10**9, fingerprint: str = "a" * 64, columns: int = 3) -> None:
        self.asked: list[str] = []
        self._most, self._fingerprint, self._columns = most, fingerprint, columns

    def fingerprint(self, probes: Sequence[str]) -> str:
        self.probes = list(probes)
        return self._fingerprint

    def outputs(self, texts: Sequence[str]) -> FloatArray:
        if len(self.asked) + len(texts) > self._most:
            raise KeyboardInterrupt
        self.asked += texts
        return np.array([[float(text.count(str(digit))) for digit in range(self._columns)] for text in texts])

    def facts(self, texts: Sequence[str]) -> Mapping[str, str]:
        return {}


def test_rows_follow_the_texts_and_each_is_asked_once() -> None:
    model = Lengths()
    run = score_texts(model, [*TEXTS, *TEXTS[:7]], batch=1)
    np.testing.assert_array_equal(run.logits, Lengths().outputs([*TEXTS, *TEXTS[:7]]))
    assert sorted(model.asked) == sorted(TEXTS)
    assert (run.given_as, run.fingerprint) == ("logit", "a" * 64)


def test_the_order_knows_nothing_of_the_file() -> None:
    """Members first and non-members after them would let a drift of the model tell the two apart."""
    one, other = Lengths(), Lengths()
    score_texts(one, TEXTS, batch=2)
    score_texts(other, TEXTS[::-1], batch=2)
    assert one.asked == other.asked == sorted(TEXTS, key=lambda text: hashlib.sha256(text.encode()).digest())
    assert one.probes == one.asked[:16]
    first_half = {TEXTS.index(text) < 50 for text in one.asked[:20]}
    assert first_half == {True, False}


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    killed = Lengths(most=70)
    with pytest.raises(KeyboardInterrupt):
        score_texts(killed, TEXTS, batch=2, cache=tmp_path)
    assert len(killed.asked) == 64
    again = Lengths()
    run = score_texts(again, TEXTS, batch=2, cache=tmp_path)
    assert again.asked == sorted(TEXTS, key=lambda text: hashlib.sha256(text.encode()).digest())[64:]
    np.testing.assert_array_equal(run.logits, Lengths().outputs(TEXTS))
    more = Lengths()
    run = score_texts(more, [*TEXTS, "text 1234"], batch=3, cache=tmp_path)
    assert more.asked == ["text 1234"]
    assert run.logits[-1].tolist() == [0, 1, 1]


def test_an_old_score_is_not_read_for_a_new_model(tmp_path: Path) -> None:
    score_texts(Lengths(), TEXTS, cache=tmp_path)
    new = Lengths(fingerprint="b" * 64)
    score_texts(new, TEXTS, cache=tmp_path)
    assert len(new.asked) == 100


def test_classes_that_change(tmp_path: Path) -> None:
    score_texts(Lengths(), TEXTS[:50], cache=tmp_path)
    with pytest.raises(InputError, match="number of classes"):
        score_texts(Lengths(columns=2), TEXTS, cache=tmp_path)
    with pytest.raises(InputError, match="number of classes"):
        score_texts(Lengths(columns=2), TEXTS, batch=1, cache=tmp_path)


def test_broken_scores_are_not_kept(tmp_path: Path) -> None:
    class Broken(Lengths):
        def outputs(self, texts: Sequence[str]) -> FloatArray:
            return np.full((len(texts), 2), np.nan)

    with pytest.raises(InputError, match="lengths: the scores of 100 of 100 texts are NaN"):
        score_texts(Broken(), TEXTS, cache=tmp_path)
    assert not list(tmp_path.rglob("*.npz"))
