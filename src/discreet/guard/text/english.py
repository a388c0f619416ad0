"""What is English about words and tokens: its vocabulary, its syntax around foreign names, its shorthand, its code; and
how a text may hide its words."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from discreet.core.unicode import hidden
from discreet.guard.text.doc import Doc, Token
from discreet.guard.text.resources import words as word_lists

LONGEST_NAME = 5
"""Words of a foreign name, such as a dish, between two English function words or marks."""
LONGEST_LIST = 20
"""Words of names in a row, with marks but without an English function word between them."""
_CODE_MARKS = frozenset("={}[]<>_\\|&*#$^@+;")
_VOWELS = frozenset("aeiouy")
_MARKS = frozenset(",;:.()!?/&–—•|")
_SUFFIXES = tuple("s es ed d ing ly al ic er ness ment 's".split())
_PREFIXES = tuple("un re non pre post anti hyper hypo intra inter peri sub supra micro multi co over under cardio "
                  "neuro thrombo fibro hemo endo para trans".split())

_APART = re.compile(r"(?<!\S)(?:[A-Za-z] ){9,}[A-Za-z](?!\S)")
_LEET = str.maketrans("0134578@$", "oieastbas")
_MIXED = re.compile(r"(?<![\w@$.-])(?=\w*[a-z])(?=[\w@$]*[013457@$])[a-z0-9@$]{4,}(?![\w@$-])", re.IGNORECASE)
_LONG_WORD = re.compile(r"(?<![\w/.@#%&=-])[A-Za-z]{75,}(?![\w/@=])")
_BITS = re.compile(r"(?<![01])(?:[01]{7,8}[ ,\n]{1,3}){7}")
_SIGNALS = re.compile(r"(?<![-. ])(?:[.-]{1,5}[ /]{1,3}){24}")


@cache
def vocabulary() -> frozenset[str]:
    """English words: whole words of the reader's tokenizer and a list, without function words of other languages."""
    pieces = json.loads(files("discreet.guard.text").joinpath("data", "reader", "tokenizer.json").read_text("utf-8"))
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
    for suffix in _SUFFIXES if word.endswith(_SUFFIXES) else ():
        if word.endswith(suffix) and len(word) > len(suffix) + 3:
            stem = word[: -len(suffix)]
            if stem in known or f"{stem}e" in known:
                return True
    for prefix in _PREFIXES if word.startswith(_PREFIXES) else ():
        if word.startswith(prefix) and len(word) > len(prefix) + 3 and word[len(prefix) :] in known:
            return True
    return False


def is_framed(tokens: Sequence[Token]) -> bool:
    """Whether English holds a sentence together, and leaves only short runs of words that it has not.

    So it is around names of dishes: function words of English or a word of menus, and other words that are English.
    """
    words = [t.lower for t in tokens if t.text[0].isalpha()]
    return _has_frame(words) and _are_names(tokens)


def _has_frame(words: Sequence[str]) -> bool:
    """Whether one word in twelve is a function word of English, and two others are English too."""
    listed = word_lists("english")
    if not listed["menu"].isdisjoint(words):
        return True
    certain = listed["frame"].intersection(words)
    frame = [word for word in words if word in certain or word in listed["support"]]
    if not certain or len(set(frame)) < 2 or 12 * len(frame) < len(words):
        return False
    others = set(words) - word_lists("language")["en"]
    return sum(word in vocabulary() or is_derived(word) for word in others) > 1


def _are_names(tokens: Sequence[Token]) -> bool:
    """Whether words that English has not stand in short runs, and not many runs in a row without English between."""
    listed, known = word_lists("english"), vocabulary()
    english = listed["frame"] | listed["menu"]
    name = names = 0
    for token in tokens:
        if token.text in _MARKS:
            name = 0
        elif token.lower in english:
            name = names = 0
        elif token.text[0].isalpha():
            name += token.lower not in known
            names += 1
        if name > LONGEST_NAME or names > LONGEST_LIST:
            return False
    return True


def is_enumeration(tokens: Sequence[Token]) -> bool:
    """Whether commas part a sentence into items."""
    return sum(t.text in {",", ";"} for t in tokens) > 1


def is_shorthand(tokens: Sequence[Token]) -> bool:
    """Whether a stretch is dense in numbers, marks and abbreviations, as notes of nurses, clerks and tellers are."""
    words = [t for t in tokens if t.text[0].isalpha()]
    if 10 * len(words) >= 7 * len(tokens):
        return False
    function = function_words() | word_lists("language")["en"]
    content = [t for t in words if t.lower not in function]
    return 5 * sum(_is_abbreviation(t.text) for t in content) >= 2 * len(content)


def _is_abbreviation(word: str) -> bool:
    """Whether a word has up to three letters, or no vowel, or up to five capitals."""
    return len(word) < 4 or (word.isupper() and len(word) < 6) or (word.isascii() and not set(word.lower()) & _VOWELS)


def n_function_words(words: set[str]) -> int:
    """How many words are listed function words of other languages, or have letters beyond ASCII."""
    listed = function_words()
    return sum(word in listed or not word.isascii() for word in words)


def n_unambiguous(words: set[str]) -> int:
    """How many words `n_function_words` counts that are no abbreviations of English notes."""
    return n_function_words(words - word_lists("english")["abbreviations"])


def is_code(tokens: Sequence[Token]) -> bool:
    """Whether a stretch is code or a formula: marks of code, names in mixed case, single letters."""
    words = [t.text for t in tokens if t.text[0].isalpha()]
    marks = sum(t.text in _CODE_MARKS for t in tokens)
    mixed = sum(any(map(str.isupper, word[1:])) and not word.isupper() for word in words)
    single = sum(len(word) == 1 for word in words)
    return 7 * (marks + mixed) > len(tokens) or 3 * single > len(words) + 2


def is_list(tokens: Sequence[Token]) -> bool:
    """Whether a stretch holds numbers and marks as a list of values or drugs does."""
    return 5 * sum(not t.text[0].isalpha() for t in tokens) > 2 * len(tokens)


def hides(doc: Doc) -> str:
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
