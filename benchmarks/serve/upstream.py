"""A model that answers at once: an OpenAI-compatible endpoint for measuring what the proxy adds.

The user's message is the number of a line in the file of answers. Started by load.py.

    python -m benchmarks.serve.upstream ANSWERS PORT
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def app(answers: list[str]) -> Starlette:
    async def chat(request: Request) -> Response:
        body = json.loads(await request.body())
        said = answers[int(body["messages"][-1]["content"])]
        if body.get("stream"):
            return Response(b"".join(chunks(said)), media_type="text/event-stream")
        return JSONResponse({
            "id": "chatcmpl-0", "object": "chat.completion", "created": int(time.time()), "model": "stub",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": len(said.split()), "total_tokens": 1 + len(said.split())}})

    def chunks(said: str) -> Iterator[bytes]:
        for part in (*re.findall(r"\s*\S+", said), None):
            choice = {"index": 0, "delta": {"content": part or ""}, "finish_reason": None if part else "stop"}
            yield b"data: " + json.dumps({"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1, "model": "stub",
                                          "choices": [choice]}).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(app(json.loads(Path(sys.argv[1]).read_text("utf-8"))), host="127.0.0.1", port=int(sys.argv[2]),
                log_level="warning", access_log=False)
