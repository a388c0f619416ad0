"""What a caller declares of a request: which words the user typed, who asks, and which passages were retrieved.

Words, asker and public passages give consent, so only a key that may declare can send them; other passages only
withdraw it. A declaration stands in a field of its own or in a header, never in the text of a message, which a document
could imitate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

from fastapi import Header
from pydantic import ConfigDict, Field

from discreet.core.records import Answer, Asker, Public, Turn
from discreet.serve.keys import Caller
from discreet.serve.limits import Fields, Many, RefusedError

WORDS_HEADER = "x-discreet-user-words"
"""The header that declares what the user typed, percent-encoded UTF-8."""
USER_HEADER = "x-discreet-user"
"""The header that names the end user: withheld facts are remembered for each."""
CONVERSATION_HEADER = "x-discreet-conversation"
"""The header that names the conversation of an answer: what its earlier answers told counts too."""
_ENCODED = re.compile(r"(?:[ -$&-~]|%[0-9A-Fa-f]{2})*")
ASKER = ('"self" where the caller has authenticated that the user is the person whom the records describe; for a key '
         "that may declare.")
MOST_USER = 1_000
"""Characters of an end user's name."""

UserHeader = Annotated[str | None, Header(alias=USER_HEADER, max_length=MOST_USER, description="The end user of the "
                                          "request: facts that were withheld from them are remembered.")]
WordsHeader = Annotated[list[str] | None, Header(
    alias=WORDS_HEADER, description="What the user typed, percent-encoded UTF-8; for a key that may declare.")]


class Passage(Fields):
    """A retrieved passage; what an answer tells out of one that is `public` is no leak."""

    model_config = ConfigDict(strict=True)
    text: str
    public: bool = Field(default=False, description="Anybody may read it; for a key that may declare.")

    def plain(self) -> str:
        """The passage as an Answer holds it."""
        return Public(self.text) if self.public else self.text


class Declaration(Fields):
    """The field `discreet` of a chat completion, which the model does not get."""

    model_config = ConfigDict(strict=True)
    user_words: str | None = Field(default=None, description="What the user typed; for a key that may declare.")
    sources: Many[str | Passage] = Field(default=[], description="The retrieved passages; those that are not public "
                                         "only withdraw consent.")
    asker: Asker = Field(default="unknown", description=ASKER)


def asked(caller: Caller, declared: Declaration, question: str | None = None, turns: Sequence[Turn] = ()) -> Answer:
    """The request of a caller, as an Answer without a text. RefusedError with 403 where the key may not declare."""
    public = any(isinstance(one, Passage) and one.public for one in declared.sources)
    for name, given in (("user_words", declared.user_words is not None), ("asker", declared.asker == "self"),
                        ("passages as public", public)):
        if given and not caller.declares:
            raise RefusedError(403, "declaration", f"the key may not declare {name}; expected a key that was made with "
                               "--declares, or no declaration")
    sources = tuple(one if isinstance(one, str) else one.plain() for one in declared.sources)
    return Answer("", "", question, sources, tuple(turns), declared.user_words, caller.prompts, declared.asker)


def with_header(declared: Declaration, headers: Sequence[str]) -> Declaration:
    """The declaration of a body with that of the header. RefusedError with 422 where it is not percent-encoded UTF-8,
    is given twice, or says something else than the body."""
    words = [_decoded(one) for one in headers]
    known = {*words, *([declared.user_words] if declared.user_words is not None else [])}
    if len(known) > 1:
        raise RefusedError(422, "declaration", f"{WORDS_HEADER} and discreet.user_words differ, or the header was "
                           "given twice; expected one declaration")
    return declared.model_copy(update={"user_words": known.pop()}) if known else declared


def _decoded(value: str) -> str:
    if not _ENCODED.fullmatch(value):
        raise RefusedError(422, "declaration", f"{WORDS_HEADER} is not percent-encoded; expected UTF-8 bytes as %XX")
    try:
        return unquote_to_bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(422, "declaration", f"{WORDS_HEADER} is not UTF-8 when it is decoded; expected UTF-8 bytes "
                           "as %XX") from None


def conversation_of(headers: Sequence[str], named: str | None = None) -> str | None:
    """The conversation that headers or the body name. RefusedError with 422 for several, or one that is no name."""
    known = {*headers, *([] if named is None else [named])}
    if len(known) > 1:
        raise RefusedError(422, "invalid", f"{CONVERSATION_HEADER} and conversation_id differ, or the header was given "
                           "twice; expected one conversation")
    for one in known:
        if not 1 <= len(one) <= 200:
            raise RefusedError(422, "invalid", f"{CONVERSATION_HEADER} has {len(one)} characters; expected 1 to 200")
    return known.pop() if known else None


def end_user(header: str | None, *named: Any) -> str | None:
    """A hash of the first name of the end user that is given: in the header, then in fields of the body. RefusedError
    with 422 for one that is no name."""
    for name in (header, *named):
        if name is None or name == "":
            continue
        if not isinstance(name, str) or len(name) > MOST_USER:
            raise RefusedError(422, "invalid", f"the end user is no string of up to {MOST_USER:,} characters")
        return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return None
