"""Section IX-E, adversarial robustness: how far recall falls when somebody rewrites an answer until it passes.

Every rewriting keeps the facts: the words of each slot that tell it must stand there after each move, whatever the
disguise (`Meaning`). Attacks differ in what they see: one draw of each kind of move (no query); the action alone, which
is what callers of the service get; δ too; and, as the weights of the reader ship, its own counts with a sentence left
out, by which moves are aimed (the finite differences that stand for a gradient). Queries of any of these count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from unittest import mock

import yaml
from numpy.random import Generator

from discreet.core.records import Verdict
from discreet.core.unicode import prepare
from discreet.guard.guard import Guard
from discreet.stats import rate_estimate
from discreet.studies.paraphrase.rules import Rules
from discreet.synth import Draft
from discreet.synth.grammar import in_words
from discreet.text.reader import TOLD, packaged
from discreet.text.render import render
from discreet.text.resources import words as word_lists

BUDGETS = (0, 10, 50, 200)
IDENTIFYING = ("AGE", "OCCUPATION", "LOCATION", "AFFILIATION", "FAMILY")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[^\W_]+")
_FRAMES = frozenset("lives resides works employed has have years year old age aged home based trade earns bread "
                    "belongs cottage living".split())
_UPHILL = 0.1
"""Share of moves that stay although δ rises."""
Move = Callable[[str, Generator], str]


@cache
def _data() -> Mapping[str, Any]:
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("rewrites.yaml").read_text("utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class Meaning:
    """The telling words of a draft's identifying slots; `kept` says whether a rewriting still states all of them."""

    facts: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, draft: Draft) -> Meaning:
        """Of the slots of the classes that identify; one without a telling word tells nothing that can be checked."""
        empty = word_lists("language")["en"] | _FRAMES
        slots = (_plain(draft.answer[s.start : s.end]) for s in draft.slots if s.qi in IDENTIFYING)
        return cls(tuple(telling for words in slots if (telling := frozenset(words) - empty)))

    def kept(self, text: str) -> bool:
        """Whether every fact's words stand in one sentence of a reader's view of the text."""
        sentences = [frozenset(_plain(one)) for one in _SENTENCE.split(render(text).text)]
        return all(any(fact <= one for one in sentences) for fact in self.facts)


def _plain(text: str) -> list[str]:
    """Words in lower case, numbers as digits, those of one meaning as one."""
    same = {word: group[-1] for group in _data()["same"] for word in group}
    numbers = {in_words(n): str(n) for n in range(17, 90)}
    text = re.sub(r"[a-z]+-[a-z]+", lambda m: numbers.get(m[0], m[0]), text.lower())
    return [same.get(w, numbers.get(w, w)) for w in _WORD.findall(text)]


def _phrased(text: str, rng: Generator) -> str:
    found = [(match, others) for pattern, others in _data()["phrases"] for match in re.finditer(pattern, text)]
    if not found:
        return text
    match, others = found[int(rng.integers(len(found)))]
    return f"{text[:match.start()]}{others[int(rng.integers(len(others)))]}{text[match.end():]}"


def _number(text: str, rng: Generator) -> str:
    found = list(re.finditer(r"\b(?:1[7-9]|[2-8]\d)\b", text))
    if not found:
        return text
    match = found[int(rng.integers(len(found)))]
    return f"{text[:match.start()]}{in_words(int(match[0]))}{text[match.end():]}"


def _synonym(text: str, rng: Generator) -> str:
    pattern, other = _data()["synonyms"][int(rng.integers(len(_data()["synonyms"])))]
    return re.sub(pattern, other, text, count=1)


def _ruled(text: str, rng: Generator) -> str:
    return Rules().paraphrase([text], 1, rng)[0][0]


def _moved(text: str, rng: Generator) -> str:
    parts = _SENTENCE.split(text)
    parts.insert(int(rng.integers(len(parts))), parts.pop(int(rng.integers(len(parts)))))
    return " ".join(parts)


def _opened(text: str, rng: Generator) -> str:
    parts = _SENTENCE.split(text)
    k, openers = int(rng.integers(len(parts))), _data()["openers"]
    if parts[k] and not parts[k].startswith(tuple(openers)):
        parts[k] = f"{openers[int(rng.integers(len(openers)))]}{parts[k][0].lower()}{parts[k][1:]}"
    return " ".join(parts)


def _disguised(text: str, rng: Generator) -> str:
    """A word with look-alike letters, a character without width, marks, or its letters apart."""
    found = list(re.finditer(r"\b[A-Za-z]{4,}\b", text))
    if not found:
        return text
    match = found[int(rng.integers(len(found)))]
    word, half = match[0], len(match[0]) // 2
    alike = "".join(_data()["look_alikes"].get(c, c) for c in word)
    other = (alike, f"{word[:half]}\u200b{word[half:]}", f"{word[:half]}**{word[half:]}**", " ".join(word))
    return f"{text[:match.start()]}{other[int(rng.integers(4))]}{text[match.end():]}"


