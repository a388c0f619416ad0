"""`/v1/responses`, `/v1/messages`, `/v1/completions`, `/v1/embeddings`: what passes, is withheld, is refused."""

from __future__ import annotations

import base64
import json
import struct
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response
from tests.serve.conftest import BREAKS, DIRECT, LITIGATOR, SAFE, UNDECIDED
from tests.serve.doors.test_openai import Proxy, proxy  # noqa: F401
from tests.serve.doors.upstream import completion

DOORS: dict[str, dict[str, Any]] = {
    "/v1/responses": {"model": "tiny", "input": "Who is it?"},
    "/v1/messages": {"model": "tiny", "max_tokens": 50, "messages": [{"role": "user", "content": "Who is it?"}]},
    "/v1/completions": {"model": "tiny", "prompt": "It is"}}
CALL: dict[str, Any] = {"tool_calls": [{"id": "call_12345678", "type": "function", "function": {
    "name": "note", "arguments": '{"text": "metformin"}'}}]}


def texts(*said_texts: str) -> Any:
    """The answer of a model at `/completions`."""
    said = completion(*said_texts)
    for one in said["choices"]:
        one["text"] = one["message"]["content"]
    return said


def says(text: str) -> Any:
    def say(body: dict[str, Any]) -> Any:
        return JSONResponse(texts(text)) if "prompt" in body else text

    return say


