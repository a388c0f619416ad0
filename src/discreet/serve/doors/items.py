"""Items of OpenAI's responses as chat messages, and an answer's message as items. Pure functions of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.serve.doors.chat import REASONING, Json
from discreet.serve.limits import RefusedError

TEXTS = ("input_text", "output_text", "text")
KNOWN = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning")


def unsupported(what: str, expected: str) -> RefusedError:
    """422 for what a chat completion has no place for; `what` is a word of ours, never the client's."""
    return RefusedError(422, "unsupported", f"{what} cannot be passed to the model, which is asked for a chat "
                        f"completion; expected {expected}")


def messages_of(given: Sequence[Json]) -> list[Json]:
    """Items as chat messages; calls that follow one another are those of one message. Reasoning is left out: no model
    takes that of another answer here. Raises RefusedError for an item of another type, or without what it needs."""
    made: list[Json] = []
    for item in given:
        kind = item.get("type", "message")
        if kind not in KNOWN:
            raise unsupported("an item of this type", f"items of the types {', '.join(KNOWN)}, each of them whole")
        if kind == "message":
            made.append(_message(item))
        elif kind.endswith("_output"):
            said = text_of(item.get("output"))
            made.append({"role": "tool", "tool_call_id": _word(item, "call_id"), "content": said})
        elif kind != "reasoning":
            if not made or made[-1]["role"] != "assistant":
                made.append({"role": "assistant", "content": None})
            made[-1].setdefault("tool_calls", []).append(_call(item))
    return made


def _message(item: Json) -> Json:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        raise unsupported("a message of this role", "user, assistant, system or developer")
    if role == "assistant":
        return {"role": role, "content": text_of(content)}
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(_parts(content))
    return {"role": role, "content": parts[0]["text"] if [one["type"] for one in parts] == ["text"] else parts}


def _parts(content: Any) -> Iterator[Json]:
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in TEXTS and isinstance(part.get("text"), str):
            yield {"type": "text", "text": part["text"]}
        elif kind == "input_image" and isinstance(part.get("image_url"), str):
            detail = {"detail": part["detail"]} if isinstance(part.get("detail"), str) else {}
            yield {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
        elif kind == "input_file" and isinstance(part.get("file_data"), str):
            yield {"type": "file", "file": {"file_data": part["file_data"], "filename": str(part.get("filename", ""))}}
        else:
            raise unsupported("a part of this type", "input_text, input_image with image_url, or input_file with "
                              "file_data")


def text_of(content: Any) -> str:
    """The text of a string, or of parts of text. Raises RefusedError for other parts."""
    if isinstance(content, str):
        return content
    said: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        text = None
        if isinstance(part, dict) and part.get("type") in (*TEXTS, "refusal"):
            text = part.get("text", part.get("refusal"))
        if not isinstance(text, str):
            raise unsupported("a part of this type", "text in an earlier answer or the result of a tool")
        said.append(text)
    return "\n\n".join(said)


def _call(item: Json) -> Json:
    if item["type"] == "custom_tool_call":
        return {"id": _word(item, "call_id"), "type": "custom",
                "custom": {"name": _word(item, "name"), "input": _word(item, "input")}}
    return {"id": _word(item, "call_id"), "type": "function",
            "function": {"name": _word(item, "name"), "arguments": _word(item, "arguments")}}


def _word(item: Json, name: str) -> str:
    if not isinstance(item.get(name), str):
        raise unsupported(f"a call or its result without {name}", f"{name}, a string")
    return str(item[name])


def tool_of(tool: Json) -> Json:
    """A tool of the request. Raises RefusedError for one that the provider would run."""
    kind = tool.get("type")
    if kind not in ("function", "custom"):
        raise unsupported("a tool that the provider runs", "tools of the types function and custom")
    return {"type": kind, kind: {name: value for name, value in tool.items() if name != "type" and value is not None}}


def choice_of(choice: Any) -> Any:
    """Which tool is to be called. Raises RefusedError for one that the provider would run."""
    if not isinstance(choice, dict):
        return choice
    kind = choice.get("type")
    if kind not in ("function", "custom"):
        raise unsupported("this tool_choice", "auto, none, required, or the name of a function")
    return {"type": kind, kind: {"name": choice.get("name")}}


def format_of(given: Any) -> Json | None:
    """The format of the answer's text."""
    if not isinstance(given, dict) or given.get("type") == "text":
        return None
    if given.get("type") == "json_schema":
        return {"type": "json_schema", "json_schema": {k: v for k, v in given.items() if k != "type" and v is not None}}
    return given


def output_of(message: Json, logprobs: Json | None, completion: str) -> list[Json]:
    """The message of a judged choice as items. `completion` is the id of the answer, from which ids are made."""
    made = completion.removeprefix("chatcmpl-")
    thought = next((message[name] for name in REASONING if message.get(name)), None)
    found: list[Json] = []
    if thought:
        found.append({"type": "reasoning", "id": f"rs_{made}", "summary": [], "status": "completed",
                      "content": [{"type": "reasoning_text", "text": thought}]})
    if parts := list(_output_parts(message, logprobs)):
        found.append({"type": "message", "id": f"msg_{made}", "role": "assistant", "status": "completed",
                      "content": parts})
    for number, call in enumerate(message.get("tool_calls", ())):
        custom = call["type"] == "custom"
        found.append({"type": "custom_tool_call" if custom else "function_call", "call_id": call["id"],
                      "id": f"{'ctc' if custom else 'fc'}_{made}_{number}", "status": "completed",
                      **call[call["type"]]})
    return found


def _output_parts(message: Json, logprobs: Json | None) -> Iterator[Json]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    cited = [{"type": one["type"], **one[one["type"]]} for one in message.get("annotations", ())]
    tokens = (logprobs or {}).get("content") or []
    for number, part in enumerate(parts):
        if part["type"] == "refusal":
            yield part
        else:
            first = number == 0
            yield {"type": "output_text", "text": part["text"], "annotations": cited if first else [],
                   "logprobs": tokens if first else []}
    if message.get("refusal"):
        yield {"type": "refusal", "refusal": message["refusal"]}


def usage_of(given: Json | None) -> Json | None:
    """Counts of tokens under the names of responses."""
    if not given:
        return None
    came, went = given.get("prompt_tokens", 0), given.get("completion_tokens", 0)
    return {"input_tokens": came, "output_tokens": went, "total_tokens": given.get("total_tokens", came + went),
            "input_tokens_details": {"cached_tokens": given.get("prompt_tokens_details", {}).get("cached_tokens", 0)},
            "output_tokens_details": {
                "reasoning_tokens": given.get("completion_tokens_details", {}).get("reasoning_tokens", 0)}}
