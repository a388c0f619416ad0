"""What a benchmark asks of a guard, and how one is named on the command line.

A new kind of guard is one file in `adapters/` (or a plug-in, entry point group `discreet.tested_guards`): a class that
takes what stands behind the colon of its name, registered under the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from discreet.core.errors import UsageError
from discreet.core.records import ACTIONS, SUBJECTS, Action
from discreet.core.registry import Registry


@dataclass(frozen=True, slots=True)
class PredictedSpan:
    """A mention that a guard found: a class of `passages.CLASSES`, whose it is, and which person (None where the guard
    binds to nobody; any string otherwise, the same for one person of one text)."""

    start: int
    end: int
    kind: str
    person: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a guard makes of one text.

    Attributes
    ----------
    score : float or None
        How sure it is of a leak, higher is surer; None where it `failed`.
    action : {"safe", "flag", "abstain", "failed"}
        Of its contextual part where it can be told from direct identifiers, else of the whole.
    direct : bool or None
        Whether a direct identifier alone would make it a flag; None where the guard has no such part.
    spans : tuple of PredictedSpan or None
        None where the guard says nothing of places.
    """

    score: float | None
    action: Action
    direct: bool | None = None
    spans: tuple[PredictedSpan, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values; no text."""
        spans = self.spans and [[s.start, s.end, s.kind, s.person, s.subject] for s in self.spans]
        return {"score": self.score, "action": self.action, "direct": self.direct,
                "spans": None if self.spans is None else spans or []}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Prediction:
        """Read back what `to_json` wrote, or what a service or a function says in that form.

        ValueError, which quotes nothing, for anything else: only `action` must be there.
        """
        score, action, direct, spans = (row.get(name) for name in ("score", "action", "direct", "spans"))
        if action not in ACTIONS:
            raise ValueError(f"'action' is none of {', '.join(ACTIONS)}")
        if score is None and action != "failed":
            score = float(action != "safe")
        if score is not None and not (isinstance(score, int | float) and abs(score) < float("inf")):
            raise ValueError("'score' is no finite number")
        if not (direct is None or isinstance(direct, bool)):
            raise ValueError("'direct' is neither true, false nor null")
        found = None if spans is None else tuple(_span(*one) for one in spans)
        return cls(None if action == "failed" else float(score or 0.0), action, direct, found)


def _span(start: Any, end: Any, kind: Any, person: Any = None, subject: Any = None) -> PredictedSpan:
    if not (isinstance(start, int) and isinstance(end, int) and start < end):
        raise ValueError("a span has no two offsets")
    if not (subject is None or subject in SUBJECTS):
        raise ValueError(f"the subject of a span is none of {', '.join(SUBJECTS)}")
    return PredictedSpan(start, end, str(kind)[:40], None if person is None else str(person)[:40], subject)


FAILED = Prediction(None, "failed")


class TestedGuard(Protocol):
    """A guard under test.

    `threshold` is the score above which it flags (None where its action does not follow from one score), and
    `probability` says whether scores are probabilities, which calibration is asked of.
    """

    threshold: float | None
    probability: bool

    def predict(self, text: str, domain: str | None) -> Prediction:
        """What it makes of one text; `domain` is the passage's own, which most guards do not ask for."""


tested_guards: Registry[Any] = Registry("tested_guards", builtin="discreet.guard.benchmark.adapters", classes=True)


def open_guard(name: str, point: str | None = None) -> TestedGuard:
    """The guard of a name: `discreet:medical`, the folder of a fitted guard, `regex`, `presidio`,
    `langchain:email,ip`, `python:module:function`, or an address. `point` is the operating point of discreet's own.

    UsageError for a name that no adapter has; MissingExtraError where its package is not installed.
    """
    kind, _, rest = name.partition(":")
    if kind in ("http", "https"):
        kind, rest = "http", name
    elif Path(name).is_dir():
        kind, rest = "discreet", name
    if kind not in (known := list(tested_guards)):
        raise UsageError(f"there is no guard {kind[:40]!r}; expected one of {', '.join(known)}, the folder of a fitted "
                         "guard, or an address")
    guard: TestedGuard = tested_guards[kind](rest or None, **({"point": point} if kind == "discreet" else {}))
    return guard
