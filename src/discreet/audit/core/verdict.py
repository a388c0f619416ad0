"""What every audit concludes with: a verdict, its reasons with stable codes, what may be claimed, and the record."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib.resources import files
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from discreet.audit.scores.table import ScoreTable
from discreet.core.calls import checked_call, path_of
from discreet.core.errors import MissingExtraError, UsageError, shown
from discreet.core.files import dump_json, write_atomic
from discreet.core.records import plain
from discreet.report import summarise, to_html, to_text

Word = Literal["pass", "fail", "inconclusive"]
State = Literal["holds", "done", "stated", "unshown", "broken", "lacking"]

ALPHA = 0.05
"""Risk of a false finding in one audit, over all its targets and attacks."""

SCHEMA = 1


class Part:
    """A dataclass that is a part of a record: `to_json` has its fields and `derived` properties, but for `hidden`."""

    __slots__ = ()
    derived: ClassVar[tuple[str, ...]] = ()
    hidden: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        names = [*(one.name for one in fields(self)), *self.derived]  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in names if name not in self.hidden}


class Sentence(str):
    """A sentence of a verdict or a claim, with a code that stays when the words change."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, text: str) -> Sentence:
        """`text` with its `code`."""
        found = super().__new__(cls, text)
        found.code = code
        return found

    def __reduce__(self) -> tuple[type[Sentence], tuple[str, str]]:
        return Sentence, (self.code, str(self))


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of an audit by part and code, with places for figures: its `sentences.json`."""

    parts: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls, package: str | None) -> Sentences:
        """From the package of an audit."""
        return cls(json.loads(files(package or "").joinpath("sentences.json").read_text(encoding="utf-8")))

    def of(self, part: str) -> Callable[..., Sentence]:
        """A function from a code and figures by name to the reason. KeyError for a code that has no sentence."""
        return lambda code, **figures: Sentence(code, self.parts[part][code].format(**figures))

    def claims(self, can: Mapping[str, object], cannot: Mapping[str, object], **figures: Any) -> Claims:
        """The claims whose codes apply, of the parts "can" and "cannot"."""
        return Claims(*(tuple(self.of(part)(code, **figures) for code, applies in codes.items() if applies)
                        for part, codes in (("can", can), ("cannot", cannot))))


@dataclass(frozen=True, slots=True)
class Judgement(Part):
    """A verdict on one target and its reasons, the decisive one first."""

    derived: ClassVar[tuple[str, ...]] = ("reason_codes",)

    verdict: Word
    reasons: tuple[str, ...]

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """The code of each reason, "" for a sentence without one."""
        return tuple(getattr(one, "code", "") for one in self.reasons)


@dataclass(frozen=True, slots=True)
class ControlState(Part):
    """What a control shows, judged with the verdict; `codes` name the sentences of a report that say so."""

    state: State
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claims(Part):
    """What an audit can claim from its inputs, and what it cannot and what that would need; sentences."""

    can: tuple[str, ...]
    cannot: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planted(Part):
    """The positive control: whether the audit's own test, corrected for the number of controls that are tried, finds
    examples that stood `repetitions` times in training on purpose."""

    repetitions: int
    detected: bool


P = TypeVar("P", bound=Planted)


def least_detected(planted: Sequence[P]) -> P | None:
    """The control with the fewest repetitions that was detected, None where none was."""
    return min((one for one in planted if one.detected), default=None, key=lambda one: one.repetitions)


def overall(words: Iterable[Word]) -> Word:
    """The verdict on all targets: fail if any fails, else inconclusive if any is, else pass."""
    found = set(words)
    return "fail" if "fail" in found else "inconclusive" if "inconclusive" in found else "pass"


def check_at_least(name: str, value: object, least: int = 0) -> None:
    """UsageError where the option `name` is no whole number, or below `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{name} is {shown(value)}: expected a whole number of at least {least}")


class Audit(ABC):
    """What the audits have in common: one record, which the page, the terminal and the file are made from."""

    kind: ClassVar[str]
    """The name of the record's kind, such as "audit membership"."""
    verdict: Word
    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.verdict}; print it for the reasons, to_html(path) writes the report>"

    def __str__(self) -> str:
        """The verdict and what it rests on, as the command line prints it."""
        return to_text(summarise(self.record))

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The record as plain values, without `kind` and `schema`."""

    @property
    def record(self) -> dict[str, Any]:
        """The record as it is saved and as `discreet.report` reads it."""
        return {"kind": self.kind, "schema": SCHEMA, **self.to_json()}

    @checked_call
    def to_html(self, path: Path | str) -> Path:
        """Write the report page to `path` and return it. MissingExtraError without the extra "report"."""
        path = path_of(path, "path")
        write_atomic(path, to_html(summarise(self.record)))
        return path

    @checked_call
    def save(self, folder: Path | str) -> Path:
        """Write `result.json` and `report.html` to `folder`, made where there is none, and return the folder.

        Without the extra "report" there is no page: `discreet report` makes it later.
        """
        folder = path_of(folder, "folder")
        # Where there can be no such folder, writing to it says why.
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / "result.json", dump_json(self.record, indent=1) + "\n")
        with suppress(MissingExtraError):
            self.to_html(folder / "report.html")
        return folder


def provenance(table: ScoreTable, **options: Any) -> dict[str, Any]:
    """The options of an audit with the size of its table: models by role, examples, classes and their names where
    these are known, version of NumPy."""
    named = {} if table.class_names is None else {"class_names": list(table.class_names)}
    return {**options, "models": dict(Counter(model.role for model in table.models)), "examples": len(table.examples),
            "classes": table.n_classes, **named, "numpy": np.__version__}
