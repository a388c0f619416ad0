"""Chat completions as OpenAI shapes them: what of an answer may pass, the text in it, and answers of our own.

Pure functions of JSON. A field that is not in the allow-list is dropped; text that is in none of the judged places
never goes out. Fields: the types of openai 3.54.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Collection, Iterator, Sized
from dataclasses import replace
from typing import Any, TypeVar
from uuid import uuid4

from discreet.core.records import Answer
from discreet.serve.doors.receivers import without
from discreet.serve.outcome import Outcome, details

Json = dict[str, Any]
T = TypeVar("T", bound=Sized)
FINISHED: dict[str, tuple[str, ...]] = {
    "stop": ("eos", "eos_token", "stop_token", "stop_sequence", "end_turn", "complete", "completed", "done"),
    "length": ("max_tokens", "max_length", "max_new_tokens", "model_length", "limit", "model_context_window_exceeded"),
    "tool_calls": ("tool_use", "tool_call"), "content_filter": ("safety", "refusal"), "function_call": ()}
"""OpenAI's reasons why an answer ended, and what other servers call them."""
CATEGORIES = ("privacy/direct", "privacy/contextual", "privacy/verbatim", "privacy/undecided", "privacy/not_judged")
REASONING = ("reasoning", "reasoning_content")
"""Two names of one thing: vLLM's newer and older."""
COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "audio_tokens", "text_tokens",
          "image_tokens", "reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens",
          "prompt_cache_hit_tokens", "prompt_cache_miss_tokens", "cache_creation_tokens")
TIERS = ("auto", "default", "flex", "scale", "priority", "standard")
MOST_PARTS = 2_000
"""Parts, calls or annotations of a message: a long report has some hundreds, and 16 MB of empty ones would take a
process half a minute, in which it serves nobody."""
_SUFFIX = re.compile(r"(?:-[0-9]{3,8}|-[0-9]{4}-[0-9]{2}-[0-9]{2})?")
"""What an upstream may add to the name of the model that was asked for: a version or a date."""
_CALL_ID = re.compile(r"(?:call_|chatcmpl-tool-|toolu_)?[A-Za-z0-9]{8,40}")
_NAME = re.compile(r"[\w-]{1,64}")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}


class MalformedError(Exception):
    """What came is no answer that can be judged whole. The message is a word for logs, and never a text of it."""


def cleaned(body: Any, tools: frozenset[str], model: str = "unknown") -> Json:
    """A completion with the allowed fields only; `tools` are the names of functions that the request declared, `model`
    the model that it asked for.

    Nothing in the head of a completion is a text of the upstream: its id is ours, and names are those of the request or
    of a list. Raises MalformedError where a field that must be there is missing or of another type, or text stands
    where no text is expected.
    """
    given = as_object(body)
    choices = given.get("choices")
    if not isinstance(choices, list) or not choices:
        raise MalformedError("no_choices")
    return {"id": f"chatcmpl-{uuid4().hex}", "object": "chat.completion", "created": int(time.time()),
            "model": _model(given.get("model"), model),
            "choices": [_choice(as_object(one), number, tools) for number, one in enumerate(choices)],
            **({"service_tier": given["service_tier"]} if given.get("service_tier") in TIERS else {}),
            **({"usage": usage} if (usage := _counts(given.get("usage"))) else {})}


def _model(given: Any, asked: str) -> str:
    """The model's name: the one that was asked for, with the version that the upstream adds."""
    if isinstance(given, str) and given.startswith(asked) and _SUFFIX.fullmatch(given[len(asked):]):
        return given
    return asked


def _finish_reason(given: Any) -> str:
    word = given.lower() if isinstance(given, str) else None
    for reason, others in FINISHED.items():
        if word == reason or word in others:
            return reason
    raise MalformedError("no_finish_reason")


def _choice(given: Json, number: int, tools: frozenset[str]) -> Json:
    finish = _finish_reason(given.get("finish_reason"))
    said = as_object(given.get("message"))
    message: Json = {"role": "assistant", "content": content_of(said.get("content")),
                     "refusal": as_text(said.get("refusal"))}
    for name in REASONING:
        if said.get(name) is not None:
            message[name] = as_text(said[name])
    if said.get("annotations"):
        message["annotations"] = [_annotation(one) for one in few(as_list(said["annotations"]))]
    if said.get("tool_calls"):
        message["tool_calls"] = [_tool_call(as_object(one), tools) for one in few(as_list(said["tool_calls"]))]
    if said.get("function_call"):
        message["function_call"] = _function(as_object(said["function_call"]), tools)
    if said.get("audio"):  # What was spoken cannot be held against its transcript, so only the transcript passes.
        spoken = as_object(said["audio"])
        message["audio"] = {"id": "audio", "data": "", "expires_at": 0,
                            "transcript": as_text(spoken.get("transcript")) or ""}
    return {"index": number, "message": message, "finish_reason": finish,
            "logprobs": _logprobs(given.get("logprobs"), message)}


