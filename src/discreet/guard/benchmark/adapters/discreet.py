"""discreet's own guard: by rules and reader under the policy of a domain, or fitted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from discreet.core.errors import UsageError
from discreet.guard.benchmark.guards import FAILED, PredictedSpan, Prediction, tested_guards
from discreet.guard.benchmark.passages import CLASSES
from discreet.guard.density.detector import MANIFEST
from discreet.guard.guard import Guard
from discreet.guard.identifiers import counts_directly
from discreet.guard.policy import Policy
from discreet.guard.reading import Finding
from discreet.guard.score import probability
from discreet.guard.text.direct.detect import DirectSpan, known_types

DIRECT = {"person_name": "name", "hypothetical_name": "name", "address": "address", "street_address": "address",
          "postal_code": "address", "dob": "date"}
"""Types of layer 1 by class; the others, numbers and addresses of accounts, are `contact`."""


@tested_guards.register("discreet")
class DiscreetGuard:
    """The guard of a domain, of a fitted folder, or a `Guard`.

    Where none is given, or a folder of fitted guards named as their domains, that of each passage's own domain.

    One judging serves both columns: layer 1 is told to let everything pass, and what its findings would have flagged
    under the policy is `direct`.
    """

    probability = True

    def __init__(self, given: str | Guard | None = None, *, point: str | None = None) -> None:
        if isinstance(given, str) and (Path(given) / MANIFEST).exists():
            given = Guard.load(given, point=point)
        self._folder = Path(given) if isinstance(given, str) and any(Path(given).glob(f"*/{MANIFEST}")) else None
        self._given, self._point = None if self._folder else given, point
        self._guard_of = cache(self._opened)
        known = sorted(path.parent.name for path in self._folder.glob(f"*/{MANIFEST}")) if self._folder else ["medical"]
        first = self._guard_of(known[0])[0]
        self.threshold: float | None = probability(first.evidence_tau if first.tau is None else first.tau)

    def _opened(self, domain: str | None) -> tuple[Guard, Policy]:
        given = domain if self._given is None else self._given
        if given is None:
            raise UsageError("the passages name no domain; expected the guard of one, such as discreet:medical")
        if self._folder is not None:
            given = Guard.load(self._folder / str(given), point=self._point)
        guard = given if isinstance(given, Guard) else Guard(given, point=self._point)
        passing = replace(guard.policy, allow_direct=known_types())
        detector = guard.detector if guard.is_fitted else None
        contextual = Guard(passing, point=guard.point, detector=detector, second=guard.second)
        return contextual.at(guard.tau, guard.evidence_tau), guard.policy

    def predict(self, text: str, domain: str | None) -> Prediction:
        """The verdict of the contextual layers, and of direct identifiers apart."""
        guard, policy = self._guard_of(domain if self._given is None else None)
        judged = guard.judge(text)
        verdict = judged.verdict
        if verdict.action == "failed":
            return FAILED
        direct = any(f.layer == "direct" and counts_directly(DirectSpan(f.type, f.start, f.end), f.subject, policy)
                     for f in judged.findings)
        spans = tuple(found for f in judged.findings if (found := _span(f)) is not None)
        return Prediction(verdict.score, verdict.action, direct, spans)



def _span(finding: Finding) -> PredictedSpan | None:
    if finding.layer == "direct":
        return PredictedSpan(finding.start, finding.end, DIRECT.get(finding.type, "contact"))
    # The mention of a person is no attribute, and what is inferred has no place.
    if finding.type == "person" or finding.start >= finding.end:
        return None
    kind = finding.type if finding.type in CLASSES else "domain"
    person = finding.person if finding.subject not in ("cohort", "nobody") else None
    return PredictedSpan(finding.start, finding.end, kind, person, finding.subject)
