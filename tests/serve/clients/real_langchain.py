"""LangChain's chat models of OpenAI and Anthropic, run by `real_client.py`."""

from __future__ import annotations

from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI


def model_of(door: str, url: str, key: str) -> Any:
    """The chat model as its user makes it, but for the address."""
    if door == "messages":
        return ChatAnthropic(model="tiny", base_url=url, api_key=key, max_tokens=50, max_retries=0)
    return ChatOpenAI(model="tiny", base_url=f"{url}/v1", api_key=key, max_retries=0,
                      use_responses_api=door == "responses")


def heard(door: str, url: str, key: str, question: str, stream: bool) -> dict[str, Any]:
    """The answer's text, and how it ended."""
    model = model_of(door, url, key)
    found = model.invoke(question)
    if stream:
        parts = list(model.stream(question))
        found = parts[0]
        for part in parts[1:]:
            found += part
    about = found.response_metadata
    end = about.get({"messages": "stop_reason", "responses": "status"}.get(door, "finish_reason"))
    return {"text": found.text, "end": end}
