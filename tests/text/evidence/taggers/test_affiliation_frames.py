from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("She works for Bramblewick Forge.", "third", "Bramblewick Forge"),
    ("He belongs to the Order of the Crooked Oak.", "third", "Order of the Crooked Oak"),
    ("The patient is a member of the Tarnside Harriers.", "third", "Tarnside Harriers"),
    ("She has been with Hollis & Fenn for ten years.", "third", "Hollis & Fenn"),
    ("She works for Hollis and Fenn.", "third", "Hollis and Fenn"),
    ("He attends Lindenwald Academy.", "third", "Lindenwald Academy"),
    ("She sings with the Tarnside Chorale.", "third", "Tarnside Chorale"),
    ("He is a parishioner of St. Brendan's.", "third", "Brendan"),
    ("She volunteers at the Marrow Lane Food Bank.", "third", "Marrow Lane Food Bank"),
    ("The patient is employed by Zentrix.", "third", "Zentrix"),
    ("He is on the staff of the Grimsargh Gazette.", "third", "Grimsargh Gazette"),
    ("He plays for Tarnside Rovers.", "third", "Tarnside Rovers"),
    ("The client works at the Copperhill Observatory.", "third", "Copperhill Observatory"),
    ("He is on the payroll of Quillon Freight.", "third", "Quillon Freight"),
    ("I teach at Fennimore College.", "speaker", "Fennimore College"),
]
NOT_SAID = [
    "TNF is a member of the Death Receptor Family.",
    "The trust works with Bramblewick Forge.",
    "Anyone who attends Lindenwald Academy may apply.",
    "He works with Excel. She works in Orange and at Home.",
    "If she works for Zentrix, she may claim.",
    "The borrower is a member of the Smith family.",
    "The method belongs to Monte Carlo Methods.",
    "She never worked for Zentrix.",
    "He is a member of Congress.",
]


@pytest.mark.parametrize(("text", "subject", "cue"), SAID)
def test_unlisted_bodies_of_one_person(assert_said: Callable[..., None], text: str, subject: str, cue: str) -> None:
    assert_said("affiliation", "medical", text, subject, cue)


@pytest.mark.parametrize("text", NOT_SAID)
def test_unlisted_bodies_of_nobody(assert_not_said: Callable[..., None], text: str) -> None:
    assert_not_said("affiliation", "medical", text)


@pytest.mark.parametrize(
    "text",
    [
        "She works for Bramblewick Forge. She has been with the Bramblewick Forge for years.",
        "He attends Lindenwald Academy; he studies at Lindenwald Academy.",
    ],
)
def test_one_body_has_one_value(read: Callable[..., Any], text: str) -> None:
    assert len({a.value for a in read(text, kind="affiliation")}) == 1
