"""A calibrated logistic over evidence counts: the score of an answer from what it says about whom.

The coefficients were fitted on the tuning half of labelled real passages (`docs/results/real_text.md`) with
non-negative weights, so that a further attribute never lowers the score. This is the baseline that a density has
to beat.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, isfinite

from discreet.core.errors import DetectorError
from discreet.core.records import Evidence
from discreet.guard.policy import Policy
from discreet.text.evidence.mentions import Attribute

FEATURES = ("strong", "total", "two", "two_strong", "classes", "person", "facts")


@dataclass(frozen=True, slots=True)
class Cluster:
    """What counts about the one person that an answer says most about."""

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
    """What the evidence rules make of one answer.

    Attributes
    ----------
    logit : float
        The highest log-odds over all persons.
    best : Cluster or None
        The person with these odds; None where nothing that counts is bound to anybody.
    cluster : bool
        Whether that person has as many attributes as the policy's `cluster` asks for.
    """

    logit: float
    best: Cluster | None
    cluster: bool

    def flags(self, tau: float) -> bool:
        """Whether the rules alone flag the answer at the log-odds threshold `tau`."""
        return self.cluster and self.logit > tau

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
    found = [_cluster(person, members, policy) for person, members in by_person.items()]
    return sorted(found, key=lambda c: (-c.strong, -c.weak, -c.facts, -c.person_told, c.person))


def _cluster(person: str, members: list[Attribute], policy: Policy) -> Cluster:
    counted = [a for a in members if a.kind in policy.counted]
    strong = {(a.kind, a.value) for a in counted if not a.weak}
    weak = {(a.kind, a.value) for a in counted if a.weak} - strong
    facts = {(a.kind, a.value) for a in members if a.kind in policy.domain.own and a.kind not in policy.counted}
    return Cluster(
        person, members[0].subject, tuple(counted), len(strong), len(weak), len({k for k, _ in strong | weak}),
        int(any(a.kind == "person" for a in members)), min(3, len(facts)),
    )


def features(cluster: Cluster, policy: Policy) -> tuple[float, ...]:
    """Counts about one person, relative to the policy's cluster size; in the order of `FEATURES`.

    Each count can only grow with a further attribute, so with non-negative weights the score can only grow too.
    """
    spare = policy.cluster - 2 if cluster.size else 0
    strong = max(0, cluster.strong - spare) if cluster.strong else 0
    total = max(0, cluster.size - spare)
    return (
        min(strong, 4), min(total, 4), float(total >= 2), float(strong >= 2), min(max(0, cluster.classes - spare), 4),
        float(cluster.person_told), cluster.facts / 3,
    )


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


def reason_of(best: Cluster) -> str:
    """Why the rules flag: "3 attributes (1 weak) bound to one person (third): age, family, place"."""
    kinds = ", ".join(sorted({a.kind for a in best.attributes}))
    return f"{_counted(best)} bound to one person ({best.subject}): {kinds}"


def quiet_reason(best: Cluster | None) -> str:
    """Why the rules do not flag."""
    if best is None or not best.attributes:
        return "no attribute that counts is bound to one person"
    return f"{_counted(best)} bound to one person ({best.subject}): no cluster at this operating point"


def _counted(best: Cluster) -> str:
    weak = f" ({best.weak} weak)" if best.weak else ""
    return f"{best.size} attribute{'' if best.size == 1 else 's'}{weak}"
