"""What a paraphraser is, what counts as another text, and sentences in other words.

A text is taken into sentences and put together again, with clauses in another order and phrases of closed lists.

The lists are `words.yaml`. What must not be lost of a text (marks, numbers, addresses, names) is checked by `keeps`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, Protocol

import yaml
from numpy.random import Generator

from discreet.inputs.texts import ASSISTANT, MARKS

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


LISTS = "words.yaml"
_TURN = re.compile("(" + "|".join(map(re.escape, MARKS.values())) + ")")
_CORE = re.compile(r"(\s*)(.*?)(\s*)", re.S)
_SENTENCE = re.compile(
    r"(\s*\n\s*|(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Ms|Dr|St|vs|Jr|No)\.)(?<!\b(?:Mrs|etc)\.)(?<!\bProf\.)\s+)")
_PRECIOUS = re.compile(r"\S*[\d@#/_]\S*")
_EDGE = ".,;:!?…'\"()[]{}<>*"
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_WORD_START, _WORD_END = r"(?<![\w@#/.'’-])", r"(?!\w|[@/-]|['’](?!s\b)|\.\w)"
_STRAIGHT = str.maketrans("’", "'")


@cache
def _clause(name: str) -> re.Pattern[str]:
    found = word_lists()["clauses"]
    return re.compile(found[name].replace("<clause>", found["clause"]), re.S if name == "end" else re.I)


@cache
def word_lists() -> Mapping[str, Any]:
    """The closed lists; fragments stand in their patterns."""
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(LISTS).read_text(encoding="utf-8"))

    def whole(pattern: str) -> str:
        for name, fragment in found["fragments"].items():
            pattern = pattern.replace(f"<{name}>", fragment)
        return pattern

    patterns = {name: [(whole(pattern), tuple(options)) for pattern, *options in found[name]]
                for name in ("frames", "contractions", "in_context")}
    return {**found, **patterns, "lowered": frozenset(found["lowered"].split())}


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said: `between[i]`, `sentences[i]`, and so on, and `between[-1]`, joined, are the text.

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
    parts, found = _TURN.split(text), []
    for mark, body in zip(["", *parts[1::2]], parts[::2], strict=True):
        before, core, behind = _CORE.fullmatch(body).groups()  # type: ignore[union-attr]
        pieces = _SENTENCE.split(core)
        if mark or body:
            found.append(Turn(mark, (before, *pieces[1::2], behind), tuple(pieces[::2])) if core else Turn(
                mark, (body,), ()))
    return found


def is_loud(sentence: str) -> bool:
    """Whether a sentence is in capitals throughout, two of them at least."""
    return sum(one.isupper() for one in sentence) > 1 and not any(one.islower() for one in sentence)


def is_name(word: str) -> bool:
    """Whether a word has a capital and is not "I" or one of its contractions."""
    return word.lower() != word and word != "I" and word[:2] not in ("I'", "I’")


def lowered(sentence: str) -> str:
    """A sentence that follows something: without its capital unless its first word may be a name."""
    first = _WORDS.match(sentence)
    word = first.group().replace("’", "'") if first else ""
    ordinary = word.casefold() in word_lists()["lowered"] and (word == "A" or word[1:].islower())
    return sentence[:1].lower() + sentence[1:] if ordinary else sentence


def raised(sentence: str, like: str) -> str:
    """A sentence with a capital where `like` has one."""
    return sentence[:1].upper() + sentence[1:] if like[:1].isupper() else sentence


def precious(text: str) -> Counter[str]:
    """What holds digits, @, #, / or _, without the punctuation around it: numbers, dates, addresses, handles."""
    return Counter(found for one in _PRECIOUS.findall(_TURN.sub(" ", text)) if (found := one.strip(_EDGE)))


def names(text: str) -> Counter[str]:
    """Words with a capital that do not begin a sentence, as they are written; none of sentences in capitals."""
    return Counter(word for turn in turns_of(text) for sentence in turn.sentences if not is_loud(sentence)
                   for word in _WORDS.findall(sentence)[1:] if is_name(word))


def keeps(text: str, candidate: str) -> bool:
    """Whether a candidate has the marks, numbers and names of a text."""
    written = Counter(one.group() for one in _WORDS.finditer(candidate))
    return marks_of(text) == marks_of(candidate) and precious(text) == precious(candidate) and names(text) <= written


def reordered(sentence: str) -> list[str]:
    """The sentence with its clauses in other orders: none, one or more; words stay but for "but" and "although".

    Left alone is what has brackets, quotation marks, colons or dashes, more than one clause that could be moved, or
    a conjunction that would reach further in the new order than it did.
    """
    match = _clause("end").match(sentence)
    body, end = match.groups() if match else (sentence, "")
    if not body or _clause("unclear").search(body) or is_loud(sentence):
        return []
    found = [*_moved(body), *_turned(body, end)]
    return [raised(one, sentence) + end for one in found]


