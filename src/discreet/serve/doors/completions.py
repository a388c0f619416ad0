"""`/v1/completions`, the older door of text without messages, and `/v1/embeddings`, which gives numbers only."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.serve.doors.chat import Json, MalformedError, as_list, as_number, as_object
from discreet.serve.doors.check import Name
from discreet.serve.doors.declared import Declaration, UserHeader, WordsHeader
from discreet.serve.doors.proxy import ANSWERED, Protocol, Proxied, Reply, Sent, event
from discreet.serve.doors.unread import refuse_misplaced, refuse_unread
from discreet.serve.doors.upstream import Upstream
from discreet.serve.gate import Gate
from discreet.serve.limits import Fields, Many, answers_of
from discreet.serve.roles import CallerOf


class TextCompletion(Fields):
    """A request for a text that continues `prompt`. A prompt has no roles, so nothing in it is the user's words unless
    `discreet` declares it. Everything but `discreet` and `stream` goes to the model as it is."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(max_length=200)
    prompt: str | Many[str] = Field(description="Text; tokens cannot be read, and are refused.")
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    user: Any = None
    discreet: Declaration | None = None


class Embedding(Fields):
    """A request for embeddings. It goes to the model as it is: inputs are not judged, and answers are numbers."""

    model: str = Field(max_length=200)
    input: str | Many[str] | Many[int] | Many[Many[int]]
    dimensions: int | None = None
    encoding_format: Literal["float", "base64"] | None = None
    user: str | None = None


class Vector(BaseModel):
    """The vector of one input: numbers, or the base64 of 32-bit floats."""

    object: Literal["embedding"]
    index: int
    embedding: str | list[float]


class Embeddings(BaseModel):
    """Vectors, and how many tokens they took."""

    object: Literal["list"]
    model: str
    usage: dict[str, int]
    data: list[Vector]


class Text(Protocol):
    """Texts; with `usage` a stream ends with the tokens that were used."""

    name, path = "completions", "completions"

    def __init__(self, usage: bool) -> None:
        self._usage = usage

    def read(self, found: Json) -> Json:
        """Each text as the message of a choice."""
        return {**found, "choices": [
            {"finish_reason": one.get("finish_reason"), "message": {"content": one.get("text")}}
            for one in map(as_object, as_list(found.get("choices")))]}

    def whole(self, reply: Reply) -> Json:
        """A text completion."""
        given = reply.completion
        choices = [{"index": one["index"], "text": _text(one["message"]["content"]), "logprobs": None,
                    "finish_reason": one["finish_reason"]} for one in given["choices"]]
        kept: Json = {name: given[name] for name in ("created", "model", "usage", "moderation") if name in given}
        return {"id": given["id"].replace("chatcmpl", "cmpl"), "object": "text_completion", **kept, "choices": choices}

    def events(self, reply: Reply) -> Iterator[bytes]:
        """One chunk a choice, and the word that ends them."""
        found = self.whole(reply)
        usage = found.pop("usage", None)
        for one in found["choices"]:
            yield event({**found, "choices": [one]})
        if self._usage and usage is not None:
            yield event({**found, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"


def _text(content: Any) -> str:
    """The text of a message whose content is a string, or parts."""
    return "".join(part[part["type"]] for part in content) if isinstance(content, list) else content or ""


def router(gate: Gate, upstream: Upstream) -> APIRouter:
    """`/v1/completions` and `/v1/embeddings`; the first also behind `/guards/{guard}`."""
    routes = APIRouter(tags=["openai"], dependencies=[Depends(refuse_unread())])
    statuses = answers_of(404, 502, 504)
    answered = {**statuses, **ANSWERED}

    @routes.post("/v1/completions", responses=answered, response_model=None)
    async def completions(body: Annotated[TextCompletion, Body()], caller: CallerOf, request: Request,
                          words: WordsHeader = None, user: UserHeader = None) -> Response:
        """Ask the model to continue a text; it is judged by the guard of the key, of `model`, or the default."""
        return await _proxied(gate, upstream, body, caller, None, request, words, user)

    @routes.post("/guards/{guard}/v1/completions", responses=answered, response_model=None)
    async def completions_by(guard: Name, body: Annotated[TextCompletion, Body()], caller: CallerOf, request: Request,
                             words: WordsHeader = None, user: UserHeader = None) -> Response:
        """Ask the model to continue a text; the answer is judged by a guard."""
        return await _proxied(gate, upstream, body, caller, guard, request, words, user)

    @routes.post("/v1/embeddings", responses=statuses, response_model=Embeddings)
    async def embeddings(body: Annotated[Embedding, Body()], caller: CallerOf) -> Response:
        """Ask the model for embeddings. Nothing is judged: the answer is numbers, and the rest of it is dropped."""
        return await _embedded(upstream, body)

    @routes.post("/guards/{guard}/v1/embeddings", responses=statuses, response_model=Embeddings)
    async def embeddings_by(guard: Name, body: Annotated[Embedding, Body()], caller: CallerOf) -> Response:
        """The same for clients whose base address names a guard; it has nothing to judge."""
        gate.route(caller, body.model, guard)
        return await _embedded(upstream, body)

    return routes


async def _proxied(gate: Gate, upstream: Upstream, body: TextCompletion, caller: CallerOf, path: str | None,
                   request: Request, words: list[str] | None, user: str | None) -> Response:
    refuse_misplaced(body.model_extra or ())
    given = body.model_dump(exclude_unset=True, exclude={"discreet", "stream_options"})
    prompts = [body.prompt] if isinstance(body.prompt, str) else body.prompt
    # A list of messages without a role: of an unknown origin. The model need not stream what is held.
    sent = Sent(body.model, [{"content": one} for one in prompts], given | {"stream": False}, body.discreet,
                users=(body.user,))
    protocol = Text(bool((body.stream_options or {}).get("include_usage")))
    proxied = Proxied.of(gate, upstream, caller, path, sent, protocol, request, words, user)
    return await proxied.response(request, streams=bool(body.stream))


async def _embedded(upstream: Upstream, body: Embedding) -> Response:
    given = body.model_dump(exclude_unset=True)
    return JSONResponse(await upstream.numbers("embeddings", given, lambda found: _embeddings(found, body.model)))


def _embeddings(found: Json, model: str) -> Json:
    """The vectors and counts of an answer. Raises MalformedError for anything else in their place."""
    usage = as_object(found.get("usage") or {})
    counts = {name: as_number(usage.get(name)) or 0 for name in ("prompt_tokens", "total_tokens")}
    vectors = [as_object(one).get("embedding") for one in as_list(found.get("data"))]
    return {"object": "list", "model": model, "usage": counts, "data": [
        {"object": "embedding", "index": number, "embedding": _vector(one)} for number, one in enumerate(vectors)]}


def _vector(given: Any) -> str | list[float]:
    """Finite numbers, or the base64 of 32-bit floats: as they came."""
    try:
        if isinstance(given, str):
            raw = base64.b64decode(given, validate=True)
            numbers = list(struct.unpack(f"<{len(raw) // 4}f", raw))
        else:
            numbers = [float(one) if isinstance(one, int | float) else math.nan for one in as_list(given)]
    except (ValueError, OverflowError, struct.error):
        raise MalformedError("embedding") from None
    if not numbers or not all(map(math.isfinite, numbers)):
        raise MalformedError("embedding")
    return given if isinstance(given, str) else numbers
