"""OpenAI's own client, unchanged, run in its environment: requests in as JSON lines, what the caller gets out as JSON lines.

    python ask_openai.py < requests.jsonl > replies.jsonl
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openai import APIError, OpenAI

Row = dict[str, Any]


def asked(given: Row) -> Row:
    client = OpenAI(base_url=given["url"], api_key=given["key"], max_retries=0)
    try:
        parts, choices = _received(client, given)
    except APIError as error:
        return {"code": "error", "status": getattr(error, "status_code", None), "text": str(error)}
    moderation = next(one for part in parts if (one := part.model_dump().get("moderation")))
    categories = moderation["output"]["results"][0]["categories"]
    code = next((name for name, is_so in categories.items() if is_so), "ok")
    texts = [(one.delta if given["stream"] else one.message).content or "" for one in choices]
    return {"code": code, "finish": choices[-1].finish_reason, "text": "".join(texts)}


def _received(client: Any, given: Row) -> tuple[list[Any], list[Any]]:
    found = client.chat.completions.create(model=given["model"], messages=given["messages"], stream=given["stream"],
                                           extra_body=given["extra"])
    parts = list(found) if given["stream"] else [found]
    return parts, [choice for part in parts for choice in part.choices]


def main() -> None:
    with ThreadPoolExecutor(4) as threads:
        for reply in threads.map(asked, map(json.loads, sys.stdin)):
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
