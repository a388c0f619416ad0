"""A model for tests, on the loopback: what it answers, and how it fails, follows from the request alone."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

Json = dict[str, Any]
FAULTS = {"length": 0.05, "content_filter": 0.03, "none": 0.03, "malformed": 0.03, "cut": 0.03, "refused": 0.02}
"""Share of requests that fail for good, by how."""


def words(seed: str, n: int = 90) -> str:
    """A text that follows from `seed` and is like no other."""
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("ghijklmnopqrstuv", k=6)) for _ in range(n)) + "."


class Scripted:
    """Answers by `say(body)`; `asked` counts requests by body, `most` is how many were under way at once.

    `busy` is the share that is first turned away with 429, `faults` the shares that fail, `seconds` how long an answer
    takes with `room` others; beyond that it takes longer in proportion, without a word.
    """

    def __init__(self, say: Callable[[Json], str] | None = None, *, faults: dict[str, float] | None = None,
                 busy: float = 0.0, seconds: float = 0.0, room: int = 10**9, usage: bool = True) -> None:
        self.say = say or (lambda body: words(json.dumps({**body, "stream": None, "stream_options": None})))
        self.faults, self.busy, self.seconds, self.room, self.usage = faults or {}, busy, seconds, room, usage
        self.asked: Counter[str] = Counter()
        self.turned_away: set[str] = set()
        self.down = False
        self.now = self.most = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            answer = await self._answer(json.loads(await request.body()))
            await answer(scope, receive, send)
        finally:
            self.now -= 1

    async def _answer(self, body: Json) -> Response:
        name = json.dumps(body, sort_keys=True)
        draw = random.Random(crc32(name.encode()))
        if self.down:
            return JSONResponse({"error": {"message": "down"}}, 503, {"Retry-After": "0"})
        if draw.random() < self.busy and name not in self.turned_away:
            self.turned_away.add(name)
            return JSONResponse({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"})
        self.asked[name] += 1
        if self.seconds:
            await asyncio.sleep(self.seconds * max(1.0, self.now / self.room))
        fault, at = None, draw.random()
        for one, share in self.faults.items():
            if (at := at - share) < 0:
                fault = one
                break
        if fault == "refused":
            return JSONResponse({"error": {"message": "no"}}, 400)
        if fault == "malformed":
            return Response(b'{"choices": [', media_type="application/json")
        text = self.say(body)
        finish = {"length": "length", "content_filter": "content_filter", "none": None}.get(str(fault), "stop")
        usage = {"prompt_tokens": 100, "completion_tokens": len(text.split())} if self.usage else None
        if body.get("stream"):
            return StreamingResponse(_events(text, finish, usage, cut=fault == "cut"), media_type="text/event-stream")
        if fault == "cut":
            return Response(b"{", headers={"content-length": "99"}, media_type="application/json")
        return JSONResponse({"choices": [{"index": 0, "message": {"role": "assistant", "content": text},
                                          "finish_reason": finish}], **({"usage": usage} if usage else {})})


def _events(text: str, finish: str | None, usage: Json | None, *, cut: bool) -> Iterator[bytes]:
    half = len(text) // 2
    for part in (text[:half], text[half:]):
        yield b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": part}}]}).encode() + b"\n\n"
        if cut:
            return
    yield b"data: " + json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}).encode() + b"\n\n"
    if usage:
        yield b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an application, such as `Scripted`, on the loopback, served by a thread."""
    # Setting up logging would close handlers of others, such as absl's, and the stream of a captured test with them.
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()
