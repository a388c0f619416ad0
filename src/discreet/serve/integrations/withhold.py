"""What the plug-ins share: the guard judges all texts of an answer as one, and what is not safe is withheld.

No text of an answer or a question enters an exception, its chain, a log or a trace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from uuid import uuid4

from discreet.core.errors import NotJudgedError, UsageError, WithheldError
from discreet.core.records import USER_MESSAGES, Answer, Code, Prompts, Turn, Verdict
from discreet.guard import Guard
from discreet.guard.text.templates import parse

OnUnsafe = Literal["block", "placeholder", "raise"]
AUTO = Prompts()
WITHHELD = "This answer was withheld ({code})."
NOT_JUDGED = "This answer could not be judged and was withheld ({code})."
MEDIA = ("image", "audio", "video", "file", "image_url", "input_audio")
"""Types of content that the guard cannot read."""
IDS = frozenset({"type", "id", "index", "signature", "encrypted_content", "mime_type", "call_id", "tool_call_id"})
"""Keys of content whose strings are ids, kinds and signatures, as long as they look like it."""
ID = re.compile(r"[\w.:/+=|-]*", re.ASCII)
ARGUMENTS = ("args", "input", "arguments", "output", "parsed")
"""Keys whose value is data of a tool or a schema, in which no key is an id to us."""


@dataclass(frozen=True, slots=True)
class Withholder:
    """Judges, and says what takes the place of an answer that is not safe.

    `on_unsafe`: "block" leaves nothing in its place but the code, "placeholder" a sentence with `{code}`, "raise"
    raises WithheldError, or NotJudgedError where the guard could not judge. `report` gets the verdict of every answer,
    which holds no text; what it raises ends the call before any text goes out. `prompts` says what user messages are.
    """

    guard: Guard
    on_unsafe: OnUnsafe = "placeholder"
    placeholder: str | None = None
    report: Callable[[Verdict], None] | None = None
    prompts: Prompts = AUTO

    @classmethod
    def of(cls, guard: Guard | str, on_unsafe: OnUnsafe, placeholder: str | None,
           report: Callable[[Verdict], None] | None, prompts: Prompts | None = None) -> Withholder:
        """A withholder of checked arguments; a string is the name of a domain. Raises UsageError."""
        for template in () if prompts is None else prompts.templates:
            parse(template)
        if prompts is not None and prompts.user_messages not in USER_MESSAGES:
            raise UsageError(f"prompts.user_messages is {str(prompts.user_messages)[:20]!r}; expected one of "
                             f"{', '.join(USER_MESSAGES)}")
        if on_unsafe not in get_args(OnUnsafe):
            raise UsageError(f"on_unsafe is {str(on_unsafe)[:20]!r}; expected one of {', '.join(get_args(OnUnsafe))}")
        if placeholder is not None and on_unsafe != "placeholder":
            raise UsageError(f"placeholder was given with on_unsafe {on_unsafe!r}; expected on_unsafe 'placeholder'")
        return cls(Guard(guard) if isinstance(guard, str) else guard, on_unsafe, placeholder, report, prompts or AUTO)

    def judge(self, content: object, question: str | None = None, conversation: Sequence[Turn] = (), *,
              sources: Sequence[str] = (), user_words: str | None = None, calls: bool = False) -> Code:
        """The code of what goes out together in its request, whose pieces are those of an `Answer`; "ok" where it holds
        no text. Content without a reading is not judged."""
        try:
            texts = [text for text in texts_of(content) if text.strip()]
        except UnreadableError:
            return "privacy/not_judged"
        if not texts:
            return "ok"
        verdict = self.guard.check(Answer(uuid4().hex, "\n\n".join(texts), question, tuple(sources),
                                          tuple(conversation), user_words, self.prompts, calls=calls))
        if self.report is not None:
            self.report(verdict)
        return verdict.code

    def replacement(self, code: Code) -> str:
        """What stands where the answer stood. Raises WithheldError or NotJudgedError with on_unsafe "raise"."""
        judged = code != "privacy/not_judged"
        if self.on_unsafe == "raise":
            raise WithheldError(code) if judged else NotJudgedError(code)
        if self.on_unsafe == "block":
            return ""
        return (self.placeholder or (WITHHELD if judged else NOT_JUDGED)).replace("{code}", code)


class UnreadableError(Exception):
    """Content that is no text: an image, a sound, a file, or something unknown."""


def texts_of(content: object) -> Iterator[str]:
    """Every string of an answer's content and its blocks, but ids and kinds. Raises UnreadableError."""
    if content is None or isinstance(content, bool | int | float):
        return
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        if content.get("type") in MEDIA:
            raise UnreadableError
        for key, value in content.items():
            if key in MEDIA and value and isinstance(value, Mapping | list):  # As OpenAI's `audio` beside a message.
                raise UnreadableError
            if key in ARGUMENTS:
                yield data(value)
            elif key not in IDS or not isinstance(value, str) or not ID.fullmatch(value):
                yield from texts_of(value)
    elif isinstance(content, Iterable) and not isinstance(content, bytes | bytearray | memoryview):
        for one in content:
            yield from texts_of(one)
    else:
        raise UnreadableError


def data(value: object) -> str:
    """A tool's arguments, or the fields of a schema, as one text: the names of fields tell what a value is."""
    try:
        return value if isinstance(value, str) else "" if not value else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        raise UnreadableError from None
