from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import discreet
from discreet.core.errors import UsageError
from discreet.core.records import Action, Answer, Turn, Verdict
from discreet.guard import reading
from discreet.guard.density.detector import Detector, Rows, rows_of
from discreet.guard.density.discriminators import DENSITY, DISCRIMINATORS
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.guard.density.points import Thetas
from discreet.guard.fit import fit_guard
from discreet.guard.guard import Guard
from discreet.guard.policy import POINTS, Policy
from discreet.guard.score import probability
from discreet.inputs.encode.encoders.hashed import HashedEncoder

EVERY = list(DISCRIMINATORS)
LEAK = ("The patient is a 61-year-old welder from Tulsa with three children. Treatment with warfarin for gout was "
        "started and went well.")
SAFE = ("Warfarin is often used for gout. Adults should ask a pharmacist before they take more than 8 tablets, and "
        "report any cough to the clinic.")
GERMAN = "Die Patientin ist eine Lehrerin aus der Stadt und hat zwei Kinder, die noch in die Schule gehen."
UNLIKE = "Shaders compile into pipelines; profile the renderer before you touch its memory allocator or its caches."
DIRECT = f"{LEAK} Write to jane.doe@mail-host.com."
REASON = "4 attributes bound to one person (third): age, family, occupation, place"
QUESTION = "My patient is a 61-year-old welder from Tulsa with three children. Is warfarin right?"
ANYTHING = Thetas(1e9, 1e9)
NOTHING = Thetas(-1e9, -1e9)


def with_gate(guard: Guard, gate: Thetas, policy: Policy | None = None, **more: Any) -> Guard:
    return Guard(policy or guard.policy, detector=replace(guard.detector, thetas=gate), card=guard.card, **more)


def act(guard: Guard, text: str, question: str | None = None) -> Verdict:
    return guard.check(Answer("1", text, question))


def test_verdicts_and_their_numbers(fitted_guard: Guard) -> None:
    leak, safe = act(fitted_guard, LEAK), act(fitted_guard, SAFE)
    assert (leak.action, leak.layer, safe.action, safe.layer) == ("flag", "contextual", "safe", None)
    for verdict in (leak, safe):
        assert None not in (verdict.delta, verdict.sigma_safe, verdict.sigma_unsafe, verdict.latency_ms)
        assert (verdict.tau, verdict.policy) == (0.0, Policy.of("medical").label())
    assert safe.score == probability(float(safe.delta or 0))
    assert leak.score == Guard(fitted_guard.policy).check(LEAK).score
    assert float(leak.delta or 0) > 0 > float(safe.delta or 0)
    assert float(leak.sigma_unsafe or 0) > float(leak.sigma_safe or 0)
    assert {e.type for e in leak.evidence} == {"age", "occupation", "place", "family"}
    assert leak.reason == REASON
    direct = act(fitted_guard, DIRECT)
    assert direct.layer == "direct"
    assert [e.type for e in direct.evidence] == ["email", *(e.type for e in leak.evidence)]
    findings = fitted_guard.judge(LEAK).findings
    assert {f.type for f in findings if f.counts} == {"age", "occupation", "place", "family"}
    assert all("Tulsa" not in str(f) for f in findings)


