"""Verdicts: each cause with its sentence, in their order, and made in one place."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest
from tests.guard.population.standin import StandIn

import discreet
from discreet.core.records import CAUSES, Answer, Cause, Evidence, Reason, Verdict
from discreet.guard.decide import Layer2, OverTurns, Thresholds, decide, failed, restated, seconded, sentence
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy, QuoteRule
from discreet.guard.probes import Probe
from discreet.guard.reading import Finding, Reading, read_answer
from discreet.guard.score import EvidenceScore, clusters

SOURCE = Path(discreet.__file__).parent
POLICY = Policy.of("medical")
TOLD = "The patient is a 52-year-old litigator from Omaha."
GERMAN = "Die Patientin ist eine Lehrerin aus der Stadt und hat zwei Kinder, die noch in die Schule gehen. " * 3
NOTE = "Our records say that the boiler in the east wing was drained, flushed and refilled with softened water."
PEOPLE = Guard("medical").counting(StandIn(1000)).judge("The patient is 52 years old.").people  # type: ignore[arg-type]
FINDING = Finding("ssn", "third", "", 0, 3, "ssn pattern", "direct", True)
PROBE = Probe("third", ("age", "place"), False)
TURNS = OverTurns(True, "third", 2, ("age", "place"), 1, 0.9, (Evidence("place", "third", 0, 4),))
FIRST: list[Cause] = ["direct", "cluster", "few_people", "probe", "over_turns", "verbatim", "language",
                      "out_of_distribution", "unsure", "none"]
HELD: list[Cause] = ["probe", "unsure_over_turns", "verbatim", "none"]


ADVICE = "Rest helps most people who have slept badly for a week or more."


def judged(causes: list[Cause], text: str = ADVICE, *, held: bool = False, delta: float = -1.0,
           **changed: Any) -> Verdict:
    """The verdict on an answer to which all of these causes apply; `held`: those of two actions as abstentions."""
    action: Literal["abstain", "flag"] = "abstain" if held else "flag"
    policy = replace(POLICY, probe=action, quotes=QuoteRule(action), fewer_than=100, **changed)
    given = Answer("1", (GERMAN if "language" in causes else "") + (TOLD if "cluster" in causes else text))
    reading = read_answer(given, policy)
    if "verbatim" in causes:
        reading = replace(reading, quotes=read_answer(Answer("1", NOTE, sources=(NOTE,)), policy).quotes)
    found = EvidenceScore(-5.0, None, False)
    if "unsure" in causes:
        found = EvidenceScore(0.5, None, False)
    if "cluster" in causes:
        found = EvidenceScore(5.0, clusters(reading.attributes, POLICY)[0], True)
    layer2 = Layer2(delta, delta, 0.1, 0.2, "unlike both" if "out_of_distribution" in causes else None)
    turns = [replace(TURNS, sure=one == "over_turns") for one in ("over_turns", "unsure_over_turns") if one in causes]
    with mock.patch.object(Reading, "probe", return_value=PROBE if "probe" in causes else None):
        return decide(reading, policy, "label", found, Thresholds("strict", 1.0, -9.0, 0.0, 0.0),
                      findings=[FINDING] if "direct" in causes else [], layer2=layer2,
                      people=PEOPLE if "few_people" in causes else (), over_turns=turns[0] if turns else None)


def cause_of(verdict: Verdict) -> Cause:
    assert verdict.cause is not None
    assert verdict.reason == sentence(verdict.cause)
    return verdict.cause.cause


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_a_sentence(cause: Cause) -> None:
    bare = Reason(cause, attributes=2, detail="a detail", words=12, facts=3)
    full = Reason(cause, ("age", "place"), "third", 3, 1, 2, ("occupation",), 1.5, 0.5, "strict", "a detail")
    for reason in (bare, full):
        assert sentence(reason).strip()
        assert "None" not in sentence(reason)
        assert json.loads(json.dumps(reason.to_json()))["cause"] == cause


def test_sentences_say_what_a_reader_needs() -> None:
    few = Reason("none", ("age",), "third", 1, 0, 2, point="strict")
    assert sentence(few) == "1 attribute bound to one person (third), fewer than the 2 that make a cluster"
    assert sentence(replace(few, attributes=2, weak=1)) == ("2 attributes (1 weak) bound to one person (third), below "
                                                            "the threshold of the operating point strict")
    assert sentence(replace(few, cause="cluster", kinds=("age", "place"), attributes=2, inferred=("family",))) == (
        "2 attributes bound to one person (third): age, place; can be inferred: family")


@pytest.mark.parametrize("first", range(len(FIRST)))
def test_the_first_cause_that_applies_decides(first: int) -> None:
    verdict = judged(FIRST[first:])
    assert cause_of(verdict) == FIRST[first]
    flags, abstains = FIRST[: FIRST.index("language")], FIRST[FIRST.index("language") : -1]
    assert (FIRST[first] in flags, FIRST[first] in abstains) == (verdict.action == "flag", verdict.action == "abstain")
    assert (verdict.delta, verdict.tau, verdict.threshold) == (-1.0, 0.0, 1.0)


def test_a_cluster_that_is_told_in_another_language_is_not_judged() -> None:
    spanish = "La paciente es una abogada de cincuenta y dos años que vive en Omaha con sus dos hijos."
    reading = read_answer(Answer("1", spanish), POLICY)
    found = EvidenceScore(9.0, clusters(reading.attributes, POLICY)[0], True)
    at = Thresholds("strict", 1.0, -9.0, 0.0)
    assert len({(a.kind, a.value) for a in reading.attributes}) >= POLICY.cluster
    assert cause_of(decide(reading, POLICY, "label", found, at)) == "language"
    for both in (f"{spanish} {TOLD}", f"{TOLD} {spanish}", f"{TOLD} h e l l o w o r l d s a i d h i"):
        assert cause_of(Guard("medical").check(both)) == "cluster"


@pytest.mark.parametrize("first", range(len(HELD)))
def test_what_a_policy_holds_comes_after_what_cannot_be_judged(first: int) -> None:
    verdict = judged(HELD[first:], held=True)
    assert (cause_of(verdict), verdict.action) == (HELD[first], "safe" if HELD[first] == "none" else "abstain")
    for cause in FIRST[FIRST.index("language") : -1]:
        assert cause_of(judged([cause, *HELD[first:]], held=True)) == cause


@pytest.mark.parametrize("held", [[], ["probe"], ["unsure_over_turns"], ["verbatim"]])
def test_delta_of_a_fitted_layer(held: list[Cause]) -> None:
    over = judged([*held, "unsure"], held=True, delta=1.0)
    assert (cause_of(over), over.action, over.layer) == ("density", "flag", "contextual")
    disagree = judged(held, held=True, delta=1.0)
    assert (cause_of(disagree), disagree.action) == ("disagree", "abstain")
    assert cause_of(judged(["out_of_distribution", *held], held=True, delta=1.0)) == "out_of_distribution"
    nobody = judged(held, held=True, delta=1.0, subjects=())
    assert (cause_of(nobody), nobody.action) == ((held[0], "abstain") if held else ("suppressed", "safe"))


@pytest.mark.parametrize("text", ["829", "$382.00", "51,000 thousand", "Yes. It decreased."])
def test_few_words_imply_nothing_that_they_do_not_state(text: str) -> None:
    assert cause_of(judged(["unsure"], text)) == "none"
    assert cause_of(judged(["unsure"], f"{ADVICE} {text}")) == "unsure"
    assert Guard("finance").check(text).action == "safe"


def test_quotes_are_listed_under_every_cause() -> None:
    for causes in (["direct", "verbatim"], ["cluster", "verbatim"], ["verbatim"]):
        assert judged(causes).evidence[-1].type == "quote"  # type: ignore[arg-type]


def test_verdicts_without_a_reading() -> None:
    safe = judged(["none"])
    assert cause_of(failed("1", "label", "a detector failed")) == "failed"
    again = restated(safe, 2, 7)
    assert (cause_of(again), again.action) == ("restated", "abstain")
    undecided = judged(["unsure"])
    for second in (safe, judged(["direct"]), failed("1", "label", "quotes Omaha")):
        found = seconded(undecided, second)
        assert (cause_of(found), found.action) == ("second", second.action)
        assert "Omaha" not in found.reason


def test_numbers_of_a_fit_only_with_a_fit() -> None:
    verdict = Guard("medical").check(TOLD)
    said = verdict.to_json()
    assert [said[key] for key in ("delta", "tau", "sigma_safe", "sigma_unsafe")] == [None] * 4
    assert (said["logit"], said["threshold"]) == (verdict.rank, verdict.threshold)
    assert said["cause"]["cause"] == "cluster"
    assert judged(["none"]).rank == judged(["none"]).delta == -1.0


MAKES = {"guard/decide.py"}
READS = ("guard/text/provenance.py", "serve/gate.py", "serve/fair.py", "serve/doors/", "serve/integrations/",
         "inputs/answers.py", "cli/")
"""An endpoint hands on what it was given; the gate measures it, and shows the question to a reviewer."""
OTHERS = ("synth/", "serve/console/", "serve/reviewing.py")
"""Where `question` is that of a prompt, a draft or a row that a reviewer sees, not of an `Answer`."""
OF_REQUEST = ("question", "user_words", "conversation")


@cache
def parsed() -> list[tuple[str, ast.AST]]:
    return [(path.relative_to(SOURCE).as_posix(), node) for path in sorted(SOURCE.rglob("*.py"))
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def test_verdicts_are_made_in_one_place() -> None:
    made = {where for where, node in parsed() if isinstance(node, ast.Call)
            and ast.unparse(node.func).split(".")[-1] == "Verdict"}
    assert made == MAKES
    changed = {where for where, node in parsed() if isinstance(node, ast.Call)
               and ast.unparse(node.func).split(".")[-1] == "replace"
               and any(one.arg in ("action", "cause") for one in node.keywords)}
    assert changed <= MAKES


def test_one_place_says_who_said_what() -> None:
    reads = {where for where, node in parsed() if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
             and node.attr in OF_REQUEST}
    assert not [where for where in reads if not where.startswith((*READS, *OTHERS))]
    assert "guard/text/provenance.py" in reads
    words = {where for where, node in parsed() if isinstance(node, ast.Attribute) and node.attr == "user_words"}
    assert not [where for where in words if not where.startswith((*READS, "serve/console/", "serve/reviewing.py"))]
