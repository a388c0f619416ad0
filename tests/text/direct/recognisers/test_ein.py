from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("EIN 91-1144442", "91-1144442"),
        ("the employer identification number is 911144442", "911144442"),
        ("Federal ID: 04-2103594", "04-2103594"),
        ("91-1144442 (EIN)", "91-1144442"),
    ],
)
def test_ein_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "ein") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "EIN 07-1144442",
        "91-1144442",
        "lot 91-1144442",
        "EIN 91-11444423",
        "the tax year 2019",
    ],
)
def test_ein_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "ein") == []