def content_of(given: Any) -> Any:
    """The content of a message: a string, or parts of text and refusals."""
    if not isinstance(given, list):
        return as_text(given)
    parts = []
    for part in map(as_object, few(given)):
        kind = part.get("type")
        if kind not in ("text", "refusal"):
            raise MalformedError("content_part")
        parts.append({"type": kind, kind: as_text(part.get(kind)) or ""})
    return parts


def _annotation(given: Any) -> Json:
    one = as_object(as_object(given).get("url_citation"))
    return {"type": "url_citation", "url_citation": {
        **{name: as_text(one.get(name)) or "" for name in ("url", "title")},
        **{name: as_number(one.get(name)) or 0 for name in ("start_index", "end_index")}}}


def _tool_call(given: Json, tools: frozenset[str]) -> Json:
    if given.get("type", "function") == "custom":
        custom = as_object(given.get("custom"))
        name = _tool(custom, tools)
        return {"id": _call_id(given.get("id"), name), "type": "custom",
                "custom": {"name": name, "input": as_text(custom.get("input")) or ""}}
    function = _function(as_object(given.get("function")), tools)
    return {"id": _call_id(given.get("id"), function["name"]), "type": "function", "function": function}


def _call_id(given: Any, name: str) -> str:
    """The id of a call as servers form it; another one, which the model may have written, is replaced."""
    formed = isinstance(given, str) and (_CALL_ID.fullmatch(given) or re.fullmatch(
        rf"functions\.{re.escape(name)}:[0-9]{{1,4}}", given))
    return str(given) if formed else f"call_{uuid4().hex}"


def _function(given: Json, tools: frozenset[str]) -> Json:
    arguments = given.get("arguments")
    if isinstance(arguments, dict):  # Some servers send the object itself.
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {"name": _tool(given, tools), "arguments": as_text(arguments) or ""}


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
        # A token is a character at least, but for one that ends the answer.
        if not isinstance(tokens, list) or not isinstance(text, str) or len(tokens) > len(text) + 1:
            continue
        said = [t for t in tokens if isinstance(t, dict) and isinstance(t.get("token"), str)
                and isinstance(t.get("logprob"), int | float) and math.isfinite(t["logprob"])]
        if len(said) == len(tokens) and "".join(t["token"] for t in said) == text:
            kept[name] = [{"token": t["token"], "logprob": t["logprob"], "bytes": list(t["token"].encode()),
                           "top_logprobs": []} for t in said]
    return {"content": None, "refusal": None, **kept} if kept else None


def texts_of(choice: Json, allowed: Collection[str] = (), typed: Collection[str] = ()) -> list[str]:
    """Every text of a cleaned choice, but for what it hands to `allowed` tools and receivers that the user `typed`."""
    message = choice["message"]
    content = message["content"]
    parts = [content] if isinstance(content, str) else [part[part["type"]] for part in content or ()]
    parts += [message["refusal"], *(message.get(name) for name in REASONING)]
    for one in message.get("annotations", ()):
        parts += [one["url_citation"]["title"], one["url_citation"]["url"]]
    parts += _arguments(message, allowed, typed)
    parts += [message.get("audio", {}).get("transcript"), *message.get("cited", ())]
    return [part for part in parts if part]


def _besides_calls(choice: Json) -> str:
    """What a cleaned choice says besides what it hands to tools."""
    message = {name: one for name, one in choice["message"].items() if name not in ("tool_calls", "function_call")}
    return "\n\n".join(text for text in texts_of({**choice, "message": message}) if text.strip())


def _calls(message: Json) -> list[Json]:
    """The calls of a cleaned message, each with a name."""
    calls = [call.get("function") or call["custom"] for call in message.get("tool_calls", ())]
    return calls + ([message["function_call"]] if "function_call" in message else [])


def calls_of(completion: Json) -> list[Json]:
    """The calls of a cleaned completion."""
    return [call for choice in completion["choices"] for call in _calls(choice["message"])]


