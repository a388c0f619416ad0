"""Where a sentence can be said otherwise by a phrase of the closed lists, and what stands there then."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from numpy.random import Generator

from discreet.studies.paraphrase.sentences import is_loud, is_name, lowered
from discreet.studies.paraphrase.words import CONTRACTIONS, EITHER_WAY, FRAMES, IN_CONTEXT, ONE_WAY

_BEFORE, _BEHIND = r"(?<![\w@#/.'’-])", r"(?!\w|[@/-]|['’](?!s\b)|\.\w)"
_STRAIGHT = str.maketrans("’", "'")
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


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
    for match in _phrases().finditer(plain):
        found.append((match.start(), match.end(), list(_alternatives()[match.group().casefold()])))
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


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """Frames at the beginning, then what hangs on its surroundings."""
    frames = [(re.compile(f"^{pattern}{_BEHIND}", re.I), options) for pattern, options in FRAMES]
    rest = [(re.compile(f"{_BEFORE}(?:{pattern}){_BEHIND}", re.I), options)
            for pattern, options in (*CONTRACTIONS, *IN_CONTEXT)]
    return (*frames, *rest)


@lru_cache(maxsize=1)
def _alternatives() -> dict[str, tuple[str, ...]]:
    """A phrase to those that may stand for it."""
    found = dict(ONE_WAY)
    for group in EITHER_WAY:
        for phrase in group:
            found[phrase] = (*found.get(phrase, ()), *(other for other in group if other != phrase))
    return found


@lru_cache(maxsize=1)
def _phrases() -> re.Pattern[str]:
    longest = sorted(_alternatives(), key=lambda phrase: (-len(phrase), phrase))
    return re.compile(f"{_BEFORE}(?:{'|'.join(map(re.escape, longest))}){_BEHIND}", re.I)
