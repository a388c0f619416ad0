"""Whatever breaks inside, no answer passes as safe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from discreet.core.errors import DetectorError
from discreet.core.records import Answer
from discreet.guard import guard as room
from discreet.guard import reading
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.reading import Logistic
from discreet.text.direct.detect import Hit, recognisers
from discreet.text.evidence.mentions import Mention, taggers

Guards = Mapping[str, Guard]


class BrokenError(Exception):
    """What a detector may raise; not one of ours."""


class BrokenRecogniser:
    types = ("ssn",)
    priority = 0

    def find(self, facts: object) -> Iterable[Hit]:
        raise BrokenError("text text text")


class BrokenTagger:
    kinds = ("age",)
    domains = None

    def find(self, context: object) -> Iterable[Mention]:
        raise BrokenError("text text text")


def breaking(*_: Any, **__: Any) -> Any:
    raise BrokenError("text text text")


HARMLESS = "The drug lowers the risk, and the dose depends on the weight."
LEAK = "The patient is a 52-year-old welder from Omaha."


def assert_fails(guard: Guard) -> None:
    """Not only on the first call."""
    for _ in range(2):
        for answer in (Answer("1", HARMLESS), Answer("2", LEAK, LEAK)):
            verdict = guard.check(answer)
            assert (verdict.action, verdict.score, verdict.delta, verdict.evidence) == ("failed", None, None, ())
            assert verdict.layer is None
            assert verdict.policy == guard.policy.label()
            assert "failed with" in verdict.reason
            assert "text" not in verdict.reason
            assert guard.judge(answer).findings == ()


@pytest.mark.parametrize("name", list(recognisers))
def test_no_answer_is_safe_when_a_recogniser_breaks(monkeypatch: pytest.MonkeyPatch, guards: Guards, name: str) -> None:
    assert recognisers[name]
    monkeypatch.setitem(recognisers._items, name, BrokenRecogniser())
    assert_fails(guards["medical"])


@pytest.mark.parametrize("name", list(taggers))
def test_no_answer_is_safe_when_a_tagger_breaks(monkeypatch: pytest.MonkeyPatch, guards: Guards, name: str) -> None:
    assert taggers[name]
    monkeypatch.setitem(taggers._items, name, BrokenTagger())
    assert_fails(guards["medical"])


@pytest.mark.parametrize(
    "part", ["prepare", "find_direct", "guess_language", "find_evidence", "score_evidence", "probability"]
)
def test_no_answer_is_safe_when_a_part_breaks(monkeypatch: pytest.MonkeyPatch, guards: Guards, part: str) -> None:
    monkeypatch.setattr(room if hasattr(room, part) else reading, part, breaking)
    assert_fails(guards["medical"])


@pytest.mark.parametrize("registry", [recognisers, taggers])
def test_no_answer_is_safe_when_the_plug_ins_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch, guards: Guards, registry: Any
) -> None:
    monkeypatch.setattr("discreet.core.registry.entry_points", breaking)
    monkeypatch.setattr(registry, "_loaded", False)
    monkeypatch.setattr(registry, "_items", {})
    assert_fails(guards["medical"])


@pytest.mark.parametrize("registry", [recognisers, taggers])
def test_no_answer_is_safe_when_there_are_no_detectors(
    monkeypatch: pytest.MonkeyPatch, guards: Guards, registry: Any
) -> None:
    """A broken installation without built-ins finds nothing; no answer may pass for that."""
    monkeypatch.setattr(registry, "_builtin", None)
    monkeypatch.setattr("discreet.core.registry.entry_points", lambda group: [])
    monkeypatch.setattr(registry, "_loaded", False)
    monkeypatch.setattr(registry, "_items", {})
    assert guards["medical"].check(Answer("1", HARMLESS)).action == "failed"


@pytest.mark.parametrize(
    "error",
    [
        BrokenError("t"), MemoryError("t"), RecursionError("t"), DetectorError("names", "KeyError"), AssertionError(),
        StopIteration("t"), UnicodeDecodeError("utf-8", b"t", 0, 1, "t"),
    ],
)
def test_whatever_is_raised(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def raising(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(reading, "guess_language", raising)
    verdict = Guard(Policy.of("law")).check(Answer("1", HARMLESS))
    assert verdict.action == "failed"
    assert (error.kind if isinstance(error, DetectorError) else type(error).__name__) in verdict.reason


def test_the_user_may_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "guess_language", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Guard(Policy.of("law")).check(Answer("1", HARMLESS))


@pytest.mark.parametrize("score", [float("nan"), None, "0.5"])
def test_a_score_that_is_no_number_is_a_failure(monkeypatch: pytest.MonkeyPatch, score: Any) -> None:
    monkeypatch.setattr(Logistic, "logit", lambda *_: score)
    assert Guard(Policy.of("law")).check(Answer("1", LEAK)).action == "failed"


def test_one_broken_answer_does_not_stop_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = vars(reading)["guess_language"]

    def sometimes(doc: Any) -> Any:
        if "boom" in doc.text:
            raise BrokenError
        return real(doc)

    monkeypatch.setattr(reading, "guess_language", sometimes)
    batch = [Answer("1", HARMLESS), Answer("2", "boom"), Answer("3", LEAK)]
    assert [v.action for v in Guard(Policy.of("medical")).check_many(batch)] == ["safe", "failed", "flag"]
