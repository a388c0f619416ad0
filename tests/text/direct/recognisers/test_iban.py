from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("to DE89 3704 0044 0532 0130 00 and more", "DE89 3704 0044 0532 0130 00"),
        ("GB29NWBK60161331926819", "GB29NWBK60161331926819"),
        ("gb29nwbk60161331926819", "gb29nwbk60161331926819"),
        ("IBAN NL91-ABNA-0417-1643-00.", "NL91-ABNA-0417-1643-00"),
        ("FR1420041010050500013M02606", "FR1420041010050500013M02606"),
        ("ВЕ68539007547034", "ВЕ68539007547034"),
    ],
)
def test_iban_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "iban") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "DE88 3704 0044 0532 0130 00",
        "GB29NWBK6016133192681",
        "XX89370400440532013000",
        "DE89370400440532013000X",
        "AB12 3456 7890 1234",
    ],
)
def test_iban_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "iban") == []
