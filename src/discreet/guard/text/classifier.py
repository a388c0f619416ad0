"""What an answer is to the user's question, by a network that reads both together.

The reader's answer sees itself alone, so that no question hides what stands in it. Here question and answer see each
other: only the question says that the people of a scene are invented, or that somebody is the user's mother. So this
network says of whom an answer tells, and nothing else. Where no question is known it reads the answer by itself. It is
asked where the reader sees somebody who may count, and its word is one part of the score (`guard/score.py`). Made by
`benchmarks/reader/classifier.py`.
"""

from __future__ import annotations

from functools import cache, cached_property
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import DetectorError
from discreet.core.onnx import open_session
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import CLASSIFIER, FOLDER, SOURCES, Reader, packaged, windows
from discreet.guard.text.reply import Case

ASKED, WINDOW, SHARED = 64, 300, 30
"""How many tokens of a question are read, the last ones; of an answer at a time; and of two neighbouring windows, at
least."""
MOST = 4
"""Windows beyond which an answer is not read: what is not read clears nobody."""


class Classifier:
    """The network of a folder, on the tokens and word vectors of a `Reader`. Raises DetectorError where it cannot run.
    """

    def __init__(self, reader: Reader, folder: Path = FOLDER) -> None:
        self._reader, self._folder = reader, folder
        self._session = _opened(folder / CLASSIFIER)

    def read(self, text: str, question: str) -> Case | None:
        """What a text is to a question, an empty one where none is known; None for a text that is too long. A long one
        has several windows, of which any may tell of somebody."""
        parts = parts_of(self._reader, text, question)
        return Case.whole([self._case(*part) for part in parts]) if parts else None

    def source(self, text: str) -> float:
        """Log-odds that a passage tells of somebody private: that it is a record and no novel, exercise or judgement as
        published; infinite for one that is too long. Of a long one that window decides in which this is likeliest."""
        parts = parts_of(self._reader, text, "")
        return max((self._private(*part) for part in parts), default=inf)

    @cached_property
    def _sources(self) -> Any:
        return _opened(self._folder / SOURCES)

    def _private(self, head: list[int], tail: list[int]) -> float:
        [[[odds]]] = self._sources.run(None, self._inputs(head, tail))
        if not np.isfinite(odds):
            raise DetectorError("the classifier", "an output that is no number")
        return float(odds)

    def _case(self, head: list[int], tail: list[int]) -> Case:
        [[logits]] = self._session.run(None, self._inputs(head, tail))
        if not np.isfinite(logits).all():
            raise DetectorError("the classifier", "an output that is no number")
        return Case.of(logits, self._reader.cases)

    def _inputs(self, head: list[int], tail: list[int]) -> dict[str, NDArray[Any]]:
        kinds = np.array([[*(0 for _ in head), *(1 for _ in tail)]], np.int64)
        return {"words": self._reader.vectors(np.array([[*head, *tail]], np.int64)), "kinds": kinds}


def parts_of(reader: Reader, text: str, question: str = "") -> list[tuple[list[int], list[int]]]:
    """The tokens of a question and of each window of a text behind it, none for a text that is too long. All windows
    are full: the tail of a text says little by itself."""
    first, *asked, last = reader.ids(question)
    body = reader.ids(text)[1:-1]
    number = windows(len(body), WINDOW, SHARED)
    if number > MOST:
        return []
    starts = [k * max(0, len(body) - WINDOW) // max(1, number - 1) for k in range(number)]
    return [([first, *asked[-ASKED:], last], [*body[at : at + WINDOW], last]) for at in starts]


def together_with(doc: Doc, question: str, place: tuple[int, int] | None = None) -> Case | None:
    """What a text, or some characters [start, end) of it, is to a question, read once; None for a text that is too
    long. Raises DetectorError."""
    text = doc.text if place is None else doc.text[slice(*place)]
    return doc.once(("together", question, place), lambda: packaged_classifier().read(text, question))


def source_odds(doc: Doc, text: str) -> float:
    """Log-odds that a passage of a document tells of somebody private (`Classifier.source`), read once. Raises
    DetectorError."""
    return doc.once(("source", text), lambda: packaged_classifier().source(text))


def is_whole(question: str) -> bool:
    """Whether all of a question is read."""
    return len(packaged().ids(question)) - 2 <= ASKED


@cache
def packaged_classifier() -> Classifier:
    """The classifier that ships with discreet, loaded on first use. Raises DetectorError."""
    return Classifier(packaged())


def _opened(path: Path) -> Any:
    try:
        return open_session(path)
    except Exception as error:
        raise DetectorError("the classifier's weights", type(error).__name__) from None
