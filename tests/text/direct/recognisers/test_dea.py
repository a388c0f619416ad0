from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("DEA AB1234563", "AB1234563"),
        ("BB1388568", "BB1388568"),
        ("dea number: ab1234563", "ab1234563"),
        ("DEA registration F91234563", "F91234563"),
    ],
)
def test_dea_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "dea") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "DEA AB1234567",
        "ab1234563",
        "invoice AB1234563",
        "AB12345634",
        "DEA AB0000000",
        "OB1234563",
    ],
)
def test_dea_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "dea") == []
