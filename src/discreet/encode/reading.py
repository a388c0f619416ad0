"""What the detectors of `text/` see in one answer: the ground of the evidence vector."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.core.unicode import prepare
from discreet.domains import DomainLike
from discreet.text.direct.detect import DirectSpan, find_direct
from discreet.text.doc import Doc
from discreet.text.evidence.extract import find_evidence
from discreet.text.evidence.mentions import Attribute


@dataclass(frozen=True, slots=True)
class Reading:
    """Attributes with their subjects, and direct identifiers that the user had not said themselves."""

    attributes: tuple[Attribute, ...] = field(repr=False)
    direct: tuple[DirectSpan, ...] = ()


def read(text: str, domain: DomainLike, question: str | None = None) -> Reading:
    """Read one answer.

    Parameters
    ----------
    text : str
        The answer, whole.
    domain : Domain, str or Path
        Name of a built-in domain, or the folder of one.
    question : str, optional
        What the user said. An attribute that stands in it is the asker's; a direct identifier that stands in it is
        told back and left out.

    Raises
    ------
    UsageError
        For an unknown domain.
    DetectorError
        Where a recogniser broke.
    """
    prepared = prepare(text)
    told = _squeezed(prepare(question).text) if question else ""
    direct = tuple(
        span for span in find_direct(prepared)
        if not told or _squeezed(prepare(text[span.start : span.end]).text) not in told
    )
    return Reading(find_evidence(Doc(prepared), domain, question), direct)


def _squeezed(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())
