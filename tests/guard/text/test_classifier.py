"""The classifier over a network that can be said in words; and what it makes of answers, with the weights that ship."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest
from tests.guard.text.tables import CASES, VOCABULARY, sealed, tables, write

from discreet.core.errors import DetectorError
from discreet.core.records import Answer
from discreet.guard import Guard
from discreet.guard.text.classifier import ASKED, MOST, SHARED, WINDOW, Classifier
from discreet.guard.text.reader import CARD, CLASSIFIER, FILES, SOURCES, Reader
from discreet.guard.text.reply import Case

RNG = np.random.default_rng(3)
TABLES = {**tables(), "case": RNG.normal(0, 0.02, (len(VOCABULARY), len(CASES))).astype(np.float32)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("classifier"), TABLES)


def slowly(question: list[int], answer: list[int]) -> Case:
    """The case of one window: the rows of all tokens, those of the answer twice."""
    first, last = VOCABULARY["[CLS]"], VOCABULARY["[SEP]"]
    rows = TABLES["case"]
    said = rows[[first, *question, last]].sum(0) + 2 * rows[[*answer, last]].sum(0)
    return Case.of(said.astype(np.float32), CASES)


@pytest.mark.parametrize("question", ["", "she old", "he " * (ASKED + 9) + "old"])
@pytest.mark.parametrize("length", [0, 1, WINDOW, WINDOW + 1, 3 * WINDOW])
def test_every_window_is_read_with_the_end_of_the_question(folder: Path, question: str, length: int) -> None:
    words = [str(word) for word in np.random.default_rng(length).choice(["nurse", "boston", "52", "he", "a"], length)]
    asked = [VOCABULARY[word] for word in question.split()][-ASKED:]
    body = [VOCABULARY[word] for word in words]
    number = next(n for n in range(1, MOST + 1) if n * WINDOW - (n - 1) * SHARED >= length)
    last = max(0, length - WINDOW)
    windows = [body[int(at) : int(at) + WINDOW] for at in np.linspace(0, last, number)]
    wanted = Case.whole([slowly(asked, window) for window in windows])
    found = Classifier(Reader(folder), folder).read(" ".join(words), question)
    assert found is not None
    for name in ("tells", "theirs", "others"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-3)
    assert found.status == wanted.status


def test_what_is_too_long_is_not_read(folder: Path) -> None:
    longest = MOST * (WINDOW - SHARED) + SHARED
    made = Classifier(Reader(folder), folder)
    assert made.read("he " * longest, "") is not None
    assert made.read("he " * (longest + 1), "") is None
    assert made.source("he " * longest) < inf
    assert made.source("he " * (longest + 1)) == inf


@pytest.mark.parametrize("length", [1, WINDOW, 2 * WINDOW])
def test_of_a_passage_that_window_decides_which_is_likeliest_to_tell_of_somebody(folder: Path, length: int) -> None:
    words = [str(word) for word in np.random.default_rng(length).choice(["nurse", "boston", "52", "he", "a"], length)]
    body = [VOCABULARY[word] for word in words]
    number = next(n for n in range(1, MOST + 1) if n * WINDOW - (n - 1) * SHARED >= length)
    starts = np.linspace(0, max(0, length - WINDOW), number).astype(int)
    first, last, rows = VOCABULARY["[CLS]"], VOCABULARY["[SEP]"], TABLES["case"][:, 0]
    wanted = max(rows[[first, last]].sum() + 2 * rows[[*body[at : at + WINDOW], last]].sum() for at in starts)
    assert Classifier(Reader(folder), folder).source(" ".join(words)) == pytest.approx(wanted, abs=1e-3)


def test_other_weights_than_those_of_the_card_are_an_error(folder: Path, tmp_path: Path) -> None:
    for name in (*FILES, CARD):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / SOURCES).write_bytes(b"changed")
    with pytest.raises(DetectorError, match="weights"):
        Reader(tmp_path)
    with pytest.raises(DetectorError, match="classifier"):
        Classifier(Reader(folder), tmp_path).source("she is a nurse")
    (tmp_path / CLASSIFIER).write_bytes(b"changed")
    with pytest.raises(DetectorError, match="weights"):
        Reader(tmp_path)
    with pytest.raises(DetectorError, match="classifier"):
        Classifier(Reader(folder), tmp_path)


def test_what_is_no_number_is_an_error(tmp_path: Path) -> None:
    rows = TABLES["case"].copy()
    rows[VOCABULARY["nurse"]] = np.nan
    folder = write(tmp_path, {**tables(), "case": TABLES["case"]})
    broken = write(tmp_path / "broken", {**tables(), "case": rows})
    (folder / "words.onnx").write_bytes((broken / "words.onnx").read_bytes())
    reader = Reader(sealed(folder, {name: one for name, one in Reader(broken).card.items() if name != "sha256"}))
    with pytest.raises(DetectorError, match="no number"):
        Classifier(reader, folder).read("she is a nurse", "")
    with pytest.raises(DetectorError, match="no number"):
        Classifier(reader, folder).source("she is a nurse")


STORY = ("Margit Sandoval, 58, kept the lighthouse at Punta Arenas with her two sons. A retired welder, she had never "
         "learned to swim, and the doctor had given her a year.")
ASK = "Write the opening of a short story about a lighthouse keeper who hides her illness."


def test_a_question_says_that_somebody_is_invented_unless_a_record_holds_them() -> None:
    guard = Guard("medical", point="balanced")
    assert guard.check(Answer("a", STORY)).action == "flag"
    assert guard.check(Answer("a", STORY, user_words=ASK)).action == "safe"
    record = "Sandoval, Margit, 58, retired welder, Punta Arenas. Lives with two sons. Prognosis under a year."
    assert guard.check(Answer("a", STORY, user_words=ASK, sources=(record,))).action == "flag"
    assert guard.check(Answer("a", STORY, user_words="What does the file on the keeper say?")).action == "flag"
