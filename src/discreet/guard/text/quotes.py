"""Near-verbatim quotes of retrieved passages: where an answer repeats a stretch of a source almost word for word.

Case, punctuation and numbers are not compared, and a few words may be put in, left out or replaced. Runs of three words
that stand in a passage too are chained along their diagonal, and what they span is aligned in a band (Smith and
Waterman, J. Mol. Biol. 1981): the time grows with the words of answer and passages, not with their product. What
everybody may read is no leak: words of phrases that are common, and of passages that are marked public, do not count.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from discreet.core.records import Public
from discreet.core.unicode import Prepared
from discreet.guard.text.doc import Docs
from discreet.guard.text.render import render
from discreet.guard.text.resources import words as word_lists

_Numbers = NDArray[np.int64]
_WORD = re.compile(r"[^\W_]+")
_NUMBERS = frozenset("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
                     "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety".split())
_NUMBER = "0"
_SEED, _PHRASE = 3, 4
_OFTEN = 16
"""A run that stands in more places of the passages than this begins no quote."""
_GAP, _DRIFT, _APART = 10, 4, 40
_BAND = 64
"""Diagonals that a chain may cover: where words were put in or left out on and on, a further chain begins."""
_MATCH, _MISS = 3, -2
_LOST, _SHARE, _TELLING = 0.25, 0.65, 4
"""Of the least length that may be lost to edits; share of equal words in the stretch; words that are no function
words."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A stretch of the original answer, `words` of it as they stand in passage `source` (from 1)."""

    start: int
    end: int
    source: int
    words: int


def find_quotes(answer: str, sources: Sequence[str], *, least: int = 12, common: Sequence[str] = (),
                docs: Docs | None = None) -> tuple[Quote, ...]:
    """Quotes of the passages in an answer, in order of place; offsets are those of the answer as it came.

    `least` is the least length of a quote, in words of the passage (at least 6); `common` are phrases that are none. A
    passage that is a `Public` is one that anybody may read. `docs` holds texts that were rendered.
    """
    docs = Docs() if docs is None else docs
    private = [(number, one) for number, one in enumerate(sources, 1) if not isinstance(one, Public)]
    if not private:
        return ()
    prepared = docs[answer].prepared
    said, places = _words(prepared)
    public = [_words(docs[one].prepared)[0] for one in sources if isinstance(one, Public)]
    phrases = [w for w, _ in map(_words, map(render, common))]
    known = _covered(said, [_listed(), _runs(phrases), _runs(public)])
    index = _Index([(number, _words(docs[one].prepared)[0]) for number, one in private])
    telling = word_lists("language")["en"]
    chains = sorted(_chains(said, index, known), key=lambda c: (-c.seeds, c.first))
    if not chains:
        return ()
    here, there = _numbered(said, index.words)
    found: list[Quote] = []
    taken = [False] * len(said)
    for chain in chains:
        if sum(taken[chain.first : chain.last]) * 2 > chain.last - chain.first:
            continue
        pairs = _aligned(here, there, chain)
        pairs = [(i, p) for i, p in pairs if not known[i]]
        if not pairs:
            continue
        (first, begin), (last, end) = pairs[0], pairs[-1]
        longest, shortest = max(last - first, end - begin) + 1, end - begin + 1
        equal = len(pairs)
        told = sum(said[i] not in telling and said[i] != _NUMBER for i, _ in pairs)
        if (equal >= round(least * (1 - _LOST)) and shortest >= least - 2 and equal >= _SHARE * longest
                and told >= _TELLING):
            found.append(Quote(*prepared.span(places[first][0], places[last][1]), index.source_of(begin), equal))
            taken[first : last + 1] = [True] * (last + 1 - first)
    return tuple(sorted(found, key=lambda q: (q.start, q.end)))


def common_phrases(texts: Iterable[str], documents: int = 5, words: int = 6) -> list[str]:
    """Phrases of at least `words` words that stand in at least so many of the texts, for the policy's `common`.

    Give whole documents, one a text: chunks of one document that overlap would make its own words common. Texts that
    are alike in more than a third of their runs count once.
    """
    if documents < 2 or words < _PHRASE:
        raise ValueError(f"documents is {documents} and words {words}; expected at least 2 and {_PHRASE}")
    read, seen = [_words(render(text))[0] for text in texts], Counter[tuple[str, ...]]()
    kept: list[tuple[list[str], set[tuple[str, ...]]]] = []
    first: dict[tuple[str, ...], list[int]] = {}
    for said in read:
        runs = set(_grams(said, words))
        alike = Counter(number for run in runs for number in first.get(run, ())[:_OFTEN])
        if any(count * 3 > min(len(runs), len(kept[number][1])) for number, count in alike.most_common(1)):
            continue
        for run in runs:
            first.setdefault(run, []).append(len(kept))
        kept.append((said, runs))
        seen.update(runs)
    phrases: dict[str, None] = {}
    for said, _ in kept:
        phrase: list[str] = []
        for number, gram in enumerate(_grams(said, words)):
            if seen[gram] >= documents:
                phrase = [*(phrase or gram[:-1]), said[number + words - 1]]
            elif phrase:
                phrases[" ".join(phrase)] = None
                phrase = []
        if phrase:
            phrases[" ".join(phrase)] = None
    return list(phrases)


