"""A text with its tokens and sentences, computed once and read by every detector."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from discreet.core.unicode import Prepared
from discreet.guard.text.render import render

T = TypeVar("T")
TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’](?![sS]\b)[^\W\d_]+)?|['’][sS]\b|\S")
_ABBREVIATION = frozenset(
    "mr mrs ms dr prof sr jr st rev hon vs v no inc corp ltd co al fig e.g i.e dept u.s approx est gen col "
    "capt sgt".split()
)
_SENTENCE_STOP = frozenset(".!?")
_CLOSERS = frozenset("\"')]”’")


class Token(NamedTuple):
    """A word, number or mark with its place in the normalised text."""

    text: str
    lower: str
    start: int
    end: int
    sentence: int

    def __repr__(self) -> str:
        return f"Token(start={self.start}, end={self.end}, sentence={self.sentence})"

    @property
    def is_capitalised(self) -> bool:
        """Starts with an upper-case letter and is not a single letter."""
        return len(self.text) > 1 and self.text[0].isupper()


def lower_of_same_length(text: str) -> str:
    """A text in lower case, offsets kept: a letter whose lower case is longer ("İ") stays as it is."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


class Doc:
    """Tokens and sentences of a normalised text, which comes with its map to the original."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.text = prepared.text
        self._once: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, text: str) -> Doc:
        """Render and tokenise a string."""
        return cls(render(text))

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens in order; each knows the number of its sentence."""
        found = [(m.group(), m.start(), m.end()) for m in TOKEN.finditer(self.text)]
        tokens, number, last, before = [], 0, "", 0
        for i, (word, start, end) in enumerate(found):
            # Behind a word and a blank, and where nothing is between, no sentence ends.
            if i and start > before and (start > before + 1 or not last[-1].isalnum() or self.text[before] == "\n"):
                number += self._breaks(found, i)
            tokens.append(Token(word, word.lower(), start, end, number))
            last, before = word, end
        return tuple(tokens)

    @cached_property
    def lowers(self) -> tuple[str, ...]:
        """Lower-cased token texts, for the gazetteer matchers."""
        return tuple([t.lower for t in self.tokens])

    @cached_property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """Token ranges [first, last) of the sentences."""
        starts = [i for i, token in enumerate(self.tokens) if not i or token.sentence != self.tokens[i - 1].sentence]
        return tuple(pairwise([*starts, len(self.tokens)] if starts else []))

    @cached_property
    def _starts(self) -> list[int]:
        return [t.start for t in self.tokens]

    def sentence_of(self, index: int) -> tuple[int, int]:
        """The token range of the sentence that holds token `index`."""
        return self.sentences[self.tokens[index].sentence]

    def token_at(self, offset: int) -> int:
        """Index of the token that covers or follows a character offset (the last one past the end)."""
        place = max(0, bisect_right(self._starts, offset) - 1)
        if self.tokens and self.tokens[place].end <= offset and place + 1 < len(self.tokens):
            return place + 1
        return place

    def token_at_original(self, offset: int) -> int:
        """As `token_at`, of an offset into the original text."""
        if not self.prepared.is_rewritten:
            return max(0, bisect_right(self._starts, offset) - 1)
        at = bisect_right(self.tokens, offset, key=lambda t: self.prepared.span(t.start, t.end)[0]) - 1
        return max(0, at)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` says of this text, asked once for each key."""
        if key not in self._once:
            self._once[key] = make()
        found: T = self._once[key]
        return found

    def words(self, first: int, last: int) -> str:
        """Lower-cased tokens [first, last) joined by blanks; bounds are clipped."""
        return " ".join(self.lowers[max(0, first) : max(0, last)])

    def _breaks(self, found: list[tuple[str, int, int]], i: int) -> bool:
        """Whether a sentence ends before token `i`."""
        word, start, _ = found[i]
        gap = self.text[found[i - 1][2] : start]
        if gap.count("\n") >= 2 or ("\n" in gap and (word[0].isupper() or word in "-*•>")):
            return True
        j = i - 1
        while j > 0 and found[j][0] in _CLOSERS and found[j - 1][2] == found[j][1]:
            j -= 1
        if found[j][0] not in _SENTENCE_STOP:
            return False
        before = found[j - 1][0].lower() if j else ""
        initial = len(before) == 1 and before.isalpha() and before != "i"
        if found[j][0] == "." and (initial or before in _ABBREVIATION):
            return False
        return not word[0].islower()


class Docs(dict[str, Doc]):
    """Texts as they came, each rendered and tokenised once: all that reads a text of one check takes it from here."""

    def __missing__(self, text: str) -> Doc:
        self[text] = doc = Doc.of(text)
        return doc

    def __repr__(self) -> str:
        return f"Docs({len(self)} texts)"
