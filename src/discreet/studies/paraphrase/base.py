"""What a paraphraser is, what counts as another text, and the door for plug-ins.

A paraphraser is one file in `paraphrasers/`: a frozen dataclass whose fields are its options (text, whole numbers,
numbers), registered under its name with `@paraphrasers.register("name")`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.random import Generator

from discreet.core.records import Estimate
from discreet.core.registry import Registry
from discreet.data.texts import MARKS

_MARK = re.compile("|".join(map(re.escape, MARKS.values())))
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


class Paraphraser(Protocol):
    """Says texts in other words. A frozen dataclass of options."""

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


paraphrasers: Registry[type[Any]] = Registry(
    "paraphrasers", builtin="discreet.studies.paraphrase.paraphrasers", classes=True
)


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


@dataclass(frozen=True, slots=True)
class Change:
    """How far paraphrases are from their texts.

    Attributes
    ----------
    distinct : Estimate
        Share of texts whose paraphrases all differ, from the text and from each other, by `words_of`.
    overlap : Estimate
        Mean over all paraphrases of `overlap` with their text.
    wrapped : Estimate
        Share of paraphrases that hold their text as it was, see `holds`; those that are the text are among them.

    They have no intervals: they describe these texts.
    """

    distinct: Estimate
    overlap: Estimate
    wrapped: Estimate

    def to_json(self) -> dict[str, Any]:
        """All three as estimates."""
        return {"distinct": self.distinct, "overlap": self.overlap, "wrapped": self.wrapped}


def change(texts: Sequence[str], said: Sequence[Sequence[str]]) -> Change:
    """How far `said`, one list of paraphrases for each text, is from `texts`."""
    full = [len({words_of(text), *map(words_of, ours)}) == 1 + len(ours)
            for text, ours in zip(texts, said, strict=True)]
    pairs = [(text, other) for text, ours in zip(texts, said, strict=True) for other in ours]
    each = [one for text, other in pairs if (one := overlap(text, other)) is not None]
    return Change(_mean(full, "text"), _mean(each, "paraphrase"),
                  _mean([holds(other, text) for text, other in pairs], "paraphrase"))


def _mean(values: Sequence[float], unit: str) -> Estimate:
    if not values:
        return Estimate.unresolved(f"there is no {unit} that could be compared; at least one is needed", unit=unit, n=0)
    return Estimate(sum(values) / len(values), None, None, n=len(values), unit=unit, method="mean")
