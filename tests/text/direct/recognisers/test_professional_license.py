from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("medical license no. A12345", "A12345"),
        ("nursing license RN-123456", "RN-123456"),
        ("attorney license number 5512345", "5512345"),
        ("license number: 041.123456", "041.123456"),
        ("RN licence 123456", "123456"),
    ],
)
def test_professional_license_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "professional_license") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "the public 123456",
        "license to practice since 2019",
        "Apache License 2.0",
        "driver's license number H12345678",
        "license plate number 1234567",
        "medical license in",
        "licensed 12345 nurses",
        "BSD license",
    ],
)
def test_professional_license_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "professional_license") == []
