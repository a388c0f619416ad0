"""OpenAI's own client, run in its environment: questions in as JSON lines, what was heard out as JSON lines."""

from __future__ import annotations

import json
import sys
from typing import Any

from openai import APIError, OpenAI


def heard(client: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The answer to a question, streamed or not."""
    ask: dict[str, Any] = {"model": "tiny", "messages": [{"role": "user", "content": given["question"]}],
                           "extra_body": given["extra"]}
    if not given["stream"]:
        raw = client.chat.completions.with_raw_response.create(**ask)
        parts = [raw.parse()]
        headers = raw.headers
    else:
        stream = client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True})
        headers, parts = stream.response.headers, list(stream)
    choices = [choice for part in parts for choice in part.choices]
    texts = [(one.delta if given["stream"] else one.message).content for one in choices]
    said = [part.model_dump() for part in parts]
    return {"text": "".join(text or "" for text in texts), "finish": choices[-1].finish_reason,
            "headers": {name: value for name, value in headers.items() if name.startswith("x-discreet")},
            "moderation": next((one["moderation"] for one in said if one.get("moderation")), None),
            "tokens": next(one["usage"]["total_tokens"] for one in said if one.get("usage"))}


for line in sys.stdin:
    asked = json.loads(line)
    try:
        found = heard(OpenAI(base_url=asked["url"], api_key=asked["key"], max_retries=0), asked)
    except APIError as error:
        found = {"error": error.code, "status": getattr(error, "status_code", None), "text": str(error)}
    print(json.dumps(found), flush=True)
