from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("State Bar No. 123456", "123456"),
        ("SBN 245678", "245678"),
        ("bar number is 24012345", "24012345"),
        ("California Bar #123456", "123456"),
        ("attorney registration no. 4512345", "4512345"),
    ],
)
def test_bar_number_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "bar_number") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "the bar exam in 2019",
        "sidebar 123456",
        "bar 123456",
        "the bar chart 123456",
        "snack bar no. 5",
        "barcode number 123456789",
    ],
)
def test_bar_number_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "bar_number") == []
