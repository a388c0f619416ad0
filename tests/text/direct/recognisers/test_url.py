from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("see https://www.facebook.com/jane.whitfield.92.", "https://www.facebook.com/jane.whitfield.92"),
        ("linkedin.com/in/jane-whitfield", "linkedin.com/in/jane-whitfield"),
        ("http://janewhitfield.com", "http://janewhitfield.com"),
        ("(www.jane.example/cv)", "www.jane.example/cv"),
        ("https://cs.example.edu/~jane", "https://cs.example.edu/~jane"),
        ("https://portal.example.org/patient?id=4711", "https://portal.example.org/patient?id=4711"),
        ("https://x.gov/user/77/", "https://x.gov/user/77/"),
        ("ftp://files.example/a", "ftp://files.example/a"),
        ("https://en.example.com/wiki/A_(b)", "https://en.example.com/wiki/A_(b)"),
        ("https://me@x.org/", "https://me@x.org/"),
    ],
)
def test_url_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "url") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "https://www.cdc.gov/flu/index.html",
        "https://www.mayoclinic.org/diseases/x",
        "www.nih.gov",
        "https://www.who.int/a?page=2",
        "https://law.cornell.edu/uscode/text/26",
        "Amazon.com Inc.",
        "https://www.investopedia.com/terms/r/rothira.asp",
        "webmd.com/flu",
        "and/or",
        "www.microsoft",
        "he/she",
        "e.g.this/that",
        "https://nhs.uk/x",
        "1/2 and 3/4",
    ],
)
def test_url_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "url") == []
