"""Chat completions as OpenAI shapes them: what of an answer may pass, the text in it, and answers of our own.

Pure functions of JSON. A field that is not in the allow-list is dropped; text that is in none of the judged places
never goes out. Fields: the types of openai 3.54.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

from discreet.core.records import Answer
from discreet.serve.gate import Outcome, details

Json = dict[str, Any]
FINISHED = ("stop", "length", "tool_calls", "content_filter", "function_call")
CATEGORIES = ("privacy/direct", "privacy/contextual", "privacy/verbatim", "privacy/undecided", "privacy/not_judged")
REASONING = ("reasoning", "reasoning_content")
"""Two names of one thing: vLLM's newer and older."""
_ID = re.compile(r"[A-Za-z0-9_.:/+=-]{1,200}")
_CALL_ID = re.compile(r"(?:call_|chatcmpl-tool-|toolu_)?[A-Za-z0-9]{8,40}")
_NAME = re.compile(r"[\w-]{1,64}")


class MalformedError(Exception):
    """What came is no answer that can be judged whole. The message is a word for logs, and never a text of it."""


def cleaned(body: Any, tools: frozenset[str]) -> Json:
    """A completion with the allowed fields only; `tools` are the names of functions that the request declared.

    Raises MalformedError where a field that must be there is missing or of another type, or text stands where no text
    is expected.
    """
    given = _object(body)
    choices = given.get("choices")
    if not isinstance(choices, list) or not choices:
        raise MalformedError("no_choices")
    return {"id": _word(given.get("id")) or f"chatcmpl-{uuid4().hex}", "object": "chat.completion",
            "created": _number(given.get("created")) or int(time.time()),
            "model": _word(given.get("model")) or "unknown",
            "choices": [_choice(_object(one), number, tools) for number, one in enumerate(choices)],
            **{name: word for name in ("service_tier", "system_fingerprint") if (word := _word(given.get(name)))},
            **({"usage": usage} if (usage := _counts(given.get("usage"))) else {})}


def _choice(given: Json, number: int, tools: frozenset[str]) -> Json:
    if given.get("finish_reason") not in FINISHED:
        raise MalformedError("no_finish_reason")
    said = _object(given.get("message"))
    message: Json = {"role": "assistant", "content": _content(said.get("content")),
                     "refusal": _text(said.get("refusal"))}
    for name in REASONING:
        if said.get(name) is not None:
            message[name] = _text(said[name])
    if said.get("annotations"):
        message["annotations"] = [_annotation(one) for one in _list(said["annotations"])]
    if said.get("tool_calls"):
        message["tool_calls"] = [_tool_call(_object(one), tools) for one in _list(said["tool_calls"])]
    if said.get("function_call"):
        message["function_call"] = _function(_object(said["function_call"]), tools)
    if said.get("audio"):  # What was spoken cannot be held against its transcript, so only the transcript passes.
        spoken = _object(said["audio"])
        message["audio"] = {"id": _word(spoken.get("id")) or "audio", "data": "", "expires_at": 0,
                            "transcript": _text(spoken.get("transcript")) or ""}
    return {"index": _number(given.get("index")) or number, "message": message, "finish_reason": given["finish_reason"],
            "logprobs": _logprobs(given.get("logprobs"), message)}


def _content(given: Any) -> Any:
    """A string, or parts of text and refusals."""
    if not isinstance(given, list):
        return _text(given)
    parts = []
    for part in map(_object, given):
        kind = part.get("type")
        if kind not in ("text", "refusal"):
            raise MalformedError("content_part")
        parts.append({"type": kind, kind: _text(part.get(kind)) or ""})
    return parts


def _annotation(given: Any) -> Json:
    one = _object(_object(given).get("url_citation"))
    return {"type": "url_citation", "url_citation": {
        **{name: _text(one.get(name)) or "" for name in ("url", "title")},
        **{name: _number(one.get(name)) or 0 for name in ("start_index", "end_index")}}}


def _tool_call(given: Json, tools: frozenset[str]) -> Json:
    if given.get("type", "function") == "custom":
        custom = _object(given.get("custom"))
        name = _tool(custom, tools)
        return {"id": _call_id(given.get("id"), name), "type": "custom",
                "custom": {"name": name, "input": _text(custom.get("input")) or ""}}
    function = _function(_object(given.get("function")), tools)
    return {"id": _call_id(given.get("id"), function["name"]), "type": "function", "function": function}


def _call_id(given: Any, name: str) -> str:
    """The id of a call as servers form it; another one, which the model may have written, is replaced."""
    formed = isinstance(given, str) and (_CALL_ID.fullmatch(given) or re.fullmatch(
        rf"functions\.{re.escape(name)}:[0-9]{{1,4}}", given))
    return str(given) if formed else f"call_{uuid4().hex}"


