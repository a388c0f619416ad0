from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Medicare 1EG4-TE5-MK73", "1EG4-TE5-MK73"),
        ("1EG4TE5MK73", "1EG4TE5MK73"),
        ("1eg4-te5-mk73", "1eg4-te5-mk73"),
        ("member ID XYZ123456789", "XYZ123456789"),
        ("policy number ABC-1234567", "ABC-1234567"),
        ("subscriber number W123456789", "W123456789"),
        ("Her Medicaid ID is AB12345C.", "AB12345C"),
        ("group no. 0098765", "0098765"),
    ],
)
def test_health_plan_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "health_plan") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "1SG4-TE5-MK73",
        "0EG4-TE5-MK73",
        "1EG4-TE5-MK7",
        "policy number 12",
        "the plan covers 100000 people",
        "policy of 2019",
        "members 12345",
        "part 1EG4-TE5-MK73",
        "beneficiary of 250000 dollars",
    ],
)
def test_health_plan_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "health_plan") == []
