from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mail jane.whitfield@example.com.", "jane.whitfield@example.com"),
        ("<j_w+x@sub.example.co.uk>", "j_w+x@sub.example.co.uk"),
        ("jane [at] example [dot] com", "jane [at] example [dot] com"),
        ("jane(at)example.com", "jane(at)example.com"),
        ("jаne@ехample.com", "jаne@ехample.com"),
        ("josé@exämple.de", "josé@exämple.de"),
        ("info@janewhitfield.com", "info@janewhitfield.com"),
        ("jane%40example.com", "jane%40example.com"),
        ("mailto:jane@x.io?subject=1", "jane@x.io"),
        ("j o h n @ x . c o m", "j o h n @ x . c o m"),
    ],
)
def test_email_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "email") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "user@localhost",
        "@jane",
        "lodash@4.17.21",
        "logo@2x.png",
        "info@cdc.gov",
        "foia@irs.gov",
        "git@github.com:org/repo",
        "5 mg @ 8 am",
        "p@ss",
        "a@b",
    ],
)
def test_email_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "email") == []
