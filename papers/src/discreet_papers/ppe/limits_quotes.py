"""Section IX-E, verbatim-source leakage: quotes of passages with small edits.

A case is an answer of sentences of one document with a stretch of another, edited, between them; the sources are that
other document and four more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from numpy.random import Generator

from discreet.core.records import Answer, Estimate
from discreet.guard.text.quotes import find_quotes
from discreet.stats import rate_estimate

LENGTHS = (12, 15, 20, 30)
SOURCES = 5
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_PUT_IN = ("also", "then", "indeed", "reportedly", "in fact", "at that time", "as noted", "again")
_OTHER = ("thing", "matter", "said", "given", "part", "made", "much", "side")


@dataclass(frozen=True, slots=True)
class QuoteCase:
    """An answer with its passages; `edit` and `words` say how much was quoted and how, `place` where."""

    answer: Answer
    edit: str
    words: int
    place: tuple[int, int]


def _cased(words: list[str], rng: Generator) -> list[str]:
    """Lower case without punctuation, or all in capitals."""
    bare = [_bare(w) for w in words]
    return [w.upper() for w in bare] if rng.random() < 0.3 else [w.lower() for w in bare]


def _bare(word: str) -> str:
    return "".join(c for c in word if c.isalnum() or c in "'-") or word


def _numbered(words: list[str], rng: Generator) -> list[str]:
    """Every digit another one."""
    return ["".join(str(int(rng.integers(1, 10))) if c.isdecimal() else c for c in w) for w in words]


def _at(words: Sequence[str], rng: Generator) -> list[int]:
    """One place in every ten words, the ends among them."""
    n = max(1, len(words) // 10)
    return sorted(int(k) for k in rng.choice(len(words), size=n, replace=False))


def _inserted(words: list[str], rng: Generator) -> list[str]:
    places = _at(words, rng)
    return [piece for k, w in enumerate(words)
            for piece in ((w, _PUT_IN[rng.integers(len(_PUT_IN))]) if k in places else (w,))]


def _left_out(words: list[str], rng: Generator) -> list[str]:
    places = _at(words, rng)
    return [w for k, w in enumerate(words) if k not in places]


def _replaced(words: list[str], rng: Generator) -> list[str]:
    places = _at(words, rng)
    return [_OTHER[rng.integers(len(_OTHER))] if k in places else w for k, w in enumerate(words)]


def _all(words: list[str], rng: Generator) -> list[str]:
    return _cased(_numbered(_inserted(words, rng), rng), rng)


EDITS: Mapping[str, Callable[[list[str], Generator], list[str]]] = {
    "none": lambda words, rng: words, "case and punctuation": _cased, "numbers": _numbered,
    "a word in ten put in": _inserted, "a word in ten left out": _left_out, "a word in ten replaced": _replaced,
    "case, numbers and words put in": _all,
}


@dataclass(frozen=True, slots=True)
class Document:
    """A text and what it belongs to: two of one `group` (a case, a note) may repeat one another."""

    text: str = field(repr=False)
    group: str


def _drawn(documents: Sequence[Document], rng: Generator) -> list[str]:
    """One document, and as many of other groups as there are sources. Raises ValueError where there are too few."""
    usable = [one for one in documents if len(one.text.split()) >= 60]
    if len({one.group for one in usable}) < SOURCES + 1:
        raise ValueError(f"documents of 60 words are of fewer than {SOURCES + 1} groups; give more of them")
    first, *rest = (usable[int(k)] for k in rng.permutation(len(usable)))
    return [first.text, *[one.text for one in rest if one.group != first.group][:SOURCES]]


def quote_cases(documents: Sequence[Document], n: int, rng: Generator) -> Iterator[QuoteCase]:
    """`n` quotes of each edit and length. Raises ValueError where too few documents have 60 words."""
    for name, edit in EDITS.items():
        for length in LENGTHS:
            for number in range(n):
                picked = _drawn(documents, rng)
                source, carrier = _passage(picked[0], rng), _around(picked[1])
                start = int(rng.integers(0, len(source) - length + 1))
                said = " ".join(edit(source[start : start + length], rng))
                passages = [" ".join(source), *(" ".join(_passage(one, rng)) for one in picked[2:])]
                order = rng.permutation(len(passages))
                before, behind = carrier
                yield QuoteCase(Answer(f"{name}-{length}-{number}", f"{before} {said} {behind}", None,
                                       tuple(passages[int(k)] for k in order)), name, length,
                                (len(before) + 1, len(before) + 1 + len(said)))


def _passage(document: str, rng: Generator, most: int = 180) -> list[str]:
    words = document.split()
    start = int(rng.integers(0, max(1, len(words) - most)))
    return words[start : start + most]


def _around(document: str) -> tuple[str, str]:
    """Two sentences to stand before a quote, and two behind it."""
    sentences = [" ".join(s.split()[:30]) for s in _SENTENCE.split(document) if len(s.split()) > 3]
    sentences = sentences or [" ".join(document.split()[:30])]
    return " ".join(sentences[:2]), " ".join(sentences[2:4])


def measure_quotes(cases: Sequence[QuoteCase]) -> Estimate:
    """The share of answers with a quote that overlaps with the place of the true one."""
    hits = [any(q.start < case.place[1] and case.place[0] < q.end for q in
                find_quotes(case.answer.answer, case.answer.sources)) for case in cases]
    return rate_estimate(sum(hits), len(hits), unit="answer")
