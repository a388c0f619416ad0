"""Section IX-E, verbatim-source leakage: quotes of passages with small edits, and text that repeats what is common.

A case is an answer of sentences of one document with a stretch of another, edited, between them; the sources are that
other document and four more. Negatives are answers that quote nothing of their sources but phrases that very many texts
share, listed phrases, or passages that are marked public.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from numpy.random import Generator

from discreet.core.records import Answer, Public
from discreet.guard.text.quotes import QuoteRule, find_quotes
from discreet.stats import rate_estimate

LENGTHS = (12, 15, 20, 30)
SOURCES = 5
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_PUT_IN = ("also", "then", "indeed", "reportedly", "in fact", "at that time", "as noted", "again")
_OTHER = ("thing", "matter", "said", "given", "part", "made", "much", "side")


@dataclass(frozen=True, slots=True)
class QuoteCase:
    """An answer with its passages; `edit` and `words` say what was quoted and how, `edit` of negatives what kind."""

    answer: Answer
    quoted: bool
    edit: str
    words: int = 0
    place: tuple[int, int] = field(default=(0, 0))


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
                                       tuple(passages[int(k)] for k in order)), True, name, length,
                                (len(before) + 1, len(before) + 1 + len(said)))


def plain_cases(documents: Sequence[Document], n: int, rng: Generator) -> Iterator[QuoteCase]:
    """`n` each of: an answer of another document of the corpus; listed phrases in the answer and in the passages; a
    public passage word for word next to passages that hold parts of it."""
    text = files("discreet.guard.text").joinpath("data", "common_phrases.txt").read_text("utf-8")
    phrases = [line for line in text.splitlines() if line and not line.startswith("#")]
    for number in range(n):
        picked = _drawn(documents, rng)
        passages = tuple(" ".join(_passage(one, rng)) for one in picked[1:])
        own = " ".join(_passage(picked[0], rng))
        yield QuoteCase(Answer(f"other-{number}", own, None, passages), False, "another document of the corpus")
        said = [phrases[int(k)] for k in rng.choice(len(phrases), size=2, replace=False)]
        yield QuoteCase(Answer(f"phrase-{number}", f"{own} {' '.join(said)}", None,
                               (f"{passages[0]} {' '.join(said)}", *passages[1:])), False, "listed phrases")
        guideline = " ".join(_passage(picked[1], rng)[:60])
        yield QuoteCase(Answer(f"public-{number}", f"{own} {guideline}", None,
                               (Public(guideline), f"{passages[1]} {guideline}", *passages[2:])), False,
                        "a public passage")


def _passage(document: str, rng: Generator, most: int = 180) -> list[str]:
    words = document.split()
    start = int(rng.integers(0, max(1, len(words) - most)))
    return words[start : start + most]


def _around(document: str) -> tuple[str, str]:
    """Two sentences to stand before a quote, and two behind it."""
    sentences = [" ".join(s.split()[:30]) for s in _SENTENCE.split(document) if len(s.split()) > 3]
    sentences = sentences or [" ".join(document.split()[:30])]
    return " ".join(sentences[:2]), " ".join(sentences[2:4])


def measure_quotes(cases: Sequence[QuoteCase], rule: QuoteRule) -> list[dict[str, object]]:
    """A row for each edit and length, and for each kind of negatives: `found`, the share of answers with a quote; of
    the true ones, one that overlaps with the place of the quote."""
    hits: dict[tuple[bool, str, int], list[bool]] = {}
    for case in cases:
        found = find_quotes(case.answer.answer, case.answer.sources, rule)
        hit = any(q.start < case.place[1] and case.place[0] < q.end for q in found) if case.quoted else bool(found)
        hits.setdefault((case.quoted, case.edit, case.words), []).append(hit)
    rows: list[dict[str, object]] = [
        {"quoted": quoted, "edit": edit, "words": words, "found": rate_estimate(sum(one), len(one), unit="answer")}
        for (quoted, edit, words), one in hits.items()]
    for quoted in (True, False):
        every = [hit for key, one in hits.items() if key[0] == quoted for hit in one]
        if every:
            rows.append({"quoted": quoted, "edit": "all", "words": 0,
                         "found": rate_estimate(sum(every), len(every), unit="answer")})
    return rows
