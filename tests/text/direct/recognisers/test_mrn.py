from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("MRN: 00482913", "00482913"),
        ("**MRN:** 77821", "77821"),
        ("Medical record number is 12-34-56", "12-34-56"),
        ("medical record no. H1234567", "H1234567"),
        ("patient ID P-99213", "P-99213"),
        ("(MRN 123456789)", "123456789"),
        ("chart # 55512", "55512"),
        ("MRN\n8812345", "8812345"),
        ("hospital number 1234567", "1234567"),
    ],
)
def test_mrn_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "mrn") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "the medical record shows 120/80",
        "patient number 3 of 12",
        "MRN pending",
        "medical record from ",
        "public record 123456",
        "the chart of 100000 patients",
        "record a 12345 step day",
        "emergency room 12345",
    ],
)
def test_mrn_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "mrn") == []
