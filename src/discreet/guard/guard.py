"""The guard: judges answers by direct identifiers (layer 1), evidence rules and, where it was fitted, scores (layer 2).

Order of verdicts: failed, direct, flagged by evidence (or by the number of people who fit, where the policy says
`fewer_than`), a quote of a retrieved passage where the policy flags them, abstain (empty; language; out of
distribution; unsure), δ > τ (unless the attributes belong to the asker or a public person; with the learned reader an
abstention where evidence is sure of the contrary), a quote where the policy holds them for review. So a fitted guard
flags whatever the rules alone flag at the same operating point; the gate holds back what evidence does not decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from discreet.core.errors import DetectorError, UsageError
from discreet.core.records import Answer, Evidence, Verdict
from discreet.domains import DomainLike
from discreet.guard import reading
from discreet.guard.combined import Combined, combined, score
from discreet.guard.conversation import Conversation
from discreet.guard.people import ByPeople, decided_by_people, told_of
from discreet.guard.policy import POINTS, Policy
from discreet.guard.reading import EvidenceScore, Finding, Read
from discreet.text.evidence.entities import SpacyPipeline
from discreet.text.evidence.mentions import Attribute
from discreet.text.quotes import Quote, find_quotes

if TYPE_CHECKING:
    from discreet.guard.detector import Detector
    from discreet.guard.withheld import Withheld
    from discreet.population.people import Measured
    from discreet.population.population import Population

Second = Callable[[Answer], Verdict]
DISAGREE = "reads like the unsafe texts that the guard was fitted on, but evidence is sure that it is not"
"""Why a guard that was fitted with the learned reader abstains where δ flags and evidence is not even unsure."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with all findings, those that do not count too, and the score of the rules (None where `failed`);
    `people`: how many fit what is said of each person whose attributes count, fewest first, where that was asked."""

    verdict: Verdict
    findings: tuple[Finding, ...] = field(default=())
    evidence: EvidenceScore | None = None
    people: tuple[Measured, ...] = field(default=(), repr=False)


class Guard:
    """Judges answers under a policy: by rules alone, or with a fitted layer 2; see `Verdict` for what it returns.

    UsageError for an unknown domain, audience or point, or a detector of another domain.

    Parameters
    ----------
    policy : Policy, Domain, str or Path
        A policy, or the name or folder of a domain, whose policy is taken.
    audience : str, optional
        Whom the answers are for, as the policy of the domain names them; not with a `Policy`, which is for one.
    point : {"conservative", "balanced", "strict", "costs"}, optional
        Operating point; the policy's own by default. Flag iff the log-odds of the rules, or δ of layer 2, exceed their
        thresholds of that point. "costs", where a fitted guard has it, leaves the rules at conservative.
    detector : Detector, optional
        A fitted layer 2, of the domain of the policy; `fit_guard` makes one.
    second : callable, optional
        Asked about every answer that the guard abstains on; its action stands, `failed` where it breaks.
    card : mapping, optional
        What the guard was fitted on, with figures.
    reader : bool, optional
        Whether the learned reader reads along with the rules (`docs/reader.md`), as it does by default: it finds more
        in text of unknown sources, its score is calibrated, and what it is not sure of is an abstention. With a
        detector by default as that was fitted; UsageError where that needs the reader and this is False.
    spacy : str or Path, optional
        A spaCy pipeline, such as "en_core_web_sm", by the name of its package or its folder: its named entities are
        further weak evidence, which only adds. UsageError where it cannot be used, and without the extra `spacy`.

    Examples
    --------
    >>> guard = Guard("medical")
    >>> guard.check("The patient is a 52-year-old litigator from Omaha with two children.").action
    'flag'
    """

    def __init__(self, policy: Policy | DomainLike, *, audience: str | None = None, point: str | None = None,
                 detector: Detector | None = None, second: Second | None = None,
                 card: Mapping[str, Any] | None = None, reader: bool | None = None,
                 spacy: Path | str | None = None) -> None:
        if not isinstance(policy, Policy):
            policy = Policy.of(policy, audience)
        elif audience not in (None, policy.audience):
            raise UsageError(f"the policy is for the audience {policy.audience!r}, not {audience!r}; load the policy "
                             "for that audience")
        if detector is not None and policy.domain != detector.domain:
            raise UsageError(f"the guard was fitted for {detector.domain.name!r}, but the policy is for "
                             f"{policy.domain.name!r}; expected the same domain")
        if reader is None:
            reader = reading.READER if detector is None else detector.reader
        if detector is not None and detector.reader and not reader:
            raise UsageError("reader is False, but the guard was fitted with the learned reader; expected True")
        self.policy, self.second, self.card = policy, second, dict(card or {})
        self._detector = detector
        self.reader, self.rules = reader, combined() if reader else reading.fitted()
        self.pipeline = None if spacy is None else SpacyPipeline(spacy)
        self.point = point or policy.point
        if detector is None and self.point not in POINTS:
            raise UsageError(f"unknown operating point {self.point!r}: expected one of {', '.join(POINTS)}")
        self.rules_tau = self.rules.threshold(self.point)
        self.tau = self.rules_tau if detector is None else detector.tau(self.point)
        self.unsure: float | None = None
        self._label = policy.label()
        self._population: Population | None = None
        self.counts_people = self.policy.fewer_than is not None

    @property
    def is_fitted(self) -> bool:
        """Whether it has a layer 2."""
        return self._detector is not None

    @property
    def detector(self) -> Detector:
        """The fitted layer 2. Raises UsageError where the guard was not fitted."""
        if self._detector is None:
            raise UsageError("the guard was not fitted: it judges by rules alone; fit_guard makes one with a layer 2")
        return self._detector

    def unsure_above(self, point: str) -> float:
        """The log-odds of evidence above which an answer that nothing flags is an abstention. Raises DetectorError."""
        if self.unsure is not None:
            return self.unsure
        rules = self.rules.unsure_above(point)
        return rules if self._detector is None else max(rules, self._detector.unsure_above(point))

    @classmethod
    def load(cls, folder: Path | str, *, policy: Policy | Path | None = None, audience: str | None = None,
             point: str | None = None, discriminator: str | None = None, second: Second | None = None,
             reader: bool | None = None, spacy: Path | str | None = None) -> Guard:
        """The fitted guard that was saved in a folder.

        `policy` is a policy, or the file of one for `audience`; by default the one that the guard was fitted under, or
        with `audience` that of its domain. `discriminator` says which δ decides. InputError where the folder is
        missing, truncated, changed or of another version, UsageError for an unknown point, audience or discriminator.
        """
        from discreet.guard.artifact import load_detector  # numpy, which the rules alone do not need

        detector, fitted_under, card = load_detector(Path(folder))
        if isinstance(policy, Path):
            policy = Policy.load(policy, audience, detector.domain)
        elif policy is None:
            policy = fitted_under if audience is None else Policy.of(detector.domain, audience)
        return cls(policy, point=point, detector=detector.deciding(discriminator), second=second, card=card,
                   reader=reader, spacy=spacy)

    def save(self, folder: Path | str) -> None:
        """Write a fitted guard with its policy, whole or not at all. UsageError where it cannot, or was not fitted."""
        from discreet.guard.artifact import save_detector

        save_detector(Path(folder), self.detector, self.policy, self.card)

    def at(self, tau: float, rules_tau: float | None = None, unsure: float | None = None) -> Guard:
        """The same guard with another threshold of δ, and where they are given of the log-odds of evidence.

        Above `rules_tau` evidence flags; above `unsure` an answer that nothing flags is an abstention.
        """
        other = copy(self)
        other.tau = tau
        other.unsure = self.unsure if unsure is None else unsure
        if rules_tau is not None or not self.is_fitted:
            other.rules_tau = tau if rules_tau is None else rules_tau
        return other

    def counting(self, population: Population | Path | str | None = None) -> Guard:
        """The same guard, whose verdicts also say how many people fit (`Verdict.people`), of a population or its file.

        By default of the one that ships, which is read when it is first needed. A guard whose policy says `fewer_than`
        counts anyway. InputError for a file that cannot be read.
        """
        from discreet.population.population import Population  # A guard that does not count reads none of it.

        other = copy(self)
        other.counts_people = True
        other._population = Population.load(population) if isinstance(population, Path | str) else population
        return other

    @property
    def population(self) -> Population:
        """The population that people are counted in."""
        from discreet.population.population import Population

        if self._population is None:
            self._population = Population.load()
        return self._population

    def check(self, answer: Answer | str, question: str | None = None) -> Verdict:
        """The verdict on one answer; never raises for what the answer holds.

        A string is an answer with a random id, and `question` what the user asked: attributes that stand in it are no
        leaks. UsageError for anything but a string or an Answer, or a question with an Answer, which holds its own.
        """
        return self.judge(answer, question).verdict

    def check_many(self, answers: Iterable[Answer | str]) -> Iterator[Verdict]:
        """Verdicts in order; each depends on its own answer only."""
        return map(self.check, answers)

    def judge(self, answer: Answer | str, question: str | None = None) -> Judgement:
        """The verdict with every finding, for explanations inside the process; arguments as for `check`."""
        return self.read_and_judge(answer, question)[0]

    def conversation(self, *, expires_s: float = 3600, withheld: Withheld | None = None,
                     clock: Callable[[], float] = time) -> Conversation:
        """A conversation whose answers this guard judges together; see `Conversation`."""
        return Conversation(self, expires_s=expires_s, withheld=withheld, clock=clock)

    def read_and_judge(self, answer: Answer | str, question: str | None = None
                       ) -> tuple[Judgement, Read | None, Answer]:
        """The judgement, with what the detectors saw (None where one broke) and the answer as a record."""
        given = Answer(uuid4().hex, answer, question) if isinstance(answer, str) else answer
        if not isinstance(given, Answer):
            raise UsageError(f"the answer is a {type(answer).__name__}; expected a string or an Answer")
        if given is answer and question is not None:
            raise UsageError("a question was given with an Answer, which holds its own; put it into "
                             "Answer(question=…)")
        started = perf_counter()
        read: Read | None = None
        try:
            read = reading.read_answer(given, self.policy, reader=self.reader, pipeline=self.pipeline)
            judgement = self._decide(given, read, find_quotes(given.answer, given.sources, self.policy.quotes))
        except Exception as error:
            # A detector may break in any way; the answer must still not pass as safe.
            judgement, read = self.broken(given, error), None
        elapsed = (perf_counter() - started) * 1000
        return replace(judgement, verdict=replace(judgement.verdict, latency_ms=round(elapsed, 3))), read, given

    def broken(self, answer: Answer, error: Exception) -> Judgement:
        """The judgement where a detector raised an error, whose message may quote the answer and is left behind."""
        kind = error.kind if isinstance(error, DetectorError) else type(error).__name__
        return Judgement(Verdict(answer.id, "failed", None, None, None, (), self._label, tau=self.tau,
                                 reason=f"a detector failed with {kind}; the answer was not judged"))

    def _decide(self, answer: Answer, read: Read, quotes: tuple[Quote, ...]) -> Judgement:
        found = (score(read, self.policy, self.rules) if isinstance(self.rules, Combined)
                 else reading.score_evidence(read.attributes, self.policy, self.rules))
        findings = reading.findings_of(read, self.policy)
        verdict = Verdict(answer.id, "safe", None, reading.probability(found.logit), found.logit, found.listed(),
                          self._label, found.quiet_reason(), tau=self.tau)
        people, joined = self._count(answer, told_of(findings, found.listed())) if self.counts_people else ((), None)
        if people:
            verdict = replace(verdict, people=people[0].people())
        unsure = None
        if self._detector is not None:
            logit, delta, safe, unsafe, unsure = self._detector.score_answer(answer, read)
            verdict = replace(verdict, score=reading.probability(logit), delta=delta, sigma_safe=safe,
                              sigma_unsafe=unsafe)
        counted = decided_by_people(people, self.policy, found, joined)
        verdict = replace(verdict, **self._change(verdict, read, findings, found, unsure, counted, quotes))
        if quotes:
            listed = tuple(Evidence("quote", "nobody", one.start, one.end) for one in quotes)
            verdict = replace(verdict, evidence=verdict.evidence + listed)
            findings = tuple(sorted((*findings, *(reading.quoted(one, self.policy) for one in quotes)),
                                    key=lambda f: (f.start, f.end, f.type)))
        if verdict.action == "abstain" and self.second is not None:
            verdict = _seconded(verdict, self.second(answer))
        return Judgement(verdict, findings, found, people)

    def _count(self, answer: Answer, findings: Iterable[Finding]) -> tuple[tuple[Measured, ...], Measured | None]:
        from discreet.population.people import measure, together

        mine = [one for one in findings if one.subject in self.policy.subjects]
        people = measure(answer.answer, mine, self.population) if mine else ()
        return people, together(answer.answer, mine, self.population) if len(people) > 1 else None

    def _change(self, quiet: Verdict, read: Read, findings: Iterable[Finding], found: EvidenceScore,
                unsure: str | None, counted: tuple[ByPeople | None, str],
                quotes: tuple[Quote, ...]) -> dict[str, Any]:
        """What differs from the verdict "safe".

        An empty answer is not safe: nothing was judged, and whoever sent it may have lost the text on the way.
        """
        blocked = [f for f in findings if f.layer == "direct" and f.counts]
        if blocked:
            where = tuple(Evidence(f.type, f.subject, f.start, f.end) for f in blocked)
            return {"action": "flag", "layer": "direct", "score": 1.0, "evidence": where + quiet.evidence,
                    "reason": f"direct identifiers: {', '.join(sorted({f.type for f in blocked}))}"}
        by_people, why = counted
        flags = found.flags(self.rules_tau, self.rules.counted_above(self.point)) if by_people is None else (
            by_people == "flag")
        if flags:
            return {"action": "flag", "layer": "contextual", "score": reading.probability(found.logit),
                    "reason": why or found.flag_reason()}
        copied = f"quotes a retrieved passage nearly word for word ({max([q.words for q in quotes], default=0)} words)"
        if quotes and self.policy.quotes.action == "flag":
            return {"action": "flag", "layer": "verbatim", "score": 1.0, "reason": copied}
        if read.empty:
            return {"action": "abstain", "reason": "the answer is empty: there is nothing to judge"}
        if not read.english:
            return {"action": "abstain",
                    "reason": f"not English (looks like {read.guess}): the evidence rules read English only"}
        if by_people == "abstain" or (unsure is not None and self.policy.subjects):
            return {"action": "abstain", "reason": why if by_people == "abstain" else unsure}
        flagged = self.is_fitted and quiet.delta is not None and quiet.delta > self.tau
        passed = by_people == "pass"
        undecided = found.logit > self.unsure_above(self.point) and not (passed and found.cluster)
        if undecided and not flagged and self.policy.subjects:
            return {"action": "abstain",
                    "reason": f"unsure: {found.quiet_reason()}, but more may be told than the words found"}
        held = {"action": "abstain", "reason": copied} if quotes and self.policy.quotes.action == "abstain" else {}
        if not flagged:
            return held or ({"reason": why} if passed else {})
        suppressed = suppressed_by_subject(read.attributes, self.policy)
        if suppressed is not None:
            return held or {"reason": suppressed}
        if passed or (self.detector.reader and not undecided):
            return {"action": "abstain", "reason": DISAGREE}
        return {"action": "flag", "layer": "contextual",
                "reason": "reads like the unsafe texts that the guard was fitted on; the evidence rules alone do not "
                f"flag it: {quiet.reason}"}


def suppressed_by_subject(attributes: Iterable[Attribute], policy: Policy) -> str | None:
    """Why a contextual flag by δ does not stand, or None where it does.

    An embedding sees that a text speaks of a person, not whose record that is. So such a flag does not stand where the
    policy counts nobody's attributes (a clinician who reads about their own patient), nor where evidence finds as many
    distinct attributes that count as make a cluster, and every one belongs to the asker or a public person (or speaks
    of a cohort). What is said of a cohort, or one attribute that the question holds too, does not explain the rest.
    """
    if not policy.subjects:
        return "the policy counts nobody's attributes"
    found = {(a.kind, a.value, a.subject) for a in attributes if a.kind in policy.counted}
    subjects = {subject for _, _, subject in found}
    settled = subjects & {"asker", "public"}
    spared = subjects <= {"asker", "public", "cohort"} - set(policy.subjects)
    if spared and len({(kind, value) for kind, value, subject in found if subject in settled}) >= policy.cluster:
        return f"every attribute belongs to the {', '.join(sorted(settled))}: already said by the user, or public"
    return None


def _seconded(first: Verdict, second: Verdict) -> Verdict:
    """What a second detector makes of an abstention. Its reason may quote the answer and is left behind."""
    said = f"abstained ({first.reason}); the second detector says {second.action}"
    if second.action == "failed":
        return replace(first, action="failed", layer=None, score=None, delta=None, reason=said)
    layer = (second.layer or "contextual") if second.action == "flag" else None
    return replace(first, action=second.action, layer=layer, reason=said)
