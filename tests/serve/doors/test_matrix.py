"""Every endpoint in front of a model, every place of an answer, streamed and whole: a leak stays, and safe text arrives
as it was written."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse
from tests.serve.conftest import LITIGATOR, SAFE
from tests.serve.doors.test_openai import Proxy, proxy  # noqa: F401
from tests.serve.doors.upstream import completion
from tests.serve.doors.upstream import events as server_sent

TOOL = {"name": "note", "parameters": {"type": "object"}}
TURN = {"role": "user", "content": "Who is it?"}
ASK: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [TURN], "tools": [{"type": "function", "function": TOOL}], "n": 2},
    "/v1/responses": {"input": "Who is it?", "tools": [{"type": "function", **TOOL}]},
    "/v1/messages": {"max_tokens": 50, "messages": [TURN], "tools": [{"name": "note", "input_schema": {}}],
                     "thinking": {"type": "adaptive"}},
    "/v1/completions": {"prompt": "It is", "n": 2}}
PARTS = ("The patient is a 52-year-old ", "litigator from Omaha with two children.")
"""Two choices that single somebody out together; each alone tells less than the threshold."""
LAST = "last chunk"
PLACES = ("content", "escaped arguments", "arguments", "reasoning", "refusal", "citation", "transcript", LAST)
CASES = [(path, place) for path in ASK for place in PLACES if path != "/v1/completions" or place in ("content", LAST)]
DROPPED = {("/v1/messages", "citation"), ("/v1/messages", "transcript"), ("/v1/responses", "transcript")}
"""Judged, and without a place in the answer: citations of that protocol are of documents of the request, and there no
request can ask for sound."""
BESIDE: tuple[dict[str, Any], ...] = (
    {"images": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}, "alt": LITIGATOR}]},
    {"audio": {"id": LITIGATOR, "data": LITIGATOR, "expires_at": 1, "caption": LITIGATOR}},
    {"content": [{"type": "text", "text": SAFE, "caption": LITIGATOR, "image_url": {"url": "a:b", "alt": LITIGATOR}}]},
    {"content": [{"type": "text", "text": SAFE}, {"type": "image_url", "image_url": {}, "text": LITIGATOR}]},
    {"content": [{"type": "output_audio", "data": "AAAA", "transcript": LITIGATOR}]},
    {"video": {"url": "https://example.org/a.mp4", "title": LITIGATOR}})
"""Pictures and sounds of an answer with text beside them."""


def message(place: str, text: str) -> dict[str, Any]:
    """The fields of a model's message with a text in one place."""
    written = "".join(f"\\u{ord(one):04x}" for one in text)
    arguments = f'{{"text": "{written}"}}' if place == "escaped arguments" else json.dumps({"text": text})
    call = {"id": "call_12345678", "type": "function", "function": {"name": "note", "arguments": arguments}}
    found: dict[str, dict[str, Any]] = {
        "content": {"content": text}, LAST: {"content": f"{SAFE} {text}"},
        "reasoning": {"reasoning_content": text}, "refusal": {"content": None, "refusal": text},
        "citation": {"annotations": [{"type": "url_citation", "url_citation": {
            "title": text, "url": "https://example.org/a"}}]},
        "transcript": {"content": None, "audio": {"id": "audio_1", "data": "AAAA", "expires_at": 1,
                                                  "transcript": text}}}
    return found.get(place, {"tool_calls": [call]})


def says(place: str, text: str, stream: bool) -> Any:
    """What a model says that writes it there, on a stream in small parts, of which the last one ends the answer."""
    whole = completion(SAFE, **message(place, text))
    [choice] = whole["choices"]
    said = choice["message"]
    choice["text"] = content = said["content"] or ""
    if not stream:
        return JSONResponse(whole)
    sizes = [len(SAFE)] if place == LAST else range(7, len(content), 7)
    deltas = [{**said, "content": None}, *({"content": content[a:b]} for a, b in pairwise([0, *sizes, len(content)]))]
    return server_sent([{**whole, "object": "chat.completion.chunk", "choices": [
        {"index": 0, "delta": delta, "text": delta["content"], "finish_reason": None if delta is not deltas[-1]
         else "stop"}]} for delta in deltas])


