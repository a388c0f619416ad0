"""`/v1/messages` in front of Anthropic's own endpoint: blocks and citations, what is judged, withheld and refused."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse, Response
from tests.serve.conftest import BREAKS, LITIGATOR, SAFE, Service, Start
from tests.serve.doors.test_dialects import events
from tests.serve.doors.test_dialects_fuzz import FIELDS, MARK, PART
from tests.serve.doors.test_openai import Proxy, proxy  # noqa: F401
from tests.serve.doors.upstream import Model
from tests.serve.test_fuzz import JSON, MANY, documented

from discreet.serve.doors.chat import MOST_PARTS

PASSAGE = "Metformin is taken with meals."
SIGNATURE = base64.b64encode(random.Random(3).randbytes(90)).decode()
ASK: dict[str, Any] = {"model": "claude-x", "max_tokens": 50, "messages": [{"role": "user", "content": [
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": PASSAGE}, "title": "Leaflet",
     "citations": {"enabled": True}}, {"type": "text", "text": "What does it do?"}]}]}
CITED = {"type": "char_location", "cited_text": PASSAGE, "document_index": 0, "document_title": "Leaflet",
         "start_char_index": 0, "end_char_index": 30}


def message(*blocks: dict[str, Any], **more: Any) -> JSONResponse:
    """What Anthropic's endpoint answers."""
    return JSONResponse({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-20260101",
                         "content": list(blocks), "stop_reason": "end_turn", "stop_sequence": None,
                         "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 2}, **more})


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def heard(response: Any, stream: bool) -> dict[str, Any]:
    """The message; that of a stream put together as Anthropic's client does it."""
    if not stream:
        found: dict[str, Any] = response.json()
        return found
    found, blocks = {}, []
    for one in events(response):
        if one["type"] == "message_start":
            found = one["message"]
        elif one["type"] == "content_block_start":
            blocks.append({**one["content_block"], **({"json": ""} if "input" in one["content_block"] else {})})
        elif one["type"] == "content_block_delta":
            delta = one["delta"]
            if delta["type"] == "citations_delta":
                blocks[-1]["citations"].append(delta["citation"])
            elif delta["type"] == "input_json_delta":
                blocks[-1]["input"] = json.loads(delta["partial_json"])
            else:
                name = delta["type"].removesuffix("_delta")
                blocks[-1][name] += delta[name]
        elif one["type"] == "message_delta":
            found |= {**one["delta"], "usage": one["usage"]}
    return {**found, "content": [{k: v for k, v in one.items() if k != "json"} for one in blocks]}


@pytest.fixture
def native(proxy: Proxy) -> Proxy:  # noqa: F811
    def started(say: Any, **given: Any) -> tuple[Service, Model]:
        return proxy(say, upstream={"kind": "anthropic"}, **given)

    return started


@pytest.mark.parametrize("stream", [False, True])
def test_blocks_pass_as_they_are(native: Proxy, stream: bool) -> None:
    blocks = [{"type": "thinking", "thinking": "It lowers glucose.", "signature": SIGNATURE},
              {"type": "redacted_thinking", "data": SIGNATURE}, text("Metformin lowers ", citations=None),
              text("blood glucose.", citations=[CITED]),
              {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835", "name": "note", "input": {"of": ["é", 1]}}]
    service, model = native(message(*blocks, stop_reason="tool_use"))
    response = service.ask("/v1/messages", {
        **ASK, "stream": stream, "thinking": {"type": "adaptive"}, "tools": [{"name": "note", "input_schema": {}}],
        "top_k": 4, "metadata": None})
    assert response.headers["x-discreet-code"] == "ok"
    found = heard(response, stream)
    assert found["content"] == blocks
    assert (found["stop_reason"], found["model"]) == ("tool_use", "claude-x-20260101")
    assert found["usage"] == {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 2,
                              "cache_creation_input_tokens": 0}
    [sent] = model.asked
    assert sent == {**ASK, "thinking": {"type": "adaptive"}, "tools": [{"name": "note", "input_schema": {}}],
                    "top_k": 4}
    headers = model.headers[0]
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("upstream-secret", "2023-06-01")
    assert "authorization" not in headers


PLACES: dict[str, dict[str, Any]] = {
    "text": text(LITIGATOR), "thinking": {"type": "thinking", "thinking": LITIGATOR, "signature": ""},
    "input": {"type": "tool_use", "id": "toolu_12345678", "name": "note", "input": {"a": [{"b": LITIGATOR}]}},
    "quote": text(SAFE, citations=[{**CITED, "cited_text": LITIGATOR}]),
    "title": text(SAFE, citations=[{**CITED, "document_title": LITIGATOR}]),
    "source": text(SAFE, citations=[{"type": "search_result_location", "cited_text": "", "source": LITIGATOR}])}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_a_leak_is_withheld_wherever_it_stands(native: Proxy, place: str, stream: bool) -> None:
    service, _ = native(message(text(SAFE), PLACES[place]))
    response = service.ask("/v1/messages", {**ASK, "stream": stream, "tools": [{"name": "note"}]})
    assert (response.headers["x-discreet-action"], response.headers["x-discreet-code"]) == (
        "block", "privacy/contextual")
    found = heard(response, stream)
    assert (found["stop_reason"], len(found["content"])) == ("refusal", 1)
    assert "withheld" in found["content"][0]["text"]
    assert "litigator" not in response.text + service.log.getvalue()


@pytest.mark.parametrize(("system", "said", "action"), [
    ("You look things up for a clinic.", (), "pass"),
    ("You look things up for a clinic.", ("Let me look that up for you.",), "pass"),
    ("You look things up for a clinic.", ("Yes, she was.",), "block"),
    ("File: the 52-year-old litigator from Omaha was treated for gout.", (), "block")])
def test_a_first_look_into_records_confirms_nothing(native: Proxy, system: str, said: tuple[str, ...], action: str
                                                    ) -> None:
    look = {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835", "name": "find", "input": {"query": "records"}}
    service, _ = native(message(*map(text, said), look, stop_reason="tool_use"))
    asked = [{"role": "user", "content": "Was the 52-year-old litigator from Omaha treated here?"}]
    tools = [{"name": "find", "input_schema": {"type": "object"}}]
    response = service.ask("/v1/messages", {**ASK, "system": system, "messages": asked, "tools": tools})
    assert response.headers["x-discreet-action"] == action


def test_text_that_citations_cut_is_judged_in_one_piece(native: Proxy) -> None:
    parts = ["The patient is a 52-ye", "ar-old litig", "ator from Oma", "ha with two children."]
    service, _ = native(message(*(text(one, citations=[CITED]) for one in parts)))
    assert service.ask("/v1/messages", ASK).headers["x-discreet-code"] == "privacy/contextual"


def test_what_has_no_place_or_may_be_a_text_is_dropped_or_an_error(native: Proxy) -> None:
    spoken = base64.b64encode(LITIGATOR.encode() * 3).decode()
    service, _ = native(message(
        text(SAFE, citations=[{**CITED, "no_such": LITIGATOR}, {"type": "other", "cited_text": LITIGATOR}]),
        {"type": "thinking", "thinking": "", "signature": LITIGATOR}, {"type": "redacted_thinking", "data": spoken},
        stop_reason="stop_sequence", stop_sequence=LITIGATOR, id=LITIGATOR, container=LITIGATOR,
        usage={"input_tokens": 1, "service_tier": LITIGATOR}))
    response = service.ask("/v1/messages", {**ASK, "thinking": {"type": "enabled"}, "stop_sequences": ["x"]})
    found = response.json()
    assert "litigator" not in response.text
    assert spoken not in response.text
    assert found["content"][0]["citations"] == [CITED]
    assert (found["content"][1]["signature"], found["stop_reason"], found["stop_sequence"]) == (
        "", "stop_sequence", None)
    for wrong in (message({"type": "server_tool_use", "input": {}}), message(text(SAFE), stop_reason="pause_turn"),
                  message({"type": "tool_use", "id": "x", "name": "undeclared", "input": {}}),
                  message({"type": "tool_use", "id": "x", "name": "note", "input": "x"}),
                  message(*[text("")] * (MOST_PARTS + 1)), message(text(SAFE, citations=[CITED] * (MOST_PARTS + 1))),
                  Response('{"content": [{"type": "tool_use", "name": "note", "input": {"a": NaN}}], "stop_reason": '
                           '"tool_use"}'), JSONResponse({"content": SAFE})):
        service, _ = native(wrong)
        response = service.ask("/v1/messages", {**ASK, "tools": [{"name": "note"}]})
        assert (response.status_code, response.json()["error"]["code"]) == (502, "upstream_malformed")
    service, _ = native(message(text(BREAKS)))
    assert service.ask("/v1/messages", ASK).status_code == 503


def test_a_citation_is_a_quote_of_what_was_retrieved(native: Proxy, start: Start) -> None:
    service, _ = native(message(text("It is taken with food.", citations=[CITED])))
    service.ask("/v1/messages", ASK)
    [answer] = service.gate.workers.seen
    assert PASSAGE in answer.answer
    assert [(turn.origin, turn.text) for turn in answer.conversation] == [("retrieved", f"{PASSAGE}\n\nLeaflet")]


def test_a_blocked_answer_is_asked_for_again_with_words_before_the_instructions(proxy: Proxy) -> None:  # noqa: F811
    service, model = proxy(lambda body: message(text(SAFE if len(body.get("system", "x")) > 1 else LITIGATOR)),
                           upstream={"kind": "anthropic", "retries": 1, "again": "Say no name."})
    for system in ("x", [text("x")]):
        model.asked.clear()
        assert service.ask("/v1/messages", {**ASK, "system": system}).json()["content"][0]["text"] == SAFE
        assert model.asked[-1]["system"] == [text("Say no name."), text("x")]


@pytest.mark.parametrize("more", [
    {"mcp_servers": []}, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    {"messages": [{"role": "system", "content": "x"}]}, {"messages": [{"role": "user"}]},
    {"messages": [{"role": [], "content": "x"}]}, {"messages": [{"role": {"a": 1}, "content": "x"}]},
    {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}]},
    {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "u"}}]}]},
    {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": [
        {"type": "document", "source": {"type": "file", "file_id": "f"}}]}]}]},
    {"messages": [{"role": "assistant", "content": [{"type": "server_tool_use"}]}]}])
