"""Anthropic's `/v1/messages`, in front of Anthropic's own endpoint, or of a model that answers chat completions.

A request says everything that the model gets. What is not whole (files by their id) and tools that the provider runs
are refused. So is, in front of chat completions, what these have no place for (citations); what changes no word of an
answer (caches, signatures) is left out there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from discreet.serve.doors import blocks, native
from discreet.serve.doors.chat import Json, MalformedError, as_number
from discreet.serve.doors.check import Name
from discreet.serve.doors.declared import Declaration, UserHeader, WordsHeader
from discreet.serve.doors.items import format_of
from discreet.serve.doors.proxy import ANSWERED, Known, Protocol, Proxied, Reply, Sent, event
from discreet.serve.doors.unread import refuse_unread
from discreet.serve.doors.upstream import Upstream
from discreet.serve.gate import Gate
from discreet.serve.keys import Caller
from discreet.serve.limits import Many, RefusedError, messages_answers_of
from discreet.serve.roles import CallerOf

Object = dict[str, Any]
STOPPED = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "function_call": "tool_use",
           "content_filter": "refusal"}
"""OpenAI's reasons why an answer ended, in Anthropic's words."""


class Counted(Known):
    """A prompt, whose tokens can be counted."""

    model: str = Field(max_length=200)
    messages: Many[Object] = Field(min_length=1)
    system: str | Many[Object] | None = None
    tools: Many[Object] | None = Field(None, description="Tools of the client: name, description and input_schema.")
    tool_choice: Object | None = None
    thinking: Object | None = Field(None, description="Unless it is disabled, what the model reasons is judged and "
                                                      "passed as a block.")
    output_config: Object | None = None
    cache_control: Object | None = None
    context_management: Object | None = None


class Ask(Counted):
    """A request for a message. The model gets what it has a field for; `discreet` stays here."""

    max_tokens: int
    stop_sequences: Many[str] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stream: bool | None = None
    metadata: Object | None = None
    service_tier: str | None = None
    discreet: Declaration | None = None


class Tokens(BaseModel):
    """The length of a prompt."""

    input_tokens: int


class Messages(Protocol):
    """Messages; with `thoughts` what the model reasoned is a block."""

    name = "messages"

    def __init__(self, thoughts: bool) -> None:
        self._thoughts = thoughts

    def whole(self, reply: Reply) -> Json:
        """The message. Raises MalformedError where it has no place for what the model said."""
        given = reply.completion
        choice, usage = given["choices"][0], given.get("usage", {})
        about = usage.get("prompt_tokens_details", {})
        read, written = about.get("cached_tokens", 0), about.get("cache_creation_tokens", 0)
        return {"id": given["id"].replace("chatcmpl-", "msg_"), "type": "message", "role": "assistant",
                "model": given["model"], "content": blocks.content_of(choice["message"], thoughts=self._thoughts),
                "stop_reason": STOPPED[choice["finish_reason"]], "stop_sequence": None,
                "usage": {"input_tokens": max(0, usage.get("prompt_tokens", 0) - read - written),
                          "output_tokens": usage.get("completion_tokens", 0),
                          "cache_read_input_tokens": read, "cache_creation_input_tokens": written}}

    def events(self, reply: Reply) -> Iterator[bytes]:
        """The events that a message is made of."""
        for said in _events(self.whole(reply)):
            yield event(said, said["type"])

    def failed(self, error: RefusedError) -> bytes:
        """An error as Anthropic's clients read it."""
        return event(error.anthropic(), "error")


class Native(Messages):
    """Messages in front of Anthropic's own endpoint: blocks come and go as they are."""

    path = "messages"

    def __init__(self, thoughts: bool, stops: Sequence[str]) -> None:
        super().__init__(thoughts)
        self._stops = stops

    def tools(self, body: Json) -> Iterator[Any]:
        """The names of the tools that a request declares."""
        yield from (one.get("name") for one in body.get("tools", ()))

    def cleaned(self, found: Json, tools: frozenset[str], model: str, most: int) -> Json:
        """The message as a chat completion, with its blocks. Raises MalformedError."""
        return native.cleaned(found, tools, model, thoughts=self._thoughts, stops=self._stops)

    def again(self, body: Json, words: str) -> Json:
        """The request with `words` before its instructions."""
        given = body.get("system", [])
        return {**body, "system": [{"type": "text", "text": words},
                                   *([{"type": "text", "text": given}] if isinstance(given, str) else given)]}

    def whole(self, reply: Reply) -> Json:
        """The message with the blocks that came, unless something else goes out in its place."""
        own: Json = reply.completion["choices"][0]["message"].get("native", {})
        return super().whole(reply) | own


