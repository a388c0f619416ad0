"""E-mail addresses, also with "[at]" and "[dot]"; a public office's mailbox (info@cdc.gov) is nobody's address."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import SHAPED, Facts, Hit, recogniser, recognisers
from discreet.text.direct.web import is_public_host

_LOCAL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}$")
_LABEL = r"[^\W_][\w-]{0,62}"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL}){{0,7}}\.(?:[^\W\d_]{{2,24}}|xn--[a-z0-9-]{{2,40}})(?![\w@])")
_SPELT = re.compile(
    r"\b[\w.+-]{1,64} ?[\[({<] ?(?i:at) ?[\])}>] ?[\w-]{1,63}"
    r"(?:(?: ?[\[({<] ?(?i:dot) ?[\])}>] ?| (?i:dot) |\.)[\w-]{1,63}){1,5}\b"
)
_OFFICES = frozenset(
    ["info", "contact", "help", "support", "questions", "press", "media", "webmaster", "privacy", "feedback",
     "office", "admin", "noreply", "no-reply", "foia", "inquiries", "customerservice", "service", "hotline",
     "registrar"]
)  # fmt: skip
_FILES = frozenset(["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "json", "html", "py", "txt", "pdf"])


@recognisers.register("email")
@recogniser("email")
def email(facts: Facts) -> Iterator[Hit]:
    """One hit for each "@" between a mailbox and a domain name."""
    at = facts.text.find("@") if facts.has_at else -1
    while at >= 0:
        local = _LOCAL.search(facts.text, max(0, at - 64), at)
        domain = _DOMAIN.match(facts.text, at + 1)
        if local and domain and not _is_impersonal(local.group(), domain.group()):
            start = local.end() - len(local.group().lstrip(".'`*"))
            if start < at:
                yield Hit("email", start, domain.end(), SHAPED)
        at = facts.text.find("@", at + 1)
    for match in _SPELT.finditer(facts.text) if _has_spelt_at(facts.lower) else ():
        yield Hit("email", *match.span(), SHAPED)


def _is_impersonal(local: str, domain: str) -> bool:
    if domain.rpartition(".")[2].lower() in _FILES or local.lower() == "git":
        return True
    return local.lower() in _OFFICES and is_public_host(domain.lower())


def _has_spelt_at(lower: str) -> bool:
    return any(f"{bracket}at" in lower or f"{bracket} at" in lower for bracket in "[({<")
