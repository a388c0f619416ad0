"""`on_flag: redact` in the service: what goes out, and what is withheld all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.responses import JSONResponse
from tests.serve.conftest import BREAKS, DIRECT, LITIGATOR, SAFE, Service, Start
from tests.serve.doors.test_openai import ASK, Proxy, heard, proxy, told  # noqa: F401
from tests.serve.doors.upstream import completion

from discreet.guard import Guard

LEAK = f"Take it with food. {DIRECT} The lab opens at eight."


@pytest.fixture
def redacting(tmp_path: Path) -> dict[str, Any]:
    """Settings of a service whose guard redacts."""
    said = {**Guard("medical").policy.settings(), "on_flag": "redact"}
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(
        {"domain": "medical", "version": 1, "on_flag": "redact", "audiences": {"public": {
            "subjects": list(said["subjects"]), "cluster": said["cluster"]}}}), encoding="utf-8")
    return {"guards": {"medical": {"domain": "medical", "policy": str(path), "audience": "public"}}}


def expected(service: Service, text: str) -> str | None:
    return service.gate.workers.loaded_guards["medical"].redact(text).text  # type: ignore[no-any-return]


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_left_goes_out(proxy: Proxy, redacting: dict[str, Any], stream: bool) -> None:  # noqa: F811
    service, _ = proxy(LEAK, **redacting)
    response = service.ask("/v1/chat/completions", {**ASK, "stream": stream})
    left = expected(service, LEAK)
    assert left is not None
    assert "jane.roe" not in left
    assert (told(response) if stream else response.json()["choices"][0]["message"]["content"]) == left
    assert (response.headers["x-discreet-action"], response.headers["x-discreet-code"]) == ("redact", "privacy/direct")
    assert "jane.roe" not in response.text
    [event] = service.events("decision")
    assert (event["action"], event["changes"] > 0) == ("redact", True)
    assert "jane.roe" not in service.log.getvalue()


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
def test_other_endpoints_speak_it_too(proxy: Proxy, redacting: dict[str, Any], path: str) -> None:  # noqa: F811
    service, _ = proxy(LEAK, **redacting)
    body = {"model": "tiny", "input": "Who?"} if path.endswith("responses") else {
        "model": "tiny", "max_tokens": 99, "messages": [{"role": "user", "content": "Who?"}]}
    response = service.ask(path, body)
    assert response.status_code == 200
    assert str(expected(service, LEAK)) in response.text.replace("\\n", "\n")
    assert "jane.roe" not in response.text


def test_without_the_policy_it_is_blocked(proxy: Proxy) -> None:  # noqa: F811
    service, _ = proxy(LEAK)
    assert service.ask("/v1/chat/completions", ASK).headers["x-discreet-action"] == "block"


def test_what_has_no_safe_text_left_is_withheld(proxy: Proxy, redacting: dict[str, Any]) -> None:  # noqa: F811
    sends = {"name": "send", "arguments": '{"to": "jane.roe@example.org"}'}
    call = completion(LEAK, tool_calls=[{"id": "c1", "type": "function", "function": sends}])
    for said in (BREAKS, JSONResponse(completion(LEAK, LEAK)), JSONResponse(completion(LEAK, reasoning=DIRECT)),
                 JSONResponse(call)):
        service, _ = proxy(said, **redacting)
        tools = {"tools": [{"type": "function", "function": {"name": "send"}}]}
        response = service.ask("/v1/chat/completions", {**ASK, **tools})
        assert response.headers.get("x-discreet-action") in ("block", None)
        assert "jane.roe" not in response.text


def test_a_check_gives_the_texts_that_may_go_out(start: Start, redacting: dict[str, Any]) -> None:
    service = start(**redacting)
    found = service.ask("/v1/check", {"text": [SAFE, LEAK]}).json()
    assert (found["action"], found["code"]) == ("redact", "privacy/direct")
    assert found["texts"] == [SAFE, expected(service, LEAK)]
    assert "texts" not in service.ask("/v1/check", {"text": SAFE}).json()


def test_half_of_a_surrogate_pair_breaks_no_redacted_answer(start: Start, redacting: dict[str, Any]) -> None:
    service = start(**redacting)
    response = service.ask("/v1/check", method="POST", content=json.dumps({"text": f"{LEAK} \ud800"}).encode())
    assert (response.status_code, response.json()["action"]) == (200, "redact")
    assert "\ufffd" in response.json()["texts"][0]


def test_observing_changes_nothing(proxy: Proxy, redacting: dict[str, Any]) -> None:  # noqa: F811
    service, _ = proxy(LEAK, mode="observe", **redacting)
    response = service.ask("/v1/chat/completions", ASK)
    assert response.json()["choices"][0]["message"]["content"] == LEAK
    assert response.headers["x-discreet-action"] == "pass"


def test_what_was_withheld_before_is_not_told_in_a_redacted_answer(proxy: Proxy,  # noqa: F811
                                                                    redacting: dict[str, Any]) -> None:
    service, model = proxy(LITIGATOR, **redacting)
    first = service.ask("/v1/chat/completions", {**ASK, "user": "u1"})
    again = service.ask("/v1/chat/completions", {**ASK, "user": "u1"})
    for response in (first, again):
        said = response.json()["choices"][0]["message"]["content"]
        for fact in ("52", "litigator", "Omaha"):
            assert fact not in said
    assert again.headers["x-discreet-action"] == "block"
    assert len(model.asked) == 2


def test_in_worker_processes(start: Start, redacting: dict[str, Any]) -> None:
    service = start(real=True, **redacting)
    found = service.ask("/v1/check", {"text": LEAK}).json()
    assert found["action"] == "redact"
    assert found["texts"] == [Guard("medical").redact(LEAK).text]
