"""Web addresses that may belong to somebody.

An address on a public institution's host is reported only with a path of one user; a bare domain name without
scheme, "www." or path is a trade name as often as an address and is not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import SHAPED, Facts, Hit, recogniser, recognisers
from discreet.text.direct.web import is_about_a_user, is_public_host

_HOST = r"[^\W_](?:[\w-]{0,62})(?:\.[\w-]{1,63}){0,8}"
_ADDRESS = re.compile(
    rf"(?<![\w@])(?:(?P<scheme>(?i:https?|ftps?|sftp|hxxps?)://)(?P<userinfo>[^\s/@]{{1,64}}@)?|(?=(?i:www\.)))"
    rf"(?P<host>\[[0-9a-fA-F:.]{{2,45}}\]|{_HOST})(?::\d{{2,5}})?(?P<rest>[/?#][^\s<>\"|\\^`]{{0,2000}})?"
)
_BARE = re.compile(
    r"(?<![\w@./-])(?P<host>(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,4}"
    r"(?:com|net|org|edu|gov|io|me|info|biz|us|uk|ca|au|de|fr|in|co|ai|app|dev|blog|page|name|social|health))"
    r"(?P<rest>/[^\s<>\"|\\^`]{1,2000})"
)
_TRAILING = ".,;:!?'\"*_"


@recognisers.register("url")
@recogniser("url", stems=("://", "www.", "/"))
def url(facts: Facts) -> Iterator[Hit]:
    """Addresses with a scheme, "www." or a path."""
    if "://" in facts.lower or "www." in facts.lower:
        for match in _ADDRESS.finditer(facts.text):
            host = match["host"].lower().removeprefix("www.")
            if "." in host or ":" in host or match["rest"]:
                yield from _hit(facts, match, bool(match["userinfo"]))
    for match in _BARE.finditer(facts.text):
        yield from _hit(facts, match, False)


def _hit(facts: Facts, match: re.Match[str], signed_in: bool) -> Iterator[Hit]:
    start, end = match.span()
    end = start + len(_trimmed(match.group()))
    host = match["host"].lower().rstrip(".")
    if signed_in or not is_public_host(host) or is_about_a_user(match["rest"] or ""):
        yield Hit("url", start, end, SHAPED)


def _trimmed(address: str) -> str:
    """Without the punctuation of the sentence around it, and a closing bracket only where one was opened."""
    while address:
        last = address[-1]
        opened = {")": "(", "]": "["}.get(last)
        if last in _TRAILING or (opened and address.count(last) > address.count(opened)):
            address = address[:-1]
        else:
            break
    return address
