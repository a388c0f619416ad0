"""The guard that judges from evidence alone: layer 1, then what the answer binds to one person.

Order of verdicts: failed, direct, abstain, contextual. A detector that breaks makes the verdict `failed`, never `safe`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import isfinite
from time import perf_counter

from discreet.errors import DetectorError, UsageError
from discreet.guard.evidence_score import Cluster, Logistic, best_logit, clusters, fitted, probability
from discreet.guard.policy import POINTS, Policy
from discreet.records import Answer, Evidence, Subject, Verdict
from discreet.text.direct import DirectSpan, find_direct
from discreet.text.doc import Doc
from discreet.text.evidence import find_evidence
from discreet.text.language import guess_language
from discreet.text.mentions import Attribute
from discreet.unicode import Prepared, prepare


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found, with why: for people who ask. Holds no words of the answer."""

    type: str
    subject: Subject
    person: str
    start: int
    end: int
    why: str
    layer: str
    counts: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and all findings behind it, those that do not count included."""

    verdict: Verdict
    findings: tuple[Finding, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class _Read:
    """What the detectors saw in one answer."""

    direct: tuple[tuple[DirectSpan, Subject], ...]
    attributes: tuple[Attribute, ...]
    english: bool
    guess: str


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
            read = self._read(answer)
            judgement = self._decide(answer.id, read)
        except Exception as error:  # a detector may break in any way; the answer must still not pass as safe
            judgement = Judgement(self._failed(answer.id, error))
        elapsed = (perf_counter() - started) * 1000
        return replace(judgement, verdict=replace(judgement.verdict, latency_ms=round(elapsed, 3)))

    def _read(self, answer: Answer) -> _Read:
        prepared = prepare(answer.answer)
        told = _told(answer)
        direct = tuple((span, _direct_subject(answer.answer, span, told)) for span in find_direct(prepared))
        doc = Doc(prepared)
        language = guess_language(doc)
        attributes = find_evidence(doc, self.policy.domain, told.prepared.original if told else None)
        return _Read(direct, attributes, language.english or language.guess in self.policy.languages, language.guess)

    def _decide(self, identity: str, read: _Read) -> Judgement:
        found = clusters(read.attributes, self.policy)
        delta, best = best_logit(found, self.policy, self.model)
        if not isfinite(delta):
            raise DetectorError("the scorer", "a score that is no number")
        score = probability(delta)
        findings = self._findings(read)
        blocked = [f for f in findings if f.layer == "direct" and f.counts]
        said = tuple(a.evidence() for a in (best.attributes if best else ()))
        quiet = Verdict(
            id=identity,
            action="safe",
            layer=None,
            score=score,
            delta=delta,
            evidence=said,
            policy=self._label,
            reason=_quiet(best),
            tau=self.tau,
        )
        if blocked:
            kinds = ", ".join(sorted({f.type for f in blocked}))
            where = tuple(Evidence(f.type, f.subject, f.start, f.end) for f in blocked)
            return Judgement(
                replace(
                    quiet,
                    action="flag",
                    layer="direct",
                    score=1.0,
                    evidence=where,
                    reason=f"direct identifiers: {kinds}",
                ),
                findings,
            )
        if not read.english:
            reason = f"not English (looks like {read.guess}): the evidence rules read English only"
            return Judgement(replace(quiet, action="abstain", reason=reason), findings)
        if delta > self.tau:
            return Judgement(replace(quiet, action="flag", layer="contextual", reason=_reason(best)), findings)
        return Judgement(quiet, findings)

    def _findings(self, read: _Read) -> tuple[Finding, ...]:
        persons: dict[str, str] = {}
        found = [
            Finding(
                span.type,
                subject,
                "",
                span.start,
                span.end,
                f"{span.type} pattern",
                "direct",
                (subject != "asker" or "asker" in self.policy.subjects) and span.type not in self.policy.allow_direct,
            )
            for span, subject in read.direct
        ]
        for a in read.attributes:
            person = _label(a, persons)
            counts = a.subject in self.policy.subjects and a.kind in self.policy.counted
            found.append(Finding(a.kind, a.subject, person, a.start, a.end, a.why, "contextual", counts))
        return tuple(sorted(found, key=lambda f: (f.start, f.end, f.type)))

    def _failed(self, identity: str, error: Exception) -> Verdict:
        kind = error.kind if isinstance(error, DetectorError) else type(error).__name__
        return Verdict(
            id=identity,
            action="failed",
            layer=None,
            score=None,
            delta=None,
            evidence=(),
            policy=self._label,
            tau=self.tau,
            reason=f"a detector failed with {kind}; the answer was not judged",
        )


@dataclass(frozen=True, slots=True)
class _Told:
    """What the user has said themselves, and the direct identifiers in it."""

    prepared: Prepared
    direct: frozenset[tuple[str, str]] = field(repr=False)


def _told(answer: Answer) -> _Told | None:
    """The question, and the user's earlier turns."""
    said = [turn.text for turn in answer.conversation if turn.role == "user"]
    if answer.question:
        said.append(answer.question)
    if not said:
        return None
    prepared = prepare("\n\n".join(said))
    spans = find_direct(prepared)
    found = {(s.type, _squeezed(prepare(prepared.original[s.start : s.end]).text)) for s in spans}
    return _Told(prepared, frozenset(found))


def _direct_subject(text: str, span: DirectSpan, told: _Told | None) -> Subject:
    """A direct identifier that the user gave themselves is told back to them.

    It must stand in their words as an identifier of the same kind, or letter for letter: digits that only happen to
    run in the same order elsewhere are no consent.
    """
    if told is None:
        return "third"
    value = prepare(text[span.start : span.end]).text.lower()
    if (span.type, _squeezed(value)) in told.direct:
        return "asker"
    alone = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", told.prepared.text.lower()) if value.strip() else None
    return "asker" if alone else "third"


def _squeezed(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _label(a: Attribute, persons: dict[str, str]) -> str:
    if a.subject in ("cohort", "nobody", "speaker"):
        return a.subject
    return persons.setdefault(a.person, "asker" if a.person == "addressee" else f"person {len(persons) + 1}")


def _reason(best: Cluster | None) -> str:
    if best is None:
        return "score above the operating point"
    kinds = ", ".join(sorted({a.kind for a in best.attributes}))
    return f"{best.strong + best.weak} attributes bound to one person ({best.subject}): {kinds}"


def _quiet(best: Cluster | None) -> str:
    if best is None or not best.attributes:
        return "no attribute that counts is bound to one person"
    return f"{best.strong + best.weak} attribute(s) bound to one person ({best.subject}): below the operating point"
