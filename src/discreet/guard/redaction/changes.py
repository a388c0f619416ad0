"""What stands in place of which characters of an answer, and the text that comes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Change:
    """What stands in place of the characters [start, end) of the original: `replacement`, empty where they go.

    `type` is that of the identifier, the class of the attribute, or "sentence". No words of the original are held.
    """

    start: int
    end: int
    type: str
    replacement: str = field(repr=False)


def overlap(a: Change, b: Change) -> bool:
    """Whether two changes touch the same characters; new words in between touch those on both sides."""
    if a.start == a.end or b.start == b.end:
        return b.start <= a.start <= b.end if a.start == a.end else a.start < b.start < a.end
    return a.start < b.end and b.start < a.end


def applied(text: str, changes: Iterable[Change]) -> str:
    """A text with changes, which are in order of place and do not overlap."""
    parts, at = [], 0
    for one in changes:
        parts += [text[at : one.start], one.replacement]
        at = one.end
    return "".join([*parts, text[at:]])


def placed(changes: Iterable[Change], offset: int) -> int:
    """Where a character of the original lies in the changed text; of one that is gone, where its place was."""
    moved = offset
    for one in changes:
        if one.end > offset:
            if one.start < offset:
                moved -= offset - one.start
            break
        moved += len(one.replacement) - (one.end - one.start)
    return moved
