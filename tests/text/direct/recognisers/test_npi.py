from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NPI 1234567893", "1234567893"),
        ("her NPI number is 1245319599.", "1245319599"),
        ("1234567893 (NPI)", "1234567893"),
        ("National Provider Identifier: 1234-567-893", "1234-567-893"),
    ],
)
def test_npi_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "npi") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "NPI 1234567890",
        "1234567893",
        "NPI 3234567893",
        "order 1234567893",
        "NPI 1111111112",
        "NPI 12345678930",
    ],
)
def test_npi_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "npi") == []
