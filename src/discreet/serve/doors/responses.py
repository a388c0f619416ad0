"""OpenAI's `/v1/responses`: items in, items or their events out, in front of a model that answers chat completions.

A request says everything that the model gets: nothing is stored here or there, so what refers to something stored
elsewhere (`previous_response_id`, `item_reference`, …), runs later, or runs tools elsewhere is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Request
from fastapi.responses import Response
from pydantic import Field

from discreet.serve.doors import items
from discreet.serve.doors.chat import Json
from discreet.serve.doors.check import Name
from discreet.serve.doors.declared import Declaration, UserHeader, WordsHeader
from discreet.serve.doors.proxy import ANSWERED, Known, Protocol, Proxied, Reply, Sent, event
from discreet.serve.doors.unread import refuse_unread
from discreet.serve.doors.upstream import Upstream
from discreet.serve.gate import Gate
from discreet.serve.keys import Caller
from discreet.serve.limits import Many, RefusedError, answers_of
from discreet.serve.roles import CallerOf

Object = dict[str, Any]
DELTAS = {"output_text": ("text", "output_text"), "refusal": ("refusal", "refusal"),
          "reasoning_text": ("text", "reasoning_text")}
"""Of a kind of part: the field of its text, and the middle of its events' names."""
CALLS = {"function_call": ("arguments", "function_call_arguments"),
         "custom_tool_call": ("input", "custom_tool_call_input")}


class Ask(Known):
    """A request for a response. The model gets what chat completions have a field for; `discreet` stays here."""

    model: str = Field(max_length=200)
    input: str | Annotated[Many[Object], Field(min_length=1)]
    instructions: str | None = None
    tools: Many[Object] | None = Field(None, description="Functions and custom tools.")
    tool_choice: str | Object | None = None
    parallel_tool_calls: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    text: Object | None = None
    reasoning: Object | None = None
    stream: bool | None = None
    service_tier: str | None = None
    user: Any = None
    safety_identifier: Any = None
    discreet: Declaration | None = None
    store: Literal[False] | None = Field(None, description="Nothing is stored; true is refused.")
    background: Literal[False] | None = None
    # What changes nothing of an answer that is made here, or is about what is not kept.
    include: Many[str] | None = None
    metadata: Object | None = None
    truncation: str | None = None
    max_tool_calls: int | None = None
    top_logprobs: int | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    stream_options: Object | None = None


class Responses(Protocol):
    """Responses; the request's tools are said again, as clients expect."""

    name = "responses"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def whole(self, reply: Reply) -> Json:
        """The response. Raises MalformedError where it has no place for what the model said."""
        given, ask = reply.completion, self._ask
        choice = given["choices"][0]
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(choice["finish_reason"])
        found: Json = {
            "id": given["id"].replace("chatcmpl-", "resp_"), "object": "response", "created_at": given["created"],
            "model": given["model"], "status": "incomplete" if reason else "completed",
            "incomplete_details": {"reason": reason} if reason else None, "error": None, "instructions": None,
            "metadata": {}, "output": items.output_of(choice["message"], choice.get("logprobs"), given["id"]),
            "parallel_tool_calls": ask.parallel_tool_calls is not False, "temperature": ask.temperature,
            "top_p": ask.top_p, "tool_choice": ask.tool_choice or "auto", "tools": ask.tools or [], "store": False,
            "background": False, "previous_response_id": None, "max_output_tokens": ask.max_output_tokens,
            "usage": items.usage_of(given.get("usage"))}
        if "moderation" in given:
            found["moderation"] = {"input": None, "output": given["moderation"]["output"]["results"][0]}
        return found

    def events(self, reply: Reply) -> Iterator[bytes]:
        """The events that a response is made of; the last one says it whole."""
        for number, said in enumerate(_events(self.whole(reply))):
            yield event({**said, "sequence_number": number}, said["type"])

    def failed(self, error: RefusedError) -> bytes:
        """An error, in both forms that clients look for."""
        said = error.body()["error"]
        return event({"type": "error", "code": said["code"], "message": said["message"], "param": None,
                      "sequence_number": 0, "error": said}, "error")


