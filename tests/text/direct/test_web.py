from __future__ import annotations

import pytest

from discreet.text.direct.web import is_about_a_user, is_public_host


@pytest.mark.parametrize(
    ("host", "public"),
    [("cdc.gov", True), ("www.cdc.gov", True), ("x.ac.uk", True), ("nhs.uk", True), ("www.who.int", True),
     ("a.org", True), ("en.wikipedia.org", True), ("www.investopedia.com", True), ("janewhitfield.com", False),
     ("gov.example.com", False), ("notwebmd.com", False), ("facebook.com", False)],
)  # fmt: skip
def test_public_hosts(host: str, public: bool) -> None:
    assert is_public_host(host) is public


@pytest.mark.parametrize(
    ("rest", "personal"),
    [("/~jane", True), ("/@jane", True), ("/user/7", True), ("/a/profile/7", True), ("/in/jane", True),
     ("/x?id=7", True), ("/x?a=1&patient=7", True), ("", False), ("/flu/index.html", False), ("/search?q=flu", False),
     ("/login/", False)],
)  # fmt: skip
def test_paths_of_a_user(rest: str, personal: bool) -> None:
    assert is_about_a_user(rest) is personal
