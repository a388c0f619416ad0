"""Texts in turns and sentences, put together again as they were; and what of a text must not be lost."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from discreet.data.texts import ASSISTANT, MARKS
from discreet.studies.paraphrase.base import marks_of
from discreet.studies.paraphrase.words import LOWERED

_TURN = re.compile("(" + "|".join(map(re.escape, MARKS.values())) + ")")
_SENTENCE = re.compile(
    r"\s*\n\s*|(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Ms|Dr|St|vs|Jr|No)\.)(?<!\b(?:Mrs|etc)\.)(?<!\bProf\.)\s+")
_PRECIOUS = re.compile(r"\S*[\d@#/_]\S*")
_EDGE = ".,;:!?…'\"()[]{}<>*"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said: `between[i]`, `sentences[i]`, and so on, and `between[-1]`, joined, are the text.

    `before` is the mark in front, empty where there is none; `between` are white space.
    """

    before: str
    between: tuple[str, ...]
    sentences: tuple[str, ...]

    @property
    def by_assistant(self) -> bool:
        """Whether the assistant speaks."""
        return self.before == MARKS[ASSISTANT]

    def text(self, sentences: tuple[str, ...] | None = None) -> str:
        """The turn, with other sentences in place of its own."""
        own = self.sentences if sentences is None else sentences
        return self.before + "".join(map("".join, zip(self.between, (*own, ""), strict=True)))


def turns_of(text: str) -> list[Turn]:
    """The turns of a text, one where it has no marks; joined they are the text."""
    parts = _TURN.split(text)
    return [_turn(mark, body) for mark, body in zip(["", *parts[1::2]], parts[::2], strict=True) if mark or body]


def _turn(mark: str, body: str) -> Turn:
    core = body.strip()
    start = body.index(core) if core else 0
    found = list(_SENTENCE.finditer(core))
    starts, ends = [0, *(one.end() for one in found)], [*(one.start() for one in found), len(core)]
    sentences = tuple(core[one:other] for one, other in zip(starts, ends, strict=True)) if core else ()
    inner = tuple(one.group() for one in found)
    return Turn(mark, (body[:start], *inner, body[start + len(core):]) if core else (body,), sentences)


def is_loud(sentence: str) -> bool:
    """Whether a sentence is in capitals throughout, two of them at least."""
    return sum(one.isupper() for one in sentence) > 1 and not any(one.islower() for one in sentence)


def is_name(word: str) -> bool:
    """Whether a word has a capital and is not "I" or one of its contractions."""
    return word.lower() != word and word != "I" and word[:2] not in ("I'", "I’")


def lowered(sentence: str) -> str:
    """A sentence that follows something: without its capital unless its first word may be a name."""
    first = _WORD.match(sentence)
    word = first.group().replace("’", "'") if first else ""
    ordinary = word.casefold() in LOWERED and (word == "A" or word[1:].islower())
    return sentence[:1].lower() + sentence[1:] if ordinary else sentence


def raised(sentence: str, like: str) -> str:
    """A sentence with a capital where `like` has one."""
    return sentence[:1].upper() + sentence[1:] if like[:1].isupper() else sentence


def precious(text: str) -> Counter[str]:
    """What holds digits, @, #, / or _, without the punctuation around it: numbers, dates, addresses, handles."""
    return Counter(found for one in _PRECIOUS.findall(_TURN.sub(" ", text)) if (found := one.strip(_EDGE)))


def names(text: str) -> Counter[str]:
    """Words with a capital that do not begin a sentence, as they are written; none of sentences in capitals."""
    found: Counter[str] = Counter()
    for turn in turns_of(text):
        for sentence in turn.sentences:
            if not is_loud(sentence):
                later = [one.group() for one in _WORD.finditer(sentence)][1:]
                found.update(filter(is_name, later))
    return found


def keeps(text: str, candidate: str) -> bool:
    """Whether a candidate has the marks, numbers and names of a text."""
    written = Counter(one.group() for one in _WORD.finditer(candidate))
    return marks_of(text) == marks_of(candidate) and precious(text) == precious(candidate) and names(text) <= written
