"""Section IX-E, adversarial robustness: how far recall falls when somebody rewrites an answer until it passes.

Every rewriting keeps the facts: the words of each slot that tell it must stand there after each move, whatever the
disguise (`Meaning`). Attacks differ in what they see: one draw of each kind of move (no query); the action alone, which
is what callers of the service get; δ too; and, as the weights of the reader ship, its own counts with a sentence left
out, by which moves are aimed (the finite differences that stand for a gradient). Queries of any of these count. One
search gives two figures: without a memory of what was withheld, and with `Withheld`, whose defender knows the first
answer. An adversary who knows of that memory also changes the values themselves, where a person still reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any
from unittest import mock

import yaml
from numpy.random import Generator, default_rng

from discreet.core.records import Answer, Estimate, Verdict
from discreet.core.unicode import prepare
from discreet.guard.decide import Judgement
from discreet.guard.guard import Guard
from discreet.guard.text.reader import TOLD, packaged
from discreet.guard.text.render import render
from discreet.guard.text.resources import words as word_lists
from discreet.guard.withheld import Withheld
from discreet.stats import rate_estimate
from discreet.synth import Draft
from discreet.synth.grammar import in_words
from discreet.synth.writer import PROFILES, profile
from discreet_papers.paraphrase.rules import Rules

BUDGETS = (0, 10, 50, 200)
IDENTIFYING = ("AGE", "OCCUPATION", "LOCATION", "AFFILIATION", "FAMILY")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[^\W_]+")
_FRAMES = frozenset("lives resides works employed has have years year old age aged home based trade earns bread "
                    "belongs cottage living".split())
_UPHILL = 0.1
"""Share of moves that stay although δ rises."""
_SPELLING = 0.4
"""Share of moves that are a wrong letter, where the adversary misspells."""
_VERB = re.compile(r"(?:is|has|was|lives|resides|works|comes|belongs|earns|moved|shares|draws)\b")
Move = Callable[[str, Generator], str]


@cache
def _data() -> Mapping[str, Any]:
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("rewrites.yaml").read_text("utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class Meaning:
    """The telling words of a draft's identifying slots; `kept` says whether a rewriting still states all of them.
    `wrong` counts the wrong letters of words that are spelt otherwise than in the draft."""

    facts: tuple[frozenset[str], ...]
    wrong: Mapping[str, int] = field(default_factory=dict)

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
            with nullcontext() if normalised else mock.patch("discreet.guard.text.doc.render", prepare):
                still = sum(guard.check(*one).action != "safe" for one in rewritten)
            yield {"attack": name, "normalised": normalised, "queries": 0,
                   "held": rate_estimate(still, len(held), unit="answer")}


@dataclass(frozen=True, slots=True)
class Needed:
    """How many queries it took until a rewriting was called safe, by the guard `alone` and where what was withheld is
    `remembered`; None where the budget, or the adversary's ideas, ended before."""

    alone: int | None
    remembered: int | None


def attack(guard: Guard, draft: Draft, sees: str, rng: Generator, most: int = BUDGETS[-1], values: str = "kept"
           ) -> Needed:
    """A search for a rewriting that passes, after the answer itself was withheld.

    `sees` is "action": moves are heaped up, and begun anew after ten; "delta": a move that raises δ rarely stays;
    "reader": as delta, and a move is aimed at the sentence whose absence lowers the reader's count most. `values` is
    what the adversary does with the facts themselves: "kept"; "misspelt", one wrong letter after the other, two in a
    word at most; "hinted", the search begins with every value that the grammar knows a hint for said by that.
    """
    withheld, kinds = Withheld(clock=lambda: 0.0), list(MOVES.values())
    asked = Answer("", draft.answer, draft.question)
    withheld.judge(asked, guard.judge(asked))
    begin = hinted(draft) if values == "hinted" else (draft.answer, Meaning.of(draft))
    (text, meaning), best, left, since = begin, float("inf"), most, 0
    aim: list[float] = []
    alone: int | None = None
    while left > 0:
        if sees == "reader" and not aim:
            aim = _lowers(text)
            left -= min(left, len(aim))
            continue
        if values == "misspelt" and rng.random() < _SPELLING:
            other, means = misspelt(text, meaning, rng)
        else:
            move = kinds[int(rng.integers(len(kinds)))]
            other, means = _aimed(text, move, aim, rng) if aim else move(text, rng), meaning
        if other == text or not means.kept(other):
            since += 1
            if since > 200:  # Nothing is left to try.
                return Needed(alone, None)
            continue
        left -= 1
        since = 0
        verdict, safe = _verdicts(guard, withheld, replace(asked, answer=other), alone is not None and sees == "action")
        if verdict.action == "safe":
            alone = most - left if alone is None else alone
            if safe:
                return Needed(alone, most - left)
        delta = float("inf") if verdict.rank is None else verdict.rank
        if sees == "action":
            text, meaning = begin if left % 10 == 0 else (other, means)
        elif delta <= best or rng.random() < _UPHILL:
            text, meaning, best = other, means, delta
            aim = aim if len(_SENTENCE.split(other)) == len(aim) else []
    return Needed(alone, None)


