"""What was withheld and comes again in other words: a memory against rewriting an answer until it passes.

Who has an answer that the guard holds may rewrite it, and ask again, until some wording is called safe (paper, section
IX-E). Single answers give no hold on that: each is judged by what the guard can read of it. But the guard had read the
facts once, when it withheld them. So they are remembered, and an answer that is safe by itself and tells as many of
them again of somebody as make a cluster goes to review. A sentence that speaks of no individual tells none: a town that
was withheld may be named. Stateful detection of query attacks (Chen,
Carlini and Wagner 2019; Blacklight, Li et al. 2022), but of facts and not of the similarity of whole inputs: an answer
in the same words without the facts is what a user ought to write next, and passes.

Remembered are hashes of single words under a key of the memory's own, in the memory of the process, for a time: no
text. Words count in any order and inflection, numbers in words or digits, words for kin as one ("kids", "children"),
and one letter may be wrong. Who spreads the search over principals, waits until the memory expires, searches on a guard
at home or says the facts by other words is not seen (`docs/results/ppe_limits.md`).
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from discreet.core.errors import UsageError
from discreet.core.records import Answer
from discreet.guard.decide import restated
from discreet.guard.text.record import common, fact_words

if TYPE_CHECKING:
    from discreet.guard.decide import Judgement

FACTS = 16
"""Most facts that are remembered of one answer."""
_LONG = 5
"""Letters from which on a word is known with one of them wrong."""


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
    enough) into an abstention. With `whole` it takes all facts of one answer, and at least `facts`: for a memory that
    is shared by many who know nothing of each other.
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

    def __init__(self, *, expires_s: float = 900, most: int = 256, facts: int = 2, whole: bool = False,
                 clock: Callable[[], float] = time.monotonic) -> None:
        if not expires_s > 0 or most < 1 or facts < 1:
            raise UsageError(f"expires_s is {expires_s!r}, most {most!r} and facts {facts!r}; expected seconds above "
                             "0, and whole numbers of at least 1")
        self.expires_s, self.most, self.facts, self.whole = expires_s, most, facts, whole
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
        again, at, facts = self._restated(judgement)
        if again < self.facts:
            return judgement
        with self._lock:  # Who goes on trying does not outlast the memory.
            if facts in self._kept:
                self._kept[facts] = now
                self._kept.move_to_end(facts)
        return replace(judgement, verdict=restated(verdict, again, now - at))

    def _forget(self, now: float) -> None:
        with self._lock:
            while self._kept and (len(self._kept) > self.most or
                                  next(iter(self._kept.values())) <= now - self.expires_s):
                self._kept.popitem(last=False)

    def _restated(self, judgement: Judgement) -> tuple[int, float, frozenset[Fact]]:
        """How many facts of one answer are told again, when that was withheld, and its facts; what the user said
        does not count."""
        said, known = self._hashes(judgement.told), self._hashes(judgement.own)
        with self._lock:
            kept = list(self._kept.items())
        best: tuple[int, float, frozenset[Fact]] = (0, 0.0, frozenset())
        for facts, at in kept:
            told = [one for one in facts if _stands(one, said) and not _stands(one, known)]
            if not self.whole or len(told) == len(facts):
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
            words = frozenset(fact_words(answer.answer[one.start : one.end], ages=one.type == "age")) if (
                one.type not in ("quote", "answer_to_probe")) else frozenset()
            if words:
                found[words] = found.get(words, False) or place in direct
        short = [words for words in found if not any(other < words for other in found)][:FACTS]
        return (Fact(tuple(sorted((self._hashes([word]) for word in words), key=sorted)), words <= common(),
                     found[words] and (len(words) > 1 or any(c.isdigit() for word in words for c in word)))
                for words in short)

    def _hashes(self, words: Iterable[str]) -> frozenset[int]:
        return frozenset(int.from_bytes(blake2b(form.encode("utf-8", "replace"), digest_size=8, key=self._key).digest())
                         for word in set(words) for part in word.split("|") for form in _forms(part))


def _stands(fact: Fact, said: frozenset[int]) -> bool:
    return all(not forms.isdisjoint(said) for forms in fact.words)


def _forms(word: str) -> set[str]:
    """A word as it is known again: with any one letter left out where it is long, so that one may be wrong
    (symmetric deletion, as of spelling correction)."""
    if len(word) < _LONG or not word.isalpha():
        return {word}
    return {word, *(word[:k] + word[k + 1 :] for k in range(len(word)))}
