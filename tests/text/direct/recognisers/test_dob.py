from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("DOB: 1971-03-14", "1971-03-14"),
        ("born 03/14/1971", "03/14/1971"),
        ("born on March 14, 1971", "March 14, 1971"),
        ("born in Lincoln on 14 March 1971", "14 March 1971"),
        ("date of birth is 14.03.1971", "14.03.1971"),
        ("D.O.B. 3/14/71", "3/14/71"),
        ("03/14/1971 (DOB)", "03/14/1971"),
        ("birthday: Sept. 3rd, 1990", "Sept. 3rd, 1990"),
        ("b. 3/14/1971", "3/14/1971"),
        ("DOB 14-Mar-1971", "14-Mar-1971"),
        ("DOB: 03141971", "03141971"),
    ],
)
def test_dob_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "date_of_birth") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "admitted on 03/14/2019",
        "March 14, 1971",
        "born in 1971",
        "born on March 14",
        "DOB unknown",
        "born in 1971 and seen on 03/14/2019",
        "DOB 31/31/1971",
        "birth records filed 03/14/2019",
        "born on March 14, 1564",
        "newborn screening, visit 03/14/2019",
        "DOB 0/14/1971",
        "stubborn 03/14/1971",
        "airborne 14/03/1971",
    ],
)
def test_dob_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "date_of_birth") == []
