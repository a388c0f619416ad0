from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("She lives in Much Wenlock.", "third", "Much Wenlock"),
    ("The patient lives alone in a small flat near Nether Wallop.", "third", "Nether Wallop"),
    ("He was born and raised in Ballyhaunis Cross.", "third", "Ballyhaunis Cross"),
    ("She grew up on a farm outside Tolpuddle.", "third", "Tolpuddle"),
    ("He hails from Upper Slaughter.", "third", "Upper Slaughter"),
    ("Our client resides at Foxcombe Hill.", "third", "Foxcombe Hill"),
    ("Her cottage near Piddletrenthide is damp.", "third", "Piddletrenthide"),
    ("She moved to Quoyburray in May.", "third", "Quoyburray"),
    ("The man from Grimsargh was seen.", "third", "Grimsargh"),
    ("A patient from rural Grimsargh was seen.", "third", "Grimsargh"),
    ("He settled in a village called Wyre Piddle.", "third", "Wyre Piddle"),
    ("She is a native of Grimsargh.", "third", "Grimsargh"),
    ("The patient is a woman resident in Grimsargh.", "third", "Grimsargh"),
    ("His home is in Wyre Piddle.", "third", "Wyre Piddle"),
    ("The client lives at 14 Tanner Row.", "third", "14 Tanner Row"),
    ("He calls Grimsargh home.", "third", "Grimsargh"),
    ("I grew up in Quoyburray.", "speaker", "Quoyburray"),
    ("The patient has a cough. Home: Quoyburray.", "third", "Quoyburray"),
]
NOT_SAID = [
    "The sample comes from Grimsargh.",
    "Metformin comes from French lilac.",
    "The firm, based in Grimsargh, sued.",
    "You should move to Grimsargh.",
    "She was moved to Ward Seven. He was born in April.",
    "The defendant moved to Dismiss.",
    "Patients in Grimsargh live longer. The virus lives in Grimsargh.",
    "Those who live near Wyre Piddle are counted.",
    "He lives with Mary. She was raised by Anna.",
    "If he lives in Grimsargh, he may claim.",
    "She does not live in Grimsargh.",
    "She was born at Fennimore Hospital.",
    "Anyone who lives in Grimsargh may vote.",
]


@pytest.mark.parametrize(("text", "subject", "cue"), SAID)
def test_unlisted_homes_of_one_person(assert_said: Callable[..., None], text: str, subject: str, cue: str) -> None:
    assert_said("place", "medical", text, subject, cue)


@pytest.mark.parametrize("text", NOT_SAID)
def test_unlisted_homes_of_nobody(assert_not_said: Callable[..., None], text: str) -> None:
    assert_not_said("place", "medical", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("She lives in Quoyburray. She grew up in Quoyburray.", "quoyburray"),
        ("She lives in Quoyburray, Texas.", "Quoyburray|Texas|US"),
        ("She lives in Omaha.", "Omaha|Nebraska|US"),
    ],
)
def test_one_place_has_one_value(read: Callable[..., Any], text: str, value: str) -> None:
    assert {a.value for a in read(text, kind="place")} == {value}
