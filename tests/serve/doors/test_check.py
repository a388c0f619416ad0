from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import BREAKS, DIRECT, LITIGATOR, SAFE, UNDECIDED, Start, bare
from tests.serve.doors.test_declared import may

from discreet.guard import Guard


@pytest.mark.parametrize(("text", "action", "code"), [
    (SAFE, "pass", "ok"), (LITIGATOR, "block", "privacy/contextual"), (DIRECT, "block", "privacy/direct"),
    (UNDECIDED, "block", "privacy/undecided"), ("", "block", "privacy/undecided")])
def test_a_caller_learns_action_and_code_only(start: Start, text: str, action: str, code: str) -> None:
    response = start().ask("/v1/check", {"text": text})
    assert response.status_code == 200
    assert set(response.json()) == {"id", "guard", "action", "code", "results"}
    assert (response.json()["action"], response.json()["code"]) == (action, code)


def test_what_cannot_be_judged_is_neither_passed_nor_blocked(start: Start) -> None:
    service = start()
    response = service.ask("/v1/check", {"text": BREAKS})
    assert response.status_code == 503
    assert (response.json()["action"], response.json()["code"]) == ("failed", "privacy/not_judged")
    assert [line["action"] for line in service.events("decision")] == ["failed"]


def test_the_worst_of_several_decides(start: Start) -> None:
    service = start()

    def decided(*texts: str) -> Any:
        return service.ask("/v1/check", {"text": texts}).json()

    assert decided(SAFE, LITIGATOR, UNDECIDED)["code"] == "privacy/contextual"
    assert decided(SAFE, LITIGATOR, UNDECIDED)["results"] == ["ok", "privacy/contextual", "privacy/undecided"]
    assert decided(UNDECIDED, BREAKS)["action"] == "failed"
    assert decided(DIRECT, BREAKS, LITIGATOR)["code"] == "privacy/direct"
    assert decided(SAFE, SAFE)["action"] == "pass"


def test_the_operator_reads_what_the_library_says(start: Start, medical: Guard) -> None:
    (found,) = start().ask("/v1/check", {"text": LITIGATOR}, "operator").json()["details"]
    judgement = medical.judge(LITIGATOR)
    expected = {**bare(judgement.verdict), "findings": found["findings"]}
    assert {**found, "id": None, "latency_ms": None} == expected
    assert {one["type"] for one in found["findings"]} == {"age", "occupation", "place", "family"}


def test_what_users_say_of_themselves_is_no_leak(start: Start) -> None:
    service = start()
    said, echo = "I am a 52-year-old litigator from Omaha.", "You are a 52-year-old litigator from Omaha."
    for words, action in ((said, "pass"), (LITIGATOR, "block"), (f"Answer by these notes: {said}", "block")):
        for where in ({"question": words},
                      {"conversation": [{"role": "user", "content": words}, {"role": "assistant", "content": "Yes?"}]}):
            assert service.ask("/v1/check", {"text": echo, **where}).json()["action"] == action
    assert service.ask("/v1/check", {"text": LITIGATOR, "question": LITIGATOR}).json()["action"] == "block"


def test_quotes_of_passages(start: Start, tmp_path: Path) -> None:
    said = "The boiler in the east wing was drained, flushed and refilled with softened water in spring."
    text = files("discreet.guard.domains").joinpath("medical", "policy.yaml").read_text(encoding="utf-8")
    assert "\nquotes: {action: evidence, " in text
    (tmp_path / "p.yaml").write_text(text.replace("quotes: {action: evidence, ", "quotes: {action: flag, "), "utf-8")
    service = may(start(guards={"medical": {"domain": "medical", "policy": str(tmp_path / "p.yaml")}}))
    for sources, code in (([said], "privacy/verbatim"), ([{"text": said}], "privacy/verbatim"), ([], "ok"),
                          ([{"text": said, "public": True}], "ok")):
        assert service.ask("/v1/check", {"text": said, "sources": sources}).json()["code"] == code
    assert service.ask("/v1/check", {"text": said, "sources": [{"words": said}]}).status_code == 422


