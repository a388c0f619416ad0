"""What the passes share: edits, the words of a key, how a value follows its label."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Edit = tuple[int, int, str]
"""Replace [start, end) by a text; only where that is empty may the span be empty, too."""

RECORD = "\n\x1e\n"
"""Between two records: the control character of that name, which no prose holds."""
NOBODY = "\x1d"
"""Before a row of a table that is no list of persons, and before sample values in code: these are not read up to the
end of the line or to the next `READ`."""
READ = "\x1f"
"""Behind what is not read."""
SEPARATORS = re.compile("[\x1c-\x1f]")
"""The marks of the passes: in a text that comes in they are blanks, so that no text can hide behind them."""
PROSE = 6
"""A value of more words is prose."""
_STOPS = (".", "!", "?", ":", ";")
_NOISE = re.compile(r"[*_`\"'~]|\([^()]*\)|<[^<>]*>")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_JOINERS = re.compile(r"[\s_.-]+")


@dataclass(slots=True)
class Edits:
    """Edits of a text, sorted and disjoint; `beside` are spans that are read apart, and `how` says why; `beyond` where
    the pass has left something undone because it would grow too long."""

    edits: list[Edit] = field(default_factory=list)
    beside: list[tuple[int, int]] = field(default_factory=list)
    how: str = "markup"
    beyond: bool = False


def label(key: str) -> str:
    """A key as words: "maritalStatus", "marital_status" and "**Marital status** (now)" are "Marital status"."""
    words = _JOINERS.sub(" ", _CAMEL.sub(" ", _NOISE.sub(lambda m: " " if m[0] == "_" else "", key))).strip(" :")
    return words[:1].upper() + (words[1:] if words.isupper() else words[1:].lower())


def labelled(key: str, value: str) -> str:
    """A label with what parts it from its value: prose stands on a line of its own."""
    return f"{label(key)}:{chr(10) if len(value.split(None, PROSE)) > PROSE else ' '}"


def stop(text: str) -> str:
    """A full stop, where a text has none."""
    return "" if not text.strip() or text.rstrip().endswith(_STOPS) else "."
