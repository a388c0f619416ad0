from __future__ import annotations

from collections.abc import Callable

import pytest
from stdnum import luhn

from discreet.text.direct.recognisers.card import is_card

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("paid with 4111 1111 1111 1111 today", "4111 1111 1111 1111"),
        ("378282246310005", "378282246310005"),
        ("3782 822463 10005", "3782 822463 10005"),
        ("6011-1111-1111-1117", "6011-1111-1111-1117"),
        ("card 4111-1111 11111111", "4111-1111 11111111"),
        ("5555.5555.5555.4444", "5555.5555.5555.4444"),
        ("Visa ending now: 4012888888881881", "4012888888881881"),
        ("2223003122003222", "2223003122003222"),
        ("36227206271667", "36227206271667"),
    ],
)
def test_card_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "card") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "0000 0000 0000 0000",
        "order number 4111111111111111",
        "1234 5678 9012 3452",
        "9400110200881234567890",
        "4111-1111 11111111",
        "ISBN 9780306406157",
        "$4111111111111111",
        "4111111111111111.5",
        "tracking 4012888888881881",
        "1700000000000",
        "Cases: 5190 8197 1907 8208 8796 5384",
    ],
)
def test_card_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "card") == []
@pytest.mark.parametrize(
    ("prefix", "length"), [("4", 16), ("51", 16), ("2720", 16), ("34", 15), ("65", 16), ("3528", 16)]
)
def test_one_check_digit_of_ten_fits(prefix: str, length: int) -> None:
    body = (prefix + "314159265358979323")[: length - 1]
    assert [d for d in "0123456789" if is_card(body + d)] == [luhn.calc_check_digit(body)]
