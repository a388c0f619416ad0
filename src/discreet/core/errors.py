"""Every error that discreet raises on purpose.

    DiscreetError                 base; never carries answer text
    ├── UsageError                an option, or a combination of options, that cannot be
    │   └── MissingExtraError     the command needs packages that are not installed
    ├── InputError                a file that cannot be read as what it should be
    │   └── PolicyError           a policy file that says something impossible
    ├── DetectorError             a detector broke; the guard turns it into the action `failed`
    ├── WithheldError             a plug-in withheld an answer, and was asked to raise; carries the reason code
    │   └── NotJudgedError        it could not be judged
    └── QueueError                the review queue could not do what was asked; nothing was released by it
        ├── NotFoundError         no such ticket, or one of another caller
        ├── ConflictError         a stale version, another reviewer's reservation, or a ticket that is past it
        └── UnavailableError      its database or key folder cannot be used now

A message says what was given, what was expected and what to do, in one line. Messages name files, lines,
columns and ids, never the text of an answer: they end up in logs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any


class DiscreetError(Exception):
    """Base of every error raised on purpose. `exit_code` is what the command line ends with."""

    exit_code = 2


class UsageError(DiscreetError):
    """An option or an argument that cannot be, alone or together with another."""


class MissingExtraError(UsageError):
    """A command needs an extra that is not installed."""

    def __init__(self, purpose: str, extra: str, module: str) -> None:
        super().__init__(f"{purpose} needs the package {module!r}, which is not installed: "
                         f"pip install 'discreet[{extra}]'")
        self.purpose, self.extra, self.module = purpose, extra, module

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.purpose, self.extra, self.module)


class InputError(DiscreetError):
    """A file or table that cannot be read as what it should be."""


class PolicyError(InputError):
    """A policy file that says something impossible."""


class DetectorError(DiscreetError):
    """A detector broke while judging. Carries the detector's name and the kind of failure, never the text."""

    exit_code = 1

    def __init__(self, detector: str, kind: str) -> None:
        super().__init__(f"{detector} failed with {kind}; the answer was not judged")
        self.detector, self.kind = detector, kind

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.detector, self.kind)


class WithheldError(DiscreetError):
    """An answer was withheld. `code` says why, such as privacy/contextual; nothing here holds the answer."""

    exit_code = 1

    def __init__(self, code: str) -> None:
        super().__init__(f"the answer was withheld: {code}")
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code,)


class NotJudgedError(WithheldError):
    """An answer was withheld because it could not be judged: neither safe nor found to be unsafe."""


class QueueError(DiscreetError):
    """The review queue could not do what was asked; nothing was released by it."""


class NotFoundError(QueueError, LookupError):
    """There is no such ticket, or it belongs to another caller."""


class ConflictError(QueueError):
    """A write came with a stale version, against another's reservation, or for a ticket that is past it."""


class UnavailableError(QueueError):
    """The queue's database or key folder cannot be used now: gone, locked or full."""


def meant(given: object, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """The end of a message about an unknown key: the nearest of `known`, else what is expected, `listed` or `known`."""
    import difflib

    known = list(known)
    near = difflib.get_close_matches(str(given), known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"expected some of {', '.join(sorted(listed or known))}"


def shown(value: object) -> str:
    """The value of an option for a message; of anything but a number or a word only what it is."""
    plain = value is None or isinstance(value, str | int | float)
    return repr(value)[:40] if plain else f"a {type(value).__name__}"


def need(module: str, purpose: str, extra: str) -> Any:
    """A package of an extra. Raises MissingExtraError, which says that `purpose` needs it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError:
        raise MissingExtraError(purpose, extra, module.partition(".")[0]) from None
