"""An answer in pieces that can be left out: sentences with the blanks behind them, bullets, rows of tables.

Pieces are stretches of the original text, so that what stays is byte for byte what it was. A piece whose markup is
not closed goes together with the next; code and data are one piece, which stays or goes whole. Of HTML the sentences of
its paragraphs, items and rows are pieces, whose tags go where no words are left between them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from discreet.guard.text.doc import Doc

Kind = Literal["prose", "item", "row", "header", "fixed", "element"]
_PREFIX = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•‣▪–][ \t]+|\(?(?:\d{1,3}|[a-z])[.)][ \t]+)(?:\[[ xX]\][ \t]+)?"
                     r"|#{1,6}[ \t]+)?")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)*\|?[ \t]*$")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_FIXED = re.compile(r"[ \t]*(?:[{<]|\[[ \t]*(?:$|[\[{\"])|\\begin\b"
                    r"|(?: {4}|\t)[ \t]*(?![-*+•‣▪–(\d \t]|[a-z][.)]))")
_BLOCK = r"(?:blockquote|caption|dd|div|dl|dt|figcaption|h[1-6]|li|p|section|tr)"
_BARE = r"(?:\s+(?:class|dir|lang|style)=(?:\"[^\"<>]*\"|'[^'<>]*'))*\s*"
_OUTER = r"(?:article|body|head|html|main|ol|table|tbody|thead|ul)"
_ELEMENT = re.compile(rf"<({_BLOCK}){_BARE}>(?P<words>(?:(?!</?(?:{_BLOCK}|{_OUTER})\b).)*)</\1\s*>",
                      re.IGNORECASE | re.DOTALL)
"""A paragraph, an item, a row, a heading of HTML without another in it, and no attributes that may hold words."""
_AROUND = re.compile(rf"(?:\s|</?(?:{_BLOCK}|{_OUTER}|br|hr){_BARE}/?>|<!doctype html>)*", re.IGNORECASE)
"""What may stand between these: tags, and no words."""
_TAG = re.compile(r"<(/?)(?!(?:br|hr|img|wbr)\b)[a-z][^<>]*(?<!/)>", re.IGNORECASE)
_OPENERS = "*_~`(\"'“‘["
_SHORT = re.compile(r"(?:^|\s)(?:[A-Z]|(?:Smt|Kum|Shri|Sri|Mme|Mlle|Lt|Maj|Cpl|Messrs|Sr|Fr|"
                    r"paras?|pp?|[Nn]os?|[Ss]ecs?|[Aa]rts?|[Vv]ols?|[Cc]h|cf|ca|approx))\.\s+$"
                    r"|^\W*(?:\w+ )?\d+[.)]\W*$")
"""An abbreviation, or a number ("44.", "Para 2."), behind which no sentence ends."""
_WRAPPED = 60
"""Characters from which on a line that ends inside a sentence was broken for its length."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The characters [start, end) of the original, and the block in which they stand (a paragraph, an item, a row)."""

    start: int
    end: int
    block: int


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines [start, end) of the original with the line break, or an element of HTML with its tags; words begin at
    `body`. Rows and header of one table have its number."""

    start: int
    body: int
    end: int
    kind: Kind
    table: int = -1


@dataclass(frozen=True, slots=True)
class Pieces:
    """The blocks of a text and the pieces in them, both in order of place."""

    blocks: tuple[Block, ...]
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, text: str) -> Pieces:
        """The pieces of an answer."""
        blocks = tuple(_blocks(text))
        pieces = [Piece(start, end, k) for k, block in enumerate(blocks) for start, end in _split(text, block)]
        return cls(blocks, tuple(pieces))

    def at(self, start: int, end: int) -> list[int]:
        """The pieces that share a character with [start, end)."""
        return [i for i, one in enumerate(self.pieces) if one.start < end and start < one.end]

    def is_prose(self, piece: int) -> bool:
        """Whether words of a piece may be put otherwise; those of code and data may not."""
        return self.blocks[self.pieces[piece].block].kind != "fixed"

    def cuts(self, text: str, dropped: Collection[int]) -> list[tuple[int, int]]:
        """The stretches that go with the pieces `dropped`, in order, apart from each other: a block that loses all of
        its words goes with its lines, a table that loses all rows or its header goes whole."""
        gone = self._gone(text, dropped)
        found: list[tuple[int, int]] = []
        for k, block in enumerate(self.blocks):
            if k in gone:
                found.append((block.start, block.end))
                continue
            mine = [(i, one) for i, one in enumerate(self.pieces) if one.block == k]
            for at, (i, one) in enumerate(mine):
                if i in dropped:
                    last = all(j in dropped for j, _ in mine[at:])
                    start = one.start
                    while last and start > block.body and text[start - 1] in " \t\n":
                        start -= 1
                    found.append((start, one.end))
        return _joined([_with_blanks(text, *one) for one in _joined(found)])

    def _gone(self, text: str, dropped: Collection[int]) -> set[int]:
        left: dict[int, list[str]] = {}
        for i, one in enumerate(self.pieces):
            left.setdefault(one.block, [])
            if i not in dropped:
                left[one.block].append(text[one.start : one.end].strip())
        gone = {k for k, words in left.items() if any(self.pieces[i].block == k for i in dropped)
                and all(is_label(one) for one in words)}
        for table in {block.table for block in self.blocks if block.table >= 0}:
            rows = {k for k, block in enumerate(self.blocks) if block.table == table and block.kind == "row"}
            heads = {k for k, block in enumerate(self.blocks) if block.table == table and block.kind == "header"}
            if heads & gone or (rows and rows <= gone):
                gone |= rows | heads
        return gone


def is_label(words: str) -> bool:
    """Whether words only introduce what follows them: "**Basis.**", "Note:"."""
    bare = words.strip("*_ .:")
    short = len(bare.split()) <= 4
    if "?" in words:
        return False
    return not bare or (short and (words.endswith(":") or (words[:2] == "**" and words.rstrip(".:")[-2:] == "**")))


def _with_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch with the blank lines behind it where others stand before it, or with those before where all ends."""
    if start and text[start - 1] != "\n":
        return start, end
    if not text[end:].strip():
        return len(text[:start].rstrip()), len(text)
    if start == 0 or text[:start].endswith("\n\n"):
        while text[end] == "\n":
            end += 1
    return start, end


