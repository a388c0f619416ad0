"""The score of an answer: log-odds that somebody in it has a cluster of attributes, and of whom most is shown.

A logistic with weights that are not negative puts together what the reader counts in the text and the spans of one
person. It was fitted with the thresholds on labelled passages and answers of sources that taught the reader nothing
(`benchmarks/reader/calibrate.py`, `docs/results/reader.md`). The reader counts up to four attributes of the
identifying classes, of the subjects `TOLD`; under a policy that counts others, or where the user said one of them or a
direct identifier, spans decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, inf, isfinite, log

from discreet.core.errors import DetectorError
from discreet.core.records import PERSONS, Evidence, Subject
from discreet.guard.domains import IDENTIFYING
from discreet.guard.policy import Policy
from discreet.guard.reading import REPEATS, Reading
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.direct.detect import DirectSpan
from discreet.guard.text.reader import TOLD, Seen

MOST = 12.0
"""Log-odds beyond which a part says no more."""
OVERLOOKED = 0.1
"""Probability that an attribute stands there that nothing found, as many times as the cluster has attributes."""
_TAUGHT = 2
"""Attributes of a cluster, as the classifier was taught."""
SEEN = 0.5
"""From this probability on a class that no words state is said to be inferable."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What counts about one person: distinct attributes, strong and weak, and up to three facts of the domain that do
    not count."""

    person: str
    subject: str
    attributes: tuple[Attribute, ...]
    strong: int
    weak: int
    facts: int

    @property
    def size(self) -> int:
        """Attributes that count, weak ones included."""
        return self.strong + self.weak


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """What the evidence in one answer comes to: the highest log-odds over all persons; the person with these odds,
    None where nothing that counts is bound to anybody; whether they have as many attributes as the policy asks for, or
    what can be inferred counts; the classes that can be inferred though no words state them; the log-odds of the
    learned reader's count, infinite where that has no say; and whether only what is stated counts."""

    logit: float
    best: Cluster | None
    cluster: bool
    inferred: tuple[str, ...] = ()
    counted: float = inf
    stated_only: bool = False

    def flags(self, tau: float, counted: float = -inf) -> bool:
        """Whether evidence flags the answer at the log-odds threshold `tau`, that of the reader's count `counted`."""
        return self.cluster and self.logit > tau and self.counted > counted

    def listed(self) -> tuple[Evidence, ...]:
        """What counts about that person, for the verdict."""
        return () if self.best is None else tuple(a.evidence() for a in self.best.attributes)


def probability(logit: float) -> float:
    """Logistic function, safe for any finite logit."""
    return 1 / (1 + exp(-logit)) if logit >= 0 else exp(logit) / (1 + exp(logit))


def clusters(attributes: Iterable[Attribute], policy: Policy) -> list[Cluster]:
    """What counts about each person under a policy, the fullest first."""
    by_person: dict[str, list[Attribute]] = {}
    for a in attributes:
        if a.subject in policy.subjects:
            by_person.setdefault(a.person, []).append(a)
    found = []
    for person, members in by_person.items():
        counted = tuple(a for a in members if a.kind in policy.counted)
        strong = {(a.kind, a.value) for a in counted if not a.weak}
        weak = {(a.kind, a.value) for a in counted} - strong
        facts = {(a.kind, a.value) for a in members if a.kind in policy.domain.own and a.kind not in policy.counted}
        found.append(Cluster(person, members[0].subject, counted, len(strong), len(weak), min(3, len(facts))))
    return sorted(found, key=lambda c: (-c.strong, -c.weak, -c.facts, c.person))


@dataclass(frozen=True, slots=True)
class Shown:
    """What is scored where no text is at hand: attributes as a `Reading` has them."""

    attributes: tuple[Attribute, ...]
    seen: Seen | None = None
    direct: tuple[tuple[DirectSpan, Subject], ...] = ()
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Combined:
    """Intercept and weights of the parts: `whole` over (text, spans, tells), `asked` the same of an answer that was
    read behind its question, `together` over these and what the classifier says of both, `alone` of an answer without
    a question, `spans` over (spans,); and the log-odds of each operating point: flagged above `tau` where the reader's
    count is above `counted`, not decided above `unsure`."""

    whole: tuple[float, ...]
    asked: tuple[float, ...]
    together: tuple[float, ...]
    alone: tuple[float, ...]
    spans: tuple[float, ...]
    tau: dict[str, float]
    counted: dict[str, float]
    unsure: dict[str, float]

    def logit(self, parts: Parts) -> float:
        """The log-odds that the answer holds a cluster; without the reader's counts where there are none."""
        by_spans = self.spans[0] + self.spans[1] * _bounded(parts.spans)
        if parts.text is None or parts.tells is None:
            return by_spans
        said, weights = [parts.text, parts.spans, parts.tells], self.asked if parts.asked else self.whole
        if parts.together is not None:
            said, weights = [*said, parts.together], self.together if parts.asked else self.alone
        both = weights[0] + sum(w * _bounded(odds) for w, odds in zip(weights[1:], said, strict=True))
        return max(both, by_spans) if parts.apart and parts.together is None else both

    def threshold(self, point: str) -> float:
        """The log-odds above which evidence flags at an operating point; that of conservative at "costs"."""
        return self.tau.get(point, self.tau["conservative"])

    def counted_above(self, point: str) -> float:
        """The log-odds of the reader's count above which evidence may flag at an operating point."""
        return self.counted.get(point, self.counted["conservative"])

    def unsure_above(self, point: str) -> float:
        """The log-odds above which an answer that is not flagged is not called safe either."""
        return self.unsure.get(point, self.unsure["conservative"])