def strings(value: Any, where: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts of an answer by the names of the fields that they stand in."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        if where[-1:] == ("input",):
            yield where, json.dumps(value, ensure_ascii=False) if value else ""
        for name, inner in value.items():
            yield from strings(inner, (*where, name))
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, where)


def arrived(response: httpx.Response, stream: bool) -> set[str]:
    """The texts of an answer; those of a stream's events are put together by event and field."""
    if not stream:
        return {text for _, text in strings(response.json())}
    joined: dict[tuple[str, ...], str] = defaultdict(str)
    for line in response.text.splitlines():
        if line.startswith("data: {"):
            event = json.loads(line[6:])
            for where, text in strings(event):
                joined[str(event.get("type")), *where] += text
    return set(joined.values())


def written(path: str, place: str, text: str) -> str:
    """What of the message is to arrive. Arguments are an object at `/v1/messages`, so there their value is."""
    if "arguments" in place:
        call = message(place, text)["tool_calls"][0]["function"]["arguments"]
        return json.dumps(json.loads(call), ensure_ascii=False) if path == "/v1/messages" else str(call)
    return f"{SAFE} {text}" if place == LAST else text


@pytest.mark.parametrize(("path", "place"), CASES)
def test_a_leak_stays_and_safe_text_arrives_as_it_was_written(proxy: Proxy, path: str, place: str) -> None:  # noqa: F811
    said = [LITIGATOR]
    service, _ = proxy(lambda body: says(place, said[0], bool(body.get("stream"))))
    for stream in (False, True):
        asked = {"model": "tiny", "stream": stream, **ASK[path]}
        said[:] = [LITIGATOR]
        response = service.ask(path, asked)
        assert (response.status_code, response.headers["x-discreet-code"]) == (200, "privacy/contextual")
        for word in ("litigator", "Omaha", f"u{ord('l'):04x}"):
            assert word not in response.text + service.log.getvalue()

        said[:] = ["It\u2019s taken  with meals."]
        response = service.ask(path, asked)
        assert (response.status_code, response.headers["x-discreet-code"]) == (200, "ok")
        assert (written(path, place, said[0]) in arrived(response, stream)) != ((path, place) in DROPPED)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ASK)
def test_a_leak_across_choices_stays(proxy: Proxy, path: str, stream: bool) -> None:  # noqa: F811
    whole = completion(*PARTS)
    for choice in whole["choices"]:
        choice |= {"text": choice["message"]["content"], "delta": choice["message"]}
    service, _ = proxy(lambda body: server_sent([whole]) if body.get("stream") else JSONResponse(whole))
    response = service.ask(path, {"model": "tiny", "stream": stream, **ASK[path]})
    assert (response.status_code, response.headers["x-discreet-code"]) == (200, "privacy/contextual")
    for word in ("52-year", "litigator"):
        assert word not in response.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("more", BESIDE)
@pytest.mark.parametrize("path", [one for one in ASK if one != "/v1/completions"])
def test_what_is_written_beside_a_picture_or_a_sound_stays(proxy: Proxy, path: str, more: dict[str, Any],  # noqa: F811
                                                           stream: bool) -> None:
    whole = completion(SAFE, **more)
    [choice] = whole["choices"]
    choice["delta"] = choice["message"]
    service, _ = proxy(lambda body: server_sent([whole]) if body.get("stream") else JSONResponse(whole))
    response = service.ask(path, {"model": "tiny", "stream": stream, **ASK[path]})
    assert response.status_code in (200, 502)
    assert "litigator" not in response.text + service.log.getvalue()
