from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from inspect import isfunction
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response
from tests.serve.conftest import BREAKS, DIRECT, LITIGATOR, SAFE, UNDECIDED, Service, Start
from tests.serve.doors.upstream import Model, chunks, completion, events

from discreet.serve.doors.chat import CATEGORIES
from discreet.serve.doors.openai import FIXED

ASK = {"model": "tiny", "messages": [{"role": "user", "content": "Who is it?"}]}
MARK = "zqxcanary"
Proxy = Callable[..., tuple[Service, Model]]


@pytest.fixture
def proxy(start: Start) -> Proxy:
    """A service in front of a model that says what it is given."""
    def started(say: Any, **given: Any) -> tuple[Service, Model]:
        model = Model(lambda body: say(body) if isfunction(say) else say)
        upstream = {"url": "http://model.test/v1", "key": "upstream-secret", **given.pop("upstream", {})}
        return start(transport=model.transport, upstream=upstream, **given), model

    return started


def heard(response: httpx.Response) -> list[Any]:
    """The events of a stream; "[DONE]" as it is."""
    lines = [line[6:] for line in response.text.split("\n") if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def told(response: httpx.Response) -> str:
    """The text of a stream."""
    return "".join(c["choices"][0]["delta"].get("content", "") for c in heard(response)[:-1] if c["choices"])


@pytest.mark.parametrize("stream", [False, True])
def test_a_safe_answer_passes_as_it_is(proxy: Proxy, stream: bool) -> None:
    service, model = proxy(SAFE)
    response = service.ask("/v1/chat/completions", {**ASK, "stream": stream, "temperature": 0.5, "moderation": {}})
    assert response.status_code == 200
    assert response.headers["x-discreet-code"] == "ok"
    if stream:
        assert told(response) == SAFE
        assert heard(response)[-1] == "[DONE]"
    else:
        assert response.json()["choices"][0]["message"]["content"] == SAFE
        assert response.json()["usage"]["total_tokens"] == 7
        assert response.json()["moderation"]["output"]["results"][0]["flagged"] is False
    assert model.asked == [{**ASK, "stream": stream, "temperature": 0.5}]
    assert model.headers[0]["authorization"] == "Bearer upstream-secret"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("text", [LITIGATOR, DIRECT])
def test_a_flag_is_blocked_and_only_the_operator_reads_why(proxy: Proxy, stream: bool, text: str) -> None:
    service, _ = proxy(text)
    code = "privacy/direct" if text == DIRECT else "privacy/contextual"
    for role in ("caller", "operator"):
        response = service.ask("/v1/chat/completions", {
            **ASK, "stream": stream, "stream_options": {"include_usage": True}}, role)
        assert (response.status_code, response.headers["x-discreet-action"], response.headers["x-discreet-code"]) == (
            200, "block", code)
        assert text not in response.text
        said = heard(response)[-3] if stream else response.json()
        result = said["moderation"]["output"]["results"][0]
        assert said["choices"][0]["finish_reason"] == "content_filter"
        assert [name for name, flagged in result["categories"].items() if flagged] == [code]
        assert ("details" in result) == (role == "operator")
        assert "evidence" in response.text or role == "caller"
        usage = heard(response)[-2]["usage"] if stream else response.json()["usage"]
        assert usage["total_tokens"] == 7


def test_every_choice_is_judged_and_one_person_across_the_fields_of_a_choice(proxy: Proxy) -> None:
    for body in (completion(SAFE, LITIGATOR), completion("She is from Omaha.", reasoning="The patient is a 52-year-old "
                                                         "litigator.")):
        service, _ = proxy(JSONResponse(body))
        response = service.ask("/v1/chat/completions", ASK)
        assert response.headers["x-discreet-code"] == "privacy/contextual"
        assert "litigator" not in response.text


def test_one_person_across_the_choices_is_seen(proxy: Proxy) -> None:
    parts = "The patient is 52 years old.", "The patient is a litigator from Omaha."
    for texts, code in ((parts[:1], "ok"), (parts, "privacy/contextual")):
        service, _ = proxy(JSONResponse(completion(*texts)))
        response = service.ask("/v1/chat/completions", {**ASK, "n": len(texts)})
        assert (response.headers["x-discreet-code"], len(response.json()["choices"])) == (code, len(texts))


def test_an_answer_without_a_text_passes_and_is_counted(proxy: Proxy) -> None:
    service, _ = proxy(JSONResponse(completion("")))
    assert service.ask("/v1/chat/completions", ASK).headers["x-discreet-action"] == "pass"
    (decision,) = service.events("decision")
    assert (decision["action"], decision["n"]) == ("pass", 0)


def test_a_caller_who_leaves_stops_the_model(start: Start) -> None:
    ended: list[str] = []

    class Endless(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            asked.set()
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append("upstream")
            raise AssertionError

    service = start(transport=Endless(), upstream={"url": "http://model.test/v1"})
    body = json.dumps(ASK).encode()
    headers = [(b"content-type", b"application/json"), (b"x-api-key", service.tokens["caller"].encode())]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
             "path": "/v1/chat/completions", "raw_path": b"/v1/chat/completions", "root_path": "", "scheme": "http",
             "query_string": b"", "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
             "state": {}}
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await asked.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    sent: list[Any] = []
    asked = asyncio.Event()
    asyncio.run(asyncio.wait_for(service.app(scope, receive, send), 20))
    assert ended == ["upstream"]
    assert [one["event"] for one in service.events("caller_gone")] == ["caller_gone"]


def test_what_the_user_said_is_no_leak(proxy: Proxy) -> None:
    service, _ = proxy("As a 52-year-old litigator from Omaha you may apply.")
    messages = [{"role": "user", "content": "I am a 52-year-old litigator from Omaha. May I apply?"}]
    assert service.ask("/v1/chat/completions", {**ASK, "messages": messages}).headers["x-discreet-code"] == "ok"


@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_judged_is_an_error_and_no_block(proxy: Proxy, stream: bool) -> None:
    service, _ = proxy(f"{BREAKS} {MARK}")
    response = service.ask("/v1/chat/completions", {**ASK, "stream": stream})
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "privacy/not_judged"
    assert "retry-after" in response.headers
    assert MARK not in response.text + service.log.getvalue() + service.ask("/metrics", role="operator").text


# "long" is over the limit and not much longer: an answer that is not there after `keep_alive_s` begins with status 200.
BROKEN: dict[str, Any] = {
    "no end": events(chunks(MARK), b""), "no finish reason": events(chunks(MARK)[:-2]), "no JSON": b"data: {" + b"\n\n",
    "an error": events([{"error": {"message": MARK}}]), "text after the end": events(chunks(MARK)) + b"data: {}\n\n",
    "deep": b"data: " + b"[" * 100_000 + b"\n\ndata: [DONE]\n\n", "long": events(chunks(MARK * 1_000)),
    "unknown part": completion("x", content=[{"type": "video", "text": MARK}]), "a list": [MARK],
    "text": Response(MARK),
    "no choices": {"choices": [], "note": MARK}, "a tool nobody declared": completion("x", tool_calls=[
        {"id": "a", "type": "function", "function": {"name": MARK, "arguments": "{}"}}]),
    "500": JSONResponse({"error": {"message": MARK, "code": MARK + " x"}}, 500), "a redirect": Response(
        status_code=307, headers={"location": "http://elsewhere.test"}), "401": JSONResponse({"error": MARK}, 401),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_what_comes_broken_from_the_model_does_not_pass(proxy: Proxy, what: str, mode: str) -> None:
    said = BROKEN[what]
    service, _ = proxy(said, mode=mode, upstream={"response_bytes": 200_000})
    response = service.ask("/v1/chat/completions", {**ASK, "stream": isinstance(said, bytes)})
    assert response.status_code == 502
    assert response.json()["error"]["code"] in ("upstream_malformed", "upstream_failed")
    assert MARK not in response.text + service.log.getvalue() + service.ask("/metrics", role="operator").text
    assert service.events("upstream_error")


def test_refusals_of_the_model_keep_their_status_and_code_and_lose_their_words(proxy: Proxy) -> None:
    service, _ = proxy(JSONResponse({"error": {"message": MARK, "code": "rate_limit_exceeded"}}, 429,
                                    {"Retry-After": "7"}))
    response = service.ask("/v1/chat/completions", ASK)
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    assert "rate_limit_exceeded" in response.text
    assert MARK not in response.text + service.log.getvalue()


def test_models_of_the_upstream_are_listed_by_name_alone(start: Start) -> None:
    listed = {"object": "list", "note": MARK, "data": [
        {"id": "tiny/7b:q4", "owned_by": MARK}, {"id": f"{MARK} was here"}, {"id": 3}]}
    answers: list[Response] = [JSONResponse(listed), JSONResponse({"data": MARK}), JSONResponse({}, 500)]

    async def say(scope: Any, receive: Any, send: Any) -> None:
        assert (scope["method"], scope["path"]) == ("GET", "/v1/models")
        await answers.pop(0)(scope, receive, send)

    service = start(transport=httpx.ASGITransport(say), upstream={"url": "http://model.test/v1"})
    assert service.ask("/v1/models", role="nobody").status_code == 401
    found = service.ask("/v1/models")
    assert [one["id"] for one in found.json()["data"]] == ["tiny/7b:q4"]
    assert MARK not in found.text
    assert [service.ask("/guards/medical/v1/models").status_code for _ in range(2)] == [502, 502]
    assert service.events("crash") == []


def test_one_model_is_found_by_its_name_and_no_other_is(start: Start) -> None:
    async def say(scope: Any, receive: Any, send: Any) -> None:
        await JSONResponse({"data": [{"id": "tiny/7b:q4", "owned_by": MARK}]})(scope, receive, send)

    service = start(transport=httpx.ASGITransport(say), upstream={"url": "http://model.test/v1"})
    for path in ("/v1/models/tiny/7b:q4", "/v1/models/tiny%2F7b%3Aq4", "/guards/medical/v1/models/tiny/7b:q4"):
        assert service.ask(path).json() == {"id": "tiny/7b:q4", "object": "model", "created": 0, "owned_by": "upstream"}
    missed = service.ask(f"/v1/models/{MARK}")
    assert (missed.status_code, missed.json()["error"]["code"]) == (404, "model_not_found")
    assert MARK not in missed.text
    assert service.ask("/v1/models/tiny", role="nobody").status_code == 401


def test_the_code_of_a_refusal_is_no_text(proxy: Proxy) -> None:
    for name in ("code", "type"):
        service, _ = proxy(JSONResponse({"error": {name: "Jane.Roe.has.HIV"}}, 400))
        response = service.ask("/v1/chat/completions", ASK)
        assert response.status_code == 400
        assert "Jane" not in response.text + service.log.getvalue()


@pytest.mark.parametrize("delta", [{}, {"content": "", "role": "assistant"}])
def test_a_usage_chunk_with_a_choice_is_no_error(proxy: Proxy, delta: Any) -> None:
    last = {"choices": [{"index": 0, "delta": delta, "finish_reason": "eos", "logprobs": []}],
            "usage": {"total_tokens": 7}}
    service, _ = proxy(events([*chunks(SAFE)[:-1], last]))
    response = service.ask("/v1/chat/completions", {**ASK, "stream": True})
    assert (response.status_code, told(response)) == (200, SAFE)


@pytest.mark.parametrize(("error", "status"), [(httpx.ConnectError(MARK), 502), (httpx.ReadTimeout(MARK), 504),
                                               (httpx.RemoteProtocolError(MARK), 502)])
def test_a_network_that_fails(start: Start, error: Exception, status: int) -> None:
    class Broken(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise error

    service = start(transport=Broken(), upstream={"url": "http://model.test/v1"})
    response = service.ask("/v1/chat/completions", ASK)
    assert response.status_code == status
    assert MARK not in response.text + service.log.getvalue()


def test_observing_everything_passes_and_is_counted(proxy: Proxy) -> None:
    service, _ = proxy(LITIGATOR, mode="observe")
    response = service.ask("/v1/chat/completions", ASK)
    assert response.json()["choices"][0]["message"]["content"] == LITIGATOR
    assert response.headers["x-discreet-action"] == "pass"
    assert service.ask("/v1/observed", role="operator").json()[0]["would_hold"][0]["code"] == "privacy/contextual"


def test_a_blocked_answer_is_asked_for_again_and_all_tokens_are_counted(proxy: Proxy) -> None:
    service, model = proxy(lambda body: SAFE if body["messages"][0]["role"] == "system" else LITIGATOR,
                           upstream={"retries": 2, "again": "Describe nobody."})
    response = service.ask("/v1/chat/completions", ASK)
    assert response.json()["choices"][0]["message"]["content"] == SAFE
    assert [len(one["messages"]) for one in model.asked] == [1, 2]
    assert response.json()["usage"]["total_tokens"] == 14
    assert response.json()["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}


def test_asking_again_ends(proxy: Proxy) -> None:
    service, model = proxy(LITIGATOR, upstream={"retries": 1})
    assert service.ask("/v1/chat/completions", ASK).headers["x-discreet-action"] == "block"
    assert len(model.asked) == 2


@pytest.fixture
def queue(tmp_path: Path) -> dict[str, Any]:
    return {"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys", "undo_s": 0}


def released(service: Service, ticket: str) -> None:
    queue = service.gate.queue
    view = queue.read(ticket, "reviewer")
    queue.decide(ticket, "reviewer", action="release", code=view.actions[0].codes[0], version=view.row.version)


@pytest.mark.parametrize("stream", [False, True])
def test_an_undecided_answer_waits_and_its_ticket_is_what_the_caller_gets(
        proxy: Proxy, queue: dict[str, Any], stream: bool) -> None:
    service, _ = proxy(UNDECIDED, queue=queue, upstream={"pending": "{wait} for {ticket} {"})
    response = service.ask("/v1/chat/completions", {**ASK, "stream": stream})
    ticket = response.headers["x-discreet-ticket"]
    assert UNDECIDED not in response.text
    assert f"{{wait}} for {ticket} {{" == (
        told(response) if stream else response.json()["choices"][0]["message"]["content"])
    assert response.headers["x-discreet-code"] == "privacy/undecided"
    released(service, ticket)
    state = service.ask(f"/v1/tickets/{ticket}").json()
    assert state["payload"]["choices"][0]["message"]["content"] == UNDECIDED
    assert service.ask(f"/v1/tickets/{ticket}", role="operator").status_code == 404


@pytest.mark.parametrize("stream", [False, True])
def test_a_released_answer_comes_on_the_stream_that_waits(proxy: Proxy, queue: dict[str, Any], stream: bool) -> None:
    service, _ = proxy(UNDECIDED, queue=queue, hold_s=20, keep_alive_s=0.1)
    opened = service.gate.queue.open

    def open_and_release(**given: Any) -> str:
        ticket: str = opened(**given)
        released(service, ticket)
        return ticket

    service.gate.queue.open = open_and_release
    started = time.monotonic()
    response = service.ask("/v1/chat/completions", {**ASK, "stream": stream})
    assert time.monotonic() - started < 20
    assert (told(response) if stream else response.json()["choices"][0]["message"]["content"]) == UNDECIDED


def test_comments_keep_a_stream_open_and_errors_end_it_without_done(proxy: Proxy) -> None:
    def slowly(body: Any) -> str:
        time.sleep(0.4)
        return body["messages"][0]["content"]  # type: ignore[no-any-return]

    service, _ = proxy(slowly, keep_alive_s=0.05)
    for text, last in ((SAFE, "[DONE]"), (BREAKS, "privacy/not_judged")):
        messages = [{"role": "assistant", "content": text}]
        response = service.ask("/v1/chat/completions", {**ASK, "messages": messages, "stream": True})
        assert response.status_code == 200
        found = heard(response)[-1]
        assert (found if last == "[DONE]" else found["error"]["code"]) == last


def test_an_answer_without_text_passes_and_too_long_a_request_does_not_reach_the_model(proxy: Proxy) -> None:
    service, model = proxy(JSONResponse(completion("")), limits={"text_chars": 500})
    assert service.ask("/v1/chat/completions", ASK).headers["x-discreet-code"] == "ok"
    long = {**ASK, "messages": [{"role": "user", "content": "x" * 501}]}
    assert service.ask("/v1/chat/completions", long).status_code == 413
    assert len(model.asked) == 1


def test_a_header_names_the_conversation(proxy: Proxy) -> None:
    said = iter(("The patient is 52 years old.", "She works as a litigator.", SAFE))
    service, _ = proxy(lambda body: next(said))
    named = {"x-discreet-conversation": "a", "authorization": f"Bearer {service.tokens['caller']}"}
    codes = [service.client.post("/v1/chat/completions", json=ASK, headers=named).headers["x-discreet-code"]
             for _ in range(2)]
    assert codes == ["ok", "privacy/contextual"]
    long = {**named, "x-discreet-conversation": "a" * 201}
    assert service.client.post("/v1/chat/completions", json=ASK, headers=long).status_code == 422


def test_moderations(start: Start) -> None:
    service = start()
    response = service.ask("/v1/moderations", {"input": [SAFE, LITIGATOR], "model": "omni-moderation-latest"})
    safe, flagged = response.json()["results"]
    assert (safe["flagged"], flagged["flagged"]) == (False, True)
    assert flagged["categories"]["privacy/contextual"]
    assert len(flagged["categories"]) == len(FIXED) + len(CATEGORIES) == 18
    assert not any(safe["categories"].values())
    assert "details" in service.ask("/v1/moderations", {"input": [{"type": "text", "text": LITIGATOR}]},
                                    "operator").json()["results"][0]
    assert service.ask("/v1/moderations", {"input": BREAKS}).status_code == 503
    assert service.ask("/guards/medical/v1/moderations", {"input": SAFE}).status_code == 200
    assert service.ask("/guards/other/v1/moderations", {"input": SAFE}).status_code == 404
    assert service.ask("/v1/moderations", {"input": [{"type": "image_url", "text": "x"}]}).status_code == 422
    assert service.ask("/v1/chat/completions", ASK).status_code == 404
