from __future__ import annotations

from collections.abc import Callable

import pytest

from discreet.text.direct.recognisers.aba import is_routing

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("routing number 021000021", "021000021"),
        ("021000021 is the routing number", "021000021"),
        ("ABA: 111000025", "111000025"),
        ("0210-0002-1", "0210-0002-1"),
        ("wire it to 011401533", "011401533"),
    ],
)
def test_aba_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "aba_routing") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "routing number 000000000",
        "routing number 021000022",
        "021000021",
        "routing number 421000025",
        "0210-0002-2",
        "phone 021000021",
        "routing number 0210000210",
    ],
)
def test_aba_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "aba_routing") == []



@pytest.mark.parametrize("body", ["02100002", "11100002", "32108100", "06110207"])
def test_weights_are_three_seven_one(body: str) -> None:
    weights = (3, 7, 1, 3, 7, 1, 3, 7, 1)
    for digit in "0123456789":
        total = sum(w * int(d) for w, d in zip(weights, body + digit, strict=True))
        assert is_routing(body + digit) == (total % 10 == 0)
