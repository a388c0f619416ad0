from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Call (402) 555-0133 now", "(402) 555-0133"),
        ("402-555-0133", "402-555-0133"),
        ("402.555.0133", "402.555.0133"),
        ("1-402-555-0133", "1-402-555-0133"),
        ("402-555-0133 ext. 12", "402-555-0133 ext. 12"),
        ("+44 20 7946 0958", "+44 20 7946 0958"),
        ("+1 (402) 555-0133", "+1 (402) 555-0133"),
        ("tel 020 7946 0958", "020 7946 0958"),
        ("phone 4025550133", "4025550133"),
        ("reach her at 402 555 0133 today", "402 555 0133"),
        ("402 555 0133", "402 555 0133"),
        ("call 555-0133", "555-0133"),
        ("his cell is (555) 123-4567", "(555) 123-4567"),
        ("+91 98765 43210", "+91 98765 43210"),
        ("4 0 2 - 5 5 5 - 0 1 3 3", "4 0 2 - 5 5 5 - 0 1 3 3"),
    ],
)
def test_phone_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "phone") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "order number 4025550133",
        "4025550133",
        "order 402-555-0133",
        "version 402.555.0133",
        "412 345 6789 233 421",
        "Call 911 or 988",
        "1-800-273-8255",
        "(888) 555-0133",
        "2019-2021",
        "from 1998 to 2004",
        "347 U.S. 483 (1954)",
        "take 500-1000 mg",
        "T cell count of 500-1500",
        "call options 100-1500",
        "$402-555-0133",
        "$4025550133",
        "ISBN 0-306-40615-2",
        "10.1016/j.cell.2010.01.001",
        "42 U.S.C. 1320-7",
        "called on 03-14-2019",
        "text 838255",
        "PMID: 12345678",
        "555-123-4567",
        "12402-555-01334",
        "402-555-0133-9",
        "0.402.555.0133",
        "CPT 99213-99215",
    ],
)
def test_phone_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "phone") == []