def events(response: httpx.Response) -> list[Any]:
    """The data of a stream's events."""
    lines = [line[6:] for line in response.text.split("\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def heard(path: str, response: httpx.Response, stream: bool) -> tuple[str, str]:
    """The text, and how it ended; of a stream both are put together from its parts."""
    found = events(response) if stream else [response.json()]
    if path == "/v1/completions":
        choices = [one for part in found for one in part["choices"]]
        return "".join(one["text"] for one in choices), choices[-1]["finish_reason"]
    if path == "/v1/messages":
        if not stream:
            return "".join(one["text"] for one in found[0]["content"]), found[0]["stop_reason"]
        assert [found[0]["type"], found[-1]["type"]] == ["message_start", "message_stop"]
        return ("".join(one["delta"]["text"] for one in found if one["type"] == "content_block_delta"),
                found[-2]["delta"]["stop_reason"])
    whole = found[-1]["response"] if stream else found[0]
    text = "".join(part["text"] for item in whole["output"] for part in item["content"])
    if stream:
        assert [one["sequence_number"] for one in found] == list(range(len(found)))
        assert text == "".join(one["delta"] for one in found if one["type"] == "response.output_text.delta")
        assert found[-1]["type"] == f"response.{whole['status']}"
    return text, (whole["incomplete_details"] or {"reason": whole["status"]})["reason"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", DOORS)
def test_a_safe_answer_passes_byte_for_byte(proxy: Proxy, path: str, stream: bool) -> None:  # noqa: F811
    service, model = proxy(says(SAFE))
    response = service.ask(path, {**DOORS[path], "stream": stream})
    assert (response.status_code, response.headers["x-discreet-code"]) == (200, "ok")
    text, ended = heard(path, response, stream)
    assert (text, ended) == (SAFE, {"/v1/responses": "completed", "/v1/messages": "end_turn"}.get(path, "stop"))
    assert model.asked[0]["model"] == "tiny"
    assert "discreet" not in model.asked[0]
    [decision] = service.events("decision")
    assert decision["door"] == path.removeprefix("/v1/")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize("text", [LITIGATOR, DIRECT])
def test_a_flag_is_withheld(proxy: Proxy, path: str, stream: bool, text: str) -> None:  # noqa: F811
    service, _ = proxy(says(text))
    response = service.ask(path, {**DOORS[path], "stream": stream})
    assert response.headers["x-discreet-action"] == "block"
    said, ended = heard(path, response, stream)
    assert "withheld" in said
    assert ended == ("refusal" if path == "/v1/messages" else "content_filter")
    for word in ("litigator", "Omaha", "jane.roe"):
        assert word not in response.text
        assert word not in service.log.getvalue()


@pytest.mark.parametrize("path", DOORS)
def test_what_cannot_be_judged_is_an_error(proxy: Proxy, path: str) -> None:  # noqa: F811
    service, _ = proxy(says(BREAKS))
    response = service.ask(path, DOORS[path])
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "privacy/not_judged"
    assert (response.json().get("type"), response.json()["error"]["type"]) == (
        ("error", "api_error") if path == "/v1/messages" else (None, "server_error"))


@pytest.mark.parametrize("path", DOORS)
def test_an_error_on_a_stream_is_one_that_clients_raise(proxy: Proxy, path: str) -> None:  # noqa: F811
    def slowly(body: dict[str, Any]) -> Any:
        time.sleep(0.3)
        return says(BREAKS)(body)

    service, _ = proxy(slowly, keep_alive_s=0.05)
    response = service.ask(path, {**DOORS[path], "stream": True})
    assert response.status_code == 200
    *_, last = events(response)
    assert last["error"]["code"] == "privacy/not_judged"
    assert "[DONE]" not in response.text
    assert "message_stop" not in response.text
    assert path == "/v1/completions" or "event: error\n" in response.text


@pytest.mark.parametrize("stream", [False, True])
def test_calls_reasoning_and_usage_of_a_response(proxy: Proxy, stream: bool) -> None:  # noqa: F811
    said = completion("", reasoning="It lowers glucose.", **CALL)
    said["choices"][0]["finish_reason"] = "tool_calls"
    chunk = {**said, "choices": [{**one, "delta": one["message"]} for one in said["choices"]]}
    service, model = proxy(lambda body: b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"
                           if body.get("stream") else JSONResponse(said))
    tool = {"type": "function", "name": "note", "description": "d", "parameters": {"type": "object"}, "strict": True}
    response = service.ask("/v1/responses", {
        "model": "tiny", "stream": stream, "tools": [tool], "tool_choice": {"type": "function", "name": "note"},
        "instructions": "Be short.", "reasoning": {"effort": "low"}, "max_output_tokens": 9, "store": False,
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
        "include": ["reasoning.encrypted_content"], "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "call_a", "name": "note", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_a", "output": "metformin"}]})
    whole = events(response)[-1]["response"] if stream else response.json()
    assert [item["type"] for item in whole["output"]] == ["reasoning", "function_call"]
    assert whole["output"][0]["content"][0]["text"] == "It lowers glucose."
    assert (whole["output"][1]["name"], whole["output"][1]["arguments"]) == ("note", '{"text": "metformin"}')
    assert (whole["usage"]["input_tokens"], whole["usage"]["output_tokens_details"]["reasoning_tokens"]) == (3, 1)
    assert whole["status"] == "completed"
    [sent] = model.asked
    assert [one["role"] for one in sent["messages"]] == ["system", "user", "assistant", "tool"]
    assert sent["messages"][2]["tool_calls"][0]["id"] == sent["messages"][3]["tool_call_id"] == "call_a"
    assert sent["tools"] == [{"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}}]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "note"}}
    assert (sent["max_completion_tokens"], sent["reasoning_effort"]) == (9, "low")
    assert sent["response_format"]["json_schema"]["name"] == "n"
    assert not {"input", "store", "include", "instructions"} & set(sent)


@pytest.mark.parametrize("stream", [False, True])
def test_tool_use_of_a_message(proxy: Proxy, stream: bool) -> None:  # noqa: F811
    said = completion("", reasoning="It lowers glucose.", **CALL)
    said["choices"][0]["finish_reason"] = "tool_calls"
    chunk = {**said, "choices": [{**one, "delta": one["message"]} for one in said["choices"]]}
    service, model = proxy(lambda body: b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"
                           if body.get("stream") else JSONResponse(said))
    response = service.ask("/v1/messages", {
        "model": "tiny", "max_tokens": 9, "stream": stream, "system": [{"type": "text", "text": "Be short."}],
        "tools": [{"name": "note", "description": "d", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "any"}, "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "…", "signature": "s"},
                                              {"type": "tool_use", "id": "toolu_a", "name": "note", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_a", "content": [{"type": "text", "text": "metformin"}]},
                {"type": "document", "source": {"type": "text", "data": "Notes."}, "title": "T"},
                {"type": "text", "text": "And now?"}]}]})
    if stream:
        found = events(response)
        block = next(one["content_block"] for one in found if one["type"] == "content_block_start")
        parts = [one["delta"]["partial_json"] for one in found if one["type"] == "content_block_delta"]
        block, ended = {**block, "input": json.loads("".join(parts))}, found[-2]["delta"]["stop_reason"]
    else:
        [block], ended = response.json()["content"], response.json()["stop_reason"]  # Nobody asked for thoughts.
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "note", {"text": "metformin"})
    assert ended == "tool_use"
    [sent] = model.asked
    assert [one["role"] for one in sent["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert [part["text"] for part in sent["messages"][4]["content"]] == ["T\n\nNotes.", "And now?"]
    assert sent["tool_choice"] == "required"


def test_arguments_that_are_no_object_have_no_block(proxy: Proxy) -> None:  # noqa: F811
    call = {**CALL["tool_calls"][0], "function": {"name": "note", "arguments": "[1"}}
    service, _ = proxy(JSONResponse(completion("", tool_calls=[call])))
    response = service.ask("/v1/messages", {**DOORS["/v1/messages"], "tools": [{"name": "note"}]})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "upstream_malformed")


@pytest.mark.parametrize(("path", "more", "status"), [
    ("/v1/responses", {"store": True}, 422), ("/v1/responses", {"background": True}, 422),
    ("/v1/responses", {"previous_response_id": "resp_1"}, 422), ("/v1/responses", {"conversation": "c"}, 422),
    ("/v1/responses", {"input": [{"type": "item_reference", "id": "x"}]}, 422),
    ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}, 422),
    ("/v1/responses", {"input": [{"type": "function_call_output", "output": "x"}]}, 422),
    ("/v1/responses", {"tools": [{"type": "web_search"}]}, 422), ("/v1/responses", {"input": []}, 422),
    ("/v1/messages", {"mcp_servers": []}, 400),
    ("/v1/messages", {"tools": [{"type": "bash_20250124", "name": "b"}]}, 400),
    ("/v1/messages", {"messages": [{"role": "system", "content": "x"}]}, 400),
    ("/v1/messages", {"messages": [{"role": "user", "content": [{"type": "container_upload"}]}]}, 400),
    ("/v1/completions", {"prompt": [1, 2]}, 422)])
