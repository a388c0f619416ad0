"""The score of an answer: log-odds that somebody in it has a cluster of attributes, and of whom most is shown.

Two logistics with weights that are not negative. That of the rules counts attributes of one person; it was fitted on
the tuning half of labelled real passages (`docs/results/real_text.md`), and decides where a guard has no reader. The
calibrated one puts together what the reader counts in the text and the spans of one person; it was fitted with the
thresholds on labelled passages and answers of sources that taught the reader nothing (`benchmarks/reader/calibrate.py`,
`docs/results/reader.md`). The reader counts up to four attributes of the identifying classes, of the subjects `TOLD`;
under a policy that counts others, or where the user said one of them or a direct identifier, spans decide.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, inf, isfinite, log

from discreet.core.errors import DetectorError
from discreet.core.records import Evidence, Subject
from discreet.guard.domains import IDENTIFYING
from discreet.guard.policy import Policy
from discreet.guard.reading import REPEATS, Reading
from discreet.guard.text.direct.detect import DirectSpan
from discreet.guard.text.evidence.learned import overlapping
from discreet.guard.text.evidence.mentions import Attribute
from discreet.guard.text.reader import TOLD, Seen

FEATURES = ("strong", "total", "two", "two_strong", "classes", "person", "facts")
MOST = 12.0
"""Log-odds beyond which a part says no more."""
DENIED = -8.0
"""Log-odds of the reader's counts at which rules are not believed where it has read the whole text."""
OVERLOOKED = 0.1
"""Probability that an attribute stands there that nothing found, as many times as the cluster has attributes."""
SEEN = 0.5
"""From this probability on a class that no words state is said to be inferable."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What counts about one person: distinct attributes, strong and weak, and their classes; whether the answer calls
    them a person, and up to three facts of the domain that do not count."""

    person: str
    subject: str
    attributes: tuple[Attribute, ...]
    strong: int
    weak: int
    classes: int
    person_told: int
    facts: int

    @property
    def size(self) -> int:
        """Attributes that count, weak ones included."""
        return self.strong + self.weak


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """What the evidence rules make of one answer: the highest log-odds over all persons; the person with these odds,
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


@dataclass(frozen=True, slots=True)
class Logistic:
    """Intercept, weights over `FEATURES`, and the logit thresholds of the operating points."""

    intercept: float
    weights: tuple[float, ...]
    tau: dict[str, float]

    def logit(self, features: Sequence[float]) -> float:
        """The log-odds δ that the answer holds a cluster."""
        return self.intercept + sum(w * f for w, f in zip(self.weights, features, strict=True))

    def threshold(self, point: str) -> float:
        """The log-odds above which the rules flag at an operating point; that of conservative at "costs"."""
        return self.tau.get(point, self.tau["conservative"])

    def counted_above(self, point: str) -> float:
        """The rules alone ask for no count of the reader."""
        return -inf

    def unsure_above(self, point: str) -> float:
        """The rules alone are never unsure: no log-odds at any operating point."""
        return inf


@cache
def fitted() -> Logistic:
    """The logistic that ships with discreet."""
    data = json.loads(files("discreet.guard").joinpath("evidence_logistic.json").read_text(encoding="utf-8"))
    return Logistic(data["intercept"], tuple(data["weights"][name] for name in FEATURES), data["tau"])


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
        found.append(Cluster(person, members[0].subject, counted, len(strong), len(weak),
                             len({a.kind for a in counted}), int(any(a.kind == "person" for a in members)),
                             min(3, len(facts))))
    return sorted(found, key=lambda c: (-c.strong, -c.weak, -c.facts, -c.person_told, c.person))


def features(cluster: Cluster, policy: Policy) -> tuple[float, ...]:
    """Counts about one person, relative to the policy's cluster size, in the order of `FEATURES`; none can fall."""
    spare = policy.cluster - 2 if cluster.size else 0
    strong = max(0, cluster.strong - spare) if cluster.strong else 0
    total = max(0, cluster.size - spare)
    return (min(strong, 4), min(total, 4), float(total >= 2), float(strong >= 2), min(max(0, cluster.classes - spare),
                                                                                      4), float(cluster.person_told),
            cluster.facts / 3)


