"""A text with its tokens and sentences, computed once and read by every tagger."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from discreet.core.unicode import Prepared, prepare

TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’](?![sS]\b)[^\W\d_]+)?|['’][sS]\b|\S")
_ABBREVIATION = frozenset(
    "mr mrs ms dr prof sr jr st rev hon vs v no inc corp ltd co al fig e.g i.e dept u.s approx est gen col "
    "capt sgt".split()
)
_SENTENCE_STOP = frozenset(".!?")
_CLOSERS = frozenset("\"')]”’")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or mark with its place in the normalised text."""

    text: str = field(repr=False)
    lower: str = field(repr=False)
    start: int
    end: int
    sentence: int

    @property
    def is_capitalised(self) -> bool:
        """Starts with an upper-case letter and is not a single letter."""
        return len(self.text) > 1 and self.text[0].isupper()

    @property
    def is_number(self) -> bool:
        """Begins with a digit."""
        return self.text[0].isdigit()


def lower_of_same_length(text: str) -> str:
    """A text in lower case, offsets kept: a letter whose lower case is longer ("İ") stays as it is."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


class Doc:
    """Tokens and sentences of a prepared text.

    Parameters
    ----------
    prepared : Prepared
        The normalised text with its map to the original.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.text = prepared.text

    @classmethod
    def of(cls, text: str) -> Doc:
        """Normalise and tokenise a string."""
        return cls(prepare(text))

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens in order; each knows the number of its sentence."""
        found = [(m.group(), m.start(), m.end()) for m in TOKEN.finditer(self.text)]
        tokens: list[Token] = []
        sentence = 0
        for i, (word, start, end) in enumerate(found):
            if i and self._breaks(found, i):
                sentence += 1
            tokens.append(Token(word, word.lower(), start, end, sentence))
        return tuple(tokens)

    @cached_property
    def lowers(self) -> tuple[str, ...]:
        """Lower-cased token texts, for the gazetteer matchers."""
        return tuple(t.lower for t in self.tokens)

    @cached_property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """Token ranges [first, last) of the sentences."""
        ranges: list[tuple[int, int]] = []
        begin = 0
        for i, token in enumerate(self.tokens):
            if i and token.sentence != self.tokens[i - 1].sentence:
                ranges.append((begin, i))
                begin = i
        if self.tokens:
            ranges.append((begin, len(self.tokens)))
        return tuple(ranges)

    def sentence_of(self, index: int) -> tuple[int, int]:
        """The token range of the sentence that holds token `index`."""
        return self.sentences[self.tokens[index].sentence]

    @cached_property
    def _starts(self) -> list[int]:
        return [t.start for t in self.tokens]

    def token_at(self, offset: int) -> int:
        """Index of the token that covers or follows a character offset (the last one past the end)."""
        place = max(0, bisect_right(self._starts, offset) - 1)
        if self.tokens and self.tokens[place].end <= offset and place + 1 < len(self.tokens):
            return place + 1
        return place

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
        if found[j][0] not in _SENTENCE_STOP or not gap:
            return False
        before = found[j - 1][0].lower() if j else ""
        if found[j][0] == "." and (
            before in _ABBREVIATION or (len(before) == 1 and before.isalpha() and before != "i")
        ):
            return False
        return not word[0].islower()