def test_what_is_not_whole_is_refused(native: Proxy, more: dict[str, Any]) -> None:
    service, model = native(message(text(SAFE)))
    response = service.ask("/v1/messages", {**ASK, **more})
    assert (response.status_code, model.asked) == (400, [])


def test_there_are_no_doors_that_the_upstream_does_not_have(native: Proxy) -> None:
    service, _ = native(JSONResponse({"data": [{"id": "claude-x"}]}))
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/embeddings"):
        assert service.ask(path, {"model": "m"}).status_code == 404
    assert "/v1/responses" not in service.ask("/openapi.json").json()["paths"]


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_tokens_are_counted_by_the_upstream(proxy: Proxy, kind: str) -> None:  # noqa: F811
    service, model = proxy(JSONResponse({"input_tokens": 12, "note": LITIGATOR}), upstream={"kind": kind})
    asked = {"model": "claude-x", "messages": ASK["messages"], "system": "Be short."}
    for path in ("/v1/messages/count_tokens", "/guards/medical/v1/messages/count_tokens"):
        assert service.ask(path, asked).json() == {"input_tokens": 12}
    assert model.asked == [asked, asked]
    assert service.ask("/guards/none/v1/messages/count_tokens", asked).status_code == 404
    assert service.ask("/v1/messages/count_tokens", {**asked, "max_tokens": 4}).status_code == 400
    service, _ = proxy(JSONResponse({"input_tokens": LITIGATOR}), upstream={"kind": kind})
    response = service.ask("/v1/messages/count_tokens", asked)
    assert (response.status_code, response.json()["type"]) == (502, "error")
    assert "litigator" not in response.text
    service, _ = proxy(JSONResponse({"type": "error", "error": {"type": "not_found_error", "message": LITIGATOR}}, 404),
                       upstream={"kind": kind})
    response = service.ask("/v1/messages/count_tokens", asked)
    assert (response.status_code, response.json()["error"]["type"]) == (404, "not_found_error")


