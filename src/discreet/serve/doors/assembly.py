"""The chunks of a streamed completion, put together; where servers differ, what can only be read in one way is read."""

from __future__ import annotations

from io import StringIO
from typing import Any

from discreet.serve.doors.chat import (
    REASONING,
    Json,
    MalformedError,
    as_list,
    as_number,
    as_object,
    content_of,
    few,
    strings,
)

HEAD = ("model", "service_tier", "usage")
PARTS = ("content", "refusal", *REASONING, "annotations", "tool_calls", "function_call", "audio")
"""What is read of a delta; the rest is dropped."""


class Assembly:
    """The chunks of a stream put together to one completion.

    A text that grows is a StringIO until the end: a string would be copied with every chunk.
    """

    def __init__(self) -> None:
        self._head: Json = {}
        self._choices: dict[int, Json] = {}
        self.closed = False

    def add(self, chunk: Any) -> None:
        """Take one chunk. Raises MalformedError where it is none."""
        given = as_object(chunk)
        if "error" in given:
            raise MalformedError("error_in_stream")
        self._head |= {name: given[name] for name in HEAD if given.get(name) is not None}
        for one in map(as_object, as_list(given.get("choices") or [])):
            self._add_choice(one)

    def _add_choice(self, one: Json) -> None:
        index = as_number(one.get("index")) or 0
        choice = self._choices.setdefault(index, {"message": {}, "finish_reason": None, "logprobs": {}})
        delta = {name: value for name, value in as_object(one.get("delta") or {}).items() if name in PARTS}
        if choice["finish_reason"] is not None:
            if any(strings(delta)):
                raise MalformedError("text_after_the_end")
            return
        _add(choice["message"], delta)
        choice["finish_reason"] = one.get("finish_reason") or None
        logprobs = one.get("logprobs")
        for name, tokens in logprobs.items() if isinstance(logprobs, dict) else ():
            if isinstance(tokens, list):
                choice["logprobs"].setdefault(name, []).extend(tokens)

    def completion(self) -> Json:
        """The whole. Raises MalformedError unless the stream was closed, and each choice has come to its end."""
        if not self.closed or not self._choices:
            raise MalformedError("cut")
        choices = []
        for index, choice in sorted(self._choices.items()):
            message = _written(choice["message"])
            if calls := message.get("tool_calls"):
                message["tool_calls"] = [calls[i] for i in sorted(calls)]
            choices.append({**choice, "index": index, "message": message})
        return {**self._head, "choices": choices}


def _add(message: Json, delta: Json) -> None:
    for name, value in delta.items():
        if name == "tool_calls":
            for call in map(as_object, as_list(value or [])):
                calls = few(message.setdefault("tool_calls", {}))
                _merge(calls.setdefault(_index(calls, call), {}), {k: v for k, v in call.items() if k != "index"})
        elif name == "content" and isinstance(value, list):
            text = "".join(part[part["type"]] for part in content_of(value))
            message[name] = _joined(message.get(name) or None, text)
        elif value is not None:
            _merge(message, {name: value})


def _index(calls: dict[int, Json], call: Json) -> int:
    """The place of a call; without an index an id that is not that of the last call begins another one."""
    index = as_number(call.get("index"))
    if index is not None:
        return index
    last = next(reversed(calls), 0)
    new = call.get("id") is not None and call["id"] != calls.get(last, {}).get("id")
    return len(calls) if new else last


def _merge(into: Json, more: Json) -> None:
    """Add the parts of a delta to what is there: strings are continued but for ids, types, and names that are repeated
    as they were. Raises MalformedError where a field changes its type after it has said something."""
    for name, value in more.items():
        before = into.get(name) or None
        if value is None or (name == "name" and _says(before, value)):
            continue
        if isinstance(value, str):
            into[name] = value if name in ("id", "type") else _joined(before, value)
        elif before is not None and type(before) is not type(value):
            if value:
                raise MalformedError("type")
        elif isinstance(value, dict):
            into[name] = before or {}
            _merge(into[name], value)
        elif isinstance(value, list):
            into[name] = before or []
            into[name] += value
        else:
            into[name] = value


def _joined(before: Any, more: str) -> Any:
    """A text that is continued; nothing continues what is no text."""
    if not more:
        return "" if before is None else before
    if before is None:
        before = StringIO()
    if not isinstance(before, StringIO):
        raise MalformedError("type")
    before.write(more)
    return before


def _says(before: Any, value: Any) -> bool:
    return (isinstance(before, StringIO) and isinstance(value, str) and before.tell() == len(value)
            and before.getvalue() == value)


def _written(value: Any) -> Any:
    """What was put together, with strings for its texts."""
    if isinstance(value, StringIO):
        return value.getvalue()
    return {name: _written(one) for name, one in value.items()} if isinstance(value, dict) else value
