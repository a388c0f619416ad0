"""Whatever a text holds, the guard answers, and answers the same; whatever breaks, no answer passes as safe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import DetectorError
from discreet.guard import evidence_guard as room
from discreet.guard.evidence_guard import EvidenceGuard
from discreet.guard.policy import Policy
from discreet.records import ACTIONS, DOMAINS, SUBJECTS, Answer, Turn, Verdict
from discreet.text.direct import Hit, known_types, recognisers
from discreet.text.mentions import Mention, classes_of, taggers

BULK = 100_000
FRAGMENTS = (
    "She is 52", "a 61-year-old", "welder", "from Omaha", "in Tulsa,", "two kids", "I am", "my husband", "Mrs. Ortiz", "he",
    "lives", "works at Boeing", "has asthma", "married", "if", "patients", "should", "you", "we", "the patient", ".", ",",
    "\n", "\n\n", "402-555-0199", "536-22-8712", "a@b.co", "(", ")", "\"", "'s", "’", "-", "—", "$82,000", "v.", "347 U.S. 483",
    "the Court held", "ﬁfty", "５２", "\u200b", "\u202e", "e\u0301", "🙂", "👩‍👧", "\ud800", "\udfff", "\x00", "İ", "ß", "Ω", "años",
    "la", "el", "que", "con", "患者", "пациент", "dGhpcyBpcyBhIHRlc3Q=", "%41%42", "n a m e", "4111 1111 1111 1111", "|", "#", "1",
    "Nigerian", "divorce", "who", "or", "her", "his", "in her late 50s", "Dr. Chen", "\t", "  ", "born in 1961", "at 19", "zip 68102",
)
pieces = st.lists(st.sampled_from(FRAGMENTS), max_size=10).map(" ".join) | st.lists(st.sampled_from(FRAGMENTS)).map("".join)
texts = st.text(max_size=120) | pieces | st.text(alphabet=st.characters(categories=["Cs", "Cf", "Mn", "So", "Nd", "Lu"]))
answers = st.builds(
    Answer, st.just("1"), texts, st.none() | texts, st.lists(texts, max_size=2).map(tuple),
    st.lists(st.builds(Turn, st.sampled_from(["user", "assistant", "system"]), texts), max_size=2).map(tuple),
)
KNOWN = {d: {*classes_of(d), *known_types()} for d in DOMAINS}


def bare(verdict: Verdict) -> Verdict:
    return replace(verdict, latency_ms=None)


def assert_sound(guard: EvidenceGuard, answer: Answer, verdict: Verdict) -> None:
    assert verdict.action in ACTIONS
    assert verdict.action != "failed", verdict.reason
    assert (verdict.score is None) == (verdict.action == "failed")
    assert verdict.score is not None
    assert 0 <= verdict.score <= 1
    assert verdict.delta is not None
    assert verdict.delta == verdict.delta
    assert (verdict.layer is not None) == (verdict.action == "flag")
    assert verdict.id == answer.id
    assert verdict.reason
    if verdict.layer == "contextual":
        assert verdict.delta > guard.tau
    for found in verdict.evidence:
        assert 0 <= found.start < found.end <= len(answer.answer)
        assert found.subject in SUBJECTS
        assert found.type in KNOWN[guard.policy.domain]


@given(answers, st.sampled_from(DOMAINS))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_answer_is_judged(guards: Mapping[str, EvidenceGuard], answer: Answer, domain: str) -> None:
    guard = guards[domain]
    judgement = guard.judge(answer)
    assert_sound(guard, answer, judgement.verdict)
    assert bare(guard.check(answer)) == bare(judgement.verdict)
    for found in judgement.findings:
        assert 0 <= found.start < found.end <= len(answer.answer)
    if judgement.verdict.action == "safe":
        assert not [f for f in judgement.findings if f.layer == "direct" and f.counts]


@given(st.lists(answers, max_size=6), st.randoms(use_true_random=False), st.sampled_from(DOMAINS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_batch_in_any_order(guards: Mapping[str, EvidenceGuard], batch: list[Answer], rng: Any, domain: str) -> None:
    batch = [replace(a, id=str(i)) for i, a in enumerate(batch)]
    alone = {a.id: bare(guards[domain].check(a)) for a in batch}
    shuffled = rng.sample(batch, len(batch))
    assert {v.id: bare(v) for v in guards[domain].check_many(shuffled)} == alone


def drawn(rng: np.random.Generator, n: int) -> Iterable[Answer]:
    """Short texts of a few fragments; one in five with a question, of which half hold words of the answer."""
    lengths = rng.integers(0, 5, n)
    for i in range(n):
        picks = rng.integers(0, len(FRAGMENTS), lengths[i] + 1)
        words = [FRAGMENTS[k] for k in picks]
        question = FRAGMENTS[picks[0]] if i % 10 == 0 else FRAGMENTS[i % len(FRAGMENTS)] if i % 10 == 5 else None
        yield Answer(str(i), (" " if i % 3 else "").join(words), question)


@pytest.mark.slow
def test_a_hundred_thousand_texts_are_judged_alike_in_a_batch_and_alone(guards: Mapping[str, EvidenceGuard]) -> None:
    seen: dict[str, int] = dict.fromkeys(ACTIONS, 0)
    again: list[tuple[EvidenceGuard, Answer, Verdict]] = []
    shares = dict(zip(DOMAINS, (BULK // 2, BULK // 4, BULK // 4), strict=True))
    for seed, (domain, n) in enumerate(shares.items()):
        guard = guards[domain]
        batch = list(drawn(np.random.default_rng(seed), n))
        for answer, verdict in zip(batch, guard.check_many(batch), strict=True):
            assert_sound(guard, answer, verdict)
            seen[verdict.action] += 1
            if int(answer.id) % 60 == 7:
                again.append((guard, answer, verdict))
    assert sum(seen.values()) == BULK
    assert min(seen["safe"], seen["flag"]) > BULK / 50
    for i in np.random.default_rng(9).permutation(len(again)):
        guard, answer, verdict = again[i]
        assert bare(guard.check(answer)) == bare(verdict)


class Broken(Exception):
    """What a detector may raise; not one of ours."""


class BrokenRecogniser:
    types = ("ssn",)
    priority = 0

    def find(self, facts: object) -> Iterable[Hit]:
        raise Broken("text text text")


class BrokenTagger:
    kinds = ("age",)
    domains = None

    def find(self, context: object) -> Iterable[Mention]:
        raise Broken("text text text")
        yield


def breaking(*_: Any, **__: Any) -> Any:
    raise Broken("text text text")


HARMLESS = "The drug lowers the risk, and the dose depends on the weight."
LEAK = "The patient is a 52-year-old welder from Omaha."


def assert_fails(text: str = HARMLESS) -> None:
    """Also on the second call, and for those that a detector broken in another way would have flagged."""
    guard = EvidenceGuard(Policy.builtin("medical"))
    for _ in range(2):
        for answer in (Answer("1", text), Answer("2", LEAK, LEAK)):
            verdict = guard.check(answer)
            assert (verdict.action, verdict.score, verdict.delta, verdict.evidence) == ("failed", None, None, ())
            assert verdict.layer is None
            assert verdict.policy == guard.policy.label()
            assert "Broken" in verdict.reason
            assert "text" not in verdict.reason
            assert guard.judge(answer).findings == ()


@pytest.mark.parametrize("name", list(recognisers))
def test_no_answer_is_safe_when_a_recogniser_breaks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert recognisers[name]
    monkeypatch.setitem(recognisers._items, name, BrokenRecogniser())
    assert_fails()


@pytest.mark.parametrize("name", list(taggers))
def test_no_answer_is_safe_when_a_tagger_breaks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert taggers[name]
    monkeypatch.setitem(taggers._items, name, BrokenTagger())
    assert_fails()


@pytest.mark.parametrize("part", ["prepare", "find_direct", "guess_language", "find_evidence", "clusters", "best_logit",
                                  "probability"])
def test_no_answer_is_safe_when_a_part_breaks(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setattr(room, part, breaking)
    assert_fails()


@pytest.mark.parametrize("registry", [recognisers, taggers])
def test_no_answer_is_safe_when_the_plug_ins_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch, registry: Any) -> None:
    monkeypatch.setattr("discreet.registry.entry_points", breaking)
    monkeypatch.setattr(registry, "_loaded", False)
    monkeypatch.setattr(registry, "_items", {})
    assert_fails()


@pytest.mark.parametrize("registry", [recognisers, taggers])
def test_no_answer_is_safe_when_there_are_no_detectors(monkeypatch: pytest.MonkeyPatch, registry: Any) -> None:
    """A broken installation without entry points finds nothing; that must not look like an answer with nothing in it."""
    monkeypatch.setattr("discreet.registry.entry_points", lambda group: [])
    monkeypatch.setattr(registry, "_loaded", False)
    monkeypatch.setattr(registry, "_items", {})
    assert EvidenceGuard(Policy.builtin("medical")).check(Answer("1", HARMLESS)).action == "failed"


@pytest.mark.parametrize("error", [Broken("t"), MemoryError("t"), RecursionError("t"), DetectorError("names", "KeyError"),
                                   AssertionError(), StopIteration("t"), UnicodeDecodeError("utf-8", b"t", 0, 1, "t")])
def test_whatever_is_raised(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def raising(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(room, "guess_language", raising)
    verdict = EvidenceGuard(Policy.builtin("law")).check(Answer("1", HARMLESS))
    assert verdict.action == "failed"
    assert (error.kind if isinstance(error, DetectorError) else type(error).__name__) in verdict.reason


def test_the_user_may_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "guess_language", interrupted)
    with pytest.raises(KeyboardInterrupt):
        EvidenceGuard(Policy.builtin("law")).check(Answer("1", HARMLESS))


@pytest.mark.parametrize("score", [float("nan"), None, "0.5"])
def test_a_score_that_is_no_number_is_a_failure(monkeypatch: pytest.MonkeyPatch, score: Any) -> None:
    real: Callable[..., Any] = room.best_logit

    def broken(*args: Any) -> Any:
        return score, real(*args)[1]

    monkeypatch.setattr(room, "best_logit", broken)
    assert EvidenceGuard(Policy.builtin("law")).check(Answer("1", LEAK)).action == "failed"


def test_one_broken_answer_does_not_stop_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    real = room.guess_language

    def sometimes(doc: Any) -> Any:
        if "boom" in doc.text:
            raise Broken
        return real(doc)

    monkeypatch.setattr(room, "guess_language", sometimes)
    batch = [Answer("1", HARMLESS), Answer("2", "boom"), Answer("3", LEAK)]
    assert [v.action for v in EvidenceGuard(Policy.builtin("medical")).check_many(batch)] == ["safe", "failed", "flag"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", " ", "\n", "1", "She is 52. ", "\ud800", "e\u0301", "👩‍👧 ", "Omaha, ", "the ", "A ", "Aa ",
                                  "a@b.co ", "402-555-0199 "])
def test_fifty_thousand_characters(guards: Mapping[str, EvidenceGuard], unit: str) -> None:
    answer = Answer("1", (unit * 50_000)[:50_000])
    assert_sound(guards["medical"], answer, guards["medical"].check(answer))
