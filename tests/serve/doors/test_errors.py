"""What each door says when it refuses: the status, and the shape that the clients of its protocol read."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.serve.conftest import SAFE, Service, Start
from tests.serve.doors.upstream import Model, completion

Json = dict[str, Any]
ASKED = [{"role": "user", "content": "Who is it?"}]
MESSAGE = {"model": "tiny", "max_tokens": 9, "messages": ASKED}
JUDGING: dict[str, Json] = {
    "/v1/check": {"text": SAFE}, "/v1/appeals": {"text": SAFE}, "/v1/moderations": {"input": SAFE},
    "/analyze": {"text": SAFE}, "/response": {"body": {"choices": [{"message": ASKED[0]}]}}}
ASKING: dict[str, Json] = {
    "/v1/chat/completions": {"model": "tiny", "messages": ASKED}, "/v1/responses": {"model": "tiny", "input": "Who?"},
    "/v1/completions": {"model": "tiny", "prompt": "It is"}, "/v1/embeddings": {"model": "tiny", "input": "x"},
    "/v1/messages": MESSAGE, "/guards/medical/v1/messages": MESSAGE,
    "/v1/messages/count_tokens": {"model": "tiny", "messages": ASKED}}
DOORS = JUDGING | ASKING
KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
         405: "invalid_request_error", 408: "invalid_request_error", 413: "request_too_large", 429: "rate_limit_error",
         500: "api_error", 502: "api_error", 503: "api_error", 504: "timeout_error"}
"""Anthropic's types of errors."""


def refusal(path: str, response: Any, status: int) -> tuple[str, str]:
    """Code and message of a refusal, which must be of the status and in the shape of the door."""
    for_anthropic = "/v1/messages" in path
    expected = 400 if for_anthropic and status == 422 else status
    found = response.json()
    assert response.status_code == expected, found
    assert response.headers["content-type"] == "application/json"
    error = found["error"]
    if for_anthropic:
        assert (found["type"], set(found), set(error)) == ("error", {"type", "error"}, {"type", "message", "code"})
        assert error["type"] == KINDS[expected]
    else:
        assert (set(found), set(error)) == ({"error"}, {"message", "type", "code", "param"})
        assert error["type"] == ("invalid_request_error" if status < 500 else "server_error")
    return error["code"], error["message"]