def _moved(body: str) -> list[str]:
    """A clause moved to the other end."""
    if len(_clause("connectives").findall(body)) == 1:
        if (front := _clause("front").match(body)) and _words(front[2]) > 1 and _words(front[3]) > 1:
            return [f"{lowered(front[3])} {front[1].lower()} {front[2]}"]
        if (behind := _clause("behind").match(body)) and _free(behind):
            return [f"{behind[2].lower()} {behind[3]}, {lowered(behind[1])}"]
    elif (not _clause("connectives").search(body) and (placed := _clause("placed").match(body))
          and not _clause("discourse").match(placed[1])):
        return [f"{placed[2]} {lowered(placed[1])}"]
    return []


def _free(behind: re.Match[str]) -> bool:
    """Whether "A because B" may become "because B, A"."""
    return (_words(behind[1]) > 1 and _words(behind[3]) > 1 and not _clause("bound").search(behind[1])
            and not _clause("joined").search(behind[3]) and not _clause("reported").search(behind[1]))


def _turned(body: str, end: str) -> list[str]:
    """ "A, but B" and "although A, B"."""
    if "?" in end:
        return []
    if (but := _clause("but").match(body)) and not _clause("connectives").search(body):
        return [f"although {lowered(but[1])}, {but[2]}"]
    if (although := _clause("although").match(body)) and len(_clause("connectives").findall(body)) == 1:
        return [f"{although[1]}, but {although[2]}"]
    return []


def _words(clause: str) -> int:
    return len(clause.split())


class Edit(NamedTuple):
    """`sentence[start:end]` may become any of `options`."""

    start: int
    end: int
    options: tuple[str, ...]


def edits_of(sentence: str) -> list[Edit]:
    """Every edit of a sentence, by where it begins, the longest first; they may overlap. Names are none."""
    plain, found = sentence.translate(_STRAIGHT), []
    for pattern, options in _patterns():
        for match in pattern.finditer(plain):
            given = [option.format(*map(lowered, match.groups())) for option in options]
            found.append((match.start(), match.end(), given))
    phrases, alternatives = _phrases()
    for match in phrases.finditer(plain):
        found.append((match.start(), match.end(), list(alternatives[match.group().casefold()])))
    fitted = (Edit(start, end, _fitted(sentence, start, end, options)) for start, end, options in found)
    return sorted((one for one in fitted if one.options), key=lambda one: (one.start, -one.end))


def edited(sentence: str, edits: Sequence[Edit], rng: Generator, share: float) -> str:
    """The sentence after edits that do not overlap, each made with probability `share`."""
    parts, done = [], 0
    for one in edits:
        if one.start >= done and rng.random() < share:
            parts += [sentence[done:one.start], one.options[rng.integers(len(one.options))]]
            done = one.end
    return "".join([*parts, sentence[done:]])


def _fitted(sentence: str, start: int, end: int, options: Iterable[str]) -> tuple[str, ...]:
    """Options in the case and with the apostrophe of what they stand for; none where that may be a name."""
    found = sentence[start:end]
    if "’" in sentence:
        options = [option.replace("'", "’") for option in options]
    if is_loud(sentence):
        return tuple(option.upper() for option in options)
    words = _WORDS.findall(found)
    capital = [one for one in words if is_name(one)]
    behind = _WORDS.search(sentence, end)
    if capital and (start > 0 or capital != words[:1] or (len(words[0]) > 1 and not words[0][1:].islower())):
        return ()
    if capital and len(words) == 1 and behind and is_name(behind.group()):
        return ()
    if re.search(r"\bi\b", sentence):
        options = [re.sub(r"\bI\b", "i", option) for option in options]
    if capital or (start == 0 and found[0] == "I"):
        options = [option[0].upper() + option[1:] for option in options]
    return tuple(options)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """What begins a sentence, then what depends on the words around it."""
    lists = word_lists()
    first = [(re.compile(f"^{pattern}{_WORD_END}", re.I), options) for pattern, options in lists["frames"]]
    rest = [(re.compile(f"{_WORD_START}(?:{pattern}){_WORD_END}", re.I), options)
            for pattern, options in (*lists["contractions"], *lists["in_context"])]
    return (*first, *rest)


@cache
def _phrases() -> tuple[re.Pattern[str], Mapping[str, tuple[str, ...]]]:
    """A pattern of all phrases that have alternatives, and these."""
    lists = word_lists()
    found = {phrase: tuple(others) for phrase, others in lists["one_way"].items()}
    for group in lists["either_way"]:
        for phrase in group:
            found[phrase] = (*found.get(phrase, ()), *(other for other in group if other != phrase))
    longest = sorted(found, key=lambda phrase: (-len(phrase), phrase))
    return re.compile(f"{_WORD_START}(?:{'|'.join(map(re.escape, longest))}){_WORD_END}", re.I), found
