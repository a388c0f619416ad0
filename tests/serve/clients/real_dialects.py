"""OpenAI's and Anthropic's own clients at the doors beside chat, run by `real_client.py`."""

from __future__ import annotations

from typing import Any

import anthropic
import openai


def responses(client: Any, question: str, stream: bool) -> dict[str, Any]:
    """`client.responses`."""
    if not stream:
        found = client.responses.create(model="tiny", input=question)
        return {"text": found.output_text, "end": found.status}
    events = list(client.responses.create(model="tiny", input=question, stream=True))
    text = "".join(one.delta for one in events if one.type == "response.output_text.delta")
    found = events[-1].response
    assert text == found.output_text
    if found.status == "completed":  # The client's own helper raises for any other end.
        with client.responses.stream(model="tiny", input=question) as again:
            assert again.get_final_response().output_text == text
    return {"text": text, "end": found.status}


def completions(client: Any, question: str, stream: bool) -> dict[str, Any]:
    """`client.completions`."""
    found = client.completions.create(model="tiny", prompt=question, stream=stream)
    choices = [one.choices[0] for one in found] if stream else found.choices
    return {"text": "".join(one.text for one in choices), "end": choices[-1].finish_reason}


def embeddings(client: Any, question: str, stream: bool) -> dict[str, Any]:
    """`client.embeddings`, which asks for base64 by itself."""
    found = client.embeddings.create(model="tiny", input=question)
    return {"text": found.data[0].embedding, "end": len(client.models.list().data) if stream else 0}


def messages(client: Any, question: str, stream: bool) -> dict[str, Any]:
    """`client.messages` of Anthropic."""
    asked: dict[str, Any] = {"model": "tiny", "max_tokens": 50, "messages": [{"role": "user", "content": question}]}
    if not stream:
        found = client.messages.create(**asked)
        return {"text": found.content[0].text, "end": found.stop_reason}
    with client.messages.stream(**asked) as events:
        text = "".join(events.text_stream)
        found = events.get_final_message()
    assert text == found.content[0].text
    return {"text": text, "end": found.stop_reason}


ASK = {"responses": responses, "completions": completions, "embeddings": embeddings, "messages": messages}


def heard(door: str, url: str, key: str, question: str, stream: bool) -> dict[str, Any]:
    """The answer's text, and how it ended."""
    given = {"api_key": key, "max_retries": 0}
    client: Any = (anthropic.Anthropic(base_url=url, **given) if door == "messages"
                   else openai.OpenAI(base_url=f"{url}/v1", **given))
    return ASK[door](client, question, stream)
