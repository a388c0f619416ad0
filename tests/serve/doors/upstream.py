"""A model for tests: an ASGI application that answers chat completions as it is told, streamed or not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

Json = dict[str, Any]


def completion(*texts: str, **message: Any) -> Json:
    """A completion with one choice a text; `message` adds fields to each message."""
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "tiny",
            "choices": [{"index": i, "message": {"role": "assistant", "content": text, **message},
                         "finish_reason": "stop", "logprobs": None} for i, text in enumerate(texts)],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7,
                      "completion_tokens_details": {"reasoning_tokens": 1}}}


def chunks(text: str, size: int = 7) -> list[Json]:
    """The chunks of a stream of one choice."""
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "obfuscation": "xxxx"}
    parts = [{"role": "assistant", "content": ""},
             *({"content": text[i : i + size]} for i in range(0, len(text), size))]
    out = [{**base, "choices": [{"index": 0, "delta": part, "finish_reason": None}]} for part in parts]
    return [*out, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {**base, "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}]


def events(parts: list[Json], end: bytes = b"data: [DONE]\n\n") -> bytes:
    """Chunks as server-sent events."""
    return b"".join(b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts) + end


class Model:
    """Answers with what `say` makes of a request; keeps the requests."""

    def __init__(self, say: Callable[[Json], Any]) -> None:
        self.say, self.asked, self.headers = say, list[Json](), list[dict[str, str]]()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        body = await request.json()
        self.asked.append(body)
        self.headers.append(dict(request.headers))
        said = self.say(body)
        if isinstance(said, str):
            said = events(chunks(said)) if body.get("stream") else completion(said)
        if isinstance(said, bytes):
            said = StreamingResponse(_slowly(said), media_type="text/event-stream")
        await (said if isinstance(said, Response) else JSONResponse(said))(scope, receive, send)

    @property
    def transport(self) -> httpx.AsyncBaseTransport:
        """The network to it."""
        return httpx.ASGITransport(self)


async def _slowly(data: bytes, size: int = 50) -> AsyncIterator[bytes]:
    for i in range(0, len(data), size):
        yield data[i : i + size]
        await asyncio.sleep(0)
