"""The reader over long texts: what is repeated is read once, and the work for a span does not grow with the text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.guard.text.tables import tables, write

from discreet.guard.text import reader as module
from discreet.guard.text.reader import Reader

MakeReader = Callable[..., Reader]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> MakeReader:
    """`make(**card)`: a reader over tables."""
    return lambda **card: Reader(write(Path(tmp_path_factory.mktemp("reader")), tables(), **card))


@pytest.mark.parametrize("apart", [" ", "\x1e"])
def test_what_is_repeated_is_read_once(make: MakeReader, monkeypatch: pytest.MonkeyPatch, apart: str) -> None:
    """A text without end of a few sentences has few windows that differ, and records that are alike are one."""
    made, ran, unit = make(window=12), list[bytes](), "she, a nurse, he."
    alone, run = made.read(unit).spans, made._session.run
    monkeypatch.setattr(made, "_session", SimpleNamespace(
        run=lambda names, given: [ran.append(given["ids"].tobytes()), run(names, given)][1]))  # type: ignore[func-returns-value]
    read = made.read(apart.join([unit] * 300))
    assert len(ran) == len(set(ran)) < 20
    assert len(read.spans) == 300 * len(alone) > 0


def test_a_span_is_compared_with_the_last_persons_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is closed when the third opens, the first when the second is opened anew."""
    monkeypatch.setattr(module, "_OPEN", 2)
    persons = module._OpenPersons(3)
    one, two, three = np.eye(3, dtype=np.float32)
    assert [persons.join(v, 1, -0.5) for v in (one, two, one, three, two, one)] == [0, 1, 0, 2, 3, 4]


def test_every_person_of_a_long_record_is_given(make: MakeReader, monkeypatch: pytest.MonkeyPatch) -> None:
    made, text = make(window=12), "a nurse in Boston. " * 40
    expected = [s[:3] for s in map(_told, made.read(text).spans)]
    monkeypatch.setattr(module, "_OPEN", 1)
    assert [s[:3] for s in map(_told, made.read(text).spans)] == expected


def _told(span: module.Span) -> tuple[str, int, int]:
    return span.kind, span.start, span.end
