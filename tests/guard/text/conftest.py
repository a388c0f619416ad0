from __future__ import annotations

from collections.abc import Callable

import pytest
from discreet.guard.text.evidence.bind import find_evidence

from discreet.guard.text.attributes import Attribute
from discreet.guard.text.doc import Doc

Reader = Callable[..., list[Attribute]]
COUNTING = ("third", "speaker")


@pytest.fixture
def read() -> Reader:
    """`read(text, domain="medical", kind=None)`: the attributes, those of one class if asked for."""

    def found(text: str, domain: str = "medical", kind: str | None = None) -> list[Attribute]:
        attributes = find_evidence(Doc.of(text), domain)
        return [a for a in attributes if kind in (None, a.kind)]

    return found


@pytest.fixture
def assert_said(read: Reader) -> Callable[[str, str, str, str, str], None]:
    """Assert that a text binds a class to a subject, with a span that touches the telling words."""

    def check(kind: str, domain: str, text: str, subject: str, cue: str) -> None:
        begin = text.index(cue)
        there = [a for a in read(text, domain, kind=kind) if a.start < begin + len(cue) and begin < a.end]
        assert there, f"no {kind} at {cue!r} in {text!r}; found {described(read(text, domain), text)}"
        assert subject in {a.subject for a in there}, (
            f"{kind} {cue!r} in {text!r} is {subject}'s; found {described(there, text)}"
        )

    return check


@pytest.fixture
def assert_not_said(read: Reader) -> Callable[[str, str, str], None]:
    """Assert that a text binds no attribute of a class to anybody that could be singled out."""

    def check(kind: str, domain: str, text: str) -> None:
        there = [a for a in read(text, domain, kind=kind) if a.subject in COUNTING]
        assert not there, f"no {kind} of one person in {text!r}; found {described(there, text)}"

    return check


def described(attributes: list[Attribute], text: str) -> str:
    return ", ".join(f"{a.kind} {a.subject} {text[a.start : a.end]!r}" for a in attributes) or "nothing"
