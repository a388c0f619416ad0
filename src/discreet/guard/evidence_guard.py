"""The guard that judges from evidence alone: layer 1, then what the answer binds to one person.

Order of verdicts: failed, direct, flagged by evidence, abstain (language). A detector that breaks makes the verdict
`failed`, never `safe`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from time import perf_counter

from discreet.core.errors import UsageError
from discreet.core.records import Answer, Verdict
from discreet.guard.evidence_score import Logistic, fitted, probability, quiet_reason, score_evidence
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

__all__ = ["EvidenceGuard", "Finding", "Judgement"]


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
        found = score_evidence(read.attributes, self.policy, self.model)
        findings = findings_of(read, self.policy)
        quiet = Verdict(
            id=identity,
            action="safe",
            layer=None,
            score=probability(found.logit),
            delta=found.logit,
            evidence=found.listed(),
            policy=self._label,
            reason=quiet_reason(found.best),
            tau=self.tau,
        )
        return Judgement(decided_by_reading(quiet, read, findings, found, self.tau) or quiet, findings, found)