BLOCK = st.fixed_dictionaries({"type": st.sampled_from(
    ["text", "thinking", "redacted_thinking", "tool_use", "other"])}, optional={
    name: st.just(MARK) | JSON | PART for name in ("text", "thinking", "signature", "data", "name", "input", "id")}
    | {"citations": st.lists(st.fixed_dictionaries({"type": st.sampled_from(["char_location", "other"])}, optional={
        "cited_text": st.just(MARK) | JSON, "document_title": st.just(MARK) | JSON}), max_size=2) | JSON})


def test_nothing_breaks_and_nothing_leaves(start: Start) -> None:
    said: dict[str, Any] = {}
    model = Model(lambda _: JSONResponse(said))
    service = start(transport=model.transport, upstream={"url": "http://model.test/v1", "kind": "anthropic"},
                    limits={"per_minute": None, "body_bytes": 5000, "text_chars": 500})

    @given(blocks=st.lists(BLOCK, max_size=3) | JSON, more=st.dictionaries(FIELDS | st.sampled_from(
        ["stop_reason", "stop_sequence", "usage", "id", "model"]), st.just(MARK) | PART, max_size=3),
           asked=st.dictionaries(st.sampled_from(["system", "tools", "thinking", "stop_sequences"]), PART, max_size=2),
           stream=st.booleans())
    @settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
    def ask(blocks: Any, more: dict[str, Any], asked: dict[str, Any], stream: bool) -> None:
        said.clear()
        said.update({"stop_reason": "end_turn", **more, "content": blocks})
        response = service.ask("/v1/messages", method="POST", content=json.dumps(
            {**ASK, "tools": [{"name": "note"}], **asked, "stream": stream}).encode("utf-8", "surrogatepass"))
        assert response.status_code in documented(service, "/v1/messages", "post")
        assert response.status_code != 500
        assert "litigator" not in response.text

    ask()
    assert service.events("crash") == []
    assert "zqxcanary" not in service.log.getvalue()
