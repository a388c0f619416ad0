from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("from 192.168.1.10.", "192.168.1.10"),
        ("203.0.113.7", "203.0.113.7"),
        ("10.0.0.0/24", "10.0.0.0/24"),
        ("2001:db8::ff00:42:8329", "2001:db8::ff00:42:8329"),
        ("IP 1.2.3.4", "1.2.3.4"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1 is home", "::1"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ("fe80:0:0:0:1:2:3:4", "fe80:0:0:0:1:2:3:4"),
    ],
)
def test_ip_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "ip") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "version 192.168.1.10",
        "v10.0.0.1",
        "section 3.2.1.4",
        "1.2.3.4",
        "256.1.1.1",
        "mask 255.255.255.0",
        "1.2.3",
        "std::vector",
        "12:30:45",
        "ratio 1:2:3",
        "a::b",
        "192.168.1.10.5",
        "§ 10.11.12.13",
    ],
)
def test_ip_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "ip") == []
