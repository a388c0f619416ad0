"""The messages of a request as turns with an origin, and the question among them. Pure functions of JSON.

Only untyped text of a user message can be the user's own words. Typed parts (documents, search results, results of
tools) are turns of their own, whose origin can only withdraw consent. Types: those of OpenAI, Anthropic, MCP,
LangChain, and of LiteLLM's guardrails.
"""

from __future__ import annotations

import json
import re
import string
from base64 import b64decode
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.core.records import Origin, Turn

ROLES = ("user", "assistant", "system", "developer", "tool", "function")
SPEAKERS = ROLES[:4]
_OF_WORDS = frozenset(("role", "content", "name"))
SPOKEN = ("text", "input_text", "output_text", "refusal", "query")
"""Types of parts whose text is that of the message itself."""
RETRIEVED = ("document", "search_result", "file", "input_file", "resource", "text-plain", "grounding_source",
             "guarded_text")
TOOLS = ("tool_result", "tool_output", "call_output")
"""How the types of results of tools end: `tool_result`, `web_search_tool_result`, `function_call_output`."""
DATA = ("structuredContent", "structured_content")
"""Fields with the data of an MCP result, which are read as JSON: its names and numbers are those of the tool."""
MEDIA = ("image", "image_url", "input_image", "audio", "audio_url", "input_audio", "video", "video_url", "input_video")
_OF_MEDIA = (*MEDIA, "url", "uri", "data", "detail", "format", "file", "source_type")
"""Fields in which a picture or a sound stands, by its bytes or its address; beside them may be texts."""
_FILES = ("file_data", "blob", "base64")
"""Fields with a file in base64, and `data` where its part says so."""
_KINDS = ("media_type", "mime_type", "mimeType")
_TEXT_KIND = re.compile(r"text/.*|application/(.*[+.-])?(json|ndjson|jsonlines|csv|markdown|xml|yaml)")
_HEAD = 4_096
"""Characters of base64 by which a file is known to be no text, so that a large one is not decoded."""
_BASE64 = string.ascii_letters.encode() + b"0123456789+/-_=\r\n"
_CONTROL = bytes((*range(9), *range(14, 32), 127))
_NO_TEXT = frozenset(("type", "role", "id", "tool_use_id", "tool_call_id", "call_id", "file_id", *_KINDS, "signature",
                      "encrypted_content", "cache_control", "annotations", "logprobs"))
"""Fields of a part that hold ids and kinds."""
_ADDRESS = re.compile(r"data:(?P<kind>[\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]*)*;base64,", re.ASCII)
"""How an address begins that is a file itself."""
_BLOB = re.compile(r"\S*|(?:[\w+/=-]{40,}\r?\n)*[\w+/=-]*\s*", re.ASCII)
"""An address, a word, or base64, which may come in lines."""
_NO_WORDS = ("type", "id", "cache_control", "logprobs")
"""Fields of a part of text that show the model nothing else."""
_DEEPEST = 30
_ORIGINS: dict[str, Origin] = {"assistant": "answer", "system": "system", "developer": "system"}
"""The origin of other parts of a message by its role."""


class TooDeepError(ValueError):
    """A message that is nested too deeply to be read."""


def asked_of(messages: Sequence[Mapping[str, Any]]) -> tuple[str | None, tuple[Turn, ...]]:
    """The question, and the other turns in their order.

    The question is the text of the last user message that has one. Where messages follow it, as with an agent whose
    tools answered, it stands in its place among the turns instead, and the question is None: text that came after the
    user's words does not withdraw them. TooDeepError where a message is nested too deeply.
    """
    turns = [turn for message in messages for turn in turns_of(message)]
    last = max((i for i, turn in enumerate(turns) if turn.role == "user" and turn.origin is None), default=None)
    if last is None or last < len(turns) - 1:
        return None, tuple(turns)
    return turns[last].text, tuple(turns[:last])


