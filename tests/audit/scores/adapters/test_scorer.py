from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.audit.scores.adapters.scorer import ScoreCache, as_logits, class_codes, columns_like, score_texts
from discreet.core.errors import InputError, UsageError
from discreet.core.types import FloatArray
from discreet.inputs.python_object import Kind

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

    with pytest.raises(InputError, match="lengths: the scores of 100 of 100 inputs are NaN"):
        score_texts(Broken(), TEXTS, cache=tmp_path)
    assert not list(tmp_path.rglob("*.npz"))


PHRASES = ["secret bread", "secret river"]
ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])
ONE, OTHER = "a" * 64, "b" * 64


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_HASH_KEY", raising=False)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_is_put_is_got_by_the_same_model_alone(tmp_path: Path) -> None:
    ScoreCache(tmp_path, ONE).put(PHRASES, ROWS)
    again = ScoreCache(tmp_path, ONE)
    np.testing.assert_array_equal(again.get("secret bread"), ROWS[0])
    np.testing.assert_array_equal(again.get("secret river"), ROWS[1])
    assert again.get("secret Bread") is None
    assert ScoreCache(tmp_path, OTHER).get("secret bread") is None


def test_no_text_and_no_plain_hash_of_one_lies_there(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        ScoreCache(tmp_path / folder, ONE).put(PHRASES, ROWS)
    held = b"".join(path.read_bytes() + path.name.encode() for path in files(tmp_path / "one"))
    for text in PHRASES:
        assert text.encode() not in held
        assert hashlib.sha256(text.encode()).digest() not in held
        assert hashlib.sha256(text.encode()).hexdigest().encode() not in held
    names = [{path.name for path in files(tmp_path / folder)} - {"key"} for folder in ("one", "two")]
    assert not names[0] & names[1]


def test_the_key_is_for_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ScoreCache(tmp_path / "one", ONE)
    assert stat.S_IMODE((tmp_path / "one" / "key").stat().st_mode) == 0o600
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot keep scores in"):
        ScoreCache(tmp_path / "file", ONE)
    (tmp_path / "one" / "key").write_text("word")
    with pytest.raises(InputError, match="is not a key"):
        ScoreCache(tmp_path / "one", ONE)
    monkeypatch.setenv("DISCREET_HASH_KEY", "ab" * 32)
    ScoreCache(tmp_path / "two", ONE).put(PHRASES, ROWS)
    assert not (tmp_path / "two" / "key").exists()
    np.testing.assert_array_equal(ScoreCache(tmp_path / "two", ONE).get(PHRASES[0]), ROWS[0])
    monkeypatch.setenv("DISCREET_HASH_KEY", "cd" * 32)
    assert ScoreCache(tmp_path / "two", ONE).get(PHRASES[0]) is None


def test_a_chunk_that_is_not_whole_is_none(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path, ONE)
    cache.put(PHRASES[:1], ROWS[:1])
    [broken] = [path for path in files(tmp_path) if path.suffix == ".npz"]
    cache.put(PHRASES[1:], ROWS[1:])
    whole = broken.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"PK\x03\x04 no", whole[:-30]):
        broken.write_bytes(content)
        again = ScoreCache(tmp_path, ONE)
        assert again.get(PHRASES[0]) is None
        np.testing.assert_array_equal(again.get(PHRASES[1]), ROWS[1])
    with broken.open("wb") as handle:
        np.savez(handle, digests=np.zeros((2, 32), dtype=np.uint8), outputs=ROWS[:1])
    assert ScoreCache(tmp_path, ONE).get(PHRASES[0]) is None


def softmax(logits: FloatArray) -> FloatArray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


@given(arrays(np.float64, (5, 3), elements=st.floats(-8, 8)))
def test_probabilities_are_known_from_logits(logits: FloatArray) -> None:
    given_p = softmax(logits)
    kinds: tuple[Kind, ...] = ("prob", "either")
    for kind in kinds:
        found, given_as = as_logits(given_p, kind, "m")
        assert given_as == "prob"
        np.testing.assert_allclose(softmax(found), given_p, atol=1e-6)
    found, given_as = as_logits(logits - 9.0, "either", "m")
    assert given_as == "logit"
    np.testing.assert_array_equal(found, logits - 9.0)


