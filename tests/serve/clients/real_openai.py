"""OpenAI's own client, run by `real_client.py`."""

from __future__ import annotations

from typing import Any

from openai import OpenAI


def heard(url: str, key: str, question: str, stream: bool, extra: Any) -> dict[str, Any]:
    """The answer to a question, streamed or not."""
    ask: dict[str, Any] = {"model": "tiny", "messages": [{"role": "user", "content": question}], "extra_body": extra}
    client: Any = OpenAI(base_url=url, api_key=key, max_retries=0)
    if not stream:
        parts = [client.chat.completions.create(**ask)]
    else:
        parts = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    choices = [choice for part in parts for choice in part.choices]
    texts = [(one.delta if stream else one.message).content for one in choices]
    said = [part.model_dump() for part in parts]
    return {"text": "".join(text or "" for text in texts), "finish": choices[-1].finish_reason,
            "moderation": next((one["moderation"] for one in said if one.get("moderation")), None),
            "tokens": next(one["usage"]["total_tokens"] for one in said if one.get("usage"))}
