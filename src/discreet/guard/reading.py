"""What the detectors see in one answer: direct identifiers, the language, and attributes with their subjects.

What the user had said before is no leak where the answer says it again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from discreet.core.records import Answer, Subject
from discreet.core.unicode import Prepared, prepare
from discreet.guard.policy import Policy
from discreet.text.direct.detect import DirectSpan, find_direct
from discreet.text.doc import Doc, guess_language
from discreet.text.evidence.bind import find_evidence, named_by_caption
from discreet.text.evidence.mentions import Attribute


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
    """What the detectors saw in one answer; `empty` where it has no character that can be seen."""

    direct: tuple[tuple[DirectSpan, Subject], ...]
    attributes: tuple[Attribute, ...]
    english: bool
    guess: str
    empty: bool = False


def read_answer(answer: Answer, policy: Policy) -> Read:
    """Run every detector. Raises whatever a detector raises: the caller turns it into `failed`."""
    prepared = prepare(answer.answer)
    told = _told(answer)
    doc = Doc(prepared)
    direct = tuple((span, _direct_subject(doc, span, told)) for span in find_direct(prepared))
    language = guess_language(doc)
    attributes = find_evidence(doc, policy.domain, told.prepared.original if told else None)
    return Read(direct, attributes, language.english, language.guess, empty=_empty(prepared.text))


def _empty(text: str) -> bool:
    """Whether no character can be seen."""
    return not any(c.isprintable() and not c.isspace() for c in text)


def said_before(answer: Answer) -> str | None:
    """What the user had said, the earlier turns first; None where they had said nothing."""
    said = [turn.text for turn in answer.conversation if turn.role == "user"]
    if answer.question:
        said.append(answer.question)
    return "\n\n".join(said) if said else None


def findings_of(read: Read, policy: Policy) -> tuple[Finding, ...]:
    """Everything that was found, in order of place, and whether the policy counts it."""
    persons: dict[str, str] = {}
    found = [
        Finding(
            span.type, subject, "", span.start, span.end, f"{span.type} pattern", "direct",
            counts_directly(span, subject, policy),
        )
        for span, subject in read.direct
    ]  # fmt: skip
    for a in read.attributes:
        person = _label(a, persons)
        counts = a.subject in policy.subjects and a.kind in policy.counted
        found.append(Finding(a.kind, a.subject, person, a.start, a.end, a.why, "contextual", counts))
    return tuple(sorted(found, key=lambda f: (f.start, f.end, f.type)))


def counts_directly(span: DirectSpan, subject: Subject, policy: Policy) -> bool:
    """Whether a direct identifier makes the answer a flag."""
    spared = subject in ("asker", "public") and subject not in policy.subjects
    return not spared and span.type not in policy.allow_direct


@dataclass(frozen=True, slots=True)
class _Told:
    """What the user has said themselves, and the direct identifiers in it."""

    prepared: Prepared
    direct: frozenset[tuple[str, str]] = field(repr=False)


def _told(answer: Answer) -> _Told | None:
    """The question, and the user's earlier turns."""
    said = said_before(answer)
    if said is None:
        return None
    prepared = prepare(said)
    spans = find_direct(prepared)
    found = {(s.type, _squeezed(prepare(prepared.original[s.start : s.end]).text)) for s in spans}
    return _Told(prepared, frozenset(found))


def _direct_subject(doc: Doc, span: DirectSpan, told: _Told | None) -> Subject:
    """Whose a direct identifier is: the asker's own, a published party's name, else a third person's."""
    text = doc.prepared.original
    if told is not None and _is_told(text, span, told):
        return "asker"
    if span.type == "person_name":
        name = prepare(text[span.start : span.end]).text
        start = doc.text.find(name)
        if start >= 0 and named_by_caption(doc, start, start + len(name)):
            return "public"
    return "third"


def _is_told(text: str, span: DirectSpan, told: _Told) -> bool:
    """A direct identifier that the user gave themselves is no leak.

    It must stand in their words as an identifier of the same kind, or letter for letter: digits that only happen to
    run in the same order elsewhere are no consent.
    """
    value = prepare(text[span.start : span.end]).text.lower()
    if (span.type, _squeezed(value)) in told.direct:
        return True
    alone = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
    return bool(value.strip()) and alone.search(told.prepared.text.lower()) is not None


def _squeezed(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _label(a: Attribute, persons: dict[str, str]) -> str:
    if a.subject in ("cohort", "nobody", "speaker"):
        return a.subject
    return persons.setdefault(a.person, "asker" if a.person == "addressee" else f"person {len(persons) + 1}")
