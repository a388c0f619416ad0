"""What speaks for it that an answer tells something of somebody whom a message describes: features and their logistic.

The features count cues of the message and of the answer, and what both share with retrieved texts about somebody. The
logistic was fitted on requests with answers by language models (`benchmarks/requests/fit_probes.py`), each also without
its retrieved texts, with texts of others among them, and with general advice behind the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from discreet.guard.policy import Policy
from discreet.guard.text.consent import Spoken, speaks_of_theirs
from discreet.guard.text.direct.detect import direct_of
from discreet.guard.text.doc import Docs
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.bind import find_evidence
from discreet.guard.text.facts import fact_words
from discreet.guard.text.record import Fact, shared
from discreet.guard.text.resources import patterns

_LONGEST = 20_000
"""Characters of a retrieved text beyond which it is not compared with a message."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_OF_MESSAGE = ("past", "general", "hypothetical", "count", "wants", "status", "declared past")
_OF_CLAUSE = ("declines", "modal", "for the reader", "asserts")
FEATURES = ("shared", "words", "new", "new share", "numbers", "record", "declines", "declines share", "modal share",
            "for the reader share", "asserts share", "answers", "answers first", "specific", "telling", "plain first",
            "you", "theirs", "sure", *_OF_MESSAGE, "repeats", "another", "speaks", "classes")


@dataclass(frozen=True, slots=True)
class Logistic:
    """Intercept, weights over `FEATURES`, and the log-odds above which an answer tells something."""

    intercept: float
    weights: tuple[float, ...]
    tau: float

    def logit(self, values: Sequence[float]) -> float:
        """The log-odds of an answer's features."""
        return self.intercept + sum(w * v for w, v in zip(self.weights, values, strict=True))


@cache
def fitted() -> Logistic:
    """The logistic that ships with discreet."""
    said = json.loads(files("discreet.guard").joinpath("probe_logistic.json").read_text(encoding="utf-8"))
    return Logistic(said["intercept"], tuple(said["weights"][name] for name in FEATURES), said["tau"])


class Records:
    """The retrieved texts of a request in which rules find somebody."""

    def __init__(self, texts: Collection[str], policy: Policy, docs: Docs | None = None) -> None:
        self._texts, self._policy = [text for text in texts if len(text) <= _LONGEST], policy
        self._docs = Docs() if docs is None else docs

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """The words of facts of every retrieved text, whomever it describes."""
        return {text: frozenset(fact_words(text)) for text in self._texts}

    @cached_property
    def texts(self) -> dict[str, frozenset[str]]:
        """Those that describe somebody, with their words of facts that no other retrieved text has."""
        return {text: self.only_in(text) for text in self.words if self._describes(text)}

    def only_in(self, text: str) -> frozenset[str]:
        """The words of facts of a text that no other one has."""
        return self.words[text] - frozenset(w for other, ws in self.words.items() if other != text for w in ws)

    def _describes(self, text: str) -> bool:
        doc = self._docs[text]
        return bool(direct_of(doc)) or any(
            a.subject == "third" and a.kind in self._policy.counted for a in find_evidence(doc, self._policy.domain))

    def nearest(self, asked: frozenset[str], facts: Collection[Fact]) -> tuple[str, int, int] | None:
        """The text that shares most with a message, of those that describe somebody, and how many facts and words it
        shares; None without any."""
        near = sorted(((shared(facts, text), len(asked & words), text) for text, words in self.words.items()),
                      reverse=True)
        return next(((text, told, words) for told, words, text in near if self._describes(text)), None)


@dataclass(frozen=True)
class Cues:
    """What an answer, or its beginning, is made of: its clauses in lower case, which of them say yes or no or give a
    count, how many tell something in so many words, and whether the first one answers plainly."""

    text: str
    clauses: tuple[str, ...]
    answers: tuple[bool, ...]
    telling: int
    plain_first: bool

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words of facts."""
        return frozenset(fact_words(self.text))

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The features of the answer alone."""
        found, number = patterns("probes"), max(1, len(self.clauses))
        hits = {name: sum(found[name].search(one) is not None for one in self.clauses) for name in _OF_CLAUSE}
        specific = any(found[name].search(one) for name in ("specific", "event") for one in self.clauses)
        return (float(hits["declines"] > 0), *(hits[name] / number for name in _OF_CLAUSE), float(any(self.answers)),
                float(bool(self.answers) and self.answers[0]), float(specific), min(self.telling, 4) / 4,
                float(self.plain_first), float(not lex.SECOND.isdisjoint(_WORD.findall(self.text.lower()))),
                float(speaks_of_theirs(self.text)))


def features(spoken: Spoken, facts: Collection[Fact], cues: Cues, records: Records, *, sure: bool, another: bool
             ) -> tuple[float, ...]:
    """The features of a message and an answer, in the order of `FEATURES`, each from 0 to 1."""
    near = records.nearest(spoken.words, facts)
    of_record = (0.0,) * 6
    if near is not None:
        new = (records.only_in(near[0]) - spoken.words) & cues.words
        of_record = (min(near[1], 5) / 5, min(near[2], 8) / 8, *_new(new, cues), 1.0)
    classes = min(len({kind for kind, _ in facts}), 5) / 5
    return (*of_record, *cues.values, *_of_message(spoken, cues, sure), float(another), _speaks(spoken), classes)


def most(spoken: Spoken, cues: Cues, records: Records, *, sure: bool, another: bool) -> tuple[float, ...]:
    """Features beyond whose log-odds no facts and no records among these texts come: nothing need be read for them."""
    words = records.words.values()
    weights = dict(zip(FEATURES, fitted().weights, strict=True))
    new = (frozenset[str]().union(*words) - spoken.words) & cues.words
    shown = max((len(spoken.words & one) for one in words), default=0)
    of_record: tuple[float, ...] = (float(bool(words)), min(shown, 8) / 8, *_new(new, cues), float(bool(words)))
    # What facts and records could add; where they could only take away, nothing.
    of_record = tuple(v if weights[name] > 0 else 0.0 for name, v in zip(FEATURES, of_record, strict=False))
    classes = float(weights["classes"] > 0)
    return (*of_record, *cues.values, *_of_message(spoken, cues, sure), float(another), _speaks(spoken), classes)


def _speaks(spoken: Spoken) -> float:
    """Whether the message is in the first person."""
    return float(not (lex.FIRST | lex.FIRST_PLURAL).isdisjoint(spoken.doc.lowers))


def _new(words: frozenset[str], cues: Cues) -> tuple[float, float, float]:
    """Words of the answer that only a record has: how many, their share of its words, and numbers among them."""
    return (min(len(words), 6) / 6, len(words) / max(1, len(cues.words)),
            min(sum(word.isdigit() for word in words), 3) / 3)


def _of_message(spoken: Spoken, cues: Cues, sure: bool) -> Iterator[float]:
    """What a message asks for, and how much of it the answer repeats."""
    yield float(sure)
    text = " ".join(spoken.text.replace("’", "'").lower().split())
    yield from (float(patterns("probes")[name].search(text) is not None) for name in _OF_MESSAGE)
    yield len(cues.words & spoken.words) / max(1, len(spoken.words))
