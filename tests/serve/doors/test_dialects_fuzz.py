"""Requests and answers that nobody would send, at the doors beside chat: documented statuses, no crash, no leak."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse
from tests.serve.conftest import Service, Start
from tests.serve.doors.upstream import Model, completion
from tests.serve.test_fuzz import JSON, MANY, documented

MARK = "The patient is a 52-year-old litigator from Omaha with two children, zqxcanary."
WORDS = st.sampled_from("""
    text input_text output_text refusal input_image input_file message function_call function_call_output reasoning
    custom_tool_call custom_tool_call_output item_reference image document base64 tool_use tool_result search_result
    thinking function custom json_schema url auto tool""".split())
NAMES = st.sampled_from("""
    type text content source data media_type title citations call_id arguments output name input id tool_use_id role
    image_url file_data filename enabled parameters schema detail url context""".split())
PART = st.recursive(WORDS | JSON, lambda inner: st.dictionaries(NAMES, inner, max_size=4)
                    | st.lists(inner, max_size=3), max_leaves=10)
ITEM = st.builds(lambda kind, role, more: {"type": kind, "role": role, **more}, WORDS,
                 st.sampled_from(["user", "assistant", "system", "tool"]), st.dictionaries(NAMES, PART, max_size=5))
ITEMS = st.lists(ITEM, min_size=1, max_size=4)
TOOLS = st.lists(ITEM, max_size=2) | JSON
FLAG, M = st.booleans(), st.just("m")
BODIES: dict[str, Any] = {
    "/v1/responses": st.fixed_dictionaries({"model": M, "input": ITEMS | JSON}, optional={
        "tools": TOOLS, "tool_choice": PART, "text": PART, "reasoning": PART, "instructions": JSON, "stream": FLAG,
        "user": JSON}),
    "/v1/messages": st.fixed_dictionaries({"model": M, "max_tokens": st.just(5), "messages": ITEMS}, optional={
        "tools": TOOLS, "tool_choice": PART, "system": PART, "metadata": PART, "thinking": PART, "output_config": PART,
        "stream": FLAG}),
    "/v1/completions": st.fixed_dictionaries({"model": M, "prompt": JSON | st.just("x")}, optional={
        "stream": FLAG, "stream_options": PART, "user": JSON, "tools": TOOLS, "functions": TOOLS}),
    "/v1/embeddings": st.fixed_dictionaries({"model": M, "input": JSON | st.just("x")}, optional={
        "user": JSON, "dimensions": JSON})}
PLACES = ("content", "refusal", "reasoning", "reasoning_content", "tool_calls", "annotations", "audio", "text", "x")
FIELDS = st.sampled_from((*PLACES, "function", "name", "arguments", "type"))
ANSWER = st.dictionaries(st.sampled_from(PLACES), st.recursive(
    st.just(MARK) | JSON, lambda inner: st.dictionaries(FIELDS, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=8), max_size=4)


@pytest.fixture
def service(start: Start) -> Service:
    answer: dict[str, Any] = {"message": {}}

    def say(body: dict[str, Any]) -> Any:
        found = completion("", **answer["message"])
        found["choices"][0] |= {"text": answer["message"].get("text")}
        found |= {"data": [{"embedding": answer["message"].get("content")}]}
        if body.get("stream"):
            chunk = {**found, "choices": [{**one, "delta": one["message"]} for one in found["choices"]]}
            return b"data: " + json.dumps(chunk).encode("utf-8", "surrogatepass") + b"\n\ndata: [DONE]\n\n"
        return JSONResponse(found)

    made = start(transport=Model(say).transport, upstream={"url": "http://model.test/v1"},
                 limits={"per_minute": None, "body_bytes": 5000, "text_chars": 500})
    made.answer = answer  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("path", BODIES)
def test_nothing_breaks_and_nothing_leaves(service: Service, path: str) -> None:
    @given(body=BODIES[path], answer=ANSWER)
    @settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
    def asked(body: dict[str, Any], answer: dict[str, Any]) -> None:
        service.answer["message"] = answer  # type: ignore[attr-defined]
        response = service.ask(path, method="POST", content=json.dumps(body).encode("utf-8", "surrogatepass"))
        assert response.status_code in documented(service, path, "post")
        assert response.status_code != 500
        assert "litigator" not in response.text

    asked()
    assert service.events("crash") == []
    assert "zqxcanary" not in service.log.getvalue()
