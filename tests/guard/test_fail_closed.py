"""Whatever breaks inside, no answer passes as safe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from discreet.core.errors import DetectorError
from discreet.core.records import Answer
from discreet.guard import reading
from discreet.guard.guard import Guard
from discreet.guard.score import Combined
from discreet.guard.text.direct.detect import recognisers

Guards = Mapping[str, Guard]
HARMLESS = "The drug lowers the risk, and the dose depends on the weight."
LEAK = "The patient is a 52-year-old welder from Omaha."
EMPTY = {"_loaded": False, "_items": {}}


class BrokenError(Exception):
    """What a detector may raise; not one of ours."""


class Broken:
    """A recogniser."""

    types, priority = ("ssn",), 0

    def find(self, seen: object) -> Iterable[Any]:
        raise BrokenError("text text text")


def breaking(*_: Any, **__: Any) -> Any:
    raise BrokenError("text text text")


def assert_fails(guard: Guard) -> None:
    """Not only on the first call."""
    for answer in (Answer("1", HARMLESS), Answer("2", LEAK, LEAK)) * 2:
        verdict = guard.check(answer)
        assert (verdict.action, verdict.layer, verdict.score, verdict.delta, verdict.evidence) == (
            "failed", None, None, None, ())
        assert verdict.policy.startswith(f"{guard.policy.domain.name}/public@1#")
        assert "failed with" in verdict.reason
        assert "text" not in verdict.reason
        assert guard.judge(answer).findings == ()


@pytest.mark.parametrize("name", list(recognisers))
def test_no_answer_is_safe_when_a_detector_breaks(monkeypatch: pytest.MonkeyPatch, guards: Guards, name: str) -> None:
    monkeypatch.setitem(recognisers._items, name, Broken())
    assert_fails(guards["medical"])
    cause = guards["medical"].check(HARMLESS).cause
    assert cause is not None
    assert cause.detector == f"recogniser {name!r}"


def test_what_a_recogniser_says_of_a_text_is_not_told(monkeypatch: pytest.MonkeyPatch, guards: Guards) -> None:
    monkeypatch.setattr(Broken, "find", Mock(side_effect=DetectorError("text text", "text")))
    monkeypatch.setitem(recognisers._items, "ssn", Broken())
    assert_fails(guards["medical"])


@pytest.mark.parametrize(("entry_points", "attributes"), [
    (breaking, EMPTY),
    # A broken installation without built-ins finds nothing; no answer may pass for that.
    (lambda group: [], EMPTY | {"_builtin": None}),
])
def test_no_answer_is_safe_when_plug_ins_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch, guards: Guards, entry_points: Any, attributes: dict[str, Any]
) -> None:
    monkeypatch.setattr("discreet.core.registry.entry_points", entry_points)
    for name, value in attributes.items():
        monkeypatch.setattr(recognisers, name, value.copy() if isinstance(value, dict) else value)
    assert_fails(guards["medical"])


@pytest.mark.parametrize("error", [
    BrokenError("t"), MemoryError("t"), RecursionError("t"), DetectorError("names", "KeyError"), AssertionError(),
    StopIteration("t"), UnicodeDecodeError("utf-8", b"t", 0, 1, "t"), KeyboardInterrupt(),
])
def test_whatever_is_raised(monkeypatch: pytest.MonkeyPatch, guards: Guards, error: BaseException) -> None:
    monkeypatch.setattr(reading, "guess_language", Mock(side_effect=error))
    if isinstance(error, KeyboardInterrupt):  # the user may interrupt
        with pytest.raises(KeyboardInterrupt):
            guards["law"].check(HARMLESS)
        return
    verdict = guards["law"].check(HARMLESS)
    assert verdict.action == "failed"
    assert (error.kind if isinstance(error, DetectorError) else type(error).__name__) in verdict.reason


@pytest.mark.parametrize("score", [float("nan"), None, "0.5"])
def test_a_score_that_is_no_number_is_a_failure(monkeypatch: pytest.MonkeyPatch, guards: Guards, score: Any) -> None:
    monkeypatch.setattr(Combined, "logit", lambda *_: score)
    assert guards["law"].check(LEAK).action == "failed"


def test_one_broken_answer_does_not_stop_the_batch(monkeypatch: pytest.MonkeyPatch, guards: Guards) -> None:
    real: Callable[..., Any] = vars(reading)["guess_language"]
    monkeypatch.setattr(reading, "guess_language", lambda doc: breaking() if "boom" in doc.text else real(doc))
    assert [v.action for v in guards["medical"].check_many([HARMLESS, "boom", LEAK])] == ["safe", "failed", "flag"]
