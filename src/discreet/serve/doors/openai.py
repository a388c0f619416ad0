"""An OpenAI-compatible proxy: chat completions in front of any model, streamed or not, and moderations.

An answer goes out whole, after it was judged, or not at all; comments keep a stream open meanwhile. One that is blocked
is an answer of the operator's words with `finish_reason: content_filter`; one that could not be judged is an error.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Body, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from discreet.core.records import Answer
from discreet.data.messages import TooDeepError, asked_of, strings_of
from discreet.serve.doors import chat
from discreet.serve.doors.chat import CATEGORIES, Json
from discreet.serve.doors.check import Name
from discreet.serve.doors.declared import (
    Declaration,
    UserHeader,
    WordsHeader,
    asked,
    end_user,
    with_header,
)
from discreet.serve.doors.upstream import Upstream, malformed
from discreet.serve.fair import length_of
from discreet.serve.gate import Gate, Outcome, details, not_judged
from discreet.serve.keys import Caller, CallerOf
from discreet.serve.limits import RefusedError, answers_of
from discreet.serve.telemetry import crash

FIXED = ("harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
         "self-harm/intent", "self-harm/instructions", "sexual", "sexual/minors", "violence", "violence/graphic")
"""OpenAI's categories, which strict clients expect in every result; discreet never says any of them."""

CONVERSATION = "x-discreet-conversation"
"""The header that names the conversation of a completion: what its earlier answers told counts too."""


OURS = ("moderation", "discreet")
"""Fields of a request that the model does not get."""


class Completion(BaseModel):
    """A request for a completion. Everything but `moderation` and `discreet` goes to the model as it is."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(max_length=200)
    messages: list[dict[str, Any]] = Field(min_length=1)
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    functions: list[dict[str, Any]] | None = None
    documents: Any = None
    user: Any = None
    safety_identifier: Any = None
    discreet: Declaration | None = None


class Part(BaseModel):
    """A part of a moderation's input: text, for images are not judged."""

    model_config = ConfigDict(extra="forbid")
    type: Literal["text"]
    text: str


class Moderation(BaseModel):
    """Texts to judge; `model` finds the guard."""

    model_config = ConfigDict(extra="ignore")
    input: str | Annotated[list[str], Field(min_length=1)] | Annotated[list[Part], Field(min_length=1)]
    model: str | None = Field(None, max_length=200)


