"""What the guard returns of an answer: the verdict with everything that it was made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from discreet.core.errors import UsageError
from discreet.core.records import Answer, Verdict
from discreet.guard.decide import Layer2
from discreet.guard.reading import Finding, Reading
from discreet.guard.score import EvidenceScore

if TYPE_CHECKING:
    from discreet.guard.population.people import Measured


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with all findings, those that do not count too, and the score of evidence (None where `failed`).

    `people`: how many fit what is said of each person whose attributes count, fewest first, where that was asked.
    `told` are the words of facts in sentences of a safe answer about individuals, `own` those that the user said.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = field(default=())
    evidence: EvidenceScore | None = None
    people: tuple[Measured, ...] = field(default=(), repr=False)
    told: tuple[str, ...] = field(default=(), repr=False)
    own: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Scored:
    """A reading with its scores, before the verdict."""

    reading: Reading
    evidence: EvidenceScore
    findings: tuple[Finding, ...]
    layer2: Layer2 | None
    people: tuple[Measured, ...]


def answer_of(answer: Answer | str, question: str | None = None) -> Answer:
    """An answer as a record. Raises UsageError for anything but a string or an Answer, a question with an Answer, or
    one that is no string."""
    if question is not None and not isinstance(question, str):
        raise UsageError(f"the question is a {type(question).__name__}; expected a string")
    if isinstance(answer, str):
        return Answer(uuid4().hex, answer, question)
    if not isinstance(answer, Answer):
        raise UsageError(f"the answer is a {type(answer).__name__}; expected a string or an Answer")
    if question is not None:
        raise UsageError("a question was given with an Answer, which holds its own; put it into "
                         "Answer(question=…)")
    return answer
