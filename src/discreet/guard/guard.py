"""The guard: reads answers in their requests, scores what it read, and decides under a policy (`decide.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

from discreet.core.errors import DetectorError, UsageError
from discreet.core.records import Answer, Verdict
from discreet.guard.decide import Judgement, Layer2, OverTurns, Thresholds, decide, failed, seconded
from discreet.guard.domains import DomainLike
from discreet.guard.policy import POINTS, Policy
from discreet.guard.reading import Finding, Reading, answer_of, finding_of, findings_of, read_answer
from discreet.guard.score import EvidenceScore, combined, score

if TYPE_CHECKING:
    from discreet.guard.conversation import Conversation
    from discreet.guard.density.detector import Detector
    from discreet.guard.population.people import Measured
    from discreet.guard.population.population import Population
    from discreet.guard.redaction.redact import Redaction
    from discreet.guard.withheld import Withheld

Second = Callable[[Answer], Verdict]


@dataclass(frozen=True, slots=True)
class Scored:
    """A reading with its scores, before the verdict."""

    reading: Reading
    evidence: EvidenceScore
    findings: tuple[Finding, ...]
    layer2: Layer2 | None
    people: tuple[Measured, ...]


class Guard:
    """Judges answers under a policy: by what is read of them, and with a fitted layer 2 where there is one; see
    `Verdict` for what it returns.

    UsageError for an unknown domain, audience or point, or a detector of another domain.

    Parameters
    ----------
    policy : Policy, Domain, str or Path
        A policy, or the name or folder of a domain, whose policy is taken.
    audience : str, optional
        Whom the answers are for, as the policy of the domain names them; not with a `Policy`, which is for one.
    point : {"conservative", "balanced", "strict", "costs"}, optional
        Operating point; the policy's own by default. Flag iff the log-odds of evidence, or δ of layer 2, exceed their
        thresholds of that point. "costs", where a fitted guard has it, leaves evidence at conservative.
    detector : Detector, optional
        A fitted layer 2, of the domain of the policy; `fit_guard` makes one.
    second : callable, optional
        Asked about every answer that the guard abstains on; its action stands, `failed` where it breaks.
    card : mapping, optional
        What the guard was fitted on, with figures.

    Examples
    --------
    >>> guard = Guard("medical")
    >>> guard.check("The patient is a 52-year-old litigator from Omaha with two children.").action
    'flag'
    """

    def __init__(self, policy: Policy | DomainLike, *, audience: str | None = None, point: str | None = None,
                 detector: Detector | None = None, second: Second | None = None,
                 card: Mapping[str, Any] | None = None) -> None:
        if not isinstance(policy, Policy):
            policy = Policy.of(policy, audience)
        elif audience not in (None, policy.audience):
            raise UsageError(f"the policy is for the audience {policy.audience!r}, not {audience!r}; load the policy "
                             "for that audience")
        if detector is not None and policy.domain != detector.domain:
            raise UsageError(f"the guard was fitted for {detector.domain.name!r}, but the policy is for "
                             f"{policy.domain.name!r}; expected the same domain")
        self.policy, self.second, self.card = policy, second, dict(card or {})
        self._detector = detector
        self.model = combined()
        self.point = point or policy.point
        if detector is None and self.point not in POINTS:
            raise UsageError(f"unknown operating point {self.point!r}: expected one of {', '.join(POINTS)}")
        self.evidence_tau = self.model.threshold(self.point)
        self.tau = None if detector is None else detector.tau(self.point)
        self.unsure: float | None = None
        self._label = policy.label()
        self._population: Population | None = None
        self.counts_people = self.policy.fewer_than is not None

    def __repr__(self) -> str:
        fitted_on = ", fitted" if self.is_fitted else ""
        return (f"Guard({self.policy.domain.name!r}, audience={self.policy.audience!r}, point={self.point!r}"
                f"{fitted_on})")

    @property
    def is_fitted(self) -> bool:
        """Whether it has a layer 2."""
        return self._detector is not None

    @property
    def detector(self) -> Detector:
        """The fitted layer 2. Raises UsageError where the guard was not fitted."""
        if self._detector is None:
            raise UsageError("the guard was not fitted: it judges by evidence alone; fit_guard makes one with layer 2")
        return self._detector

    def unsure_above(self, point: str) -> float:
        """The log-odds of evidence above which an answer that nothing flags is an abstention. Raises DetectorError."""
        if self.unsure is not None:
            return self.unsure
        unsure = self.model.unsure_above(point)
        return unsure if self._detector is None else max(unsure, self._detector.unsure_above(point))

    @classmethod
    def load(cls, folder: Path | str, *, policy: Policy | Path | None = None, audience: str | None = None,
             point: str | None = None, discriminator: str | None = None, second: Second | None = None) -> Guard:
        """The fitted guard that was saved in a folder.

        `policy` is a policy, or the file of one for `audience`; by default the one that the guard was fitted under, or
        with `audience` that of its domain. `discriminator` says which δ decides. InputError where the folder is
        missing, truncated, changed or of another version, UsageError for an unknown point, audience or discriminator.
        """
        from discreet.guard.density.detector import load_detector  # A guard without layer 2 needs none of it.

        detector, fitted_under, card = load_detector(Path(folder))
        if isinstance(policy, Path):
            policy = Policy.load(policy, audience, detector.domain)
        elif policy is None:
            policy = fitted_under if audience is None else Policy.of(detector.domain, audience)
        return cls(policy, point=point, detector=detector.deciding(discriminator), second=second, card=card)

    def save(self, folder: Path | str) -> None:
        """Write a fitted guard with its policy, whole or not at all. UsageError where it cannot, or was not fitted."""
        from discreet.guard.density.detector import save_detector

        save_detector(Path(folder), self.detector, self.policy, self.card)

    def at(self, tau: float | None = None, evidence_tau: float | None = None, unsure: float | None = None) -> Guard:
        """The same guard with other thresholds, those that are given: of δ, and of the log-odds of evidence.

        Above `evidence_tau` evidence flags; above `unsure` an answer that nothing flags is an abstention. UsageError
        for `tau` where the guard was not fitted.
        """
        if tau is not None:
            self.detector  # noqa: B018 - raises where there is none
        other = copy(self)
        other.tau = self.tau if tau is None else tau
        other.evidence_tau = self.evidence_tau if evidence_tau is None else evidence_tau
        other.unsure = self.unsure if unsure is None else unsure
        return other

    def counting(self, population: Population | Path | str | None = None) -> Guard:
        """The same guard, whose verdicts also say how many people fit (`Verdict.people`), of a population or its file.

        By default of the one that ships, which is read when it is first needed. A guard whose policy says `fewer_than`
        counts anyway. InputError for a file that cannot be read.
        """
        from discreet.guard.population.population import Population  # A guard that does not count reads none of it.

        other = copy(self)
        other.counts_people = True
        other._population = Population.load(population) if isinstance(population, Path | str) else population
        return other

    @property
    def population(self) -> Population:
        """The population that people are counted in."""
        from discreet.guard.population.population import Population

        if self._population is None:
            self._population = Population.load()
        return self._population

    def check(self, answer: Answer | str, question: str | None = None) -> Verdict:
        """The verdict on one answer; never raises for what the answer holds.

        A string is an answer with a random id, and `question` the user message as the model got it: what it says of the
        user is no leak where it reads as a user's own words (`docs/provenance.md`). UsageError for anything but a
        string or an Answer, or a question with an Answer, which holds its own.
        """
        return self.judge(answer, question).verdict

    def check_many(self, answers: Iterable[Answer | str]) -> list[Verdict]:
        """Verdicts in order; each depends on its own answer only."""
        return [self.check(answer) for answer in answers]

    def judge(self, answer: Answer | str, question: str | None = None) -> Judgement:
        """The verdict with every finding, for explanations inside the process; arguments as for `check`."""
        return self.judged(answer_of(answer, question), None)[0]

    def redact(self, answer: Answer | str, question: str | None = None) -> Redaction:
        """An answer without what gives a person away, where that can be done, else withheld: `Redaction.text` is None.

        Arguments as for `check`. A safe answer stays as it is. Takes a judgement of each sentence and of each attempt.
        """
        from discreet.guard.redaction.redact import redact  # Judging needs none of it.

        return redact(self, answer_of(answer, question))

    def conversation(self, *, expires_s: float = 3600, withheld: Withheld | None = None,
                     clock: Callable[[], float] = time) -> Conversation:
        """A conversation whose answers this guard judges together; see `Conversation`."""
        from discreet.guard.conversation import Conversation  # Single answers need none of it.

        return Conversation(self, expires_s=expires_s, withheld=withheld, clock=clock)

    def judged(self, answer: Answer, over_turns: Callable[[Reading], OverTurns | None] | None
               ) -> tuple[Judgement, Reading | None]:
        """The judgement, and the reading (None where a detector broke); `over_turns` says what earlier answers add."""
        started = perf_counter()
        reading: Reading | None = None
        try:
            scored = self._scored(self._read(answer))
            judgement = self._decided(scored, None if over_turns is None else over_turns(scored.reading))
            reading = scored.reading
        except Exception as error:
            # A detector may break in any way; the answer must still not pass as safe.
            judgement = self.broken(answer, error)
        elapsed = (perf_counter() - started) * 1000
        return replace(judgement, verdict=replace(judgement.verdict, latency_ms=round(elapsed, 3))), reading

    def broken(self, answer: Answer, error: Exception) -> Judgement:
        """The judgement where a detector raised an error, whose message may quote the answer and is left behind."""
        detector, kind = "", type(error).__name__
        if isinstance(error, DetectorError):
            detector, kind = error.detector, error.kind
        why = f"{detector or 'a detector'} failed with {kind}"
        return Judgement(failed(answer.id, self._label, why, detector=detector))

    def on_reading(self, reading: Reading) -> Verdict:
        """The verdict on an answer that was read before, under this policy and without earlier answers."""
        return self._verdict(self._scored(reading))

    def _read(self, answer: Answer) -> Reading:
        reading = read_answer(answer, self.policy)
        if not reading.request.of("retrieved", "tool"):
            return reading
        from discreet.guard.passages import told_by_passages  # Many answers come without sources.

        return told_by_passages(reading, self.policy)

    def _scored(self, reading: Reading) -> Scored:
        found = score(reading, self.policy, self.model)
        findings = findings_of(reading, self.policy)
        layer2 = None if self._detector is None else Layer2(*self._detector.score_answer(reading))
        return Scored(reading, found, findings, layer2, self._count(reading, findings) if self.counts_people else ())

    def _verdict(self, scored: Scored, over_turns: OverTurns | None = None) -> Verdict:
        at = Thresholds(self.point, self.evidence_tau, self.model.counted_above(self.point),
                        self.unsure_above(self.point), self.tau)
        return decide(scored.reading, self.policy, self._label, scored.evidence, at, findings=scored.findings,
                      layer2=scored.layer2, people=scored.people, over_turns=over_turns)

    def _decided(self, scored: Scored, over_turns: OverTurns | None) -> Judgement:
        verdict = self._verdict(scored, over_turns)
        if verdict.action == "abstain" and self.second is not None:
            verdict = seconded(verdict, self.second(scored.reading.answer))
        findings = scored.findings
        if verdict.cause is not None and verdict.cause.cause == "probe":
            probe = scored.reading.probe(self.policy)
            findings += () if probe is None else (finding_of(probe, scored.reading),)
        judgement = Judgement(verdict, findings, scored.evidence, scored.people)
        if verdict.action != "safe":
            return judgement
        reading = scored.reading
        own = reading.request.own
        return replace(judgement, told=reading.told(self.policy), own=() if own is None else tuple(sorted(own.words)))

    def _count(self, reading: Reading, findings: Iterable[Finding]) -> tuple[Measured, ...]:
        from discreet.guard.population.people import measure

        mine = [one for one in findings if one.subject in self.policy.subjects]
        return measure(reading.answer.answer, mine, self.population) if mine else ()