def _events(whole: Json) -> Iterator[Json]:
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        at = {"index": index}
        yield {"type": "content_block_start", **at, "content_block": _emptied(block)}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    yield {"type": "message_delta", "delta": ended, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _emptied(block: Json) -> Json:
    """A block as it begins; encrypted thoughts come with it."""
    empty: dict[str, Json] = {"text": {"text": "", "citations": None if block.get("citations") is None else []},
                              "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
    return {**block, **empty.get(block["type"], {})}


def _deltas(block: Json) -> Iterator[Json]:
    if block["type"] == "text":
        yield {"type": "text_delta", "text": block["text"]}
        yield from ({"type": "citations_delta", "citation": one} for one in block["citations"] or ())
    elif block["type"] == "thinking":
        yield {"type": "thinking_delta", "thinking": block["thinking"]}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "tool_use":
        yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"], ensure_ascii=False)}


def router(gate: Gate, upstream: Upstream) -> APIRouter:
    """`/v1/messages`, also behind `/guards/{guard}`."""
    routes = APIRouter(tags=["anthropic"], dependencies=[Depends(refuse_unread())])
    statuses = messages_answers_of(404, 502, 504)
    answered = {**statuses, **ANSWERED}

    @routes.post("/v1/messages", responses=answered, response_model=None)
    async def messages(body: Annotated[Ask, Body()], caller: CallerOf, request: Request, words: WordsHeader = None,
                       user: UserHeader = None) -> Response:
        """Ask the model; the message is judged by the guard of the key, of `model`, or the default."""
        return await _answered(gate, upstream, caller, body, None, request, words, user)

    @routes.post("/guards/{guard}/v1/messages", responses=answered, response_model=None)
    async def messages_by(guard: Name, body: Annotated[Ask, Body()], caller: CallerOf, request: Request,
                          words: WordsHeader = None, user: UserHeader = None) -> Response:
        """Ask the model; the message is judged by a guard."""
        return await _answered(gate, upstream, caller, body, guard, request, words, user)

    @routes.post("/v1/messages/count_tokens", responses=statuses, response_model=Tokens)
    async def count_tokens(body: Annotated[Counted, Body()], caller: CallerOf) -> Response:
        """How many tokens a prompt has, by the upstream's endpoint of this name. Nothing is judged: it is a number."""
        return await _counted(upstream, body)

    @routes.post("/guards/{guard}/v1/messages/count_tokens", responses=statuses, response_model=Tokens)
    async def count_tokens_by(guard: Name, body: Annotated[Counted, Body()], caller: CallerOf) -> Response:
        """The same for clients whose base address names a guard; it has nothing to judge."""
        gate.route(caller, body.model, guard)
        return await _counted(upstream, body)

    return routes


async def _counted(upstream: Upstream, body: Counted) -> Response:
    asked = body.model_dump(exclude_unset=True)
    return JSONResponse(await upstream.numbers("messages/count_tokens", asked, _tokens))


def _tokens(found: Json) -> Json:
    count = as_number(found.get("input_tokens"))
    if count is None:
        raise MalformedError("tokens")
    return {"input_tokens": count}


async def _answered(gate: Gate, upstream: Upstream, caller: Caller, body: Ask, path: str | None, request: Request,
                    words: list[str] | None, user: str | None) -> Response:
    # Who said what is read from the blocks as they came, whose types say more than those of chat messages.
    said = [*([{"role": "system", "content": body.system}] if body.system else []), *body.messages]
    thoughts = body.thinking is not None and body.thinking.get("type") != "disabled"
    protocol, given = Messages(thoughts), _chat_of
    if upstream.kind == "anthropic":
        protocol, given = Native(thoughts, body.stop_sequences or ()), _native_of
    sent = Sent(body.model, said, given(body), body.discreet, users=((body.metadata or {}).get("user_id"),))
    proxied = Proxied.of(gate, upstream, caller, path, sent, protocol, request, words, user)
    return await proxied.response(request, streams=bool(body.stream))


def _native_of(body: Ask) -> Json:
    """The request as it came; the model need not stream what is held. Raises RefusedError for what is not passed on."""
    given = body.model_dump(exclude_unset=True, exclude={"discreet", "stream"})
    native.check(given)
    return given


def _chat_of(body: Ask) -> Json:
    """The request as one for a chat completion. Raises RefusedError for what it has no place for."""
    system = [{"role": "system", "content": blocks.text_of(body.system)}] if body.system else []
    choice, config = body.tool_choice or {}, body.output_config or {}
    form = config.get("format")
    if isinstance(form, dict) and form.get("type") == "json_schema":
        form = {"name": "answer", **form}
    made: Json = {
        "model": body.model, "messages": [*system, *blocks.messages_of(body.messages)],
        "max_completion_tokens": body.max_tokens, "tools": [blocks.tool_of(one) for one in body.tools or ()] or None,
        "tool_choice": blocks.choice_of(choice) if choice and body.tools else None,
        "parallel_tool_calls": False if choice.get("disable_parallel_tool_use") else None,
        "stop": body.stop_sequences, "temperature": body.temperature, "top_p": body.top_p,
        "reasoning_effort": config.get("effort"), "response_format": format_of(form),
        "user": (body.metadata or {}).get("user_id")}
    made |= {"stream": True, "stream_options": {"include_usage": True}} if body.stream else {}
    return {name: value for name, value in made.items() if value is not None}
