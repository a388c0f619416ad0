"""What every audit concludes with: a verdict, its reasons with stable codes, and what may be claimed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeVar

from discreet.core.errors import UsageError

Word = Literal["pass", "fail", "inconclusive"]

ALPHA = 0.05
"""Risk of a false finding in one audit, over all its targets and attacks."""


class Reason(str):
    """A sentence of a verdict or a claim, with a code that stays when the words change."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, text: str) -> Reason:
        """`text` with its `code`."""
        found = super().__new__(cls, text)
        found.code = code
        return found

    def __reduce__(self) -> tuple[type[Reason], tuple[str, str]]:
        return Reason, (self.code, str(self))


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of an audit by part and code, with places for figures: its `sentences.json`."""

    parts: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls, package: str | None) -> Sentences:
        """From the package of an audit."""
        return cls(json.loads(files(package or "").joinpath("sentences.json").read_text(encoding="utf-8")))

    def of(self, part: str) -> Callable[..., Reason]:
        """A function from a code and figures by name to the reason. KeyError for a code that has no sentence."""
        return lambda code, **figures: Reason(code, self.parts[part][code].format(**figures))


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on one target and its reasons, the decisive one first."""

    verdict: Word
    reasons: tuple[str, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """The code of each reason, "" for a sentence without one."""
        return codes(self.reasons)

    def to_json(self) -> dict[str, Any]:
        """`{"verdict", "reasons", "reason_codes"}`."""
        return {"verdict": self.verdict, "reasons": [str(one) for one in self.reasons],
                "reason_codes": list(self.codes)}


@dataclass(frozen=True, slots=True)
class Claims:
    """What an audit can claim from its inputs, and what it cannot and what that would need; sentences."""

    can: tuple[str, ...]
    cannot: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """`{"can", "cannot"}`."""
        return {"can": [str(one) for one in self.can], "cannot": [str(one) for one in self.cannot]}


@dataclass(frozen=True, slots=True)
class Planted:
    """The positive control: how well examples that were repeated in training on purpose stand out.

    Attributes
    ----------
    repetitions : int
        How often each of them stood in the training set.
    detected : bool
        Whether the audit's own test finds them, corrected for the number of controls that are tried.
    """

    repetitions: int
    detected: bool


P = TypeVar("P", bound=Planted)


def least_detected(planted: Sequence[P]) -> P | None:
    """The control with the fewest repetitions that was detected, None where none was."""
    return min((one for one in planted if one.detected), default=None, key=lambda one: one.repetitions)


def codes(said: Iterable[str]) -> tuple[str, ...]:
    """The codes of reasons or claims, "" for a sentence without one."""
    return tuple(getattr(one, "code", "") for one in said)


def overall(words: Iterable[Word]) -> Word:
    """The verdict on all targets: fail if any fails, else inconclusive if any is, else pass."""
    found = set(words)
    return "fail" if "fail" in found else "inconclusive" if "inconclusive" in found else "pass"


def check_at_least(name: str, value: int, least: int = 0) -> None:
    """UsageError where the option `name` is below `least`."""
    if value < least:
        raise UsageError(f"{name} is {value}: expected a whole number of at least {least}")