def says_words_alone(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether messages hold text of users and of the system and earlier answers, and nothing else that a model reads:
    no calls or results of tools, no reasoning, documents, images or files."""
    return all(map(_is_words, messages))


def _is_words(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    words_alone = (all(_text(part) is not None and not any(_beside(part).values()) for part in parts)
                   and not any(_fields(message).values()))
    return message.get("role") in SPEAKERS and words_alone


def turns_of(message: Mapping[str, Any]) -> Iterator[Turn]:
    """The typed parts of a message, then its own text, joined by blank lines. A turn without text is left out, but for
    the result of a tool, of which nothing may be readable (an image): that a tool answered is known."""
    role = message.get("role")
    role = role if role in ROLES else ""
    kind = _origin(message.get("type"))
    if role in ("tool", "function"):
        kind = "tool"
    if kind is not None:
        yield from _turn(role or kind, [*strings_of(message.get("content")), *strings_of(_fields(message))], kind)
        return
    if role != "assistant":  # Whose calls and thoughts are no text that it was given.
        yield from _turn(role, list(strings_of(_fields(message))), "unknown")
    content = message.get("content")
    spoken: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        text = _text(part)
        rest = part if text is None else _beside(part)
        if text is not None:
            spoken.append(text)
        origin = _origin(rest.get("type")) if isinstance(rest, Mapping) else None
        yield from _turn(role, list(strings_of(rest)), origin or _ORIGINS.get(role, "unknown"))
    yield from _turn(role, spoken, None)


def _fields(message: Mapping[str, Any]) -> dict[str, Any]:
    """What a message holds besides its words."""
    return {name: value for name, value in message.items() if name not in _OF_WORDS}


def _text(part: Any) -> str | None:
    """The text of a part that is the message's own."""
    if isinstance(part, Mapping) and part.get("type") in SPOKEN:
        part = part.get(_field(part))
    return part if isinstance(part, str) else None


def _field(part: Mapping[str, Any]) -> str:
    """Where the text of a part stands."""
    return "text" if isinstance(part.get("text"), str) else "refusal"


def _beside(part: Any) -> dict[str, Any]:
    """What a part of text holds besides it: a caption, a picture, a citation."""
    if not isinstance(part, Mapping):
        return {}
    return {name: one for name, one in part.items() if name != _field(part) and name not in _NO_WORDS}


def _origin(kind: Any) -> Origin | None:
    """The origin of a typed part, None for another type."""
    if not isinstance(kind, str):
        return None
    if kind.endswith(TOOLS):
        return "tool"
    return "retrieved" if kind in RETRIEVED else None


def _turn(role: str, texts: Sequence[str], origin: Origin | None) -> Iterator[Turn]:
    text = "\n\n".join(text for text in texts if text.strip())
    if text or origin == "tool":
        yield Turn(role, text, origin)


def strings_of(value: Any, deepest: int = _DEEPEST, *, media: bool = False) -> Iterator[str]:
    """Every text at or below a part of a request, those of files in base64 included, but ids, kinds and other bytes;
    with `media` the part is a picture or a sound, whose address is no text. TooDeepError where it is nested too
    deeply."""
    if deepest == 0:
        raise TooDeepError("a message is nested too deeply to be read")
    if isinstance(value, str):
        yield from _filed(value) if value.startswith("data:") else (value,)
    elif isinstance(value, list):
        for one in value:
            yield from strings_of(one, deepest - 1, media=media)
    elif isinstance(value, Mapping):
        media = media or value.get("type") in MEDIA
        for name, one in value.items():
            is_blob = media and name in (*_OF_MEDIA, *_FILES) and isinstance(one, str) and _BLOB.fullmatch(one)
            if name in DATA and one is not None:
                yield _json(one)
            elif isinstance(one, str) and not is_blob and (name in _FILES or (name == "data" and _is_base64(value))):
                yield from _filed(one, next((value[kind] for kind in _KINDS if kind in value), None))
            elif not is_blob and name not in _NO_TEXT:
                yield from strings_of(one, deepest - 1, media=media)


def _is_base64(part: Mapping[str, Any]) -> bool:
    return "base64" in (part.get("type"), part.get("source_type"))


def _filed(given: str, kind: Any = None) -> Iterator[str]:
    """The text of a file in base64 or a `data:` address, of a text type or in UTF-8 without control characters; nothing
    of another file, such as a PDF. What is no base64 is text as it stands."""
    found = _ADDRESS.match(given)
    kind = found["kind"] or kind if found else kind
    declared = isinstance(kind, str) and _TEXT_KIND.fullmatch(kind.lower().partition(";")[0].strip()) is not None
    try:
        data = _base64(given[found.end() if found else 0:])
        if declared or _plain(b64decode(data[:_HEAD]), cut=True) is not None:
            yield from _read(b64decode(data), declared)
    except ValueError:
        yield given


def _base64(given: str) -> bytes:
    """Base64 of either alphabet, in lines or not, padded or not, in one form. ValueError where it is none."""
    data = given.encode("ascii")
    if data.translate(None, _BASE64):
        raise ValueError("no base64")
    data = data.translate(bytes.maketrans(b"-_", b"+/"), b"=\r\n")
    return data + b"=" * (-len(data) % 4)


def _read(raw: bytes, declared: bool) -> Iterator[str]:
    """The text of a file, which is `declared` to have one or shows it."""
    text = _plain(raw)
    if text is None and declared:
        text = raw.decode("utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin-1", "replace")
    if text is not None:
        yield text


def _plain(raw: bytes, *, cut: bool = False) -> str | None:
    """Bytes as UTF-8, None where they are no text; those that were `cut` may end within a character."""
    if raw.startswith(b"%PDF") or len(raw.translate(None, _CONTROL)) < len(raw):
        return None
    try:
        return getincrementaldecoder("utf-8-sig")().decode(raw, final=not cut)
    except UnicodeDecodeError:
        return None


def _json(data: Any) -> str:
    try:
        return json.dumps(data, ensure_ascii=False)
    except RecursionError:
        raise TooDeepError("data of a tool is nested too deeply to be read") from None
