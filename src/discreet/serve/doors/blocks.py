"""Blocks of Anthropic's messages as chat messages, and an answer's message as blocks. Pure functions of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.serve.doors.chat import REASONING, Json, MalformedError
from discreet.serve.doors.items import unsupported

THOUGHTS = ("thinking", "redacted_thinking")
"""Blocks that only the model that wrote them reads: they are not sent on."""


def messages_of(given: Sequence[Json]) -> list[Json]:
    """Messages as chat messages: results of tools are messages of their own, before what the user says with them.
    Raises RefusedError for a block of another type, or without what it needs."""
    made: list[Json] = []
    for one in given:
        role, content = one.get("role"), one.get("content")
        if role not in ("user", "assistant"):
            raise unsupported("a message of this role", "user or assistant; instructions stand in system")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise unsupported("a message without content", "a string, or a list of blocks")
        made += _spoken(blocks) if role == "assistant" else _asked(blocks)
    return made


def _spoken(blocks: Sequence[Json]) -> list[Json]:
    """An earlier answer."""
    texts, calls = [], []
    for block in blocks:
        if block.get("type") == "text":
            texts.append(_string(block, "text"))
        elif block.get("type") == "tool_use":
            calls.append({"id": _string(block, "id"), "type": "function", "function": {
                "name": _string(block, "name"), "arguments": json.dumps(block.get("input") or {}, ensure_ascii=False)}})
        elif block.get("type") not in THOUGHTS:
            raise unsupported("a block of this type in an earlier answer", "text, tool_use or thinking")
    return [{"role": "assistant", "content": "\n\n".join(texts) or None, **({"tool_calls": calls} if calls else {})}]


def _asked(blocks: Sequence[Json]) -> list[Json]:
    """What a user sends: results of tools, and parts."""
    results = [{"role": "tool", "tool_call_id": _string(block, "tool_use_id"), "content": text_of(block.get("content"))}
               for block in blocks if block.get("type") == "tool_result"]
    parts = [part for block in blocks if block.get("type") != "tool_result" for part in _parts(block)]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return [*results, {"role": "user", "content": parts[0]["text"]}]
    return [*results, {"role": "user", "content": parts}] if parts else results


def _parts(block: Json) -> Iterator[Json]:
    kind, source = block.get("type"), block.get("source")
    where = source.get("type") if isinstance(source, dict) else None
    if kind == "text":
        yield {"type": "text", "text": _string(block, "text")}
    elif kind == "image" and where in ("base64", "url"):
        yield {"type": "image_url", "image_url": {"url": _address(source)}}
    elif kind == "search_result":
        yield {"type": "text", "text": _titled(block, text_of(block.get("content")))}
    elif kind == "document" and where in ("text", "content"):
        assert isinstance(source, dict)
        said = _string(source, "data") if where == "text" else text_of(source.get("content"))
        yield {"type": "text", "text": _titled(block, said)}
    elif kind == "document" and where == "base64":
        yield {"type": "file", "file": {"filename": str(block.get("title") or "document"),
                                        "file_data": _address(source)}}
    else:
        raise unsupported("a block of this type", "text, image, document, search_result, tool_use or tool_result, "
                          "whole and not by the id of a file")
    # Of a text block they are those of an earlier answer; of a passage they are asked for.
    cited = None if kind == "text" else block.get("citations")
    if cited is not None and not (isinstance(cited, dict) and cited.get("enabled") in (None, False)):
        raise unsupported("a document or search result with citations", "them without: chat completions do not cite, "
                          "and none are made up here; an upstream with kind: anthropic does")


def _address(source: Any) -> str:
    if source["type"] == "url":
        return _string(source, "url")
    return f"data:{_string(source, 'media_type')};base64,{_string(source, 'data')}"


def _titled(block: Json, said: str) -> str:
    heads = [block.get(name) for name in ("title", "context") if isinstance(block.get(name), str)]
    return "\n\n".join([*(one for one in heads if one), said])


def text_of(content: Any) -> str:
    """The text of a string, or of blocks of text and of passages in them. Raises RefusedError for other blocks."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise unsupported("content of this type", "a string, or a list of blocks")
    said: list[str] = []
    for block in content:
        found = list(_parts(block)) if isinstance(block, dict) else [{"type": "other"}]
        if any(part["type"] != "text" for part in found):
            raise unsupported("a block of this type in the result of a tool or a document", "text")
        said += [part["text"] for part in found]
    return "\n\n".join(said)


def _string(block: Json, name: str) -> str:
    if not isinstance(block.get(name), str):
        raise unsupported(f"a block without {name}", f"{name}, a string")
    return str(block[name])


def tool_of(tool: Json) -> Json:
    """A tool of the request. Raises RefusedError for one that the provider would run."""
    if tool.get("type", "custom") != "custom" or not isinstance(tool.get("name"), str):
        raise unsupported("a tool that the provider runs", "tools with name and input_schema")
    described = {"description": tool["description"]} if isinstance(tool.get("description"), str) else {}
    return {"type": "function", "function": {"name": tool["name"], **described,
                                             "parameters": tool.get("input_schema") or {"type": "object"}}}


def choice_of(choice: Json) -> Any:
    """Which tool is to be called."""
    kind = choice.get("type")
    if kind == "tool":
        return {"type": "function", "function": {"name": _string(choice, "name")}}
    if kind not in ("auto", "any", "none"):
        raise unsupported("this tool_choice", "auto, any, tool or none")
    return {"any": "required"}.get(str(kind), kind)


def content_of(message: Json, *, thoughts: bool) -> list[Json]:
    """The message of a judged choice as blocks; with `thoughts` what it reasoned is the first. Raises MalformedError
    where arguments of a call are no object, for which there is no block."""
    found: list[Json] = []
    thought = next((message[name] for name in REASONING if message.get(name)), None)
    if thoughts and thought:
        found.append({"type": "thinking", "thinking": thought, "signature": ""})
    content = message.get("content")
    parts = [part[part["type"]] for part in content] if isinstance(content, list) else [content]
    found += [{"type": "text", "text": text, "citations": None} for text in (*parts, message.get("refusal")) if text]
    for call in message.get("tool_calls", ()):
        function = call.get("function") or {"name": call["custom"]["name"], "arguments": ""}
        found.append({"type": "tool_use", "id": call["id"], "name": function["name"],
                      "input": object_of(function["arguments"])})
    return found


def object_of(arguments: str) -> Json:
    """The object that arguments of a call are. Raises MalformedError where they are none, or none that JSON can say."""
    try:
        found = json.loads(arguments or "{}", parse_constant=_refused)
    except (ValueError, RecursionError):
        raise MalformedError("arguments") from None
    if not isinstance(found, dict):
        raise MalformedError("arguments")
    return found


def _refused(constant: str) -> None:
    raise ValueError(constant)
