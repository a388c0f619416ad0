"""What the detectors see in one answer, and the score of the evidence rules: a logistic over counts about one person.

The coefficients were fitted on the tuning half of labelled real passages (`docs/results/real_text.md`) with
non-negative weights, so that a further attribute never lowers the score. What the user had said before is no leak where
the answer says it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from math import exp, inf, isfinite

from discreet.core.errors import DetectorError
from discreet.core.records import Answer, Evidence, Subject
from discreet.core.unicode import squeezed
from discreet.guard.policy import Policy
from discreet.text.direct.detect import DirectSpan, find_direct
from discreet.text.doc import Doc
from discreet.text.evidence.bind import find_evidence, named_by_caption
from discreet.text.evidence.entities import SpacyPipeline
from discreet.text.evidence.learned import attributes_of, facts_words, merged
from discreet.text.evidence.mentions import Attribute
from discreet.text.language import guess_language
from discreet.text.quotes import Quote
from discreet.text.reader import Reading, packaged
from discreet.text.render import render, shown

READER = True
"""Whether guards read with the learned reader, and are fitted with it, where nobody says otherwise."""
_CODE = re.compile(r"\b(?=[\w-]*\d)[A-Z\d-]+(?: (?:[A-Z]*\d[A-Z\d]*|[A-Z]{2})\b)?")
_ECHOES = ("third", "speaker", "cohort")
"""Subjects of which an attribute may be an echo of what the user said."""
FEATURES = ("strong", "total", "two", "two_strong", "classes", "person", "facts")


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
class Read:
    """What the detectors saw in one answer: `ruled` are the attributes of the rules, `seen` what the learned reader
    sees, where it is asked, `attributes` both together with what a spaCy pipeline adds (`further`); `empty` where it
    has no character that can be seen. `text` is what an encoder reads: the rendered answer, and one without markup
    letter for letter as it came."""

    direct: tuple[tuple[DirectSpan, Subject], ...]
    attributes: tuple[Attribute, ...]
    english: bool
    guess: str
    text: str = field(repr=False)
    ruled: tuple[Attribute, ...]
    seen: Reading | None
    empty: bool = False
    further: tuple[Attribute, ...] = ()


def read_answer(answer: Answer, policy: Policy, *, reader: bool, pipeline: SpacyPipeline | None = None) -> Read:
    """Run every detector, and the learned reader and a spaCy pipeline where they are asked for.

    Raises whatever a detector raises: the caller turns it into `failed`.
    """
    prepared = render(answer.answer)
    text, said = said_before(answer), None
    if text is not None:
        said = render(text)
        echoed = {(s.type, squeezed(_identity(s, render(said.original[s.start : s.end]).text)))
                  for s in find_direct(said)}
    doc = Doc(prepared)

    def whose(span: DirectSpan) -> Subject:
        """The asker's own, a published party's name, else a third person's.

        What the user gave must stand in their words as an identifier of the same kind, or letter for letter: digits
        that only happen to run in the same order elsewhere are no consent.
        """
        value = render(prepared.original[span.start : span.end]).text
        if said is not None:
            told = _identity(span, value)
            alone = re.compile(rf"(?<!\w){re.escape(told.lower())}(?!\w)")
            if (span.type, squeezed(told)) in echoed or (told.strip() and alone.search(said.text.lower())):
                return "asker"
        start = doc.text.find(value) if span.type == "person_name" else -1
        return "public" if start >= 0 and named_by_caption(doc, start, start + len(value)) else "third"

    direct = tuple((span, whose(span)) for span in find_direct(prepared))
    language = guess_language(doc)
    ruled = find_evidence(doc, policy.domain, None if said is None else said.original)
    seen = packaged().read(doc.text) if reader else None
    told: tuple[Attribute, ...] = ruled
    if seen is not None:  # Digits of a number that identifies are nobody's age.
        told = tuple(a for a in attributes_of(seen, doc) if a.kind != "age" or not any(
            span.start <= a.start and a.end < span.end and span.type != "date_of_birth" for span, _ in direct))
    asked = Doc(said) if said is not None else None
    before: tuple[Attribute, ...] = ()
    # What the user said is read where something of the answer could be an echo of it: reading costs as much again.
    if asked is not None and (pipeline is not None or (reader and any(a.subject in _ECHOES for a in told))):
        before = find_evidence(asked, policy.domain)
        before += attributes_of(packaged().read(asked.text), asked) if reader else ()
    if seen is not None:
        told = echoed_by(told, before)
    attributes = ruled if seen is None else merged(told, ruled)
    further: tuple[Attribute, ...] = ()
    if pipeline is not None:
        if asked is not None:
            before += pipeline.find(asked, policy.domain, before)
        # Only what may leak: an echo would change what the reader's count speaks of.
        more = [a for a in echoed_by(pipeline.find(doc, policy.domain, told), before) if a.subject != "asker"]
        further = tuple(more if seen is None else (a for a in merged(told, ruled, more) if a not in attributes))
    empty = not any(c.isprintable() and not c.isspace() for c in prepared.text)
    return Read(direct, (*attributes, *further), language.english, language.guess, shown(prepared), ruled, seen, empty,
                further)


def echoed_by(attributes: Iterable[Attribute], asked: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """Attributes whose words the user had said in attributes of the same kind are the asker's, and no leaks.

    Those read of a group too ("As a litigator from Omaha, you can …"): else the reader's count would speak of them.
    """
    words: dict[str, set[str]] = {}
    for a in asked:
        words.setdefault(a.kind, set()).update(facts_words(a.value))

    def said(a: Attribute) -> bool:
        return a.subject in _ECHOES and set(a.value.split()) <= words.get(a.kind, set())

    return tuple(replace(a, subject="asker", why=f"{a.why}; already said in the question") if said(a) else a
                 for a in attributes)


def _identity(span: DirectSpan, value: str) -> str:
    """What of an identifier the user must have said: of a postal code with its town the code, which tells the town."""
    code = _CODE.search(value) if span.type == "postal_code" else None
    return code.group() if code is not None else value


def said_before(answer: Answer) -> str | None:
    """What the user had said, the earlier turns first; None where they had said nothing."""
    said = [turn.text for turn in answer.conversation if turn.role == "user"]
    if answer.question:
        said.append(answer.question)
    return "\n\n".join(said) if said else None


def findings_of(read: Read, policy: Policy) -> tuple[Finding, ...]:
    """Everything that was found, in order of place, and whether the policy counts it."""
    found = [Finding(span.type, subject, "", span.start, span.end, f"{span.type} pattern", "direct",
                     counts_directly(span, subject, policy)) for span, subject in read.direct]
    persons: dict[str, str] = {}
    for a in read.attributes:
        person: str = a.subject
        if person not in ("cohort", "nobody", "speaker"):
            named = "asker" if a.person == "addressee" else f"person {len(persons) + 1}"
            person = persons.setdefault(a.person, named)
        counts = a.subject in policy.subjects and a.kind in policy.counted
        found.append(Finding(a.kind, a.subject, person, a.start, a.end, a.why, "contextual", counts))
    return tuple(sorted(found, key=lambda f: (f.start, f.end, f.type)))


def quoted(quote: Quote, policy: Policy) -> Finding:
    """A quote of a retrieved passage as a finding; it counts where the policy does more than list it."""
    return Finding("quote", "nobody", "", quote.start, quote.end, f"{quote.words} words as in passage {quote.source}",
                   "verbatim", policy.quotes.action in ("abstain", "flag"))


def counts_directly(span: DirectSpan, subject: Subject, policy: Policy) -> bool:
    """Whether a direct identifier makes the answer a flag."""
    spared = subject in ("asker", "public") and subject not in policy.subjects
    return not spared and span.type not in policy.allow_direct


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

    def reason(self) -> str:
        """Such as: 3 attributes (1 weak) bound to one person (third)."""
        weak = f" ({self.weak} weak)" if self.weak else ""
        return f"{self.size} attribute{'' if self.size == 1 else 's'}{weak} bound to one person ({self.subject})"


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """What the evidence rules make of one answer: the highest log-odds over all persons; the person with these odds,
    None where nothing that counts is bound to anybody; whether they have as many attributes as the policy asks for, or
    what can be inferred counts; the classes that can be inferred though no words state them; and the log-odds of the
    learned reader's count, infinite where that has no say."""

    logit: float
    best: Cluster | None
    cluster: bool
    inferred: tuple[str, ...] = ()
    counted: float = inf

    def flags(self, tau: float, counted: float = -inf) -> bool:
        """Whether evidence flags the answer at the log-odds threshold `tau`, that of the reader's count `counted`."""
        return self.cluster and self.logit > tau and self.counted > counted

    def listed(self) -> tuple[Evidence, ...]:
        """What counts about that person, for the verdict."""
        return () if self.best is None else tuple(a.evidence() for a in self.best.attributes)

    def flag_reason(self) -> str:
        """Why evidence flags: "2 attributes bound to one person (third): age, place; can be inferred: occupation"."""
        shown = ("" if self.best is None or not self.best.attributes
                 else f"{self.best.reason()}: {', '.join(sorted({a.kind for a in self.best.attributes}))}")
        rest = f"can be inferred: {', '.join(self.inferred)}" if self.inferred else ""
        return "; ".join(filter(None, (shown, rest)))

    def quiet_reason(self) -> str:
        """Why the rules do not flag."""
        if self.best is None or not self.best.attributes:
            return "no attribute that counts is bound to one person"
        return f"{self.best.reason()}: no cluster at this operating point"


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