class Model(BaseModel):
    """A model behind the proxy."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "upstream"


class Models(BaseModel):
    """The models behind the proxy."""

    object: Literal["list"] = "list"
    data: list[Model]


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes to the caller."""

    completion: Json
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Proxied:
    """One request on its way: to the model, to the gate, and back."""

    gate: Gate
    upstream: Upstream
    caller: Caller
    guard: str
    body: Json
    asked: Answer
    conversation: str | None = None
    user: str | None = None

    async def reply(self) -> Reply:
        """The answer, judged. Raises RefusedError where there is none or it could not be judged."""
        given = self.gate.settings.upstream
        assert given is not None
        body = {name: value for name, value in self.body.items() if name not in OURS and value is not None}
        spent: Json = {}
        for left in range(given.retries, -1, -1):
            completion = self._cleaned(await self.upstream.complete(body))
            spent = _sum(spent, completion.get("usage", {}))
            completion |= {"usage": spent} if spent else {}
            if chat.is_silent(completion):
                self.gate.passed_silently(self.caller, self.guard, "openai")
                return Reply(completion, {"x-discreet-action": "pass", "x-discreet-code": "ok"})
            outcome = await self.gate.decide(
                self.caller, self.guard, chat.answers_of_completion(completion, self.asked), payload=completion,
                door="openai", conversation=self.conversation, user=self.user)
            if outcome.action != "block" or not left:
                break
            body = {**body, "messages": [{"role": "system", "content": given.again}, *self.body["messages"]]}
        return await self._reply(completion, outcome)

    def _cleaned(self, found: Json) -> Json:
        tools = [tool.get(tool.get("type", "function"), {}) for tool in self.body.get("tools") or ()]
        names = [one.get("name") for one in (*tools, *(self.body.get("functions") or ())) if isinstance(one, dict)]
        try:
            if isinstance(choices := found.get("choices"), list) and len(choices) > self.gate.settings.limits.texts:
                raise chat.MalformedError("too_many_choices")
            return chat.cleaned(found, frozenset(name for name in names if isinstance(name, str)),
                                str(self.body["model"]))
        except chat.MalformedError as error:
            raise self.upstream.counted(malformed(str(error))) from None

    async def _reply(self, completion: Json, outcome: Outcome) -> Reply:
        given, hold = self.gate.settings.upstream, self.gate.settings.hold_s
        assert given is not None
        if outcome.action == "failed":
            raise RefusedError(503, "privacy/not_judged", "the guard could not judge the answer; it was neither passed "
                               "nor blocked for what it says; come again", {"Retry-After": "5"})
        headers: dict[str, str] = {"x-discreet-action": outcome.action, "x-discreet-code": outcome.code}
        operator = self.caller.role == "operator"
        if outcome.ticket is not None:
            headers["x-discreet-ticket"] = outcome.ticket
            state = await self.gate.ticket(outcome.ticket, self.caller, hold)
            if state.status == "released" and state.payload is not None:
                return Reply(chat.with_verdict(state.payload, None, operator=operator),
                             headers | {"x-discreet-action": "released", "x-discreet-code": "ok"})
            if state.status == "pending":
                completion = chat.replaced(completion, given.pending.replace("{ticket}", outcome.ticket))
            else:
                headers["x-discreet-action"] = "block"
                completion = chat.replaced(completion, given.blocked)
        elif outcome.action != "pass":
            completion = chat.replaced(completion, given.blocked)
        return Reply(chat.with_verdict(completion, outcome, operator=operator), headers)

    async def stream(self, work: asyncio.Task[Reply]) -> AsyncIterator[bytes]:
        """The events: comments until the answer is judged, then all of it; an error and no end where there is none."""
        try:
            while not work.done():
                await asyncio.wait({work}, timeout=self.gate.settings.keep_alive_s)
                if not work.done():
                    yield b": waiting\n\n"
            try:
                reply = work.result()
            except RefusedError as error:
                yield _event(error.body())
                return
            except Exception as error:
                self.gate.telemetry.event("crash", crash(error))
                yield _event(RefusedError(500, "internal", "a mistake in discreet; nothing was passed").body())
                return
            usage = bool((self.body.get("stream_options") or {}).get("include_usage"))
            for chunk in chat.chunks_of(reply.completion, usage=usage):
                yield _event(chunk)
            yield b"data: [DONE]\n\n"
        finally:
            work.cancel()


def router(gate: Gate, upstream: Upstream | None) -> APIRouter:
    """`/v1/moderations`, and `/v1/chat/completions` where there is an upstream; each also behind `/guards/{guard}`."""
    routes = APIRouter(tags=["openai"])

    @routes.post("/v1/moderations", responses=answers_of(404))
    async def moderations(body: Annotated[Moderation, Body()], caller: CallerOf) -> JSONResponse:
        """Judge texts by the guard of the key, of `model`, or the default."""
        return await _moderated(gate, caller, body, None)

    @routes.post("/guards/{guard}/v1/moderations", responses=answers_of(404))
    async def moderations_by(guard: Name, body: Annotated[Moderation, Body()], caller: CallerOf) -> JSONResponse:
        """Judge texts by a guard."""
        return await _moderated(gate, caller, body, guard)

    if upstream is None:
        return routes
    statuses = answers_of(404, 502, 504)

    @routes.get("/v1/models", responses=statuses, response_model=Models)
    @routes.get("/guards/{guard}/v1/models", responses=statuses, response_model=Models)
    async def models(caller: CallerOf) -> Models:
        """The names of the models behind the proxy, as the upstream lists them; nothing else of the list is passed."""
        return Models(data=[Model(id=name) for name in await upstream.models()])

    @routes.post("/v1/chat/completions", responses=statuses, response_model=None)
    async def completions(body: Annotated[Completion, Body()], caller: CallerOf, request: Request,
                          words: WordsHeader = None, user: UserHeader = None) -> Response:
        """Ask the model; the answer is judged by the guard of the key, of `model`, or the default."""
        return await _completed(_proxied(gate, upstream, caller, body, None, request, words, user), request)

    @routes.post("/guards/{guard}/v1/chat/completions", responses=statuses, response_model=None)
    async def completions_by(guard: Name, body: Annotated[Completion, Body()], caller: CallerOf, request: Request,
                             words: WordsHeader = None, user: UserHeader = None) -> Response:
        """Ask the model; the answer is judged by a guard."""
        return await _completed(_proxied(gate, upstream, caller, body, guard, request, words, user), request)

    return routes


