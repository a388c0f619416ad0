"""Messages of Anthropic's own endpoint: what of a request is sent, and an answer's blocks. Pure functions of JSON.

An answer is read as a chat completion, so that it is judged, withheld and reviewed as every other. Its blocks are kept
next to that (`native`) and go out with it where nothing of it was changed.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.serve.doors import chat
from discreet.serve.doors.blocks import THOUGHTS, object_of
from discreet.serve.doors.chat import Json, as_list, as_number, as_object, as_text
from discreet.serve.limits import RefusedError

SENT = {"user": ("text", "image", "document", "search_result", "tool_result"),
        "assistant": ("text", "tool_use", *THOUGHTS)}
"""Blocks of a message by its role; the others are files by their id, and calls of tools that the provider runs."""
SOURCES = {"image": ("base64", "url"), "document": ("base64", "text", "content")}
"""Where the content of a block may stand. What a document at an address says would be words that nobody here knows."""
REASONS = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal", "model_context_window_exceeded")
CITATIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "char_location": (("cited_text", "document_title"), ("document_index", "start_char_index", "end_char_index")),
    "page_location": (("cited_text", "document_title"), ("document_index", "start_page_number", "end_page_number")),
    "content_block_location": (("cited_text", "document_title"),
                               ("document_index", "start_block_index", "end_block_index")),
    "search_result_location": (("cited_text", "title", "source"),
                               ("search_result_index", "start_block_index", "end_block_index"))}
"""Of a kind of citation the fields with text, which are judged, and those with a number."""
_OPAQUE = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")


def check(body: Json) -> None:
    """Look at the blocks and tools of a request. Raises RefusedError for those that are not passed on."""
    for message in body["messages"]:
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or role not in SENT:
            raise _refused("a message of this role", "user or assistant; instructions stand in system")
        if not isinstance(content, str):
            _check_blocks(content, SENT[role])
    if not isinstance(body.get("system", ""), str):
        _check_blocks(body["system"], ("text",))
    for tool in body.get("tools", ()):
        if tool.get("type", "custom") != "custom" or not isinstance(tool.get("name"), str):
            raise _refused("a tool that the provider runs", "tools with name and input_schema")


def _check_blocks(content: Any, kinds: Sequence[str], deepest: int = 5) -> None:
    for block in content if isinstance(content, list) else [content]:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in kinds or not deepest:
            raise _refused("a block of this type", f"{', '.join(kinds)}, each of them whole")
        source = block.get("source")
        if kind in SOURCES:
            if not isinstance(source, dict) or source.get("type") not in SOURCES[kind]:
                raise _refused(f"a {kind} that is not whole", f"a source of the type {' or '.join(SOURCES[kind])}")
            if not isinstance(source.get("content", ""), str):
                _check_blocks(source["content"], ("text", "image"), deepest - 1)
        if kind == "search_result" or (kind == "tool_result" and not isinstance(block.get("content") or "", str)):
            _check_blocks(block.get("content"), SENT["user"][:4], deepest - 1)


def _refused(what: str, expected: str) -> RefusedError:
    """422; `what` is a word of ours, never the client's."""
    return RefusedError(422, "unsupported", f"{what} is not passed to the model; expected {expected}")


def cleaned(found: Json, tools: frozenset[str], model: str, *, thoughts: bool, stops: Sequence[str]) -> Json:
    """A message of Anthropic as a chat completion with the allowed fields, and its blocks as `native`.

    Its text is that of all text blocks in one piece, which citations cut anywhere. With `thoughts` what it reasoned is
    among the blocks; it is judged in any case. `stops` are the sequences of the request that may end an answer. Raises
    MalformedError as `chat.cleaned`, and for blocks of other types.
    """
    blocks = [_block(as_object(one)) for one in chat.few(as_list(found.get("content")))]
    calls = [one for one in blocks if one["type"] == "tool_use"]
    texts = [one["text"] for one in blocks if one["type"] == "text"]
    thought = "\n\n".join(one["thinking"] for one in blocks if one.get("thinking"))
    completion = chat.cleaned({"model": found.get("model"), "usage": _usage(found.get("usage")), "choices": [{
        "finish_reason": found.get("stop_reason"), "message": {
            "content": "".join(texts), "reasoning": thought or None, "tool_calls": [
                {"id": one["id"], "function": {"name": one["name"], "arguments": one["input"]}} for one in calls]}}]},
        tools, model)
    message = completion["choices"][0]["message"]
    for block, call in zip(calls, message.get("tool_calls", ()), strict=True):
        block["id"] = call["id"]  # Another one, which the model may have written, was replaced.
    message["cited"] = [text for one in blocks for cited in one.get("citations") or () for text in _texts(cited)]
    stop, reason = found.get("stop_sequence"), str(found["stop_reason"]).lower()
    message["native"] = {
        "content": [one for one in blocks if thoughts or one["type"] not in THOUGHTS],
        **({"stop_reason": reason} if reason in REASONS else {}), "stop_sequence": stop if stop in stops else None}
    return completion


def _block(given: Json) -> Json:
    """A block with the allowed fields. Raises MalformedError for one of another type."""
    kind = given.get("type")
    if kind == "text":
        cited = given.get("citations")
        known = None if cited is None else [
            found for one in chat.few(as_list(cited)) if (found := _citation(as_object(one)))]
        return {"type": kind, "text": as_text(given.get("text")) or "", "citations": known}
    if kind == "thinking":
        return {"type": kind, "thinking": as_text(given.get("thinking")) or "",
                "signature": _opaque(given.get("signature"))}
    if kind == "redacted_thinking":
        return {"type": kind, "data": _opaque(given.get("data"))}
    if kind == "tool_use":
        return {"type": kind, "id": given.get("id"), "name": given.get("name"), "input": _input(given.get("input"))}
    raise chat.MalformedError("block")


def _input(given: Any) -> Json:
    """The arguments of a call as they came, but for halves of a surrogate pair."""
    try:
        said = json.dumps(as_object(given), ensure_ascii=False)
    except RecursionError:
        raise chat.MalformedError("arguments") from None
    return object_of(as_text(said) or "")


def _citation(given: Json) -> Json | None:
    """A citation with the allowed fields; None for one of another kind, which is left out."""
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in CITATIONS:
        return None
    texts, numbers = CITATIONS[kind]
    return {"type": kind, **{name: as_text(given.get(name)) for name in texts},
            **{name: as_number(given.get(name)) or 0 for name in numbers}}


def _texts(citation: Json) -> Iterator[str]:
    yield from (citation[name] for name in CITATIONS[citation["type"]][0] if citation[name])


def _opaque(given: Any) -> str:
    """A signature, or thoughts that are encrypted; nothing where it may be a text: random Base64 has digits all over
    (10 of 64 characters) and stands for bytes that are no text."""
    if not isinstance(given, str) or not _OPAQUE.fullmatch(given) or sum(map(str.isdigit, given)) < len(given) / 20:
        return ""
    try:
        base64.urlsafe_b64decode(given.replace("+", "-").replace("/", "_") + "==").decode()
    except UnicodeDecodeError:
        return given
    except ValueError:
        pass
    return ""


def _usage(given: Any) -> Json:
    """Counts under the names of chat completions, whose count of the prompt is with what came from a cache."""
    usage = given if isinstance(given, dict) else {}
    new, read, written, said = (as_number(usage.get(name)) or 0 for name in (
        "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"))
    prompt = new + read + written
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said,
            "prompt_tokens_details": {"cached_tokens": read, "cache_creation_tokens": written}}