@cache
def combined() -> Combined:
    """The weights that ship with discreet."""
    said = json.loads(files("discreet.guard").joinpath("combined.json").read_text(encoding="utf-8"))
    return Combined(tuple(said["whole"]), tuple(said["asked"]), tuple(said["together"]), tuple(said["alone"]),
                    tuple(said["spans"]), said["tau"], said["counted"], said["unsure"])


@dataclass(frozen=True, slots=True)
class Parts:
    """Log-odds that somebody has a cluster: by the reader's count of the text as a whole, None where that does not
    speak of what the policy counts; by its count of one person and by their spans, of whom these say most; and that the
    text, behind its question, tells of somebody private, by the reader, None with the count, and by the classifier,
    None where it was not asked. `best` is what is shown of that person.
    `apart`: the reader read the text in several windows, whose counts see no person whole; `asked`: behind its
    question."""

    text: float | None
    person: float
    spans: float
    tells: float | None
    best: Cluster | None
    together: float | None = None
    apart: bool = False
    asked: bool = False

    @property
    def counted(self) -> float:
        """The higher of the reader's two counts; infinite where these do not speak of a person as a whole."""
        return inf if self.text is None or self.apart else max(self.text, self.person)


def parts(read: Reading | Shown, policy: Policy) -> Parts:
    """What speaks for a cluster in an answer."""
    told = [i for i, subject in enumerate(TOLD) if subject in policy.subjects]
    counted = [a for a in read.attributes if a.kind in policy.counted]
    other = any(a.overruled for a in counted) or any(s == "asker" for _, s in read.direct)
    text: float | None = None
    persons: dict[tuple[str, str], float] = {}
    if (read.seen is not None and told and not other and set(policy.counted) == set(IDENTIFYING)
            and policy.cluster <= read.seen.counts.shape[1]):
        text = float(read.seen.counts[told, policy.cluster - 1].max())
        persons = {(key, subject): float(odds[policy.cluster - 1]) for (key, subject), odds in read.seen.held.items()
                   if subject in policy.subjects}
    least = at_least((), policy.cluster)
    each: list[tuple[float, float, Cluster | None]] = [
        (persons.pop((c.person, c.subject), -MOST), at_least(c.attributes, policy.cluster), c)
        for c in clusters(read.attributes, policy)]
    each += [(odds, least, None) for odds in persons.values()]
    person, spans, best = max(each, key=lambda p: (_bounded(p[0]) + p[1], 0 if p[2] is None else p[2].size),
                              default=(-MOST, least, None))
    # Whether the text tells of somebody private says nothing about others, whom a policy may count.
    tells = text if text is None or read.seen is None or _others_count(policy) else read.seen.case.tells
    if read.seen is None:
        return Parts(text, person, spans, tells, best)
    # What teaches the classifier is that two attributes make a leak.
    case = None if _others_count(policy) or policy.cluster != _TAUGHT else read.seen.together
    together = None if case is None else case.tells
    return Parts(text, person, spans, tells, best, together, read.seen.apart, read.seen.asked)


def _others_count(policy: Policy) -> bool:
    return not set(PERSONS[1:]).isdisjoint(policy.subjects)


def odds(read: Reading | Shown, policy: Policy) -> tuple[float, float]:
    """Log-odds of the reader's count and of the spans, bounded; where the count is silent the spans stand for it."""
    said = parts(read, policy)
    return _bounded(said.spans if said.text is None else said.text), _bounded(said.spans)


def score(read: Reading | Shown, policy: Policy, model: Combined) -> EvidenceScore:
    """The calibrated log-odds of an answer, and the person of whom most is shown.

    Raises DetectorError where the log-odds are no number: a comparison with them would let the answer pass.
    """
    said = parts(read, policy)
    logit, best = model.logit(said), said.best
    if not isfinite(logit):
        raise DetectorError("the scorer", "a score that is no number")
    stated = {a.kind for a in best.attributes} if best is not None else set()
    # Where the answer tells back what the user said, the text as a whole does not say what is added, unless it was read
    # together with that.
    back = read.repeats >= REPEATS and said.together is None
    inferred = said.text is not None and policy.inferred and not back
    seen = read.seen.inferred if inferred and read.seen is not None else {}
    classes = tuple(k for k, p in seen.items() if p >= SEEN and k not in stated)
    size = 0 if best is None else best.size
    # Where nothing is shown at all, nothing is flagged: such an answer is at most not decided.
    told = size > 0 or bool(classes)
    return EvidenceScore(logit, best, told and (inferred or size >= policy.cluster), classes, said.counted, back)


def at_least(attributes: Iterable[Attribute], least: int) -> float:
    """Log-odds that at least so many distinct attributes of a person stand there, each with its own probability."""
    each: dict[tuple[str, str], float] = {}
    for a in attributes:
        each[a.kind, a.value] = max(each.get((a.kind, a.value), 0.0), min(_chance(a), 0.995))
    exactly = [1.0] + [0.0] * least
    for p in [*each.values(), *[OVERLOOKED] * least]:
        exactly = [(exactly[k] * (1 - p) if k < least else exactly[k]) + (exactly[k - 1] * p if k else 0.0)
                   for k in range(least + 1)]
    reached = min(max(exactly[least], 1e-9), 1 - 1e-9)
    return _bounded(log(reached / (1 - reached)))


def _bounded(logit: float) -> float:
    """Within `MOST` of zero; what is no number stays so."""
    return min(max(logit, -MOST), MOST)


def _chance(a: Attribute) -> float:
    """What a term tells weakly is as good as not told."""
    return a.probability * (0.5 if a.weak and a.probability == 1.0 else 1.0)
