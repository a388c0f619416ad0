"""E-mail, web and internet addresses that may belong to somebody.

An office's mailbox (info@cdc.gov, registry-jobs@uni.example) is nobody's address. A web address is reported where it
is of a person: by a path of one user, a page at a social network, a given name in it, or a word that gives it to
somebody ("her blog"). The links that an answer cites are none. Internet addresses are versions 4 and 6, private ones
included (`is_local`); versions, outlines, networks, net masks and a machine's own address are none.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from discreet.guard.text import lexicon as lex
from discreet.guard.text.direct.detect import BOUND, CHECKED, PATTERNS, SHAPED, Facts, Hit, recogniser, recognisers
from discreet.guard.text.resources import given_names, words

_HOSTS = words("hosts")
_SPELT_AT = tuple(f"{bracket}{gap}at" for bracket in "[({<" for gap in ("", " "))
_PARTS = re.compile(r"(?<![^\W\d_])[a-z]\d+|[\W\d_]+")
_TRAILING = ".,;:!?'\"*_"
_GIVEN = _SURNAME = 4
"""Letters at least of a given name and of what follows it in the name of a host."""
_BRACKETS = {")": "(", "]": "["}


def is_public_host(host: str) -> bool:
    """Whether a lower-case host is of a public institution: .gov, .edu, .org, .int and their like."""
    return bool(PATTERNS["public host"].search(host))


def is_of_a_person(host: str, rest: str = "") -> bool:
    """Whether an address names a person: '~', '@', /user/, /profile/ and the like, an id of one, a page at a social
    network, or a given name ("janewhitfield.com", "/jane-whitfield.html"). `host` and `rest` are in lower case."""
    if PATTERNS["url of a user"].search(rest):
        return True
    *_, name, _ = ("", "", *host.split("."))
    page = PATTERNS["url of a page"].fullmatch(rest)
    if page and host.endswith(tuple(_HOSTS["social networks"])):
        return page["name"] not in _HOSTS["pages of a network"]
    given = given_names()
    if any(given.get(name[:k]) == "-" for k in range(_GIVEN, len(name) - _SURNAME + 1)):
        return True
    # A given name that is a word too ("ivy") needs a surname behind it.
    return any(given.get(first) == "-" or (first in given and last and not lex.is_english(last))
               for first, last in PATTERNS["url part"].findall(rest if is_public_host(host) else f"{host}{rest}"))


@recognisers.register("email")
@recogniser("email")
def email(facts: Facts) -> Iterator[Hit]:
    """One hit for each "@" between a mailbox and a domain name, and for each spelt "[at]"."""
    for at in (match.start() for match in re.finditer("@", facts.text)):
        local = PATTERNS["email local"].search(facts.text, max(0, at - 64), at)
        domain = PATTERNS["email domain"].match(facts.text, at + 1)
        if local and domain and not _is_impersonal(local.group().lower(), domain.group().lower()):
            start = local.end() - len(local.group().lstrip(".'`*"))
            if start < at:
                yield Hit("email", start, domain.end(), SHAPED)
    if any(spelt in facts.lower for spelt in _SPELT_AT):
        for match in PATTERNS["email spelt"].finditer(facts.text):
            yield Hit("email", *match.span(), SHAPED)


def _is_impersonal(local: str, domain: str) -> bool:
    file = domain.rpartition(".")[2] in _HOSTS["file endings"] or local == "git"
    parts = [part for part in _PARTS.split(local) if part]
    office = bool(parts) and all(part in _HOSTS["office mailboxes"] for part in parts)
    return file or (office and (is_public_host(domain) or not is_of_a_person(domain)))


@recognisers.register("url")
@recogniser("url", stems=("://", "www.", "/"))
def url(facts: Facts) -> Iterator[Hit]:
    """Addresses of a person with a scheme, "www." or a path."""
    if "://" in facts.lower or "www." in facts.lower:
        for match in PATTERNS["url"].finditer(facts.text):
            host = match["host"].lower().removeprefix("www.")
            if "." in host or ":" in host or match["rest"]:
                yield from _address(facts, match, host, signed_in=bool(match["userinfo"]))
    for match in PATTERNS["url bare"].finditer(facts.text):
        yield from _address(facts, match, match["host"].lower())


def _address(facts: Facts, match: re.Match[str], host: str, *, signed_in: bool = False) -> Iterator[Hit]:
    """An address that is somebody's, without the punctuation of the sentence around it."""
    owned = (PATTERNS["url owned"].search(facts.lower, max(0, match.start() - 80), match.start())
             or (not is_public_host(host) and PATTERNS["url owned behind"].match(facts.lower, match.end())))
    if not (signed_in or owned or is_of_a_person(host.rstrip("."), (match["rest"] or "").lower())):
        return
    address = match.group()
    while address:
        last = address[-1]
        opened = _BRACKETS.get(last)
        if last not in _TRAILING and not (opened and address.count(last) > address.count(opened)):
            break
        address = address[:-1]
    yield Hit("url", match.start(), match.start() + len(address), BOUND if owned else SHAPED)


@recognisers.register("ip")
@recogniser("ip", digits=1)
def ip(facts: Facts) -> Iterator[Hit]:
    """Addresses that `ipaddress` accepts; four single digits, as outlines have them, only with a word for it."""
    for match in PATTERNS["ip v4"].finditer(facts.text) if facts.text.count(".") >= 3 else ():
        address = match.group().partition("/")[0]
        before = facts.lower[max(0, match.start() - 24) : match.start()]
        mask = address.startswith(("255.", "127.")) or address == "0.0.0.0"
        if mask or _is_network(match.group()) or not _is_address(address) or PATTERNS["ip not before"].search(before):
            continue
        if len(address) > 7 or PATTERNS["ip named"].search(before):
            yield Hit("ip", *match.span(), CHECKED)
    for match in PATTERNS["ip v6"].finditer(facts.text) if PATTERNS["ip v6 hint"].search(facts.text) else ():
        text = match.group()
        if text.count(":") >= 2 and any(c.isdigit() for c in text) and _is_address(text.partition("/")[0]):
            yield Hit("ip", *match.span(), CHECKED)


def is_local(address: str) -> bool:
    """Whether an address is one within some network, which many networks have."""
    return not ipaddress.ip_address(address.partition("/")[0]).is_global


def _is_network(text: str) -> bool:
    """Whether it is a network of several addresses, and no address within it."""
    try:
        return ipaddress.IPv4Network(text).num_addresses > 1
    except ValueError:
        return False


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
