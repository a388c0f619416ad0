"""JSON, and what looks like it (Python's repr, JSON that was cut off): an object to a block of "Key: value." lines."""

from __future__ import annotations

import json
import re

from discreet.guard.text.render.words import RECORD, SEPARATORS, Edit, Edits, labelled, stop

_START = re.compile(r"[\[{]\s*+(?=[\"'\[{]|-?\d)")
_TOKEN = re.compile(
    r"\s*+(?:(?P<open>[{\[])|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)"
    r"|(?P<string>\"[^\"\\]*(?:\\.[^\"\\]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'(?=\s*[,:}\]]))"
    r"|(?P<plain>-?\d[\d.eE+-]*|true|false|null|True|False|None|NaN)\b)", re.DOTALL)
_KEY = re.compile(r"\s*+:\s*+")
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}(?:\\u[dD][c-fC-F][0-9A-Fa-f]{2})?|.)", re.DOTALL)
_WORDS = {"true": "yes", "True": "yes", "false": "no", "False": "no", "null": "none", "None": "none", "NaN": "none"}


def structured(text: str) -> Edits:
    """Every region that reads as an object, or as a list of strings."""
    edits: list[Edit] = []
    at = 0
    while (m := _START.search(text, at)) is not None:
        found, at = _region(text, m.start())
        edits += found
    return Edits(edits)


def _region(text: str, start: int) -> tuple[list[Edit], int]:
    """The edits of the region that begins with a bracket, none where it is no data; and where it ends."""
    edits: list[Edit] = []
    stack: list[str] = []
    at, keys, strings, value = start, 0, 0, ""
    key: tuple[int, int] | None = None  # one whose value has not come yet
    while (m := _TOKEN.match(text, at)) is not None and (kind := m.lastgroup):
        (begin, end), is_object = m.span(kind), stack[-1:] == ["{"]
        if kind == "colon" or (kind == "close" and (text[begin] == "}") != is_object) or (kind != "open" and not stack):
            break
        if at < begin:
            edits.append((at, begin, ""))
        colon = _KEY.match(text, end) if kind == "string" and is_object else None
        said = text[begin + 1 : end - 1] if kind == "string" else text[begin:end] if kind == "plain" else ""
        if key is not None:
            edits.append((*key, labelled(text[slice(*key)].strip(" \t\r\n:").strip("\"'"), "" if colon else said)))
            key = None
        if kind == "open":
            stack.append(text[begin])
            edits.append((begin, end, "" if text[begin] == "[" else RECORD if len(stack) == 1 else "\n"))
            value = ""
        elif kind == "close":
            stack.pop()
            edits.append((begin, end, stop(value) + "\n" if is_object else ""))
            value = "" if is_object else value
        elif kind == "comma":
            listed = not is_object and 0 < len(value.split(None, 4)) <= 3
            apart = RECORD if not is_object and not value else f"{stop(value)}\n"
            edits.append((begin, end, ", " if listed else apart))
        elif colon is not None:
            key, end, keys = (begin, colon.end()), colon.end(), keys + 1
        elif kind == "string":
            edits += [(begin, begin + 1, ""), *_unescaped(text, begin + 1, end - 1), (end - 1, end, "")]
            value, strings = said, strings + 1
        else:
            value = said
            edits += [(begin, end, _WORDS[said])] if said in _WORDS else []
        at = end
        if not stack:
            break
    if key is not None:
        edits.append((*key, labelled(text[slice(*key)].strip(" \t\r\n:").strip("\"'"), "")))
    return edits if keys or (strings > 1 and not stack) else [], max(at, start + 1)


def _unescaped(text: str, start: int, end: int) -> list[Edit]:
    edits: list[Edit] = []
    for m in _ESCAPE.finditer(text, start, end):
        try:
            plain = json.loads(f'"{m[0]}"')
        except ValueError:
            plain = m[0][1:]
        plain = SEPARATORS.sub(" ", plain)
        if plain != m[0]:
            edits.append((*m.span(), plain))
    return edits