def score_evidence(attributes: Iterable[Attribute], policy: Policy, model: Logistic) -> EvidenceScore:
    """The person with the highest log-odds; the intercept and nobody where nothing counts.

    Raises DetectorError where the log-odds are no number: a comparison with them would let the answer pass.
    """
    scored = [(model.logit(features(c, policy)), c) for c in clusters(attributes, policy)]
    if not scored:
        return EvidenceScore(model.intercept, None, False)
    logit, best = max(scored, key=lambda pair: pair[0])
    if not isfinite(logit):
        raise DetectorError("the scorer", "a score that is no number")
    return EvidenceScore(logit, best, best.size >= policy.cluster)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is scored where no text is at hand: attributes as a `Reading` has them."""

    attributes: tuple[Attribute, ...]
    seen: Seen | None = None
    ruled: tuple[Attribute, ...] = ()
    direct: tuple[tuple[DirectSpan, Subject], ...] = ()
    repeats: int = 0
    framed: bool = True
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Combined:
    """Intercept and weights of the parts, `whole` over (text, spans) and `spans` over (spans,), and the
    log-odds of each operating point: flagged above `tau` where the reader's count is above `counted`, not decided above
    `unsure`."""

    whole: tuple[float, ...]
    spans: tuple[float, ...]
    tau: dict[str, float]
    counted: dict[str, float]
    unsure: dict[str, float]

    def logit(self, parts: Parts) -> float:
        """The log-odds that the answer holds a cluster; without the reader's counts where there are none."""
        weights: tuple[float, ...] = self.spans
        said: tuple[float, ...] = (parts.spans,)
        if parts.text is not None:
            weights, said = self.whole, (parts.text, parts.spans)
        return weights[0] + sum(w * _bounded(p) for w, p in zip(weights[1:], said, strict=True))

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
    return Combined(tuple(said["whole"]), tuple(said["spans"]), said["tau"], said["counted"],
                    said["unsure"])


@dataclass(frozen=True, slots=True)
class Parts:
    """Log-odds that somebody has a cluster: by the reader's count of the text as a whole, None where that does not
    speak of what the policy counts; by its count of one person and by their spans, of whom these say most. `best` is
    what is shown of that person. `sure`: the log-odds of the rules where these are sure of a cluster and the reader
    neither denies it, nor takes it for anybody's who is not private or for that of several people."""

    text: float | None
    person: float
    spans: float
    best: Cluster | None
    sure: float | None = None

    @property
    def counted(self) -> float:
        """The higher of the reader's two counts; infinite where rules are sure, or the counts do not speak."""
        return inf if self.sure is not None or self.text is None else max(self.text, self.person)


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
    rules = score_evidence(read.ruled, policy, fitted())
    denied = text is not None and max(text, person) <= DENIED and read.whole
    sure = rules.flags(fitted().threshold("conservative")) and not denied and not _doubted(rules, read, policy)
    if sure and (best is None or best.size < policy.cluster):
        best = rules.best
    return Parts(text, person, spans, best, rules.logit if sure else None)


def _doubted(rules: EvidenceScore, read: Reading | Shown, policy: Policy) -> bool:
    """Whether the reader takes a cluster of the rules for that of somebody who does not count, or of several people, of
    whom nobody who counts has a cluster. Nobody is a group's or made up where no word says so."""
    unsaid = () if read.framed else ("cohort", "nobody", "hypothetical", "fictional")
    told = () if rules.best is None else rules.best.attributes
    kinds = [a for a in read.attributes if a.kind in policy.counted]
    shared = [a for a, over in zip(kinds, overlapping(kinds, told), strict=True)
              if any(told[i].kind == a.kind for i in over) and a.subject not in unsaid]
    whose = {(a.person, a.kind, a.value): a.subject in policy.subjects for a in shared}
    each = Counter(person for (person, _, _), counts in whose.items() if counts)
    alone = len({a.person for a in read.ruled if a.subject in policy.subjects and a.kind in policy.counted}) == 1
    several = len({person for person, _, _ in whose}) > 1 and not alone
    return (several or not all(whose.values())) and max(each.values(), default=0) < policy.cluster


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
    if said.sure is not None:  # Rules that show a cluster are hardly ever wrong, and more words never take it back.
        logit = max(logit, said.sure)
    if not isfinite(logit):
        raise DetectorError("the scorer", "a score that is no number")
    stated = {a.kind for a in best.attributes} if best is not None else set()
    # Where the answer tells back what the user said, the text as a whole does not say what is added.
    inferred = said.text is not None and policy.inferred and read.repeats < REPEATS
    seen = read.seen.inferred if inferred and read.seen is not None else {}
    classes = tuple(k for k, p in seen.items() if p >= SEEN and k not in stated)
    size = 0 if best is None else best.size
    # Where nothing is shown at all, nothing is flagged: such an answer is at most not decided.
    told = size > 0 or bool(classes)
    return EvidenceScore(logit, best, told and (inferred or size >= policy.cluster), classes, said.counted,
                         read.repeats >= REPEATS)


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
    """What a rule finds weakly is as good as not told."""
    return a.probability * (0.5 if a.weak and a.probability == 1.0 else 1.0)
