"""Texts that hide what they say from a reader of words: characters or ways of writing that spell no words."""

from __future__ import annotations

import re

from discreet.core.unicode import hidden
from discreet.text.doc import Doc
from discreet.text.english import vocabulary

_APART = re.compile(r"(?<!\S)(?:[A-Za-z] ){9,}[A-Za-z](?!\S)")
_LEET = str.maketrans("0134578@$", "oieastbas")
_MIXED = re.compile(r"(?<![\w@$.-])(?=\w*[a-z])(?=[\w@$]*[013457@$])[a-z0-9@$]{4,}(?![\w@$-])", re.IGNORECASE)
_LONG_WORD = re.compile(r"(?<![\w/.@#%&=-])[A-Za-z]{75,}(?![\w/@=])")
_BITS = re.compile(r"(?<![01])(?:[01]{7,8}[ ,\n]{1,3}){7}")
_SIGNALS = re.compile(r"(?<![-. ])(?:[.-]{1,5}[ /]{1,3}){24}")


def unreadable(doc: Doc) -> str:
    """Why characters of the text hide or break what it says, or the empty string."""
    original = doc.prepared.original
    if not original.isascii() and any(plain is None for _, _, plain in hidden(original)):
        return "invisible characters that spell no text"
    known = vocabulary() if _APART.search(original) else frozenset()
    for run in _APART.finditer(original):
        spelt = run.group().replace(" ", "").lower()
        if spelt not in known and len(set(spelt)) > 4:
            return "letters written apart"
    if any(_is_prose(word) for word in _LONG_WORD.findall(doc.text)):
        return "letters without blanks between words"
    if _BITS.search(doc.text) or any("." in run and "-" in run for run in _SIGNALS.findall(doc.text)):
        return "letters written as signals"
    mixed = {found.lower() for found in _MIXED.findall(doc.text) if not found.isdecimal()}
    leet = [word for word in mixed if word.translate(_LEET) in vocabulary()] if len(mixed) > 2 else []
    return "digits in place of letters" if len(leet) > 2 else ""


def _is_prose(word: str) -> bool:
    """Whether a long word has vowels as a sentence has."""
    vowels = sum(c in "aeiou" for c in word)
    return not word.isupper() and 0.25 < vowels / len(word) < 0.5
