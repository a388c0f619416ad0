"""At the head of lines: code fences, headings, rules, blockquotes, emoji bullets, quoted and compound YAML keys. Inside
lines: citations, links, emphasis, code marks, escapes, LaTeX commands, emoji between words."""

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


_NUMBERS = r"\d{1,3}(?:\s?[-,;]\s?\d{1,3}){0,12}"
_CITATION = re.compile(
    rf"(?:\[\^[\w-]{{1,20}}\]|【\d[\d:]*(?:†[^】\n]{{0,80}})?】"
    rf"|\[(?:docs?|documents?|sources?|refs?|references?|citations?|cite|notes?|chunks?|passages?|context)"
    rf"[ .:#_-]{{0,3}}{_NUMBERS}\]"
    rf"|\((?:docs?|documents?|sources?|refs?\.?|references?|citations?)[ .:#_-]{{0,3}}{_NUMBERS}\))"
    rf"|\[{{1,2}}{_NUMBERS}\]{{1,2}}\((?P<target>[^()\s]{{0,500}})\)"
    rf"|(?P<bracket>\[{_NUMBERS}\])(?!\()", re.IGNORECASE)
_LARGEST, _UNITS = 30, re.compile(r"[ -]?(?:years?|yrs?|y/?o|months?|weeks?|days?)\b", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\](?:\(<?([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?)>?"
                   r"(?:[ ]+(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\)|\[[^\[\]\n]{0,40}\])")
_RUN = re.compile(r"(?<![*\\])\*{1,3}(?!\*)|(?<![_\\])_{1,3}(?!_)|(?<![~\\])~~(?!~)|(?<![=<>!\\])==(?!=)"
                  r"|(?<![`\\])`{1,3}(?!`)|\n[ \t]*\n")
_MARKS = re.compile("[*_`]|~~|==")
_SOLID = re.compile(r"[^\W_]")
_ESCAPED = re.compile(r"\\(?=[!-/:-@\[-`{-~])(?!\\x)")
_COMMAND = re.compile(r"\\(?:text(?:bf|it|rm|sf|sc|tt|sl|up|md|normal)|emph|underline|text|mathrm|mathbf|mathit|mbox|"
                      r"(?:sub){0,2}section\*?|(?:sub)?paragraph\*?|title|caption|footnote|enquote|uline|hl)[ ]*\{"
                      r"|\{|\}")
_LATEX = re.compile(r"\\(?:begin|end)\{[a-z*]{1,20}\}(?:\[[^\]\n]{0,40}\])?|\\item\b[ \t]*|"
                    r"[ ~]?\\(?:cite[a-z]{0,6}|ref|label|autoref)(?:\[[^\]\n]{0,40}\])?\{[^{}\n]{0,200}\}")
_EMOJI = re.compile("[ \t]?[\u2600-\u27bf\U0001f000-\U0001faff]+")


def inline(text: str) -> Edits:
    """All that stands inside lines; of edits that meet, the earlier and longer one."""
    edits: list[Edit] = []
    beside: list[tuple[int, int]] = []
    if "[" in text or "【" in text or "(" in text:
        edits += _citations(text, beside)
    if "](" in text or "][" in text:
        for m in _LINK.finditer(text):
            edits += [(m.start(), m.start(1), ""), (m.end(1), m.end(), "")]
            if m[2] is not None:
                beside.append((m.end(1) + 1, m.end()))
    if _MARKS.search(text):
        edits += _emphasis(text)
    if "\\" in text:
        edits += _latex(text)
    if not text.isascii():
        edits += [(*m.span(), "") for m in _EMOJI.finditer(text) if m.start() and not text[m.start() - 1].isspace()]
    kept: list[Edit] = []
    for one in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if one[0] < one[1] and (not kept or kept[-1][1] <= one[0]):
            kept.append(one)
    return Edits(kept, sorted(beside))


def _citations(text: str, beside: list[tuple[int, int]]) -> list[Edit]:
    edits: list[Edit] = []
    for m in _CITATION.finditer(text):
        start, end = m.span()
        if m["target"]:
            beside.append(m.span("target"))
        if m["bracket"]:
            # A number in brackets after a blank may be meant to be read: "is [52] years old".
            attached = start and not text[start - 1].isspace()
            small = all(int(n) <= _LARGEST for n in re.findall(r"\d+", m["bracket"]))
            opens = not text[text.rfind("\n", max(0, start - 8), start) + 1 : start].strip() and not attached
            if opens or _UNITS.match(text, end) or not (attached or small) or text[start - 1 : start].isdigit():
                continue
        edits.append((start - (start > 0 and text[start - 1] in " \t"), end, ""))
    return edits


def _emphasis(text: str) -> list[Edit]:
    """Marks that open and close emphasis within a paragraph, after CommonMark's rules of what may flank them."""
    edits: list[Edit] = []
    pending: dict[str, tuple[int, int]] = {}

    def pair(mark: str, start: int, end: int) -> bool:
        first = pending.pop(mark, None)
        if first is None or not _SOLID.search(text, first[1], start):
            return False
        edits.extend([(*first, ""), (start, end, "")])
        return True

    for m in _RUN.finditer(text):
        mark, (start, end) = m[0], m.span()
        if mark[0] == "\n":
            pending.clear()
            continue
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        opens, closes = not after.isspace(), not before.isspace()
        if mark[0] == "_":
            opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
        elif mark == "*" and before.isdigit() and after.isdigit():
            opens = closes = False
        if mark[0] == "`":
            opens = closes = True
        if closes and mark in pending and pair(mark, start, end):
            continue
        if closes and len(mark) == 3 and mark[0] in "*_" and {mark[0], mark[:2]} <= pending.keys():
            inner = mark[0] if pending[mark[0]] > pending[mark[:2]] else mark[:2]
            pair(inner, start, start + len(inner))
            pair(mark[len(inner) :], start + len(inner), end)
        elif opens:
            pending[mark] = start, end
    return edits


def _latex(text: str) -> list[Edit]:
    edits: list[Edit] = [(*m.span(), "- " if m[0][1] == "i" else "\n" if m[0][1] in "be" else "")
                         for m in _LATEX.finditer(text)]
    stack: list[tuple[int, int] | None] = []
    commands = 0
    for m in _COMMAND.finditer(text):
        if m[0] == "}":
            if stack and (opened := stack.pop()) is not None:
                edits += [(*opened, ""), (*m.span(), "")]
        else:
            stack.append(m.span() if m[0][0] == "\\" else None)
            commands += m[0][0] == "\\"
    return [*edits, *((*m.span(), "") for m in _ESCAPED.finditer(text))]