MOVES: Mapping[str, Move] = {"other phrases": _phrased, "numbers in words": _number, "synonyms": _synonym,
                             "paraphrase rules": _ruled, "sentences moved": _moved, "openers": _opened,
                             "disguised letters": _disguised}


def one_shot(guard: Guard, drafts: Sequence[Draft], rng: Generator, draws: int = 12) -> Iterator[dict[str, Any]]:
    """Rows by kind of move: of answers that the guard holds, how many it still holds after `draws` such moves, all that
    keep the meaning; `normalised` says whether the text was rendered first, as it always is."""
    held = [one for one in drafts if guard.check(one.answer, one.question).action != "safe"]
    for name, move in MOVES.items():
        rewritten = []
        for draft in held:
            text, meaning = draft.answer, Meaning.of(draft)
            for _ in range(draws):
                text = other if meaning.kept(other := move(text, rng)) else text
            rewritten.append((text, draft.question))
        for normalised in (True, False) if name == "disguised letters" else (True,):
            # Without rendering, for the figure of what it adds.
            with nullcontext() if normalised else mock.patch("discreet.guard.reading.render", prepare):
                still = sum(guard.check(*one).action != "safe" for one in rewritten)
            yield {"attack": name, "normalised": normalised, "queries": 0, "reader": guard.reader,
                   "held": rate_estimate(still, len(held), unit="answer")}


def attack(guard: Guard, draft: Draft, sees: str, rng: Generator, most: int = BUDGETS[-1]) -> int | None:
    """How many queries pass until a rewriting is called safe; None where `most` do not do it.

    `sees` is "action": moves are heaped up, and begun anew after ten; "delta": a move that raises δ rarely stays;
    "reader": as delta, and a move is aimed at the sentence whose absence lowers the reader's count most.
    """
    meaning = Meaning.of(draft)
    text, best, left, since = draft.answer, float("inf"), most, 0
    kinds = list(MOVES.values())
    aim: list[float] = []
    while left > 0:
        if sees == "reader" and not aim:
            aim = _lowers(text)
            left -= min(left, len(aim))
            continue
        move = kinds[int(rng.integers(len(kinds)))]
        other = _aimed(text, move, aim, rng) if aim else move(text, rng)
        if other == text or not meaning.kept(other):
            since += 1
            if since > 200:  # Nothing is left to try.
                return None
            continue
        left -= 1
        since = 0
        verdict: Verdict = guard.check(other, draft.question)
        if verdict.action == "safe":
            return most - left
        delta = float("inf") if verdict.delta is None else verdict.delta
        if sees == "action":
            text = draft.answer if left % 10 == 0 else other
        elif delta <= best or rng.random() < _UPHILL:
            text, best, aim = other, delta, aim if len(_SENTENCE.split(other)) == len(aim) else []
    return None


def _lowers(text: str) -> list[float]:
    """By how much the reader's count of clusters falls where each sentence is left out."""
    parts = _SENTENCE.split(text)

    def count(said: str) -> float:
        return float(packaged().read(render(said).text).counts[: len(TOLD), 1].max())

    whole = count(text)
    return [max(0.0, whole - count(" ".join(parts[:k] + parts[k + 1 :]))) + 0.05 for k in range(len(parts))]


def _aimed(text: str, move: Move, aim: Sequence[float], rng: Generator) -> str:
    parts = _SENTENCE.split(text)
    if len(parts) != len(aim) or move is _moved:
        return move(text, rng)
    k = int(rng.choice(len(parts), p=[one / sum(aim) for one in aim]))
    return " ".join([*parts[:k], move(parts[k], rng), *parts[k + 1 :]])


def query_attacks(guard: Guard, drafts: Sequence[Draft], rng: Generator, sees: Sequence[str],
                  budgets: Sequence[int] = BUDGETS) -> Iterator[dict[str, Any]]:
    """Rows by what the adversary sees and the budget: the share of held answers of which no rewriting passed."""
    held = [one for one in drafts if guard.check(one.answer, one.question).action != "safe" and Meaning.of(one).facts]
    for what in sees:
        needed = [attack(guard, one, what, own, max(budgets))
                  for one, own in zip(held, rng.spawn(len(held)), strict=True)]
        for budget in budgets:
            still = sum(one is None or one > budget for one in needed)
            yield {"attack": f"sees {what}", "queries": budget, "reader": guard.reader,
                   "held": rate_estimate(still, len(held), unit="answer")}
