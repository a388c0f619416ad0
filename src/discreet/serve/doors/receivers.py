"""To whom a call of a tool sends something: an address that the user typed is no leak to its receiver.

Any other address in arguments counts as somebody's. This one is left out of what is judged only where nothing of a
record can go with it: the model was shown words of the user and of the system alone, the system's tell of nobody, and
what is left of the answer is safe and tells of nobody either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from discreet.core.records import Answer
from discreet.guard.text.provenance import request_of

SENDS = frozenset(("send", "mail", "email", "message", "reply", "forward", "notify", "invite"))
"""Words in the name of a tool that sends."""
FIELDS = frozenset(("to", "cc", "bcc", "recipient", "recipients", "receiver", "receivers", "email", "emails", "toemail",
                    "emailto", "toaddress", "recipientemail", "recipientemails", "participants", "attendees",
                    "invitees"))
"""Names of arguments that say to whom, in small letters without marks."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_ADDRESS = re.compile(r"(?<![\w.+-])[\w+-]+(?:\.[\w+-]+)*@[\w-]+(?:\.[\w-]+)+(?![\w@-])", re.ASCII)


def receivers_of(call: Mapping[str, Any]) -> Iterator[str]:
    """The mail addresses to which a call of a tool sends something."""
    if SENDS.isdisjoint(word.lower() for word in _WORD.findall(call["name"])):
        return
    try:
        given = json.loads(call.get("arguments", ""))
    except (ValueError, RecursionError):
        return
    for field, value in given.items() if isinstance(given, dict) else ():
        if re.sub(r"[\W_]", "", field.lower()) in FIELDS:
            yield from (one for one in (value if isinstance(value, list) else [value])
                        if isinstance(one, str) and _ADDRESS.fullmatch(one))


def without(said: str, call: Mapping[str, Any], typed: Collection[str]) -> str:
    """The arguments of a call, `said` as they are read, without receivers that the user typed: nothing else is left
    out, whatever a parser makes of them."""
    for one in receivers_of(call) if typed else ():
        if one.lower() in typed:
            said = said.replace(json.dumps(one), '""')
    return said


def typed_in(asked: Answer) -> tuple[frozenset[str], tuple[str, ...]]:
    """The addresses in the user's own words, and the system's texts. No address where the model was shown more: then it
    may be that of a record."""
    parts = [part for part in request_of(asked).parts
             if part.how != "undeclared" or part.text.strip() != (asked.user_words or "").strip()]
    if asked.sources or {part.origin for part in parts} - {"user", "system", "answer"}:
        return frozenset(), ()
    typed = {found.lower() for part in parts if part.origin == "user" for found in _ADDRESS.findall(part.text)}
    return frozenset(typed), tuple(part.text for part in parts if part.origin == "system")


def by_itself(asked: Answer, text: str) -> Answer:
    """A text of the request as an answer."""
    return replace(asked, answer=text, question=None, sources=(), conversation=(), user_words=None, calls=False)