def test_certainty_is_clipped_and_one_column_is_the_log_odds_of_class_1() -> None:
    found, _ = as_logits(np.array([[1.0, 0.0]]), "prob", "m")
    np.testing.assert_allclose(found, [[np.log1p(-1e-7), np.log(1e-7)]])
    for shape in ((2,), (2, 1)):
        found, given_as = as_logits(np.array([0.3, -2.0]).reshape(shape), "logit", "m")
        np.testing.assert_array_equal(found, [[0, 0.3], [0, -2.0]])
        assert given_as == "logit"


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_a_booster_gives_the_probability_of_class_1(shape: tuple[int, ...]) -> None:
    found, given_as = as_logits(np.array([0.0, 0.25, 1.0]).reshape(shape), "either", "m")
    np.testing.assert_allclose(softmax(found), [[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]], atol=1e-6)
    assert given_as == "prob"


@pytest.mark.parametrize(("outputs", "kind", "message"), [
    ([[1.0, np.nan], [0.0, 1.0]], "logit", "scores of 1 of 2 inputs are NaN"),
    ([np.inf, 1.0], "logit", "scores of 1 of 2 inputs are NaN"),
    ([[0.5, 0.6], [0.5, 0.5]], "prob", "scores of 1 of 2 texts are no probabilities"),
    ([[0.9, 0.8], [0.5, 0.5]], "either", "scores of 1 of 2 texts are no probabilities"),
    ([[1.5, -0.5]], "prob", "are no probabilities"),
    ([1.0, 0.0], "either", r"shape \(2,\); .*, or probabilities of class 1 of two"),
    ([0.5, 1.4], "either", r"shape \(2,\)"),
    ([[1.0], [0.9]], "prob", r"shape \(2, 1\)"),
    ([[[1.0, 2.0]]], "logit", r"shape \(1, 1, 2\)"),
])
def test_what_is_neither(outputs: list[float], kind: Kind, message: str) -> None:
    with pytest.raises(InputError, match=f"^m: .*{message}"):
        as_logits(np.array(outputs), kind, "m")


def test_columns_follow_the_names_of_the_target() -> None:
    target = ("safe", "unsafe", "other")
    assert columns_like(("Other", "safe", "UNSAFE"), target, "m", 3, 3).tolist() == [1, 2, 0]
    for generic in (None, ("LABEL_0", "LABEL_1", "LABEL_2"), ("0", "1", "2")):
        assert columns_like(generic, target, "m", 3, 3).tolist() == [0, 1, 2]
        assert columns_like(target, generic, "m", 3, 3).tolist() == [0, 1, 2]
    # Classes 2 and 1 of a classifier whose labels do not count from 0 are names.
    assert columns_like(("2", "1"), ("1", "2"), "m", 2, 2).tolist() == [1, 0]
    with pytest.raises(InputError, match="m: its classes are safe, unsafe, mild, the target's safe, unsafe, other"):
        columns_like(("safe", "unsafe", "mild"), target, "m", 3, 3)
    with pytest.raises(InputError, match="m: it has 2 classes where the target has 3"):
        columns_like(None, target, "m", 2, 3)


@pytest.mark.parametrize(("labels", "classes", "expected"), [
    (["unsafe", "Safe", "unsafe"], ("safe", "unsafe"), [1, 0, 1]),
    (["1", "0", "1.0"], ("safe", "unsafe"), [1, 0, 1]),
    (["1", "0"], None, [1, 0]),
    (["1", "2", "2.0"], ("1", "2"), [0, 1, 1]),
    (["1", "0"], ("1", "0"), [0, 1]),
    (["label_1"], ("LABEL_0", "LABEL_1"), [1]),
])
def test_labels_by_name_or_by_number(labels: list[str], classes: tuple[str, ...] | None, expected: list[int]) -> None:
    assert class_codes(labels, classes, 2, "f").tolist() == expected


@pytest.mark.parametrize(("labels", "classes", "message"), [
    (["safe", "1"], ("safe", "unsafe"), "1 of 2 records; expected a whole number from 0 to 1, or one of safe, unsafe"),
    (["harmful", "safe"], ("safe", "unsafe"), "for 1 of 2"),
    (["harmful", "harmful"], None, "for 2 of 2"),
    (["2", "0"], ("safe", "unsafe"), "for 1 of 2"),
    (["-1"], None, "a whole number from 0 to 1, the place of its output: the model does not name its classes$"),
    (["unsafe"], ("LABEL_0", "LABEL_1"), "from 0 to 1, the place of its output"),
    (["safe", "1"], None, "some labels are words and some are numbers: write them all in one way$"),
])
def test_labels_outside_the_classes(labels: list[str], classes: tuple[str, ...] | None, message: str) -> None:
    with pytest.raises(InputError, match=f"^f: 'label' is outside .*{message}") as caught:
        class_codes(labels, classes, 2, "f")
    assert "harmful" not in str(caught.value)