def _words(prepared: Prepared) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of a rendered text as they are compared, every number the same, and where they stand in it."""
    said, places = [], []
    for one in _WORD.finditer(prepared.text):
        word = one.group().casefold()
        said.append(_NUMBER if word[0].isdigit() or word in _NUMBERS else word)
        places.append(one.span())
    return said, places


def _grams(said: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    return (tuple(said[i : i + n]) for i in range(len(said) - n + 1))


def _runs(texts: Iterable[Sequence[str]]) -> frozenset[tuple[str, ...]]:
    return frozenset(gram for said in texts for gram in _grams(said, _PHRASE))


@cache
def _listed() -> frozenset[tuple[str, ...]]:
    """The phrases that ship with discreet: notes of caution, of sources and of law."""
    text = files("discreet.guard.text").joinpath("data", "common_phrases.txt").read_text("utf-8")
    return _runs([_words(render(line))[0] for line in text.splitlines() if line and not line.startswith("#")])


def _covered(said: Sequence[str], phrases: Sequence[frozenset[tuple[str, ...]]]) -> list[bool]:
    """Which words stand in a run of a common phrase."""
    common = [False] * len(said)
    for i, gram in enumerate(_grams(said, _PHRASE)):
        if any(gram in one for one in phrases):
            common[i : i + _PHRASE] = [True] * _PHRASE
    return common


class _Index:
    """The words of all passages in one row, `_APART` empty ones between two, and where each run of them stands."""

    def __init__(self, passages: Sequence[tuple[int, list[str]]]) -> None:
        self.words: list[str] = []
        self.places: dict[tuple[str, ...], list[int]] = {}
        self._starts: list[tuple[int, int]] = []
        for number, said in passages:
            begin = len(self.words)
            self._starts.append((begin, number))
            self.words += [*said, *[""] * _APART]
            for i, gram in enumerate(_grams(said, _SEED)):
                self.places.setdefault(gram, []).append(begin + i)

    def source_of(self, place: int) -> int:
        """The number of the passage that holds a word."""
        return self._starts[bisect_right(self._starts, (place, math.inf)) - 1][1]


@dataclass(slots=True)
class _Chain:
    """Runs that follow one another in answer and passages, words [first, last) of the answer, on diagonals from `low`
    to `high` (place in the passages less place in the answer)."""

    first: int
    last: int
    low: int
    high: int
    seeds: int = 1


def _chains(said: Sequence[str], index: _Index, common: Sequence[bool]) -> list[_Chain]:
    """Runs chained: the next begins at most `_GAP` words on, and its diagonal is off by at most `_DRIFT`."""
    done: list[_Chain] = []
    active: dict[int, _Chain] = {}
    near = sorted(range(-_DRIFT, _DRIFT + 1), key=abs)
    for i, gram in enumerate(_grams(said, _SEED)):
        places = index.places.get(gram, ())
        if len(places) > _OFTEN or all(common[i : i + _SEED]):
            continue
        for place in places:
            diagonal = place - i
            for off in near:
                one = active.get(diagonal + off)
                if (one is not None and i - one.last <= _GAP - _SEED
                        and max(one.high, diagonal) - min(one.low, diagonal) < _BAND):
                    del active[diagonal + off]
                    one.last, one.seeds = i + _SEED, one.seeds + 1
                    one.low, one.high = min(one.low, diagonal), max(one.high, diagonal)
                    break
            else:
                one = _Chain(i, i + _SEED, diagonal, diagonal)
            if diagonal in active:
                done.append(active[diagonal])
            active[diagonal] = one
    return [one for one in (*done, *active.values()) if one.seeds > 1]


def _numbered(*texts: Sequence[str]) -> list[_Numbers]:
    """Texts with a number for each word, the same for the same word."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for words in texts for word in words))}
    return [np.array([numbers[word] for word in words], np.int64) for words in texts]


def _aligned(said: _Numbers, words: _Numbers, chain: _Chain) -> list[tuple[int, int]]:
    """The best local alignment in the band of a chain: pairs of equal words, places in answer and passages."""
    first, last = max(0, chain.first - _GAP), min(len(said), chain.last + _GAP)
    low, width = chain.low - _DRIFT, chain.high - chain.low + 2 * _DRIFT + 1
    # Row i holds word first + i - 1 of the answer, column k its place first + i - 1 + low + k - 1 in the passages.
    scores = np.zeros((last - first + 1, width + 2), np.int32)
    equal = said[first:last, None] == sliding_window_view(_stretch(words, first + low, last - first + width - 1), width)
    here = np.where(equal, np.int32(_MATCH), np.int32(_MISS))
    # What it costs to leave out words of the passage up to a place: the best of a row is then a running maximum.
    left_out = -_MISS * np.arange(width, dtype=np.int32)
    for i, row in enumerate(scores[1:, 1:-1]):
        np.maximum(scores[i, 1:-1] + here[i], scores[i, 2:] + _MISS, out=row)
        np.maximum(row, 0, out=row)
        np.add(row, left_out, out=row)
        np.maximum.accumulate(row, out=row)
        np.subtract(row, left_out, out=row)
    i, k = (int(n[-1]) for n in np.nonzero(scores == scores.max()))
    pairs: list[tuple[int, int]] = []
    while score := scores[i, k]:
        # On one diagonal, a word of the answer that the passage lacks, or one of the passage left out.
        if score == scores[i - 1, k] + here[i - 1, k - 1]:
            if equal[i - 1, k - 1]:
                pairs.append((first + i - 1, first + i - 1 + low + k - 1))
            i -= 1
        elif score == scores[i - 1, k + 1] + _MISS:
            i, k = i - 1, k + 1
        else:
            k -= 1
    return pairs[::-1]


def _stretch(words: _Numbers, start: int, length: int) -> _Numbers:
    """So many words from a place on, none (-1) before the first and behind the last one."""
    found = np.full(length, -1)
    inside = words[max(0, start) : max(0, start + length)]
    found[max(0, -start) : max(0, -start) + len(inside)] = inside
    return found