def called(completion: Json) -> frozenset[str]:
    """The names of the tools that a cleaned completion calls."""
    return frozenset(call["name"] for call in calls_of(completion))


def _arguments(message: Json, allowed: Collection[str] = (), typed: Collection[str] = ()) -> list[str]:
    """What a cleaned message hands to tools that are not `allowed`, without receivers that were `typed`."""
    found = [without(readable(call["arguments"]), call, typed) if "arguments" in call else call["input"]
             for call in _calls(message) if call["name"] not in allowed]
    return [one for one in found if one.strip() not in ("", "{}")]


def readable(arguments: str) -> str:
    """Arguments, which are JSON, with escaped characters (`\\u0041`, `\\n`) as those that their reader gets."""
    found = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPED.get(m[2], m[2]), arguments)
    return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def answers_of_completion(completion: Json, asked: Answer, *, words_alone: bool = False,
                          allowed: Collection[str] = (), typed: Collection[str] = ()) -> list[Answer]:
    """What is judged, in the request of `asked`: each choice with all its texts as one answer, and all as one, as
    `texts_of` says. `words_alone`: the model was shown the words of `asked` and nothing else, so that what it hands to
    tools confirms nothing; what it says beside that is judged by itself as well."""
    choices = completion["choices"]
    texts = ["\n\n".join(texts_of(choice, allowed, typed)) for choice in choices]
    calls = words_alone and any(_arguments(choice["message"], allowed) for choice in choices)
    besides = [said for choice in choices if calls and (said := _besides_calls(choice))]
    judged = [*((text, calls) for text in and_together(texts)), *((said, False) for said in and_together(besides))]
    return [replace(asked, id=f"{completion['id']}-{number}", answer=text, calls=of_calls)
            for number, (text, of_calls) in enumerate(judged)]


def and_together(texts: list[str]) -> list[str]:
    """Texts that go to one caller, and where there are several, all as one: a person may be described across them."""
    return texts if len(texts) < 2 else [*texts, "\n\n".join(texts)]


def is_silent(completion: Json, allowed: Collection[str] = ()) -> bool:
    """Whether there is no text to judge, as where only functions without arguments, or `allowed` ones, are called."""
    return not any(texts_of(choice, allowed) for choice in completion["choices"])


def says_text_alone(completion: Json) -> bool:
    """Whether there is one choice, and its content is all of it: no call, refusal, reasoning or annotation."""
    first, *others = completion["choices"]
    return not others and texts_of(first) == [first["message"].get("content")]


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
    kept: Json = {name: completion[name] for name in ("id", "created", "model", "service_tier") if name in completion}
    base: Json = {**kept, "object": "chat.completion.chunk"}

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


def strings(value: Any, deepest: int = 30) -> Iterator[str]:
    """Every text in a message, wherever it stands, but for its role. MalformedError where it is nested too deeply."""
    if deepest == 0:
        raise MalformedError("too_deep")
    if isinstance(value, str):
        yield value
    for name, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if name != "role":
            yield from strings(one, deepest - 1)


def as_object(given: Any) -> Json:
    """An object of JSON. Raises MalformedError for anything else."""
    if not isinstance(given, dict):
        raise MalformedError("type")
    return given


def as_list(given: Any) -> list[Any]:
    """A list of JSON. Raises MalformedError for anything else."""
    if not isinstance(given, list):
        raise MalformedError("type")
    return given


def few(given: T) -> T:
    """Parts that are not too many. Raises MalformedError for more than `MOST_PARTS`."""
    if len(given) > MOST_PARTS:
        raise MalformedError("too_many_parts")
    return given


def as_text(given: Any) -> str | None:
    """A string or none; halves of a surrogate pair, which a stream may cut apart, are joined or replaced."""
    if given is not None and not isinstance(given, str):
        raise MalformedError("type")
    return given and given.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def as_number(given: Any) -> int | None:
    """A count, or None; one of nine digits may be a number of somebody."""
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 10**8 else None


def _counts(given: Any) -> Json:
    """Numbers of tokens, and of kinds of tokens."""
    if not isinstance(given, dict):
        return {}
    kept = {name: value for name in COUNTS if (value := as_number(given.get(name))) is not None}
    nested = {name: _counts(given.get(name)) for name in ("prompt_tokens_details", "completion_tokens_details")}
    return {**kept, **{name: value for name, value in nested.items() if value}}
