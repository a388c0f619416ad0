"""Whatever a text holds, the guard answers, and answers the same."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.core.records import ACTIONS, ORIGINS, SUBJECTS, USER_MESSAGES, Answer, Prompts, Turn, Verdict
from discreet.guard.domains import ALWAYS, builtin_domains, load_domain
from discreet.guard.guard import Guard
from discreet.guard.text.direct.detect import known_types

Guards = Mapping[str, Guard]

MANY = int(os.environ.get("DISCREET_FUZZ", "5000"))
"""Texts of the long run, other ones than those of the short run; DISCREET_FUZZ=100000 takes ten minutes of a core."""
FRAGMENTS = (
    "She is 52", "a 61-year-old", "welder", "from Omaha", "in Tulsa,", "two kids", "I am", "my husband", "Mrs. Ortiz",
    "he", "lives", "works at Boeing", "has asthma", "married", "if", "patients", "should", "you", "we", "the patient",
    ".", ",", "\n", "\n\n", "402-555-0199", "536-22-8712", "a@b.co", "(", ")", "\"", "'s", "\u2019", "-", "\u2014",
    "$82,000", "v.", "347 U.S. 483", "the Court held", "\ufb01fty", "\uff15\uff12", "\u200b", "\u202e", "e\u0301",
    "\U0001f642", "\U0001f469\u200d\U0001f467", "\ud800", "\udfff", "\u0000", "\u0130", "\u00df", "\u03a9",
    "a\u00f1os", "la", "el", "que", "con", "\u60a3\u8005", "\u043f\u0430\u0446\u0438\u0435\u043d\u0442",
    "dGhpcyBpcyBhIHRlc3Q=", "%41%42", "n a m e", "4111 1111 1111 1111", "|", "#", "1", "Nigerian", "divorce", "who",
    "or", "her", "his", "in her late 50s", "Dr. Chen", "\t", "  ", "born in 1961", "at 19", "zip 68102",
)  # fmt: skip
texts = (st.text(max_size=120) | st.lists(st.sampled_from(FRAGMENTS), max_size=10).map(" ".join)
         | st.lists(st.sampled_from(FRAGMENTS)).map("".join)
         | st.text(alphabet=st.characters(categories=["Cs", "Cf", "Mn", "So", "Nd", "Lu"])))
turns = st.builds(Turn, st.sampled_from(["user", "assistant", "system"]), texts, st.none() | st.sampled_from(ORIGINS))
prompts = st.builds(Prompts, st.sampled_from(USER_MESSAGES), st.sampled_from([(), ("{context}\n{question}",)]))
answers = st.builds(Answer, st.just("1"), texts, st.none() | texts, st.lists(texts, max_size=2).map(tuple),
                    st.lists(turns, max_size=2).map(tuple), st.none() | texts, prompts,
                    st.sampled_from(["unknown", "self"]))
KNOWN = {d: {*load_domain(d).shared, *load_domain(d).own, *ALWAYS, *known_types(), "quote", "answer_to_probe"}
         for d in builtin_domains()}


def bare(verdict: Verdict) -> Verdict:
    return replace(verdict, latency_ms=None)


def assert_sound(guard: Guard, answer: Answer, verdict: Verdict) -> None:
    assert verdict.action in ACTIONS
    assert verdict.action != "failed", verdict.reason
    assert 0 <= (-1 if verdict.score is None else verdict.score) <= 1
    assert verdict.logit is not None
    assert (verdict.layer is not None) == (verdict.action == "flag")
    assert verdict.id == answer.id
    assert verdict.reason
    assert isfinite(verdict.logit)
    assert verdict.cause is not None
    assert (verdict.logit > guard.evidence_tau) or verdict.cause.cause != "cluster"
    for found in verdict.evidence:
        assert 0 <= found.start < found.end <= len(answer.answer)
        assert found.subject in SUBJECTS
        assert found.type in KNOWN[guard.policy.domain.name]


@given(answers, st.sampled_from(builtin_domains()))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_answer_is_judged(guards: Guards, answer: Answer, domain: str) -> None:
    guard = guards[domain]
    judgement = guard.judge(answer)
    assert_sound(guard, answer, judgement.verdict)
    assert bare(guard.check(answer)) == bare(judgement.verdict)
    for found in judgement.findings:
        assert 0 <= found.start < found.end <= len(answer.answer)
    if judgement.verdict.action == "safe":
        assert not [f for f in judgement.findings if f.layer == "direct" and f.counts]


def drawn(rng: np.random.Generator, n: int) -> Iterable[Answer]:
    """Short texts of a few fragments; one in five with a question, of which half hold words of the answer."""
    lengths = rng.integers(0, 5, n)
    for i in range(n):
        picks = rng.integers(0, len(FRAGMENTS), lengths[i] + 1)
        words = [FRAGMENTS[k] for k in picks]
        question = FRAGMENTS[picks[0]] if i % 10 == 0 else FRAGMENTS[i % len(FRAGMENTS)] if i % 10 == 5 else None
        yield Answer(str(i), (" " if i % 3 else "").join(words), question)


@pytest.mark.parametrize("bulk", [
    pytest.param(6_000, marks=pytest.mark.slow), pytest.param(MANY, marks=pytest.mark.services)])
def test_many_texts_are_judged_alike_in_a_batch_and_alone(guards: Guards, bulk: int) -> None:
    seen: dict[str, int] = dict.fromkeys(ACTIONS, 0)
    again: list[tuple[Guard, Answer, Verdict]] = []
    share = bulk // len(guards)
    for seed, guard in enumerate(guards.values()):
        batch = list(drawn(np.random.default_rng([seed, bulk]), share))
        for answer, verdict in zip(batch, guard.check_many(batch), strict=True):
            assert_sound(guard, answer, verdict)
            seen[verdict.action] += 1
            if int(answer.id) % 60 == 7:
                again.append((guard, answer, verdict))
    assert sum(seen.values()) == share * len(guards)
    assert min(seen["safe"], seen["flag"]) > bulk / 50
    for i in np.random.default_rng(9).permutation(len(again)):
        guard, answer, verdict = again[i]
        assert bare(guard.check(answer)) == bare(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", " ", "\n", "1", "She is 52. ", "\ud800", "e\u0301", "👩‍👧 ", "Omaha, ", "the ",
                                  "A ", "Aa ", "a@b.co ", "402-555-0199 "])
def test_fifty_thousand_characters(guards: Guards, unit: str) -> None:
    answer = Answer("1", (unit * 50_000)[:50_000])
    assert_sound(guards["medical"], answer, guards["medical"].check(answer))
