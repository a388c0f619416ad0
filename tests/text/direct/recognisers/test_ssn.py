from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Her SSN is 219-09-1234.", "219-09-1234"),
        ("SSN:219091234", "219091234"),
        ("219-09-1234", "219-09-1234"),
        ("the social security number on file, 219 09 1234, is his", "219 09 1234"),
        ("219.09.1234 is her SSN", "219.09.1234"),
        ("ss# 219-091234", "219-091234"),
        ("(219-09-1234)", "219-09-1234"),
        ("219 09 1234", "219 09 1234"),
        ("219.09.1234", "219.09.1234"),
        ("S\u200bSN 219-09-1234", "219-09-1234"),
        ("SSN ２１９－０９－１２３４", "２１９－０９－１２３４"),
        ("taxpayer id: 219091234", "219091234"),
    ],
)
def test_ssn_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "ssn") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "SSN 900-12-3456",
        "SSN 666-12-3456",
        "SSN 000-12-3456",
        "SSN 219-00-1234",
        "SSN 219-09-0000",
        "SSN 078-05-1120",
        "SSN 123-45-6789",
        "SSN 111-11-1111",
        "order no. 219-09-1234",
        "part number 219-09-1234",
        "219091234",
        "row 12 219 09 1234 77",
        "219-091234",
        "ZIP 21909-1234",
        "1219-09-12345",
        "$219-09-1234",
        "219-09-1234-5",
        "$219091234",
        "ISBN 219-09-1234",
        "call 219-091-2345",
    ],
)
def test_ssn_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "ssn") == []
