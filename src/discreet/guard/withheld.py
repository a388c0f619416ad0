"""What was withheld and comes again in other words: a memory against rewriting an answer until it passes.

Who has an answer that the guard holds may rewrite it, and ask again, until some wording is called safe (paper, section
IX-E). Single answers give no hold on that: each is judged by what the guard can read of it. But the guard had read the
facts once, when it withheld them. So they are remembered, and an answer that is safe by itself and tells as many of
them again as make a cluster goes to review, whatever stands around them. Stateful detection of query attacks (Chen,
Carlini and Wagner 2019; Blacklight, Li et al. 2022), but of facts and not of the similarity of whole inputs: an answer
in the same words without the facts is what a user ought to write next, and passes.

Remembered are hashes of single words under a key of the memory's own, in the memory of the process, for a time: no
text. Words count in any order and inflection, numbers in words or digits, words for kin as one ("kids", "children"),
and one letter may be wrong. Who spreads the search over principals, waits until the memory expires, searches on a guard
at home or says the facts by other words is not seen (`docs/results/ppe_limits.md`).
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from discreet.core.errors import UsageError
from discreet.core.records import Answer
from discreet.guard.reading import said_before
from discreet.text.evidence import lexicon as lex
from discreet.text.render import render
from discreet.text.resources import words as word_lists

if TYPE_CHECKING:
    from discreet.guard.guard import Judgement

FACTS = 16
"""Most facts that are remembered of one answer."""
_LONG = 5
"""Letters from which on a word is known with one of them wrong."""
_WORD = re.compile(r"[^\W_]+")
_UNITS = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = dict(zip([*_UNITS, *_TEENS, *_TENS], [*range(1, 20), *range(20, 100, 10)], strict=True))
_NUMBER = re.compile(rf"\b(?:({'|'.join(_TENS)})(?:[- ]({'|'.join(_UNITS)}))?|({'|'.join((*_TEENS, *_UNITS))}))\b")
_STEMS = "twent thirt fort fift sixt sevent eight ninet".split()
_DECADE = re.compile(rf"\b(?:([2-9])0|({'|'.join(_STEMS)}))['’]?(?:s|ies)\b")
_SAME = {"kid": "child", "youngster": "child", "wife": "spouse", "husband": "spouse", "partner": "spouse"}
_BROAD = "married single divorced widowed engaged boyfriend girlfriend white black state employee worker".split()
_FRAMES = frozenset("year old age aged live life lives work trade birthday people person patient client".split())


class Fact(NamedTuple):
    """A fact that was withheld: of each of its words the hashes of all its forms; `common`: one of very many people
    (kin, a number of one digit); `alone`: a direct identifier of two words or more, or with digits."""

    words: tuple[frozenset[int], ...]
    common: bool
    alone: bool


class Withheld:
    """The facts of answers that were withheld from one principal: a user, a conversation, or whoever holds a key.

    `judge` takes the judgement on each answer, remembers the facts of one that is not safe, and turns the judgement on
    a safe answer that tells `facts` of them again (of one answer, and not only common ones; a direct identifier is
    enough) into an abstention.
    Facts are forgotten `expires_s` seconds after they were last told, and where those of more than `most` answers are
    known, the oldest. May be used by several threads at once. UsageError for a number that is too small.

    Examples
    --------
    >>> guard, withheld = Guard("medical"), Withheld()
    >>> for text in ("This is a 52-year-old litigator from Omaha.", "X, known in Omaha for trials, turned fifty-two."):
    ...     answer = Answer("1", text)
    ...     print(withheld.judge(answer, guard.judge(answer)).verdict.action)
    flag
    abstain
    """

    def __init__(self, *, expires_s: float = 900, most: int = 256, facts: int = 2,
                 clock: Callable[[], float] = time.monotonic) -> None:
        if not expires_s > 0 or most < 1 or facts < 1:
            raise UsageError(f"expires_s is {expires_s!r}, most {most!r} and facts {facts!r}; expected seconds above "
                             "0, and whole numbers of at least 1")
        self.expires_s, self.most, self.facts = expires_s, most, facts
        self._clock, self._key, self._lock = clock, secrets.token_bytes(32), threading.Lock()
        self._kept: OrderedDict[frozenset[Fact], float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def judge(self, answer: Answer, judgement: Judgement) -> Judgement:
        """The judgement on this answer with what was withheld before."""
        verdict, now = judgement.verdict, self._clock()
        self._forget(now)
        if verdict.action in ("flag", "abstain"):
            facts = frozenset(self._facts(answer, judgement))
            if self._enough(facts) >= self.facts:
                with self._lock:
                    self._kept[facts] = now
                    self._kept.move_to_end(facts)
        if verdict.action != "safe" or not self._kept:
            return judgement
        again, at, facts = self._restated(answer)
        if again < self.facts:
            return judgement
        with self._lock:  # Who goes on trying does not outlast the memory.
            if facts in self._kept:
                self._kept[facts] = now
                self._kept.move_to_end(facts)
        reason = f"restates {again} facts of an answer that was withheld {now - at:.0f} s ago"
        return replace(judgement, verdict=replace(verdict, action="abstain", reason=reason))

    def _forget(self, now: float) -> None:
        with self._lock:
            while self._kept and (len(self._kept) > self.most or
                                  next(iter(self._kept.values())) <= now - self.expires_s):
                self._kept.popitem(last=False)

    def _restated(self, answer: Answer) -> tuple[int, float, frozenset[Fact]]:
        """How many facts of one answer are told again, when that was withheld, and its facts; what the user said
        does not count."""
        said = self._hashes(words_of(answer.answer))
        before = said_before(answer)
        known = frozenset() if before is None else self._hashes(words_of(before))
        with self._lock:
            kept = list(self._kept.items())
        best: tuple[int, float, frozenset[Fact]] = (0, 0.0, frozenset())
        for facts, at in kept:
            told = [one for one in facts if _stands(one, said) and not _stands(one, known)]
            best = max(best, (self._enough(told), at, facts), key=lambda b: b[:2])
        return best

    def _enough(self, facts: Collection[Fact]) -> int:
        """How many facts these count for: none where all are common, and one that identifies alone is enough."""
        if all(one.common for one in facts):
            return 0
        return max(len(facts), self.facts) if any(one.alone for one in facts) else len(facts)

    def _facts(self, answer: Answer, judgement: Judgement) -> Iterator[Fact]:
        """What the verdict rests on; of facts that share their words the shorter."""
        direct = {(one.start, one.end) for one in judgement.findings if one.layer == "direct" and one.counts}
        found: dict[frozenset[str], bool] = {}
        for one in judgement.verdict.evidence:
            place = one.start, one.end
            words = frozenset(words_of(answer.answer[one.start : one.end], ages=one.type == "age")) if (
                one.type != "quote") else frozenset()
            if words:
                found[words] = found.get(words, False) or place in direct
        short = [words for words in found if not any(other < words for other in found)][:FACTS]
        return (Fact(tuple(sorted((self._hashes([word]) for word in words), key=sorted)), words <= _common(),
                     found[words] and (len(words) > 1 or any(c.isdigit() for word in words for c in word)))
                for words in short)

    def _hashes(self, words: Iterable[str]) -> frozenset[int]:
        return frozenset(int.from_bytes(blake2b(form.encode("utf-8", "replace"), digest_size=8, key=self._key).digest())
                         for word in set(words) for part in word.split("|") for form in _forms(part))


def _stands(fact: Fact, said: frozenset[int]) -> bool:
    return all(not forms.isdisjoint(said) for forms in fact.words)


def words_of(text: str, *, ages: bool = False) -> list[str]:
    """The words of a text that tell something, as they are compared; with `ages` a number also stands for its
    decade ("52|decade5")."""
    lower = render(text).text.lower()
    lower = _DECADE.sub(lambda m: f" decade{m[1] or 2 + _STEMS.index(m[2])} ", lower)
    lower = _NUMBER.sub(lambda m: str(_VALUES[m[1] or m[3]] + (_VALUES[m[2]] if m[2] else 0)), lower)
    told = [lex.singular(word) for word in _WORD.findall(lower)]
    told = [lex.KIN[word][0] if word in lex.KIN else word for word in told if word not in _empty()]
    told = [_SAME.get(word, word) for word in told]
    return [f"{word}|decade{word[0]}" if ages and re.fullmatch(r"[2-9]\d", word) else word for word in told]


def _forms(word: str) -> set[str]:
    """A word as it is known again: with any one letter left out where it is long, so that one may be wrong
    (symmetric deletion, as of spelling correction)."""
    if len(word) < _LONG or not word.isalpha():
        return {word}
    return {word, *(word[:k] + word[k + 1 :] for k in range(len(word)))}


@cache
def _common() -> frozenset[str]:
    """Words that tell of one what is true of very many."""
    return frozenset([*"0123456789", *(kin for kin, _ in lex.KIN.values()), *_SAME.values(), *_BROAD])


@cache
def _empty() -> frozenset[str]:
    """Words that tell no fact."""
    return word_lists("language")["en"] | _FRAMES | frozenset("abcdefghijklmnopqrstuvwxyz")
