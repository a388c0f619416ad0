"""LlamaIndex's models of OpenAI and Anthropic, run by `real_client.py`."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.openai import OpenAI, OpenAIResponses

KNOWN = {"messages": "claude-3-5-haiku-latest"}
"""LlamaIndex looks up the length of a context by the name of the model."""


def model_of(door: str, url: str, key: str) -> Any:
    """The model as its user makes it, but for the address."""
    if door == "messages":
        return Anthropic(model=KNOWN[door], base_url=url, api_key=key, max_tokens=50, max_retries=0)
    kind = OpenAIResponses if door == "responses" else OpenAI
    return kind(model="gpt-4o-mini", api_base=f"{url}/v1", api_key=key, max_retries=0)


def heard(door: str, url: str, key: str, question: str, stream: bool) -> dict[str, Any]:
    """The answer's text, and how it ended."""
    model = model_of(door, url, key)
    asked = [ChatMessage(role="user", content=question)]
    if not stream:
        found = model.chat(asked)
        return {"text": found.message.content, "end": end_of(door, found)}
    parts = list(model.stream_chat(asked))
    return {"text": "".join(one.delta or "" for one in parts), "end": end_of(door, parts[-1])}


def end_of(door: str, found: Any) -> str | None:
    """How the answer ended, where LlamaIndex hands that on."""
    raw = found.raw if isinstance(found.raw, dict) else dict(found.raw or {})
    if door == "messages":
        return raw.get("stop_reason")
    return getattr(raw.get("response"), "status", raw.get("status"))
