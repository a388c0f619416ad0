from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("passport no. 512345678", "512345678"),
        ("Passport (US) 512345678", "512345678"),
        ("his travel document is A1234567", "A1234567"),
        ("Passport: C01234567", "C01234567"),
        ("her passport number is AB123456", "AB123456"),
    ],
)
def test_passport_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "passport") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "passport in 2019",
        "512345678",
        "passports for 5000 people",
        "passport photo 2x2",
        "passport 1234567890",
    ],
)
def test_passport_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "passport") == []