def _function(given: Json, tools: frozenset[str]) -> Json:
    return {"name": _tool(given, tools), "arguments": _text(given.get("arguments")) or ""}


def _tool(given: Json, tools: frozenset[str]) -> str:
    """The name of a function: one of those that the caller declared, for a name may be a text as well."""
    name = given.get("name")
    if not isinstance(name, str) or name not in tools or not _NAME.fullmatch(name):
        raise MalformedError("undeclared_tool")
    return name


def _logprobs(given: Any, message: Json) -> Json | None:
    """Probabilities of the very text that is judged; alternatives, which are other text, are left out."""
    kept: Json = {}
    for name in ("content", "refusal"):
        tokens = given.get(name) if isinstance(given, dict) else None
        text = message.get(name)
        if not isinstance(tokens, list) or not isinstance(text, str):
            continue
        said = [t for t in tokens if isinstance(t, dict) and isinstance(t.get("token"), str)
                and isinstance(t.get("logprob"), int | float) and math.isfinite(t["logprob"])]
        if len(said) == len(tokens) and "".join(t["token"] for t in said) == text:
            kept[name] = [{"token": t["token"], "logprob": t["logprob"], "bytes": list(t["token"].encode()),
                           "top_logprobs": []} for t in said]
    return {"content": None, "refusal": None, **kept} if kept else None


def texts_of(choice: Json) -> list[str]:
    """Every text of a cleaned choice that is not empty."""
    message = choice["message"]
    content = message["content"]
    parts = [content] if isinstance(content, str) else [part[part["type"]] for part in content or ()]
    parts += [message["refusal"], *(message.get(name) for name in REASONING)]
    for one in message.get("annotations", ()):
        parts += [one["url_citation"]["title"], one["url_citation"]["url"]]
    calls = [call.get("function") or call["custom"] for call in message.get("tool_calls", ())]
    calls += [message["function_call"]] if "function_call" in message else []
    parts += [call.get("arguments", call.get("input")) for call in calls]
    parts.append(message.get("audio", {}).get("transcript"))
    return [part for part in parts if part]


def answers_of_completion(completion: Json, asked: Answer) -> list[Answer]:
    """What is judged, in the request of `asked`: each choice with all its texts as one answer, and all as one."""
    texts = ["\n\n".join(texts_of(choice)) for choice in completion["choices"]]
    return [replace(asked, id=f"{completion['id']}-{number}", answer=text)
            for number, text in enumerate(and_together(texts))]


def and_together(texts: list[str]) -> list[str]:
    """Texts that go to one caller, and where there are several, all as one: a person may be described across them."""
    return texts if len(texts) < 2 else [*texts, "\n\n".join(texts)]


def is_silent(completion: Json) -> bool:
    """Whether there is no text at all, as where only functions without arguments are called."""
    return not any(texts_of(choice) for choice in completion["choices"])


def with_verdict(completion: Json, outcome: Outcome | None, *, operator: bool) -> Json:
    """The completion with the `moderation` field; `outcome` is None where a reviewer released it."""
    code = "ok" if outcome is None else outcome.code
    score = 0.0 if outcome is None else 1.0
    if operator and outcome is not None:
        score = max((one.verdict.score or 0.0 for one in outcome.judgements), default=1.0)
    result: Json = {"type": "moderation_result", "model": "discreet", "flagged": code != "ok",
                    "categories": {name: name == code for name in CATEGORIES},
                    "category_scores": {name: score if name == code else 0.0 for name in CATEGORIES},
                    "category_applied_input_types": {name: ["text"] for name in CATEGORIES}}
    if operator and outcome is not None:
        result["details"] = details(outcome)
    return {**completion, "moderation": {"input": None, "output": {
        "type": "moderation_results", "model": "discreet", "results": [result]}}}


def replaced(completion: Json, said: str) -> Json:
    """The completion with `said` in place of every choice, and its usage kept."""
    choices = [{"index": choice["index"], "message": {"role": "assistant", "content": said, "refusal": None},
                "finish_reason": "content_filter", "logprobs": None} for choice in completion["choices"]]
    return {**completion, "choices": choices}


def chunks_of(completion: Json, *, usage: bool) -> Iterator[Json]:
    """A completion as the chunks of a stream; with `usage` the last one holds it."""
    base: Json = {**{name: completion[name] for name in ("id", "created", "model", "service_tier", "system_fingerprint")
               if name in completion}, "object": "chat.completion.chunk"}

    def chunk(index: int, delta: Json, finish: str | None = None, logprobs: Json | None = None, **more: Any) -> Json:
        return {**base, "choices": [{"index": index, "delta": delta, "finish_reason": finish, "logprobs": logprobs}],
                **more}

    last = len(completion["choices"]) - 1
    for number, choice in enumerate(completion["choices"]):
        delta = {name: value for name, value in choice["message"].items() if value is not None}
        if "tool_calls" in delta:
            delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(delta["tool_calls"])]
        if isinstance(delta.get("content"), list):
            delta["content"] = "".join(part[part["type"]] for part in delta["content"])
        yield chunk(choice["index"], delta, logprobs=choice.get("logprobs"))  # An edited answer has none.
        more: Json = {"moderation": completion["moderation"]} if number == last and "moderation" in completion else {}
        yield chunk(choice["index"], {}, choice["finish_reason"], **more)
    if usage and "usage" in completion:
        yield {**base, "choices": [], "usage": completion["usage"]}


