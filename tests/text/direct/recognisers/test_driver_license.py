from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("driver's license number H12345678", "H12345678"),
        ("Nebraska driver’s license: H12345678", "H12345678"),
        ("driver license no. F255-921-50-094-0", "F255-921-50-094-0"),
        ("DL# 1234567", "1234567"),
        ("Nebraska DL H12345678", "H12345678"),
        ("driving licence AB123456", "AB123456"),
    ],
)
def test_driver_license_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "driver_license") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "driver's license expired in 2019",
        "DL 500",
        "10 mg/dL H12345678",
        "driver's license for 3 years",
        "the drivers 1234567",
        "handle 1234567",
        "driver's license on 03/14/2019",
    ],
)
def test_driver_license_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "driver_license") == []