def test_the_order_of_verdicts(fitted_guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text has every later reason too."""
    gated = with_gate(fitted_guard, ANYTHING).at(-1e9, unsure=-1e9)
    direct = act(gated, f"{GERMAN} {DIRECT}")
    assert (direct.action, direct.layer, direct.score) == ("flag", "direct", 1.0)
    evidence = act(gated, f"{GERMAN} {GERMAN} {LEAK}")
    assert (evidence.action, evidence.layer) == ("flag", "contextual")
    assert evidence.reason == REASON
    assert "(de)" in act(gated, f"{GERMAN} {GERMAN}").reason
    assert (act(gated, SAFE).action, act(gated, GERMAN).action) == ("abstain", "abstain")
    assert "unlike the safe and unlike the unsafe texts" in act(gated, SAFE).reason
    assert act(with_gate(gated, NOTHING).at(-1e9, unsure=-1e9), SAFE).layer == "contextual"
    empty = act(with_gate(gated, NOTHING).at(1e9), " \n")
    assert (empty.action, empty.cause and empty.cause.cause) == ("abstain", "empty")
    monkeypatch.setattr(reading, "guess_language", Mock(side_effect=ZeroDivisionError(LEAK)))
    failed = act(gated, DIRECT)
    assert (failed.action, failed.score, failed.delta) == ("failed", None, None)
    assert "ZeroDivisionError" in failed.reason
    assert "Tulsa" not in failed.reason


@pytest.mark.parametrize("text", [
    LEAK, "Shaders compile; their author is a 52-year-old Nigerian welder from Omaha with two children.",
    f"{GERMAN} {GERMAN} {LEAK}"])
@pytest.mark.parametrize("point", ["conservative", "balanced", "strict", "costs"])
def test_what_evidence_flags_is_flagged_whatever_gate_and_threshold_say(fitted_guard: Guard, text: str,
                                                                        point: str) -> None:
    guard = Guard(fitted_guard.policy, detector=replace(fitted_guard.detector, thetas=ANYTHING), point=point).at(1e9)
    alone = Guard(guard.policy, point="conservative" if point == "costs" else point).check(
        Answer("1", text))
    verdict = act(guard, text)
    assert (verdict.action, alone.action) == ("flag", "flag")
    assert (verdict.layer, verdict.reason, verdict.evidence, verdict.score) == (
        alone.layer, alone.reason, alone.evidence, alone.score)
    assert float(verdict.delta or 0) < float(verdict.tau or 0)


def test_evidence_keeps_its_threshold_of_the_point(fitted_guard: Guard) -> None:
    text = "The patient is a married pensioner."
    found = {}
    for point in POINTS:
        guard = Guard(fitted_guard.policy, detector=replace(fitted_guard.detector, thetas=ANYTHING), point=point)
        found[point] = act(guard, text).action
    assert found["conservative"] == "abstain"
    assert found["strict"] == "flag"


@pytest.mark.parametrize("kind", [DENSITY, *EVERY])
def test_every_discriminator_decides(fitted_folder: Path, kind: str) -> None:
    guard = Guard.load(fitted_folder, discriminator=kind)
    assert act(guard, LEAK).action == "flag"
    assert act(guard, SAFE).action in ("safe", "abstain")
    open_ = with_gate(guard, NOTHING).at(guard.tau, np.inf)
    leak, safe = act(open_, LEAK), act(open_, SAFE)
    assert float(leak.delta or 0) > 0 > float(safe.delta or 0)
    if kind != "mlp-v4":
        assert (leak.action, safe.action) == ("flag", "safe")
    if kind == DENSITY:
        assert leak.delta == float(leak.sigma_unsafe or 0) - float(leak.sigma_safe or 0)
        assert leak.score == probability(float(leak.delta or 0) / guard.detector.spread)


def test_the_perceptron_abstains_where_it_is_not_sure(fitted_folder: Path) -> None:
    guard = with_gate(Guard.load(fitted_folder, discriminator="mlp-v4"), NOTHING)
    guard = guard.at(guard.tau, np.inf)
    mixed = [" ".join([LEAK] * a + [SAFE] * b) for a in range(1, 5) for b in range(1, 5)]
    verdicts = [act(guard, text) for text in (*mixed, LEAK, SAFE)]
    assert all((v.action == "abstain") == (abs(float(v.delta or 0)) < log(9)) for v in verdicts)
    assert {v.action for v in verdicts} >= {"abstain", "safe"}


def test_points(fitted_folder: Path) -> None:
    for point in ("conservative", "balanced", "strict", "costs"):
        guard = Guard.load(fitted_folder, point=point)
        assert guard.tau == guard.detector.points[guard.detector.decides][point] == act(guard, LEAK).tau
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"point": "loud"}, "no operating point 'loud'"), ({"discriminator": "loud"}, "no discriminator 'loud'"),
        ({"policy": Policy.of("law")}, r"fitted for 'medical'.*policy is for 'law'")]
    for options, said in wrong:
        with pytest.raises(UsageError, match=said):
            Guard.load(fitted_folder, **options)


@pytest.mark.parametrize(("text", "rules"), [(SAFE, None), (LEAK, np.inf)])
def test_where_evidence_is_unsure_flag_iff_over_tau(fitted_guard: Guard, text: str, rules: float | None) -> None:
    guard = with_gate(fitted_guard, NOTHING)
    delta = float(act(guard, text).delta or 0)
    assert act(guard.at(delta, rules), text).action == ("safe" if text is SAFE else "abstain")
    over = act(guard.at(float(np.nextafter(delta, -np.inf)), rules, unsure=-np.inf), text)
    assert (over.action, over.score) == ("flag", probability(delta))
    assert over.cause is not None
    assert over.cause.cause == "density"


def test_nobody_counts(fitted_folder: Path) -> None:
    treating = Guard.load(fitted_folder, audience="treating")
    verdict = act(treating, LEAK)
    assert (verdict.action, verdict.reason) == ("safe", "the policy counts nobody's attributes")
    assert float(verdict.delta or 0) > 0
    assert act(treating, DIRECT).layer == "direct"
    assert act(with_gate(treating, ANYTHING), LEAK).action == "safe"
    assert act(treating, GERMAN).action == "abstain"


COHORT = "If a 30-year-old teacher from Boston has a cough, order a scan."


@pytest.mark.parametrize(("text", "question", "action", "reason"), [
    # Half echoed, nothing found, a cohort, or one thing echoed explain nothing alone.
    (LEAK, "What of a 61-year-old?", "flag", "bound to one person"),
    (SAFE, None, "flag", "no attribute that counts is bound to one person"), (COHORT, None, "flag", "reads like"),
    ("Your patient is 61 years old.", "My patient is 61 years old.", "flag", "reads like"),
])
def test_whose_attributes_they_are(fitted_guard: Guard, text: str, question: str | None, action: Action,
                                   reason: str) -> None:
    policy = replace(fitted_guard.policy, probe="pass")
    verdict = act(with_gate(fitted_guard, NOTHING, policy).at(-1e9, unsure=-1e9), text, question)
    assert verdict.action == action
    assert reason in verdict.reason


def test_turns_of_the_user_and_out_of_distribution(fitted_guard: Guard) -> None:
    eager = with_gate(fitted_guard, NOTHING, replace(fitted_guard.policy, probe="pass")).at(-1e9)
    given = Answer("1", LEAK, "And warfarin?", conversation=(Turn("assistant", QUESTION),))
    assert eager.check(given).action == "flag"
    silent = replace(fitted_guard.policy, probe="pass")
    assert act(with_gate(fitted_guard, ANYTHING, silent), LEAK, QUESTION).action == "abstain"


@pytest.mark.parametrize("action", ["safe", "flag", "abstain", "failed"])
def test_the_action_of_a_second_detector_stands(fitted_guard: Guard, action: Action) -> None:
    score, layer = None if action == "failed" else 0.5, "contextual" if action == "flag" else None

    def second(answer: Answer) -> Verdict:
        return Verdict(answer.id, action, layer, score, score, (), "other", f"quotes {answer.answer}")  # type: ignore[arg-type]

    verdict = act(with_gate(fitted_guard, ANYTHING, second=second), SAFE)
    assert (verdict.action, verdict.layer, verdict.delta is None) == (action, layer, action == "failed")
    assert f"the second detector says {action}" in verdict.reason
    assert "Warfarin" not in verdict.reason


def test_a_second_detector_is_asked_about_abstentions_only(fitted_guard: Guard) -> None:
    asked: list[str] = []

    def second(answer: Answer) -> Verdict:
        asked.append(answer.answer)
        raise RuntimeError(answer.answer)

    guard = with_gate(fitted_guard, NOTHING, second=second)
    assert [act(guard, text).action for text in (LEAK, SAFE, DIRECT)] == ["flag", "safe", "flag"]
    assert asked == []
    verdict = act(guard, GERMAN)
    assert (asked, verdict.action) == ([GERMAN], "failed")
    assert "RuntimeError" in verdict.reason


@pytest.mark.parametrize("given", [RuntimeError(LEAK), MemoryError(), np.full((1, 256), np.nan, np.float32),
                                   np.zeros((1, 255), np.float32), np.full((1, 256), np.inf, np.float32)])
def test_no_answer_is_safe_when_an_encoder_breaks(fitted_guard: Guard, monkeypatch: pytest.MonkeyPatch,
                                                  given: Any) -> None:
    broken = {"side_effect": given} if isinstance(given, Exception) else {"return_value": given}
    monkeypatch.setattr(HashedEncoder, "encode", Mock(**broken))
    for text in (SAFE, LEAK, DIRECT):
        verdict = act(fitted_guard, text)
        assert (verdict.action, verdict.score) == ("failed", None)
        assert "Tulsa" not in verdict.reason


def test_the_chunk_nearest_to_unsafe_decides(fitted_guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HashedEncoder, "chunks", lambda _, text: [s + "." for s in text.rstrip(".").split(". ")])
    detector = replace(fitted_guard.detector, thetas=NOTHING)
    long = f"{SAFE} {LEAK} {SAFE}"
    for kind in (DENSITY, "features+logistic", "mlp-v4"):
        one = detector.deciding(kind)
        guard = Guard(fitted_guard.policy, detector=one)
        read = reading.read_answer(Answer("1", long), fitted_guard.policy)
        rows = rows_of(one.fusion, one.evidence, [read], "answer", one.counted)
        assert len(rows.features) > 4
        sigmas = one.dual.sigmas(rows.features)
        deltas = sigmas[:, 1] - sigmas[:, 0] if kind == DENSITY else one.discriminators[kind].delta(rows.features)
        verdict = act(guard, long)
        assert verdict.delta == deltas.max()
        assert (verdict.sigma_safe, verdict.sigma_unsafe) == tuple(sigmas[int(deltas.argmax())])


def test_evidence_is_read_over_the_whole_text(fitted_guard: Guard) -> None:
    guard = with_gate(fitted_guard, NOTHING)
    spread = f"The patient is 61 years old. {SAFE} {SAFE} The patient is a welder. {SAFE} The patient is from Tulsa."
    assert act(guard, spread).action == "flag"


def test_alone_as_with_others_in_any_order(fitted_guard: Guard) -> None:
    texts = [LEAK, SAFE, UNLIKE, f"{SAFE} {LEAK}", "Yes.", "", GERMAN, DIRECT]
    answers = [Answer(str(i), t) for i, t in enumerate(texts)]
    alone = {a.id: replace(fitted_guard.check(a), latency_ms=None) for a in answers}
    for order in (answers, answers[::-1]):
        assert {v.id: replace(v, latency_ms=None) for v in fitted_guard.check_many(order)} == alone
    detector = fitted_guard.detector
    reads = [reading.read_answer(a, fitted_guard.policy) for a in answers]
    scores = detector.score(rows_of(detector.fusion, detector.evidence, reads, "answer", detector.counted))
    assert scores.delta.tolist() == [alone[a.id].delta for a in answers]


def test_scores_choose_by_owner(fitted_guard: Guard) -> None:
    """Several chunks of several answers: the highest δ of each, whatever the others hold."""
    detector: Detector = fitted_guard.detector
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, detector.fusion.dim)).astype(np.float32)
    owner = np.unique(np.sort(rng.integers(0, 7, size=30)), return_inverse=True)[1]
    evidence = rng.random((int(owner.max()) + 1, detector.evidence.dim)).astype(np.float32)
    scores = detector.deciding("features+logistic").score(
        Rows(x, owner, evidence, np.zeros((len(evidence), 1), np.float32), np.zeros((len(evidence), 2))))
    every = detector.discriminators["features+logistic"].delta(x)
    assert scores.delta.tolist() == [every[owner == k].max() for k in range(int(owner.max()) + 1)]


def test_question_and_answer(side_files: Mapping[str, Path]) -> None:
    guard = fit_guard("medical", side_files["safe"], side_files["unsafe"], encoded="question+answer",
                      encoders=[HashedEncoder(64), EvidenceEncoder("medical")])
    assert guard.detector.encoded == "question+answer"
    assert act(guard, SAFE, "What of gout?").sigma_safe != act(guard, SAFE, "Is rain wet?").sigma_safe
    assert act(guard, SAFE).sigma_safe == act(guard, SAFE, None).sigma_safe


LEAN = """
import sys
from discreet.guard.guard import Guard
from discreet.core.records import Answer
from discreet.guard.density.base import densities
loaded = [densities[kind] for kind in densities]
guard = Guard.load({folder!r})
assert guard.check(Answer("1", {leak!r})).action == "flag"
heavy = ("torch", "transformers", "sklearn", "scipy", "pandas", "spacy", "onnx", "sentence_transformers", "matplotlib")
print([m for m in heavy if m in sys.modules])
"""


def test_judging_needs_nothing_heavy(fitted_folder: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
    code = LEAN.format(folder=str(fitted_folder), leak=LEAK)
    ended = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (ended.stdout.strip(), ended.stderr) == ("[]", "")
