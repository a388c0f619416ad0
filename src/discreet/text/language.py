"""A language guess that is only ever asked one question: is this English enough to be judged?

Function words decide: about two of five words of running English prose are among the listed ones, and hardly any
of another language's are. A stretch that is long enough and holds too few of them, or another script, is not
English. Short stretches and lists of terms are never decided on function words alone.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache

from discreet.text.doc import Doc
from discreet.text.resources import words as word_lists

_WINDOW = 24
_LEAST = 8


@dataclass(frozen=True, slots=True)
class Language:
    """`english` is False only where the text shows that it is not; `guess` is an ISO 639-1 code, `und` or a script."""

    english: bool
    guess: str


def guess_language(doc: Doc) -> Language:
    """Judge a text window by window; one window that is clearly not English decides."""
    words = [t.lower for t in doc.tokens if t.text[0].isalpha()]
    if not words:
        return Language(True, "und")
    script = _other_script(words)
    if script:
        return Language(False, script)
    for begin in range(0, len(words), _WINDOW):
        window = words[begin : begin + _WINDOW] if len(words) - begin >= _LEAST or begin == 0 else words[-_LEAST:]
        code = _foreign(window)
        if code:
            return Language(False, code)
    return Language(True, "en")


def _other_script(words: list[str]) -> str | None:
    """The script of a text in which at least a fifth of the letters, and eight of them, are not Latin."""
    letters = [c for word in words for c in word if ord(c) > 0x24F and c.isalpha()]
    total = sum(len(word) for word in words)
    if len(letters) < 8 or len(letters) < 0.2 * total:
        return None
    names: dict[str, int] = {}
    for c in letters:
        script = unicodedata.name(c, "UNKNOWN").split()[0].lower()
        names[script] = names.get(script, 0) + 1
    best = max(names, key=lambda k: names[k])
    return None if best in ("latin", "mathematical", "modifier", "ohm", "micro", "greek") and names[best] < 20 else best


@cache
def _codes() -> dict[str, tuple[str, ...]]:
    """Function word to the languages that use it and English does not."""
    table: dict[str, list[str]] = {}
    lists = word_lists("language")
    for code, listed in lists.items():
        for word in listed - lists["en"]:
            table.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in table.items()}


def _foreign(window: list[str]) -> str | None:
    """The language of a window that is clearly not English, or None."""
    if len(window) < _LEAST:
        return None
    codes, english_words = _codes(), word_lists("language")["en"]
    english, other = 0, Counter[str]()
    for word in window:
        if word in english_words:
            english += 1
        elif word in codes:
            other.update(codes[word])
    if other:
        code, count = max(other.items(), key=lambda item: (item[1], item[0]))
        if count >= 4 and count > 1.5 * english and count >= 0.2 * len(window):
            return code
    if english or len(window) < 20:
        return None
    accented = sum(not word.isascii() for word in window)
    return "und" if accented >= 0.25 * len(window) else None
