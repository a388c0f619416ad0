"""Which words English has: a word list, and the endings and prefixes of words that no list holds."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from discreet.text.resources import words as word_lists

_SUFFIXES = tuple("s es ed d ing ly al ic er ness ment 's".split())
_PREFIXES = tuple("un re non pre post anti hyper hypo intra inter peri sub supra micro multi co over under cardio "
                  "neuro thrombo fibro hemo endo para trans".split())


@cache
def vocabulary() -> frozenset[str]:
    """English words: whole words of the reader's tokenizer and a list, without function words of other languages."""
    pieces = json.loads(files("discreet.text").joinpath("data", "reader", "tokenizer.json").read_text("utf-8"))
    whole = {piece for piece in pieces["model"]["vocab"] if len(piece) > 1 and piece.isalpha() and piece.isascii()}
    return frozenset((whole | word_lists("ordinary")["ordinary"]) - function_words())


@cache
def function_words() -> frozenset[str]:
    """Function words of other languages that English has not."""
    lists = word_lists("language")
    return frozenset(word for code, listed in lists.items() if code != "en" for word in listed) - lists["en"]


def is_derived(word: str) -> bool:
    """Whether a word is an English word with an ending or a prefix."""
    known = vocabulary()
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) > len(suffix) + 3:
            stem = word[: -len(suffix)]
            if stem in known or f"{stem}e" in known:
                return True
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) > len(prefix) + 3 and word[len(prefix) :] in known:
            return True
    return False