def _proxied(gate: Gate, upstream: Upstream, caller: Caller, body: Completion, path: str | None,
             request: Request, words: list[str] | None, user: str | None) -> Proxied:
    """The request, with what it declares. Raises RefusedError before anything is sent to the model."""
    conversation = request.headers.get(CONVERSATION)
    if conversation is not None and not 1 <= len(conversation) <= 200:
        raise RefusedError(422, "invalid", f"{CONVERSATION} has {len(conversation)} characters; expected 1 to 200")
    guard = gate.route(caller, body.model, path)
    declared = with_header(body.discreet or Declaration(), words or [])
    try:
        given = asked(caller, declared, *asked_of(body.messages))
        retrieved = tuple(strings_of(body.documents))
    except TooDeepError:
        raise RefusedError(422, "too_deep", "a message is nested too deeply to be read") from None
    given = replace(given, sources=given.sources + retrieved)
    if (said := length_of(given)) > (most := gate.settings.limits.text_chars):
        raise RefusedError(413, "too_long", f"{said:,} characters of messages and sources; expected at most {most:,}")
    return Proxied(gate, upstream, caller, guard, body.model_dump(exclude_unset=True), given, conversation,
                   end_user(user, body.safety_identifier, body.user))


async def _completed(proxied: Proxied, request: Request) -> Response:
    gate, caller, body = proxied.gate, proxied.caller, proxied.body
    work = asyncio.create_task(proxied.reply())
    # After the body, the next that is received is that the caller has gone.
    gone = asyncio.ensure_future(request.receive())
    try:  # What is there soon has its own status and headers, streamed too.
        await asyncio.wait({work, gone}, timeout=gate.settings.keep_alive_s if body.get("stream") else None,
                           return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        work.cancel()
        raise
    finally:
        gone.cancel()
    if not body.get("stream"):
        if not work.done():  # Nobody waits any more: the model need not go on.
            work.cancel()
            gate.telemetry.event("caller_gone", {"caller": caller.id, "guard": proxied.guard, "door": "openai"})
            return Response(status_code=499)
        reply = work.result()
        return JSONResponse(reply.completion, headers=dict(reply.headers))
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if work.done():
        headers |= work.result().headers
    return StreamingResponse(proxied.stream(work), media_type="text/event-stream", headers=headers)


async def _moderated(gate: Gate, caller: Caller, body: Moderation, path: str | None) -> JSONResponse:
    guard = gate.route(caller, body.model, path)
    given = [body.input] if isinstance(body.input, str) else body.input
    texts = [one if isinstance(one, str) else one.text for one in given]
    if not 1 <= len(texts) <= gate.settings.limits.texts:
        raise RefusedError(413 if texts else 422, "texts", f"{len(texts)} texts; expected 1 to "
                           f"{gate.settings.limits.texts}")
    request = uuid4().hex
    answers = [Answer(f"{request}-{number}", text) for number, text in enumerate(texts)]
    outcome = await gate.decide(caller, guard, answers, door="moderations")
    codes = [one.verdict.code for one in outcome.judgements]
    if "privacy/not_judged" in codes:
        raise not_judged(what="a text")
    results: list[Json] = []
    for code, said in zip(codes, details(outcome), strict=True):
        score = said["score"] if caller.role == "operator" and said["score"] is not None else 1.0
        results.append({"flagged": code != "ok",
                        "categories": {one: one == code for one in (*FIXED, *CATEGORIES)},
                        "category_scores": {one: score if one == code else 0.0 for one in (*FIXED, *CATEGORIES)},
                        "category_applied_input_types": {one: ["text"] if one in CATEGORIES else []
                                                         for one in (*FIXED, *CATEGORIES)}})
        if caller.role == "operator":
            results[-1]["details"] = said
    return JSONResponse({"id": f"modr-{request}", "model": "discreet", "results": results})


def _event(data: Json) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _sum(before: Json, more: Json) -> Json:
    """Tokens of all attempts together."""
    return before | {name: _sum(before.get(name, {}), value) if isinstance(value, dict) else before.get(name, 0) + value
                     for name, value in more.items()}