def test_what_the_model_cannot_be_asked_is_refused(proxy: Proxy, path: str, more: dict[str, Any],  # noqa: F811
                                                   status: int) -> None:
    service, model = proxy(SAFE)
    response = service.ask(path, {**DOORS[path], **more})
    assert response.status_code == status
    assert model.asked == []
    if {"previous_response_id", "conversation"} & more.keys():
        assert "nothing is stored here; send all items in input" in response.json()["error"]["message"]


PASSAGES: list[dict[str, Any]] = [
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": SAFE}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
    {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": SAFE}]}]


@pytest.mark.parametrize("passage", PASSAGES)
@pytest.mark.parametrize(("citations", "status"), [
    ({"enabled": True}, 400), ({"enabled": "yes"}, 400), (True, 400), ([], 400), ({"enabled": False}, 200),
    (None, 200)])
def test_citations_that_are_asked_for_are_refused_and_none_are_made_up(
        proxy: Proxy, passage: dict[str, Any], citations: Any, status: int) -> None:  # noqa: F811
    service, model = proxy(SAFE)
    block = {**passage, "citations": citations}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [block]}
    for blocks in ([block, {"type": "text", "text": "What does it do?"}], [result]):
        if blocks == [result] and "base64" in str(passage):
            continue  # A file in the result of a tool is refused by itself.
        said = {"messages": [{"role": "user", "content": blocks}]}
        response = service.ask("/v1/messages", {**DOORS["/v1/messages"], **said})
        assert response.status_code == status
        if status == 200:
            assert [one["citations"] for one in response.json()["content"]] == [None]
        else:
            assert "citations" in response.json()["error"]["message"]
    assert bool(model.asked) == (status == 200)


@pytest.mark.parametrize(("path", "more"), [
    ("/v1/responses", {"previous_response_id": None, "conversation": None, "user": None}),
    ("/v1/messages", {"mcp_servers": None, "container": None})])
def test_a_field_that_is_null_says_nothing(proxy: Proxy, path: str, more: dict[str, Any]) -> None:  # noqa: F811
    service, model = proxy(SAFE)
    assert service.ask(path, {**DOORS[path], **more}).status_code == 200
    assert not set(more) & set(model.asked[0])


def test_text_alone_is_sent_as_a_string(proxy: Proxy) -> None:  # noqa: F811
    service, model = proxy(SAFE)
    service.ask("/v1/responses", {"model": "tiny", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Who is it?"}]}]})
    assert model.asked[0]["messages"] == [{"role": "user", "content": "Who is it?"}]


@pytest.mark.parametrize("path", DOORS)
def test_whose_words(proxy: Proxy, path: str) -> None:  # noqa: F811
    mine = "I am a 52-year-old litigator from Omaha. May I apply?"
    answer = "You are a 52-year-old litigator from Omaha."
    bodies: dict[str, dict[str, Any]] = {
        "/v1/responses": {"model": "tiny", "input": mine}, "/v1/completions": {"model": "tiny", "prompt": mine},
        "/v1/messages": {"model": "tiny", "max_tokens": 9, "messages": [{"role": "user", "content": mine}]}}
    asked = bodies[path]
    service, _ = proxy(says(answer))
    # A prompt without roles says nothing of who wrote it.
    assert service.ask(path, asked).headers["x-discreet-action"] == ("block" if path == "/v1/completions" else "pass")
    retrieved = {"/v1/responses": {"model": "tiny", "input": [
                     {"type": "function_call", "call_id": "a", "name": "n", "arguments": "{}"},
                     {"type": "function_call_output", "call_id": "a", "output": mine}]},
                 "/v1/messages": {"model": "tiny", "max_tokens": 9, "messages": [{"role": "user", "content": [
                     {"type": "tool_result", "tool_use_id": "a", "content": mine}]}]},
                 "/v1/completions": asked}[path]
    assert service.ask(path, retrieved).headers["x-discreet-action"] == "block"
    assert service.ask(path, {**asked, "discreet": {"user_words": "x"}}).status_code == 403


@pytest.mark.parametrize("path", DOORS)
def test_a_released_answer_has_the_form_of_its_door(proxy: Proxy, path: str, tmp_path: Path) -> None:  # noqa: F811
    service, _ = proxy(says(UNDECIDED), hold_s=20, queue={
        "url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys", "undo_s": 0})

    def release() -> None:
        queue = service.gate.queue
        while not (rows := queue.tickets()):
            time.sleep(0.02)
        view = queue.read(rows[0].id, "anna")
        queue.decide(rows[0].id, "anna", action="release", code="nobody_described", version=view.row.version)

    thread = threading.Thread(target=release)
    thread.start()
    response = service.ask(path, DOORS[path])
    thread.join()
    assert response.headers["x-discreet-action"] == "released"
    assert heard(path, response, False)[0] == UNDECIDED


def test_several_prompts_are_judged_together(proxy: Proxy) -> None:  # noqa: F811
    parts = ["The patient is 52 years old.", "The patient is a litigator from Omaha."]
    service, _ = proxy(JSONResponse(texts(*parts)))
    response = service.ask("/v1/completions", {"model": "tiny", "prompt": ["a", "b"]})
    assert response.headers["x-discreet-code"] == "privacy/contextual"
    assert len(response.json()["choices"]) == 2


def test_embeddings_are_numbers(proxy: Proxy) -> None:  # noqa: F811
    ask = {"model": "tiny", "input": [LITIGATOR], "encoding_format": "float"}
    packed = base64.b64encode(struct.pack("<2f", 0.5, -1.0)).decode()
    for vector in ([0.5, -1], packed):
        service, model = proxy(JSONResponse({"object": LITIGATOR, "model": LITIGATOR, "note": LITIGATOR, "data": [
            {"embedding": vector, "note": LITIGATOR}], "usage": {"prompt_tokens": 4, "total_tokens": 4, LITIGATOR: 1}}))
        response = service.ask("/v1/embeddings", ask)
        assert response.json()["data"] == [{"object": "embedding", "index": 0, "embedding": vector}]
        assert response.json()["usage"] == {"prompt_tokens": 4, "total_tokens": 4}
        assert "litigator" not in response.text
        assert model.asked == [ask]
    for wrong in (json.dumps(LITIGATOR), '["x"]', "[1e400]", "[null]", "[]", '"YQ=="', f"[{10**400}]", '{"a": 1}'):
        service, _ = proxy(Response(f'{{"data": [{{"embedding": {wrong}}}]}}', media_type="application/json"))
        response = service.ask("/guards/medical/v1/embeddings", ask)
        assert (response.status_code, response.json()["error"]["code"]) == (502, "upstream_malformed")
    assert service.ask("/guards/none/v1/embeddings", ask).status_code == 404