class Assembly:
    """The chunks of a stream put together to one completion."""

    def __init__(self) -> None:
        self._head: Json = {}
        self._choices: dict[int, Json] = {}
        self.closed = False

    def add(self, chunk: Any) -> None:
        """Take one chunk. Raises MalformedError where it is none."""
        given = _object(chunk)
        if "error" in given:
            raise MalformedError("error_in_stream")
        for name in ("id", "created", "model", "service_tier", "system_fingerprint", "usage"):
            if given.get(name) is not None:
                self._head[name] = given[name]
        for one in map(_object, _list(given.get("choices") or [])):
            choice = self._choices.setdefault(_number(one.get("index")) or 0, {"message": {}, "finish_reason": None})
            if choice["finish_reason"] is not None and one.get("delta"):
                raise MalformedError("text_after_the_end")
            self._add(choice["message"], _object(one.get("delta") or {}))
            choice["finish_reason"] = one.get("finish_reason") or choice["finish_reason"]
            for name, tokens in (one.get("logprobs") or {}).items():
                if isinstance(tokens, list):
                    choice.setdefault("logprobs", {}).setdefault(name, []).extend(tokens)

    def _add(self, message: Json, delta: Json) -> None:
        for name, value in delta.items():
            if name == "tool_calls":
                for call in map(_object, _list(value or [])):
                    calls = message.setdefault("tool_calls", {})
                    _merge(calls.setdefault(_number(call.get("index")) or 0, {}),
                           {k: v for k, v in call.items() if k != "index"})
            elif name == "role":
                message["role"] = value
            elif isinstance(value, dict):
                _merge(message.setdefault(name, {}), value)
            elif isinstance(value, str):
                message[name] = _joined(message.get(name), value)
            elif isinstance(value, list):
                message[name] = [*message.get(name, ()), *value]

    def completion(self) -> Json:
        """The whole. Raises MalformedError unless the stream was closed, and each choice has come to its end."""
        if not self.closed or not self._choices:
            raise MalformedError("cut")
        choices = []
        for index, choice in sorted(self._choices.items()):
            calls = choice["message"].get("tool_calls")
            message = choice["message"] | ({"tool_calls": [calls[i] for i in sorted(calls)]} if calls else {})
            choices.append({**choice, "index": index, "message": message})
        return {**self._head, "choices": choices}


def _merge(into: Json, more: Json) -> None:
    """Add the parts of a delta to what is there: strings are continued but for ids, types and names."""
    for name, value in more.items():
        if isinstance(value, dict):
            _merge(into.setdefault(name, {}), value)
        elif isinstance(value, str) and name not in ("id", "type"):
            into[name] = _joined(into.get(name), value)
        elif value is not None:
            into[name] = value


def _joined(before: Any, more: str) -> str:
    if before is not None and not isinstance(before, str):
        raise MalformedError("type")
    return (before or "") + more


def strings(value: Any, deepest: int = 30) -> Iterator[str]:
    """Every text in a message, wherever it stands, but for its role. MalformedError where it is nested too deeply."""
    if deepest == 0:
        raise MalformedError("too_deep")
    if isinstance(value, str):
        yield value
    for name, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if name != "role":
            yield from strings(one, deepest - 1)


def _object(given: Any) -> Json:
    if not isinstance(given, dict):
        raise MalformedError("type")
    return given


def _list(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise MalformedError("type")
    return given


def _text(given: Any) -> str | None:
    """A string or none; halves of a surrogate pair, which a stream may cut apart, are joined or replaced."""
    if given is not None and not isinstance(given, str):
        raise MalformedError("type")
    return given and given.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _word(given: Any) -> str | None:
    """An id or a name without spaces, in which no sentence fits."""
    return given if isinstance(given, str) and _ID.fullmatch(given) else None


def _number(given: Any) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**53 else None


def _counts(given: Any) -> Json:
    """Numbers of tokens, and of kinds of tokens."""
    if not isinstance(given, dict):
        return {}
    kept = {name: _number(value) for name, value in given.items() if _NAME.fullmatch(name) and name.endswith("tokens")}
    nested = {name: _counts(value) for name, value in given.items() if name.endswith("tokens_details")}
    return {**{k: v for k, v in kept.items() if v is not None}, **{k: v for k, v in nested.items() if v}}
