"""An OpenAI-compatible proxy: chat completions in front of any model, streamed or not, and moderations.

An answer that is blocked is one of the operator's words with `finish_reason: content_filter`; one that could not be
judged is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Body, Depends, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.core.records import Answer
from discreet.serve.doors import chat
from discreet.serve.doors.chat import CATEGORIES, Json
from discreet.serve.doors.check import Name
from discreet.serve.doors.declared import (
    CONVERSATION_HEADER,
    WORDS_HEADER,
    Declaration,
    UserHeader,
    WordsHeader,
    end_user,
)
from discreet.serve.doors.proxy import ANSWERED, Known, Protocol, Proxied, Reply, Sent, event
from discreet.serve.doors.unread import refuse_misplaced, refuse_unread
from discreet.serve.doors.upstream import Upstream
from discreet.serve.gate import Gate, not_judged
from discreet.serve.keys import Caller
from discreet.serve.limits import Fields, Many, RefusedError, answers_of
from discreet.serve.outcome import details
from discreet.serve.roles import CallerOf

FIXED = ("harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
         "self-harm/intent", "self-harm/instructions", "sexual", "sexual/minors", "violence", "violence/graphic")
"""OpenAI's categories, which strict clients expect in every result; discreet never says any of them."""

OURS = ("moderation", "discreet")
"""Fields of a request that the model does not get."""


class Completion(Fields):
    """A request for a completion. Everything but `moderation` and `discreet` goes to the model as it is."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(max_length=200)
    messages: Many[dict[str, Any]] = Field(min_length=1)
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    tools: Many[dict[str, Any]] | None = None
    functions: Many[dict[str, Any]] | None = None
    documents: Any = None
    user: Any = None
    safety_identifier: Any = None
    discreet: Declaration | None = None


class Part(Fields):
    """A part of a moderation's input: text, for images are not judged."""

    type: Literal["text"]
    text: str


class Moderation(Known):
    """Texts to judge; `model` finds the guard. As OpenAI does, unknown fields are refused: who sends `sources` must not
    believe that they are read."""

    input: str | Annotated[Many[str], Field(min_length=1)] | Annotated[Many[Part], Field(min_length=1)]
    model: str | None = Field(None, max_length=200)


class ModerationResult(BaseModel):
    """What is said of one text; `details` are for the operator's role only."""

    flagged: bool
    categories: dict[str, bool]
    category_scores: dict[str, float]
    category_applied_input_types: dict[str, list[str]]
    details: dict[str, Any] | None = None


class Moderations(BaseModel):
    """What is said of texts, in their order."""

    id: str
    model: str
    results: list[ModerationResult]


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


class Chat(Protocol):
    """Chat completions; with `usage` a stream ends with the tokens that were used."""

    def __init__(self, usage: bool) -> None:
        self._usage = usage

    def events(self, reply: Reply) -> Iterator[bytes]:
        """Chunks, and the word that ends them."""
        for chunk in chat.chunks_of(reply.completion, usage=self._usage):
            yield event(chunk)
        yield b"data: [DONE]\n\n"


