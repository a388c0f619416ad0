"""The guard that judges from evidence alone: layer 1, then what the answer binds to one person.

Order of verdicts: failed, direct, abstain, contextual. A detector that breaks makes the verdict `failed`, never `safe`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import isfinite
from time import perf_counter

from discreet.core.errors import DetectorError, UsageError
from discreet.core.records import Answer, Verdict
from discreet.guard.evidence_score import Cluster, Logistic, best_logit, clusters, fitted, probability
from discreet.guard.policy import POINTS, Policy
from discreet.guard.reading import (
    Finding,
    Judgement,
    Read,
    decided_by_reading,
    failed_verdict,
    findings_of,
    read_answer,
)

__all__ = ["EvidenceGuard", "Finding", "Judgement", "quiet_reason", "reason_of"]


class EvidenceGuard:
    """Judges answers from evidence counts under a policy.

    Parameters
    ----------
    policy : Policy
        Which subjects count and what makes a cluster.
    point : {"conservative", "balanced", "strict"}, optional
        Operating point; the policy's own by default. Flag iff δ > τ(point).
    model : Logistic, optional
        The calibrated logistic; the one that ships with discreet by default.
    """

    def __init__(self, policy: Policy, *, point: str | None = None, model: Logistic | None = None) -> None:
        self.policy = policy
        self.point = point or policy.point
        if self.point not in POINTS:
            raise UsageError(f"unknown operating point {self.point!r}: expected one of {', '.join(POINTS)}")
        self.model = model or fitted()
        self.tau = self.model.tau[self.point]
        self._label = policy.label()

    def check(self, answer: Answer) -> Verdict:
        """The verdict on one answer; never raises for what the answer holds."""
        return self.judge(answer).verdict

    def check_many(self, answers: Iterable[Answer]) -> Iterator[Verdict]:
        """Verdicts in order; each depends on its own answer only."""
        return map(self.check, answers)

    def judge(self, answer: Answer) -> Judgement:
        """The verdict with every finding, for explanations inside the process."""
        started = perf_counter()
        try:
            read = read_answer(answer, self.policy)
            judgement = self._decide(answer.id, read)
        except Exception as error:  # a detector may break in any way; the answer must still not pass as safe
            judgement = Judgement(failed_verdict(answer.id, error, self._label, self.tau))
        elapsed = (perf_counter() - started) * 1000
        return replace(judgement, verdict=replace(judgement.verdict, latency_ms=round(elapsed, 3)))

    def _decide(self, identity: str, read: Read) -> Judgement:
        found = clusters(read.attributes, self.policy)
        delta, best = best_logit(found, self.policy, self.model)
        if not isfinite(delta):
            raise DetectorError("the scorer", "a score that is no number")
        score = probability(delta)
        findings = findings_of(read, self.policy)
        quiet = Verdict(
            id=identity,
            action="safe",
            layer=None,
            score=score,
            delta=delta,
            evidence=tuple(a.evidence() for a in (best.attributes if best else ())),
            policy=self._label,
            reason=quiet_reason(best),
            tau=self.tau,
        )
        decided = decided_by_reading(quiet, read, findings)
        if decided is None and delta > self.tau and best is not None and best.size >= self.policy.cluster:
            decided = replace(quiet, action="flag", layer="contextual", reason=reason_of(best))
        return Judgement(decided or quiet, findings)


def reason_of(best: Cluster | None) -> str:
    """Why a contextual flag, from the fullest person."""
    if best is None:
        return "score above the operating point"
    kinds = ", ".join(sorted({a.kind for a in best.attributes}))
    return f"{_counted(best)} bound to one person ({best.subject}): {kinds}"


def quiet_reason(best: Cluster | None) -> str:
    """Why no contextual flag."""
    if best is None or not best.attributes:
        return "no attribute that counts is bound to one person"
    return f"{_counted(best)} bound to one person ({best.subject}): no cluster at this operating point"


def _counted(best: Cluster) -> str:
    """"3 attributes (1 weak)"."""
    weak = f" ({best.weak} weak)" if best.weak else ""
    return f"{best.size} attribute{'' if best.size == 1 else 's'}{weak}"