def _verdicts(guard: Guard, withheld: Withheld, answer: Answer, passed: bool) -> tuple[Verdict, bool]:
    """The guard's own verdict, and whether the answer is safe with what was withheld too. Once one has `passed` and
    nothing else is asked of the guard, what is restated need not be read."""
    if passed and withheld.judge(answer, _SAFE).verdict.action != "safe":
        return replace(_SAFE.verdict, action="abstain"), False
    judgement = guard.judge(answer)
    return judgement.verdict, withheld.judge(answer, judgement).verdict.action == "safe"


_SAFE = Judgement(Verdict("", "safe", None, 0.0, None, (), "", ""))


def misspelt(text: str, meaning: Meaning, rng: Generator) -> tuple[str, Meaning]:
    """One letter of a telling word doubled, left out, or changed with its neighbour; what is meant is spelt alike."""
    words = sorted({word for fact in meaning.facts for word in fact
                    if len(word) > 3 and word.isalpha() and meaning.wrong.get(word, 0) < 2})
    if not words:
        return text, meaning
    word = words[int(rng.integers(len(words)))]
    found = re.search(rf"\b{word}\b", text, re.I)
    if found is None:
        return text, meaning
    k, said = int(rng.integers(1, len(word) - 1)), found[0]
    other = (f"{said[:k]}{said[k]}{said[k:]}", f"{said[:k]}{said[k + 1:]}",
             f"{said[:k]}{said[k + 1]}{said[k]}{said[k + 2:]}")[int(rng.integers(3))]
    facts = tuple(frozenset(other.lower() if w == word else w for w in fact) for fact in meaning.facts)
    wrong = {**meaning.wrong, other.lower(): meaning.wrong.get(word, 0) + 1}
    return f"{text[:found.start()]}{other}{text[found.end():]}", Meaning(facts, wrong)


def hinted(draft: Draft) -> tuple[str, Meaning]:
    """The answer with each identifying value said by the grammar's own hint at it, where it has one, and what it means
    then: a far paraphrase, by somebody who knows what the words stand for."""
    text, meant = draft.answer, list[Meaning]()
    for slot in sorted(draft.slots, key=lambda one: -one.start):
        said = draft.answer[slot.start : slot.end]
        hint = _hint(said) if slot.qi in IDENTIFYING else None
        told = said if hint is None else f"{'' if _VERB.match(said) else 'who '}{hint}"
        text = f"{text[:slot.start]}{told}{text[slot.end:]}"
        meant.append(Meaning.of(Draft("", told, (replace(slot, start=0, end=len(told)),))))
    text = re.sub(r"\ban? who ", "somebody who ", text)
    return text, Meaning(tuple(fact for one in meant for fact in one.facts))


def _hint(said: str) -> str | None:
    for name, hint in _hints():
        if name in said and "{" not in hint:
            return hint
    age = re.search(r"\b([2-8])(\d)\b", said)
    part = "early" if age and age[2] < "4" else "mid" if age and age[2] < "7" else "late"
    return f"is in the {part} {in_words(10 * int(age[1]))[:-1]}ies" if age else None


@cache
def _hints() -> tuple[tuple[str, str], ...]:
    """Values of the grammar's lexicons and a hint at each, the longer values first."""
    pools = (entry for name in PROFILES for pool in ("jobs", "towns", "orgs", "family")
             for entry in profile(name).lexicon[pool])
    found = {str(entry.get("job") or entry.get("name") or entry["vp"].split(" ", 1)[-1]): str(entry.get("x", "{"))
             for entry in pools}
    return tuple(sorted(found.items(), key=lambda one: (-len(one[0]), one[0])))


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


def query_attacks(guards: Mapping[str, Guard], drafts: Mapping[str, Sequence[Draft]], seed: int, most: int,
                  sees: str = "action", values: str = "kept", budgets: Sequence[int] = BUDGETS
                  ) -> Iterator[dict[str, Any]]:
    """Rows by budget, over all domains: the share of held answers of which no rewriting passed, by the guard alone
    (`held`) and where what was withheld is `remembered`. Of each domain the first `most` drafts that tell two facts or
    more and are held; `sees` and `values` as for `attack`."""
    needed: list[Needed] = []
    for i, (domain, some) in enumerate(drafts.items()):
        told = [one for one in some if len(Meaning.of(one).facts) > 1]
        held = ((k, one) for k, one in enumerate(told)
                if guards[domain].check(one.answer, one.question).action != "safe")
        needed += [attack(guards[domain], one, sees, default_rng((seed, 2, i, k)), max(budgets), values)
                   for k, one in islice(held, most)]
    for budget in budgets:
        yield attack_row(needed, budget) | {"attack": f"sees {sees}", "values": values}


def attack_row(needed: Sequence[Needed], budget: int) -> dict[str, Any]:
    """The shares that stayed held after so many queries."""
    def share(name: str) -> Estimate:
        counts = [getattr(one, name) for one in needed]
        return rate_estimate(sum(n is None or n > budget for n in counts), len(counts), unit="answer")

    return {"queries": budget, "held": share("alone"), "remembered": share("remembered")}
