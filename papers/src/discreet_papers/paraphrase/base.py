"""What a paraphraser is, and what counts as another text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.random import Generator

from discreet.inputs.texts import MARKS

_MARK = re.compile("|".join(map(re.escape, MARKS.values())))
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


class Paraphraser(Protocol):
    """Says texts in other words."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """JSON values without secrets that change whenever paraphrases may come out otherwise; `kind` among them."""
        ...

    @property
    def label(self) -> str:
        """A few characters for a file name: letters, digits, dots and hyphens."""
        ...

    def paraphrase(self, texts: Sequence[str], n: int, rng: Generator) -> list[list[str]]:
        """`n` paraphrases of each text, in the order of the texts; each with the marks of `text` in their order.

        No two of them, and none and the text, are the same by `words_of` where that can be had; where it cannot, the
        text stands for the paraphrase that is not there.
        """
        ...


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in order, without case, punctuation and marks: equal words are no paraphrase."""
    return tuple(_WORD.findall(_MARK.sub(" ", text).replace("’", "'").casefold()))


def marks_of(text: str) -> list[str]:
    """`<|user|>` and `<|assistant|>`, in order."""
    return _MARK.findall(text)


def overlap(first: str, second: str) -> float | None:
    """Jaccard index of two texts' sets of words, in [0, 1]; None where neither has any."""
    a, b = set(words_of(first)), set(words_of(second))
    return len(a & b) / len(a | b) if a | b else None


def holds(said: str, text: str) -> bool:
    """Whether all words of a text stand in `said` one behind the other: something was put around it, at most."""
    return f" {' '.join(words_of(text))} " in f" {' '.join(words_of(said))} "
