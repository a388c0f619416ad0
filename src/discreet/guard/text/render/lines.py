"""Lines: code fences, headings, rules, blockquotes, emoji bullets, quoted and compound YAML keys."""

from __future__ import annotations

import re

from discreet.guard.text.render.words import Edit, Edits, label

_LINE = re.compile(
    r"^(?:(?P<fence>[ \t>]*(?:`{3,}|~{3,})[^\n`]*$)"
    r"|(?P<rule>[ \t]{0,3}(?:-(?:[ \t]?-){2,}|\*(?:[ \t]?\*){2,}|_(?:[ \t]?_){2,}|=(?:[ \t]?=){2,})[ \t]*$)"
    "|(?P<box>[ \\t]*(?:[+][-=]{2}|[┌├└╭╰╞╠╔╚┏┗┣┡]).*(?:\\n|\\Z))"
    r"|(?P<head>(?:[ \t]{0,3}>)*+[ \t]{0,3}#{1,6}[ \t]+)"
    r"|(?P<quote>(?:[ \t]{0,3}>)++(?:[ \t]+|$))"
    "|(?P<emoji>[ \t]*(?:[-*+•][ \t]+)?(?:[0-9]\u20e3|[\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\U0001f000-\U0001faff])++[ \t]+)"
    r"|(?P<key>[ \t]*+(?:-[ \t]+)?)(?P<name>[\"']?[A-Za-z][A-Za-z0-9]*+(?:[_-][A-Za-z0-9]+)*+[\"']?)"
    r"(?P<colon>:[ \t]*+)(?P<value>[\"'|>]?)[^\n]*$)", re.MULTILINE)
_FOOT = re.compile(r"^[ \t]{0,3}\[\^[\w-]{1,20}\]:[ \t]+", re.MULTILINE)


def lines(text: str) -> Edits:
    """What stands at the head of a line and is not read aloud."""
    edits: list[Edit] = [(*m.span(), "") for m in _FOOT.finditer(text)] if "[^" in text else []
    for m in _LINE.finditer(text):
        kind = next(name for name in ("fence", "rule", "box", "head", "quote", "emoji", "key") if m[name] is not None)
        if kind == "key":
            edits += _key(text, m)
        elif m.start() < m.end():
            edits.append((*m.span(), "- " if kind == "emoji" else ""))
    return Edits(sorted(edits))


def _key(text: str, m: re.Match[str]) -> list[Edit]:
    """A key that is no plain word, as words; a quoted value without its quotes."""
    edits: list[Edit] = []
    name, (start, end) = m["name"], m.span("name")
    compound = "_" in name or name[0] in "\"'" or not (name.isupper() or name[1:].islower() or len(name) == 1)
    if not compound and not (m["value"] and name.islower()):
        return edits
    if compound and (words := label(name)):
        edits.append((start, end, words))
    first, last = m.end("colon"), m.end()
    body = text[first:last].rstrip()
    if m["value"] and m["value"] in "\"'" and len(body) > 2 and body[-1] == body[0]:
        edits += [(first, first + 1, ""), (first + len(body) - 1, first + len(body), "")]
    elif body in ("|", ">", "|-", ">-"):
        edits.append((first, first + len(body), ""))
    return edits