class Broken(httpx.AsyncBaseTransport):
    """A model that cannot be reached, or is too slow."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise self.error


@pytest.fixture
def service(start: Start) -> Service:
    return start(transport=Broken(httpx.ConnectError("no")), upstream={"url": "http://model.test/v1"},
                 limits={"body_bytes": 1000})


def key_of(path: str) -> str:
    return "operator" if path == "/analyze" else "caller"


@pytest.mark.parametrize(("path", "more"), [
    ("/v1/completions", {"tools": 5}), ("/v1/completions", {"tools": "x"}), ("/v1/completions", {"tools": [[]]}),
    ("/v1/chat/completions", {"tools": [{"type": []}]}), ("/v1/responses", {"tool_choice": "\ud800"}),
    ("/v1/responses", {"tool_choice": {"type": "\ud800"}, "stream": True})])
def test_fields_of_odd_types_are_no_mistake_of_ours(start: Start, path: str, more: Json) -> None:
    def say(body: Json) -> Json:
        found = completion(SAFE)
        found["choices"][0]["text"] = SAFE
        return found

    service = start(transport=Model(say).transport, upstream={"url": "http://model.test/v1"})
    response = service.ask(path, content=json.dumps({**ASKING[path], **more}), method="POST")
    assert response.status_code < 500 or "upstream" in response.text, response.text
    assert service.events("crash") == []


@pytest.mark.parametrize("path", DOORS)
def test_a_body_that_is_wrong(service: Service, path: str) -> None:
    key = key_of(path)
    for content in ("{", "", "\xff", '{"a": 1e'):
        code, said = refusal(path, service.ask(path, role=key, method="POST", content=content), 422)
        assert code == "invalid"
        assert said.endswith("see /openapi.json")
    first = next(iter(DOORS[path]))
    for wrong in ([1], "x", None, {}, {**DOORS[path], first: 7.5}):
        code, said = refusal(path, service.ask(path, role=key, method="POST", content=json.dumps(wrong)), 422)
        assert code == "invalid"
    assert first in said
    code, said = refusal(path, service.ask(path, role=key, method="POST", content=" " * 1001), 413)
    assert code == "too_large"


@pytest.mark.parametrize("path", DOORS)
def test_a_key_that_is_wrong(service: Service, path: str) -> None:
    response = service.ask(path, DOORS[path], "nobody")
    assert refusal(path, response, 401) == (
        "unauthorised", "no key was given; expected Authorization: Bearer <key> or x-api-key: <key>")
    for header in ({"x-api-key": "dsk_none"}, {"authorization": "Bearer sk-none"}):
        response = service.client.post(path, json=DOORS[path], headers=header)
        assert refusal(path, response, 401)[1].startswith("an unknown or ended key was given")
        assert "none" not in response.text
    assert refusal(path, service.ask(path, DOORS[path], "reviewer"), 403)[0] == "forbidden"
    assert refusal(path, service.ask(path, method="DELETE"), 405)[0] == "refused"


@pytest.mark.parametrize("path", DOORS)
def test_a_key_that_asks_too_often(start: Start, path: str) -> None:
    service = start(transport=Broken(httpx.ConnectError("no")), upstream={"url": "http://model.test/v1"},
                    limits={"per_minute": 1})
    service.ask(path, DOORS[path], key_of(path))
    response = service.ask(path, DOORS[path], key_of(path))
    assert refusal(path, response, 429)[0] == "busy"
    assert 1 <= int(response.headers["retry-after"]) <= 61


@pytest.mark.parametrize("path", ASKING)
@pytest.mark.parametrize(("error", "status", "code"), [
    (httpx.ConnectError("no"), 502, "upstream_unreachable"), (httpx.ReadTimeout("no"), 504, "upstream_timeout")])
def test_a_model_that_is_away(start: Start, path: str, error: Exception, status: int, code: str) -> None:
    service = start(transport=Broken(error), upstream={"url": "http://model.test/v1"})
    streams = [False, True] if not path.endswith(("embeddings", "count_tokens")) else [False]
    for stream in streams:
        body = {**ASKING[path], **({"stream": True} if stream else {})}
        assert refusal(path, service.ask(path, body), status)[0] == code


@pytest.mark.parametrize("path", DOORS)
def test_a_mistake_of_ours(start: Start, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start(transport=Broken(ZeroDivisionError("no")), upstream={"url": "http://model.test/v1"})
    for name in ("decide", "appeal"):
        monkeypatch.setattr(service.gate, name, lambda *_, **__: 1 / 0)
    assert refusal(path, service.ask(path, DOORS[path], key_of(path)), 500) == (
        "internal", "a mistake in discreet; nothing was passed")


@pytest.mark.parametrize("path", ["/v1/v1/messages", "/v1/messages/batches", "/guards/law/v1/messages"])
def test_a_path_that_is_none_is_said_as_anthropic_does(service: Service, path: str) -> None:
    assert refusal(path, service.ask(path, MESSAGE), 404)[0] in ("refused", "unknown_guard")


def test_a_body_without_a_length_that_is_too_large_is_said_as_anthropic_does(start: Start) -> None:
    service = start(upstream={"url": "http://model.test/v1"}, limits={"body_bytes": 1000})
    pieces = iter([b" " * 600, b" " * 600])
    response = service.client.post("/v1/messages", content=pieces, headers={"x-api-key": service.tokens["caller"]})
    assert refusal("/v1/messages", response, 413)[0] == "too_large"