def router(gate: Gate, upstream: Upstream | None) -> APIRouter:
    """`/v1/moderations`, `/v1/models` and each of them where there is an upstream, and `/v1/chat/completions` where it
    has these; each also behind `/guards/{guard}`."""
    routes = APIRouter(tags=["openai"], dependencies=[Depends(refuse_unread())])

    alone: dict[str, Any] = {"responses": answers_of(404), "response_model": Moderations, "dependencies": [
        Depends(refuse_unread(WORDS_HEADER, CONVERSATION_HEADER))]}

    @routes.post("/v1/moderations", **alone)
    async def moderations(body: Annotated[Moderation, Body()], caller: CallerOf, user: UserHeader = None
                          ) -> JSONResponse:
        """Judge texts by the guard of the key, of `model`, or the default."""
        return await _moderated(gate, caller, body, None, user)

    @routes.post("/guards/{guard}/v1/moderations", **alone)
    async def moderations_by(guard: Name, body: Annotated[Moderation, Body()], caller: CallerOf,
                             user: UserHeader = None) -> JSONResponse:
        """Judge texts by a guard."""
        return await _moderated(gate, caller, body, guard, user)

    if upstream is None:
        return routes
    statuses = answers_of(404, 502, 504)
    answered = {**statuses, **ANSWERED}

    @routes.get("/v1/models", responses=statuses, response_model=Models)
    async def models(caller: CallerOf) -> Models:
        """The names of the models behind the proxy, as the upstream lists them; nothing else of the list is passed."""
        return Models(data=[Model(id=name) for name in await upstream.models()])

    @routes.get("/guards/{guard}/v1/models", responses=statuses, response_model=Models)
    async def models_by(guard: Name, caller: CallerOf) -> Models:
        """The same for clients whose base address names a guard."""
        gate.route(caller, None, guard)
        return await models(caller)

    @routes.get("/v1/models/{model:path}", responses=statuses, response_model=Model)
    async def one_model(model: str, caller: CallerOf) -> Model:
        """One of these by its name, which may hold slashes."""
        for found in (await models(caller)).data:
            if found.id == model:
                return found
        raise RefusedError(404, "model_not_found", "the upstream lists no such model; GET /v1/models says which")

    @routes.get("/guards/{guard}/v1/models/{model:path}", responses=statuses, response_model=Model)
    async def one_model_by(guard: Name, model: str, caller: CallerOf) -> Model:
        """The same for clients whose base address names a guard."""
        gate.route(caller, None, guard)
        return await one_model(model, caller)

    if upstream.kind == "anthropic":
        return routes

    @routes.post("/v1/chat/completions", responses=answered, response_model=None)
    async def chat_completions(body: Annotated[Completion, Body()], caller: CallerOf, request: Request,
                          words: WordsHeader = None, user: UserHeader = None) -> Response:
        """Ask the model; the answer is judged by the guard of the key, of `model`, or the default."""
        return await _completed(gate, upstream, caller, body, None, request, words, user)

    @routes.post("/guards/{guard}/v1/chat/completions", responses=answered, response_model=None)
    async def chat_completions_by(guard: Name, body: Annotated[Completion, Body()], caller: CallerOf, request: Request,
                             words: WordsHeader = None, user: UserHeader = None) -> Response:
        """Ask the model; the answer is judged by a guard."""
        return await _completed(gate, upstream, caller, body, guard, request, words, user)

    return routes


async def _completed(gate: Gate, upstream: Upstream, caller: Caller, body: Completion, path: str | None,
                     request: Request, words: list[str] | None, user: str | None) -> Response:
    refuse_misplaced(body.model_extra or ())
    given = body.model_dump(exclude_unset=True)
    kept = {name: value for name, value in given.items() if name not in OURS and value is not None}
    sent = Sent(body.model, body.messages, kept, body.discreet, body.documents, (body.safety_identifier, body.user))
    protocol = Chat(bool((body.stream_options or {}).get("include_usage")))
    proxied = Proxied.of(gate, upstream, caller, path, sent, protocol, request, words, user)
    return await proxied.response(request, streams=bool(body.stream))


async def _moderated(gate: Gate, caller: Caller, body: Moderation, path: str | None, user: str | None
                     ) -> JSONResponse:
    guard = gate.route(caller, body.model, path)
    given = [body.input] if isinstance(body.input, str) else body.input
    texts = [one if isinstance(one, str) else one.text for one in given]
    if not 1 <= len(texts) <= gate.settings.limits.texts:
        raise RefusedError(413 if texts else 422, "texts", f"{len(texts)} texts; expected 1 to "
                           f"{gate.settings.limits.texts}")
    request = uuid4().hex
    answers = [Answer(f"{request}-{number}", text) for number, text in enumerate(texts)]
    outcome = await gate.decide(caller, guard, answers, door="moderations", user=end_user(user))
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
