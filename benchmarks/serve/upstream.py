"""A model that answers at once: an OpenAI-compatible endpoint for measuring what the proxy adds.

The user's message is the number of a line in the file of answers. Started by load.py.

    python -m benchmarks.serve.upstream ANSWERS PORT
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


def app(answers: list[str]) -> Starlette:
    async def chat(request: Request) -> JSONResponse:
        asked = json.loads(await request.body())["messages"][-1]["content"]
        said = answers[int(asked)]
        return JSONResponse({
            "id": "chatcmpl-0", "object": "chat.completion", "created": int(time.time()), "model": "stub",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": len(said.split()), "total_tokens": 1 + len(said.split())}})

    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(app(json.loads(Path(sys.argv[1]).read_text("utf-8"))), host="127.0.0.1", port=int(sys.argv[2]),
                log_level="warning", access_log=False)
