"""The guard with a fitted layer 2: what `guard fit` leaves, read from a folder or fresh from the fit.

Order of verdicts: failed, direct, flagged by evidence, abstain (language; out of distribution), δ > τ (unless the
attributes belong to the asker or a public person). So a fitted guard flags whatever the rules alone flag at the same
operating point, and the gate holds back only what evidence does not decide. A detector that breaks makes the verdict
`failed`, never `safe`. Judging needs numpy, and onnxruntime and tokenizers where an encoder does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

from discreet.core.errors import DetectorError, UsageError
from discreet.core.records import Answer, Verdict
from discreet.guard.detector import Detector
from discreet.guard.evidence_score import EvidenceScore, fitted, probability, quiet_reason, score_evidence
from discreet.guard.policy import Policy
from discreet.guard.reading import (
    Judgement,
    Read,
    decided_by_reading,
    failed_verdict,
    findings_of,
    read_answer,
)
from discreet.guard.rows import rows_of
from discreet.guard.subjects import taken_back

Second = Callable[[Answer], Verdict]


class FittedGuard:
    """Judges answers by layer 1, evidence and a fitted layer 2 under a policy.

    Parameters
    ----------
    detector : Detector
        What was fitted.
    policy : Policy
        Of the detector's domain.
    point : {"conservative", "balanced", "strict", "costs"}, optional
        Operating point; the policy's own by default: where the rules do not flag at their threshold of that point,
        flag iff δ > τ(point). "costs", where the guard has it, leaves the rules at conservative.
    second : callable, optional
        Asked about every answer that the guard abstains on; its action stands instead. Where it breaks, the verdict
        is `failed`.
    card : mapping
        What the guard was fitted on, with figures.

    Raises
    ------
    UsageError
        For a policy of another domain or a point that the guard does not have.
    """

    def __init__(self, detector: Detector, policy: Policy, *, point: str | None = None, second: Second | None = None,
                 card: Mapping[str, Any] | None = None) -> None:
        if policy.domain != detector.domain:
            raise UsageError(f"the guard was fitted for {detector.domain.name!r}, but the policy is for "
                             f"{policy.domain.name!r}; expected the same domain")
        self.detector, self.policy, self.second, self.card = detector, policy, second, dict(card or {})
        self.point = point or policy.point
        self.tau = detector.tau(self.point)
        self.rules_tau = rules_tau(self.point)
        self._label = policy.label()

    @classmethod
    def load(cls, folder: Path | str, *, policy: Policy | Path | None = None, audience: str | None = None,
             point: str | None = None, discriminator: str | None = None, second: Second | None = None) -> FittedGuard:
        """The guard that was saved in a folder.

        Parameters
        ----------
        policy : Policy or Path, optional
            A policy, or the file of one for `audience`. By default the one that the guard was fitted under; with
            `audience`, that of its domain.
        discriminator : str, optional
            Which δ decides; by default the one that the guard was fitted to decide by.

        Raises
        ------
        InputError
            Where the folder is missing, truncated, changed or of another version.
        UsageError
            For an unknown point, audience or discriminator.
        """
        from discreet.guard.artifact import load_detector

        detector, fitted_under, card = load_detector(Path(folder))
        if isinstance(policy, Path):
            policy = Policy.load(policy, audience, detector.domain)
        elif policy is None:
            policy = fitted_under if audience is None else Policy.of(detector.domain, audience)
        return cls(detector.deciding(discriminator), policy, point=point, second=second, card=card)

    def save(self, folder: Path | str) -> None:
        """Write the guard with its policy, whole or not at all. Raises UsageError where it cannot be written."""
        from discreet.guard.artifact import save_detector

        save_detector(Path(folder), self.detector, self.policy, self.card)

    def at(self, tau: float, rules_tau: float | None = None) -> FittedGuard:
        """The same guard with another threshold of δ, and of the rules' log-odds where that is given."""
        other = FittedGuard(self.detector, self.policy, point=self.point, second=self.second, card=self.card)
        other.tau = tau
        other.rules_tau = self.rules_tau if rules_tau is None else rules_tau
        return other

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
            judgement = self._decide(answer, read_answer(answer, self.policy))
        except Exception as error:  # a detector may break in any way; the answer must still not pass as safe
            judgement = Judgement(failed_verdict(answer.id, error, self._label, self.tau))
        elapsed = (perf_counter() - started) * 1000
        return replace(judgement, verdict=replace(judgement.verdict, latency_ms=round(elapsed, 3)))

    def _decide(self, answer: Answer, read: Read) -> Judgement:
        found = score_evidence(read.attributes, self.policy, fitted())
        quiet, abstains = self._scored(answer, read, found)
        findings = findings_of(read, self.policy)
        verdict = decided_by_reading(quiet, read, findings, found, self.rules_tau)
        verdict = verdict or self._by_scores(quiet, read, found, abstains)
        if verdict.action == "abstain" and self.second is not None:
            verdict = _seconded(verdict, self.second(answer))
        return Judgement(verdict, findings, found)

    def _scored(self, answer: Answer, read: Read, found: EvidenceScore) -> tuple[Verdict, str | None]:
        """The verdict if nothing is held against the answer, and why the scores abstain, if they do."""
        detector = self.detector
        scores = detector.score(rows_of(detector.fusion, detector.evidence, answer, read, detector.encoded))
        delta = float(scores.delta[0])
        safe, unsafe = (float(s) for s in scores.sigmas[0])
        if not (isfinite(delta) and isfinite(safe) and isfinite(unsafe)):
            raise DetectorError("the scorer", "a score that is no number")
        why = None
        if scores.foreign[0]:
            why = "unlike the safe and unlike the unsafe texts that the guard was fitted on"
        elif scores.unsure[0]:
            why = f"{detector.decides} is not sure enough to decide"
        return Verdict(
            id=answer.id, action="safe", layer=None, score=probability(detector.logit(delta)), delta=delta,
            evidence=found.listed(), policy=self._label, reason=quiet_reason(found.best),
            sigma_safe=safe, sigma_unsafe=unsafe, tau=self.tau,
        ), why  # fmt: skip

    def _by_scores(self, quiet: Verdict, read: Read, found: EvidenceScore, abstains: str | None) -> Verdict:
        """The verdict where evidence does not decide: the gate, then δ."""
        if abstains is not None and self.policy.subjects:
            return replace(quiet, action="abstain", reason=abstains)
        if quiet.delta is None or quiet.delta <= self.tau:
            return quiet
        back = taken_back(read.attributes, self.policy)
        if back is not None:
            return replace(quiet, reason=back)
        reason = ("reads like the unsafe texts that the guard was fitted on; the evidence rules alone do not flag it: "
                  f"{quiet_reason(found.best)}")
        return replace(quiet, action="flag", layer="contextual", reason=reason)


def rules_tau(point: str) -> float:
    """The log-odds above which the evidence rules flag at an operating point; that of conservative at "costs"."""
    taus = fitted().tau
    return taus.get(point, taus["conservative"])


def _seconded(first: Verdict, second: Verdict) -> Verdict:
    """What a second detector makes of an abstention. Its reason may quote the answer and is left behind."""
    said = f"abstained ({first.reason}); the second detector says {second.action}"
    if second.action == "failed":
        return replace(first, action="failed", layer=None, score=None, delta=None, reason=said)
    layer = (second.layer or "contextual") if second.action == "flag" else None
    return replace(first, action=second.action, layer=layer, reason=said)
