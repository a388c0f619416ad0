"""Internet addresses, version 4 and 6, private ones included; versions, outlines and net masks are not."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from discreet.text.direct.detect import CHECKED, Facts, Hit, recogniser, recognisers

_V4 = re.compile(r"\d(?<![\w.-]\d)\d{0,2}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?![\w-]|\.\w)")
_V6_HINT = re.compile(":[0-9A-Fa-f]{0,4}:")
_V6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,39}(?:\d{1,3}(?:\.\d{1,3}){3})?(?:/\d{1,3})?(?![\w:]|\.\d)")
_NOT = re.compile(
    r"(?:\b(?:v|ver|versions?|release|build|firmware|section|sec|paragraph|para|rule|article|chapter|step|item|ec|"
    r"enzyme|oid|mask|subnet mask|netmask|table|figure|fig|appendix|clause|driver|library|package|python|java|node|"
    r"ios|update)"
    r"|§)\.? ?(?:no\.? |is |of |: ?)?$"
)
_NAMED = re.compile(r"\b(?:ips?|ipv4|address(?:es)?|host|server|dns|router|gateway|log(?:in|ged in)|connect\w*|from)\b")


@recognisers.register("ip")
@recogniser("ip", digits=1)
def ip(facts: Facts) -> Iterator[Hit]:
    """Addresses that `ipaddress` accepts; four single digits, as outlines have them, only with a word for it."""
    if facts.text.count(".") >= 3:
        for match in _V4.finditer(facts.text):
            if _is_v4(facts, match):
                yield Hit("ip", *match.span(), CHECKED)
    if _V6_HINT.search(facts.text):
        for match in _V6.finditer(facts.text):
            text = match.group()
            if text.count(":") >= 2 and any(c.isdigit() for c in text) and _is_address(text.partition("/")[0]):
                yield Hit("ip", *match.span(), CHECKED)


def _is_v4(facts: Facts, match: re.Match[str]) -> bool:
    address = match.group().partition("/")[0]
    before = facts.lower[max(0, match.start() - 24) : match.start()]
    if not _is_address(address) or _NOT.search(before) or address.startswith("255.") or address == "0.0.0.0":
        return False
    return len(address) > 7 or _NAMED.search(before) is not None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
