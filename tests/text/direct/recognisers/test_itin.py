from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ITIN 912-70-3456", "912-70-3456"),
        ("912-94-3456", "912-94-3456"),
        ("his tax ID is 912703456", "912703456"),
        ("ITIN: 912-55-3456", "912-55-3456"),
    ],
)
def test_itin_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "itin") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "912-93-3456",
        "ITIN 912-12-3456",
        "812-70-3456",
        "912703456",
        "invoice 912-70-3456",
    ],
)
def test_itin_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "itin") == []
