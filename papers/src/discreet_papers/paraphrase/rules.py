"""`rules`: other words by closed lists and clause orders, offline. English."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from numpy.random import Generator

from discreet_papers.paraphrase.rewording import (
    LISTS,
    Edit,
    Turn,
    edited,
    edits_of,
    holds,
    is_loud,
    keeps,
    lowered,
    reordered,
    turns_of,
    word_lists,
    words_of,
)

TRIES = 12
SWAPPED, REORDERED, OPENED, CLOSED = 0.8, 0.6, 0.35, 0.25
SOURCES = ("rewording.py", "rules.py", LISTS)
ENDS = (".", "!", "?", "…", '"', "”", ")")


@dataclass(frozen=True, slots=True)
class Rules:
    """Contractions and their long forms, synonyms of a closed list, other patterns of questions, clause order, polite
    openers and closers.

    A paraphrase keeps marks, white space between sentences, numbers, addresses and names. It shares more words with
    its text than what a language model or a person writes, and where no rule fits it differs by an opener or a closer
    alone: figures on it say what rewording by rule does.
    """

    @property
    def facts(self) -> Mapping[str, Any]:
        """`version` is a hash of lists and code."""
        return {"paraphraser": "rules", "kind": "rule-based", "language": "en", "version": _version()}

    @property
    def label(self) -> str:
        """rules."""
        return "rules"

    def paraphrase(self, texts: Sequence[str], n: int, rng: Generator) -> list[list[str]]:
        """See `Paraphraser`. A text draws from a stream of its own, and the first k of n do not depend on n."""
        return [_several(text, n, own) for text, own in zip(texts, rng.spawn(len(texts)), strict=True)]


Orders = tuple[tuple[str, list[Edit]], ...]
"""A sentence, first as it is and then in other orders, each with its edits."""


def _drawn(orders: Orders, rng: Generator) -> str:
    other = len(orders) > 1 and rng.random() < REORDERED
    return edited(*orders[int(rng.integers(1, len(orders))) if other else 0], rng, SWAPPED)


def _several(text: str, n: int, rng: Generator) -> list[str]:
    turns = turns_of(text)
    sentences = [[tuple((order, edits_of(order)) for order in (one, *reordered(one))) for one in turn.sentences]
                 for turn in turns]
    if not any(words_of(one) for turn in turns for one in turn.sentences):
        return [text] * n
    taken, found = {words_of(text)}, list[str]()
    for _ in range(n):
        # The first draws must bring more than an opener.
        found.append(next((one for attempt, one in enumerate(_candidates(turns, sentences, rng))
                           if words_of(one) not in taken and keeps(text, one)
                           and (attempt >= TRIES // 2 or not holds(one, text))), text))
        taken.add(words_of(found[-1]))
    return found


def _candidates(turns: Sequence[Turn], sentences: Sequence[Sequence[Orders]], rng: Generator) -> Iterator[str]:
    """Draws, with an opener for certain in the later ones; at last every opener and closer of the first turn."""
    for attempt in range(TRIES):
        first = True
        said = []
        for turn, own in zip(turns, sentences, strict=True):
            drawn = tuple(_drawn(one, rng) for one in own)
            if drawn:
                opened = rng.random() < OPENED or (first and attempt >= TRIES // 2)
                drawn, first = _framed(turn, drawn, rng, opened), False
            said.append(turn.text(drawn))
        yield "".join(said)
    at = next(number for number, turn in enumerate(turns) if turn.sentences)
    kind = _kind(turns[at], turns[at].sentences[0])
    openers, closers = (["", *word_lists()[name][kind]] for name in ("openers", "closers"))
    pairs = [(opener, closer) for opener in openers for closer in closers]
    for number in rng.permutation(len(pairs)):
        opener, closer = pairs[number]
        drawn = _closed(_opened(turns[at].sentences, opener), closer)
        yield "".join(turn.text(drawn if place == at else None) for place, turn in enumerate(turns))


def _framed(turn: Turn, drawn: tuple[str, ...], rng: Generator, opened: bool) -> tuple[str, ...]:
    lists = word_lists()
    openers, closers = lists["openers"][_kind(turn, drawn[0])], lists["closers"][_kind(turn, drawn[-1])]
    opener, closer = openers[rng.integers(len(openers))], closers[rng.integers(len(closers))]
    closed = rng.random() < CLOSED
    return _closed(_opened(drawn, opener if opened else ""), closer if closed else "")


def _kind(turn: Turn, sentence: str) -> str:
    if turn.by_assistant:
        return "assistant"
    return "question" if "?" in sentence or sentence[:3].lower() in ("how", "why", "wha") else "statement"


def _opened(sentences: tuple[str, ...], opener: str) -> tuple[str, ...]:
    first = sentences[0]
    if not opener or words_of(opener)[:1] == words_of(first)[:1]:
        return sentences
    if is_loud(first):
        opener = opener.upper()
    elif first[0].islower():
        opener = _small(opener)
    return (f"{opener} {lowered(first)}", *sentences[1:])


def _closed(sentences: tuple[str, ...], closer: str) -> tuple[str, ...]:
    last = sentences[-1]
    if not closer:
        return sentences
    # A sentence without an end gets a comma: a full stop there would change its register.
    behind = f" {closer}" if last.endswith(ENDS) else f", {_small(closer).rstrip('.')}"
    return (*sentences[:-1], last + (behind.upper() if is_loud(last) else behind))


def _small(framing: str) -> str:
    """An opener or closer without its capital."""
    return framing if framing.startswith("I ") else framing[0].lower() + framing[1:]


@cache
def _version() -> str:
    room = files(__package__)
    parts = [room.joinpath(name).read_bytes() for name in SOURCES]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