def _joined(found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in found:
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        elif start < end:
            out.append((start, end))
    return out


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield at, at + len(line)
        at += len(line)


def _blocks(text: str) -> Iterator[Block]:
    """Blocks in order; blank lines are in none of them."""
    lines = list(_lines(text))
    at, table = 0, 0
    while at < len(lines):
        start, end = lines[at]
        said = text[start:end]
        if not said.strip():
            at += 1
            continue
        rows = _rows(text, lines, at)
        if rows > at:
            for k in range(at, rows):
                yield Block(lines[k][0], lines[k][0], lines[k][1], "header" if k < at + 2 else "row", table)
            at, table = rows, table + 1
            continue
        fixed = _fixed(text, lines, at)
        if fixed > at:
            end = lines[fixed - 1][1]
            yield from _elements(text, start, end) or [Block(start, start, end, "fixed")]
            at = fixed
            continue
        prefix = _PREFIX.match(said)
        body = start + (prefix.end() if prefix else 0)
        last = at + 1
        while last < len(lines) and _continues(text[lines[last - 1][0] : lines[last - 1][1]],
                                               text[lines[last][0] : lines[last][1]]):
            last += 1
        yield Block(start, body, lines[last - 1][1], "item" if said[: body - start].strip() else "prose")
        at = last


def _rows(text: str, lines: Sequence[tuple[int, int]], at: int) -> int:
    """The line behind a table that begins at a line; the line itself where none does."""
    if at + 1 >= len(lines) or "|" not in text[slice(*lines[at])]:
        return at
    if not _RULE.match(text[slice(*lines[at + 1])].rstrip()):
        return at
    end = at + 2
    while end < len(lines) and "|" in text[slice(*lines[end])]:
        end += 1
    return end


def _fixed(text: str, lines: Sequence[tuple[int, int]], at: int) -> int:
    """The line behind code or data that begins at a line; the line itself where none does."""
    said = text[slice(*lines[at])]
    if _FENCE.match(said):
        end = at + 1
        while end < len(lines) and not _FENCE.match(text[slice(*lines[end])]):
            end += 1
        return min(end + 1, len(lines))
    if not _FIXED.match(said.rstrip("\r\n")):
        return at
    end = at + 1
    depth = _depth(said)
    while depth > 0 and end < len(lines):
        depth += _depth(text[slice(*lines[end])])
        end += 1
    while end < len(lines) and text[slice(*lines[end])].strip():
        end += 1
    return end


def _elements(text: str, start: int, end: int) -> list[Block]:
    """The elements of HTML that hold all words of a stretch; none where there are words beside them, or no HTML."""
    found = list(_ELEMENT.finditer(text, start, end))
    between = pairwise([start, *(at for m in found for at in m.span()), end])
    if not found or not all(_AROUND.fullmatch(text, a, b) for k, (a, b) in enumerate(between) if k % 2 == 0):
        return []
    lines = [text[m.start() - 1 : m.start()] in ("", "\n") and text[m.end() : m.end() + 1] == "\n" for m in found]
    return [Block(m.start(), m.start("words"), m.end() + line, "element") for m, line in zip(found, lines, strict=True)]


def _continues(before: str, line: str) -> bool:
    """Whether a line goes on with the sentence of the line before, which was broken for its length."""
    words = before.rstrip()
    prefix = _PREFIX.match(line)
    marked = bool(prefix and prefix.group().strip())
    return (bool(line.strip()) and not marked and "|" not in line and not _FENCE.match(line)
            and len(words) >= _WRAPPED and words[-1:] not in ".!?:;")


def _split(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """The sentences of a block, which together are all of its words."""
    end = text.rindex("</", block.body, block.end) if block.kind == "element" else block.end
    while end > block.body and text[end - 1] in "\r\n":
        end -= 1
    if block.kind not in ("prose", "item", "element"):
        yield block.body, end
        return
    doc = Doc.of(text[block.body : end])
    starts = [block.body]
    for first, _ in doc.sentences[1:]:
        start = block.body + doc.prepared.span(doc.tokens[first].start, doc.tokens[first].end)[0]
        while start > block.body and text[start - 1] in _OPENERS:
            start -= 1
        said = text[starts[-1] : start]
        whole = _closed(said) and (block.kind != "element" or not _open_tags(said))
        if start > starts[-1] and said[-1:].isspace() and whole and not _SHORT.search(said):
            starts.append(start)
    yield from pairwise([*starts, end])


def _closed(said: str) -> bool:
    """Whether markup, brackets and quotes that open in a stretch close there."""
    return (said.count("**") % 2 == 0 and said.count("`") % 2 == 0 and said.count('"') % 2 == 0
            and said.count("(") <= said.count(")") and said.count("[") <= said.count("]")
            and said.count("“") <= said.count("”"))


def _open_tags(said: str) -> int:
    """How many more tags open in a stretch than close."""
    return sum(-1 if m[1] else 1 for m in _TAG.finditer(said))


def _depth(line: str) -> int:
    """How many more brackets and environments of data open in a line than close."""
    opened = line.count("{") + line.count("[") + 2 * line.count("\\begin")
    return opened - line.count("}") - line.count("]") - 2 * line.count("\\end")
