"""What each recogniser finds and leaves, over the texts of `cases.yaml`, and their validators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from stdnum import luhn

from discreet.guard.text.direct.detect import direct_of, known_types
from discreet.guard.text.direct.recognisers.checked_numbers import is_card, is_routing
from discreet.guard.text.direct.recognisers.internet import is_of_a_person, is_public_host
from discreet.guard.text.doc import Doc

Found = Callable[[str, str], list[str]]
CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))


def test_every_type_has_cases() -> None:
    assert {*CASES, "person_name", "person_name_hypothetical"} == set(known_types())
    assert all(cases["found"] and cases["left"] for cases in CASES.values())


@pytest.mark.parametrize(
    ("kind", "text", "value"), [(kind, *case) for kind, cases in CASES.items() for case in cases["found"]]
)
def test_an_identifier_is_found(found: Found, kind: str, text: str, value: str) -> None:
    assert found(text, kind) == [value]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, cases in CASES.items() for text in cases["left"]])
def test_what_looks_alike_is_left(found: Found, kind: str, text: str) -> None:
    assert found(text, kind) == []


def test_accounts_in_a_list_share_the_cue(found: Found) -> None:
    assert found("accounts 12345678, 87654321 and 11223344", "bank_account") == ["12345678", "87654321", "11223344"]


@pytest.mark.parametrize("body", ["02100002", "11100002", "32108100", "06110207"])
def test_weights_of_routing_numbers_are_three_seven_one(body: str) -> None:
    weights = (3, 7, 1, 3, 7, 1, 3, 7, 1)
    for digit in "0123456789":
        total = sum(w * int(d) for w, d in zip(weights, body + digit, strict=True))
        assert is_routing(body + digit) == (total % 10 == 0)


@pytest.mark.parametrize(
    ("prefix", "length"), [("4", 16), ("51", 16), ("2720", 16), ("34", 15), ("65", 16), ("3528", 16)]
)
def test_one_check_digit_of_ten_fits_a_card(prefix: str, length: int) -> None:
    body = (prefix + "314159265358979323")[: length - 1]
    assert [d for d in "0123456789" if is_card(body + d)] == [luhn.calc_check_digit(body)]


@pytest.mark.parametrize(
    ("host", "public"),
    [("cdc.gov", True), ("www.cdc.gov", True), ("x.ac.uk", True), ("nhs.uk", True), ("www.who.int", True),
     ("a.org", True), ("en.wikipedia.org", True), ("janewhitfield.com", False), ("gov.example.com", False),
     ("facebook.com", False)],
)
def test_public_hosts(host: str, public: bool) -> None:
    assert is_public_host(host) is public


@pytest.mark.parametrize(
    ("host", "rest", "personal"),
    [("a.example", "/~jane", True), ("a.example", "/@jane", True), ("a.example", "/user/7", True),
     ("a.example", "/a/profile/7", True), ("linkedin.com", "/in/ferretwoman", True), ("a.example", "/in/stores", False),
     ("a.example", "/x?id=7", False), ("a.example", "/x?a=1&patient=7", True), ("a.example", "", False),
     ("a.example", "/flu/index.html", False), ("a.example", "/search?q=flu", False), ("a.example", "/login/", False),
     ("m.facebook.com", "/ferretwoman", True), ("facebook.com", "/help", False), ("facebook.com", "", False),
     ("janewhitfield.com", "", True), ("jane.example", "", True), ("janeiro.example", "", False),
     ("a.example", "/cv/jane.html", True), ("a.example", "/may-news.html", False), ("ivy-smith.example", "", True),
     ("ivy-league.example", "", False), ("a.example", "/records?id=7", True)],
)
def test_addresses_of_a_person(host: str, rest: str, personal: bool) -> None:
    assert is_of_a_person(host, rest) is personal


@pytest.mark.parametrize(("text", "found"), [
    ("TEL:07700900461", True), ("Tel:07700900461", True), ("mobile=07700900461", True), ("phone:9375550146", True),
    ("TEL;TYPE=CELL:9375550146", True), ("hotel:1234567890", False), ("model:9375550146", False)])
def test_a_phone_right_behind_its_word(text: str, found: bool) -> None:
    assert ("phone" in {span.type for span in direct_of(Doc.of(text))}) is found


@pytest.mark.parametrize(("text", "found"), [
    ("Hosp. no. H104552 TB", True), ("Hosp no H104552: TB", True), ("Unit no 104552: TB", True),
    ("CRN 104552 is HIV positive", True), ("Unit 104 is free", False), ("Unit number 4", False)])
def test_numbers_of_records_as_wards_write_them(text: str, found: bool) -> None:
    assert ("mrn" in {span.type for span in direct_of(Doc.of(text))}) is found