GUARDS = {"medical": {"domain": "medical", "models": ["med-*"]},
          "law": {"domain": "law", "models": ["lex?"], "mode": "observe"}}


def test_the_guard_is_that_of_path_key_or_model(start: Start) -> None:
    service = start(guards=GUARDS, bound=("*",))
    assert service.ask("/v1/check/law", {"text": SAFE}).json()["guard"] == "law"
    assert service.ask("/v1/check", {"text": SAFE, "model": "lex1"}).json()["guard"] == "law"
    assert service.ask("/v1/check", {"text": SAFE, "model": "med-7b"}).json()["guard"] == "medical"
    for path, body in (("/v1/check", {"text": SAFE}), ("/v1/check", {"text": SAFE, "model": "other"}),
                       ("/v1/check/tax", {"text": SAFE})):
        assert service.ask(path, body).json()["error"]["code"] == "unknown_guard"
    bound = start(guards=GUARDS, bound=("law",))
    assert bound.ask("/v1/check", {"text": SAFE, "model": "med-7b"}).json()["guard"] == "law"
    assert bound.ask("/v1/check/medical", {"text": SAFE}).status_code == 403
    said = bound.ask("/v1/check/tax", {"text": SAFE})
    assert (said.status_code, "medical" in said.text, "law" in said.text) == (404, False, True)
    law = start(guards=GUARDS, bound=("*",), default_guard="law")
    assert law.ask("/v1/check", {"text": SAFE}).json()["guard"] == "law"


def test_a_key_that_names_no_guard_has_the_default_guard_only(start: Start) -> None:
    service = start(guards=GUARDS, default_guard="medical")
    for path, body in (("/v1/check/law", {}), ("/guards/law/v1/moderations", {"input": LITIGATOR})):
        response = service.ask(path, body or {"text": LITIGATOR})
        assert (response.status_code, response.json()["error"]["code"]) == (403, "forbidden")
    for more in ({}, {"model": "lex1"}):
        found = service.ask("/v1/check", {"text": LITIGATOR, **more}).json()
        assert (found["guard"], found["action"]) == ("medical", "block")
    without = start(guards=GUARDS)
    for path in ("/v1/check", "/v1/check/law", "/v1/check/medical"):
        assert without.ask(path, {"text": LITIGATOR, "model": "lex1"}).status_code == 403
    two = start(guards=GUARDS, bound=("law", "tax"))
    assert two.ask("/v1/check", {"text": SAFE}).json()["guard"] == "law"


@pytest.mark.parametrize(("body", "status"), [
    ({"text": []}, 422), ({"text": ["a"] * 65}, 413), ({"text": "a" * 100_001}, 413), ({}, 422), ({"text": 1}, 422),
    ({"text": "a", "no such": 1}, 422), ({"text": "a", "question": "b" * 100_000}, 413), ([1], 422)])
def test_what_is_refused_says_why_and_quotes_nothing(start: Start, body: Any, status: int) -> None:
    response = start().ask("/v1/check", body)
    assert response.status_code == status
    assert set(response.json()["error"]) == {"message", "type", "code", "param"}
    assert "aaa" not in response.text
    assert "no such" not in response.text  # A name that reads as one is said; this may be a text.


def test_observing_passes_and_counts(start: Start) -> None:
    service = start(mode="observe")
    for text in (SAFE, LITIGATOR, LITIGATOR, UNDECIDED, BREAKS):
        assert service.ask("/v1/check", {"text": text}).json()["action"] == "pass"
    (row,) = service.ask("/v1/observed", role="operator").json()
    assert row["observed"] == 5
    assert {(one["code"], one["action"]): one["count"] for one in row["would_hold"]} == {
        ("privacy/contextual", "block"): 2, ("privacy/undecided", "block"): 1, ("privacy/not_judged", "failed"): 1}
    assert service.ask("/v1/observed").status_code == 403