def _events(whole: Json) -> Iterator[Json]:
    begun = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        yield {"type": "response.output_item.added", "output_index": index, "item": _emptied(item)}
        for number, part in enumerate(item.get("content", ())):
            yield from _part_events(part, {**at, "content_index": number})
        if item["type"] in CALLS:
            field, name = CALLS[item["type"]]
            yield {"type": f"response.{name}.delta", **at, "delta": item[field]}
            yield {"type": f"response.{name}.done", **at, field: item[field], "name": item["name"]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _emptied(item: Json) -> Json:
    """An item as it begins."""
    empty: Json = {"content": []} if "content" in item else {}
    if item["type"] in CALLS:
        empty = {CALLS[item["type"]][0]: ""}
    return {**item, "status": "in_progress", **empty}


def _part_events(part: Json, at: Mapping[str, Any]) -> Iterator[Json]:
    field, name = DELTAS[part["type"]]
    more: Json = {"logprobs": part["logprobs"]} if "logprobs" in part else {}
    empty = {**part, field: "", **({"annotations": [], "logprobs": []} if "annotations" in part else {})}
    yield {"type": "response.content_part.added", **at, "part": empty}
    yield {"type": f"response.{name}.delta", **at, "delta": part[field], **more}
    for number, one in enumerate(part.get("annotations", ())):
        yield {"type": "response.output_text.annotation.added", **at, "annotation_index": number, "annotation": one}
    yield {"type": f"response.{name}.done", **at, field: part[field], **more}
    yield {"type": "response.content_part.done", **at, "part": part}


def router(gate: Gate, upstream: Upstream) -> APIRouter:
    """`/v1/responses`, also behind `/guards/{guard}`."""
    routes = APIRouter(tags=["openai"], dependencies=[Depends(refuse_unread())])
    statuses = answers_of(404, 502, 504)
    answered = {**statuses, **ANSWERED}

    @routes.post("/v1/responses", responses=answered, response_model=None)
    async def responses(body: Annotated[Ask, Body()], caller: CallerOf, request: Request, words: WordsHeader = None,
                        user: UserHeader = None) -> Response:
        """Ask the model; the response is judged by the guard of the key, of `model`, or the default."""
        return await _responded(gate, upstream, caller, body, None, request, words, user)

    @routes.post("/guards/{guard}/v1/responses", responses=answered, response_model=None)
    async def responses_by(guard: Name, body: Annotated[Ask, Body()], caller: CallerOf, request: Request,
                           words: WordsHeader = None, user: UserHeader = None) -> Response:
        """Ask the model; the response is judged by a guard."""
        return await _responded(gate, upstream, caller, body, guard, request, words, user)

    return routes


async def _responded(gate: Gate, upstream: Upstream, caller: Caller, body: Ask, path: str | None, request: Request,
                     words: list[str] | None, user: str | None) -> Response:
    given = [{"role": "user", "content": body.input}] if isinstance(body.input, str) else body.input
    # Who said what is read from the items as they came, whose types say more than those of chat messages.
    said = [*([{"role": "system", "content": body.instructions}] if body.instructions else []), *given]
    sent = Sent(body.model, said, _chat_of(body, given), body.discreet, users=(body.safety_identifier, body.user))
    proxied = Proxied.of(gate, upstream, caller, path, sent, Responses(body), request, words, user)
    return await proxied.response(request, streams=bool(body.stream))


def _chat_of(body: Ask, given: list[Object]) -> Json:
    """The request as one for a chat completion. Raises RefusedError for what it has no place for."""
    said = [{"role": "system", "content": body.instructions}] if body.instructions else []
    form = items.format_of((body.text or {}).get("format"))
    made: Json = {
        "model": body.model, "messages": [*said, *items.messages_of(given)],
        "tools": [items.tool_of(one) for one in body.tools or ()] or None,
        "tool_choice": items.choice_of(body.tool_choice) if body.tools else None,
        "parallel_tool_calls": body.parallel_tool_calls if body.tools else None, "temperature": body.temperature,
        "top_p": body.top_p, "max_completion_tokens": body.max_output_tokens, "response_format": form,
        "verbosity": (body.text or {}).get("verbosity"), "reasoning_effort": (body.reasoning or {}).get("effort"),
        "service_tier": body.service_tier, "user": body.user, "safety_identifier": body.safety_identifier}
    made |= {"stream": True, "stream_options": {"include_usage": True}} if body.stream else {}
    return {name: value for name, value in made.items() if value is not None}
