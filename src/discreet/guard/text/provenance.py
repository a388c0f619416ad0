"""Who said which words of a request, and what of them an answer may repeat.

Every stretch of a request has an origin: the user's own words, retrieved text, the result of a tool, system text, an
earlier answer, or unknown. Only the user's own words are consent, and a stretch is theirs for one of four reasons: the
caller declares it (`Answer.user_words`, or `user_messages: words`); a pinned template gives it to them; a closed one
does; or the whole message reads as a user's speech. Everything else only withdraws consent: the origin of a typed
part, and words that stand in retrieved or earlier text as well.

What of these words an answer may repeat is in `consent.py`. Nothing else of the package asks who said something
(`tests/guard/test_decide.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.core.records import Answer, Origin, Public
from discreet.guard.text.doc import Doc, Docs

if TYPE_CHECKING:
    from discreet.guard.text.attributes import Attribute
    from discreet.guard.text.consent import OwnWords, Spoken

_ROLES: dict[str, Origin] = {"system": "system", "developer": "system", "tool": "tool", "function": "tool",
                             "assistant": "answer", "ai": "answer", "model": "answer"}
_USER = ("user", "human")
_SHARED = 8
"""Words in a row that stand in retrieved or earlier text as well: such a message is not the user's own."""
_PIECE = re.compile(r"[^\W_]+")
_SHORT, _LINE, _MOST = 150, 60, 8
"""Words of a text that is read whole as a question, and of a line of a prompt; most of these."""
_WINDOW, _HEAD, _STEP, _STRETCHES = 70, 20, 35, 24
"""Words of a user's text that is read as one question, those of its beginning that stand before every stretch of a
longer one, from one stretch to the next, and most stretches."""
_LONGER, _TERSE, _QUESTIONS = 25, 4, 4
"""Words of a user's text beyond which its questions are also read alone, words that such a question exceeds, and most
of them."""
_BEFORE = 8
"""Earlier messages of the user in which somebody may be described of whom a later one asks."""
_SENTENCE = re.compile(r"(?<=[.?!])\s+")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a request, its origin, and how that is known."""

    origin: Origin
    text: str = field(repr=False)
    how: str
    spoken: Spoken | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Request:
    """A request by origin. `parts` are in the order of the request; `asked` is the text of the last user messages,
    which may hold a question, whoever wrote it, and `before` are the latest of those that an answer followed.
    `theirs`: the answer speaks of the user, or of somebody whom they bring. `docs` holds the texts that were parsed."""

    parts: tuple[Part, ...]
    asked: str = field(repr=False, default="")
    before: tuple[str, ...] = field(repr=False, default=())
    theirs: bool = False
    docs: Docs = field(repr=False, compare=False, default_factory=Docs)

    def of(self, *origins: Origin) -> tuple[str, ...]:
        """The texts of some origins."""
        return tuple(part.text for part in self.parts if part.origin in origins)

    @cached_property
    def around(self) -> tuple[str, ...]:
        """System text, and text of unknown origin without the last place of what is known as the user's last words."""
        *_, own = ("", *self.of("user"))
        found = self.of("unknown")
        return (*self.of("system"), *(" ".join(text.rpartition(own)[::2]) if own else text for text in found))

    @cached_property
    def own(self) -> OwnWords | None:
        """What the user says of themselves and of those whom they bring; None where no words are known as theirs."""
        mine = [part for part in self.parts if part.origin == "user"]
        if not mine:
            return None
        from discreet.guard.text.consent import OwnWords, Spoken  # Most answers come without a request.

        said = (part.spoken or Spoken(part.text, self.docs) for part in mine)
        return OwnWords(said, of_theirs=self.theirs)

    def repeated(self, attributes: Iterable[Attribute], doc: Doc) -> tuple[Attribute, ...]:
        """Attributes of an answer, those that repeat what the user said as the asker's (`consent.repeated`)."""
        if self.own is None:
            return tuple(attributes)
        from discreet.guard.text.consent import repeated

        return repeated(attributes, doc, self.own)

    def without_repeated(self, doc: Doc) -> tuple[str, int]:
        """An answer without the words that repeat the user's own, and how many these are."""
        if self.own is None:
            return doc.text, 0
        from discreet.guard.text.consent import without_repeated

        return without_repeated(doc, self.own)

    def gave(self, kind: str, value: str, *, anybody: bool = False) -> bool:
        """Whether the user gave an identifier (`OwnWords.gave`)."""
        return self.own is not None and self.own.gave(kind, value, anybody=anybody)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """What may ask: all of a user's text, a long one also piece by piece; of a prompt, which holds text of others
        too, some lines, of long lines how they begin and end: those with a question mark, the first two, the last two,
        then others."""
        text = self.asked
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            return ()
        if self.of("user"):
            return _windows(text)
        if len(text.split()) <= _SHORT and len(lines) < 2:
            return (text,)
        found = [piece for line in lines for piece in _pieces(line)]
        outer = {*found[:2], *found[-2:]}
        return tuple(sorted(dict.fromkeys(found), key=lambda piece: ("?" not in piece, piece not in outer))[:_MOST])

    @property
    def said(self) -> str | None:
        """All text of user messages, whoever wrote it; None where there is none."""
        texts = [part.text for part in self.parts if part.how in _OF_USER]
        return "\n\n".join(texts) if texts else None


_OF_USER = ("declared", "words", "pinned", "closed", "plain", "undeclared", "shared")


def request_of(answer: Answer, docs: Docs | None = None) -> Request:
    """The request of an answer, by origin. Raises UsageError for a template that is none."""
    docs = Docs() if docs is None else docs
    open_to_all = answer.prompts.public_sources
    parts = [Part("retrieved", text, "source") for text in answer.sources]
    asked: list[str] = []
    before: list[str] = []
    until: int | None = None  # What stands before the last user message: a tool may repeat it afterwards.
    others = _Others()
    messages = list(_messages(answer))
    answers = _answers(messages)
    answered = max(answers, default=-1)
    for number, (role, text, origin) in enumerate(messages):
        if origin is not None and origin != "user":
            parts.append(Part(origin, text, "typed"))
        elif _ROLES.get(role.lower()) == "system":
            from discreet.guard.text.speech import in_system

            parts += [Part(*one) for one in in_system(text, answer.prompts)]
        elif role.lower() not in _USER:
            parts.append(Part(_ROLES.get(role.lower(), "unknown"), text, "role"))
            if number in answers:
                before, asked = [*before, *asked], []
        elif answer.user_words is not None and number > answered:
            until = len(parts)
            parts.append(Part("unknown", text, "undeclared"))
            asked.append(text)
        else:
            from discreet.guard.text.speech import stretches

            found = [Part(*one) for one in stretches(text, answer.prompts, docs)]
            asked += sorted((part.text for part in found if part.how in _OF_USER), key=len)[-1:]
            parts += [others.withdrawn(part, parts, ("retrieved", "tool", "answer")) for part in found]
    if answer.user_words is not None:
        said = Part("user", answer.user_words, "declared")
        parts.append(_Others().withdrawn(said, parts[:until], ("retrieved", "tool")))
    if answer.user_words is not None and answer.user_words.strip():
        # The last message is the one in which these words stand; others before it are of the same user.
        before = [*before, *(text for text in asked[:-1] if answer.user_words.strip() not in text)]
        asked = [answer.user_words]
    told = tuple(text for text in before if 0 < len(text.split()) <= _SHORT)[-_BEFORE:]
    kept = tuple(replace(part, text=Public(part.text)) if open_to_all and part.origin == "retrieved" else part
                 for part in parts if part.text.strip())
    return Request(kept, "\n".join(asked), told, docs=docs)


class _Others:
    """Runs of words of the text that stands before a user message."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, ...]] = set()
        self._done = 0

    def withdrawn(self, part: Part, before: Sequence[Part], origins: tuple[Origin, ...]) -> Part:
        """The part, of unknown origin where a run of it stands in other text of the request as well."""
        mine = _runs(part.text) if part.origin == "user" else set()
        if not mine:
            return part
        for one in before[self._done :]:
            if one.origin in origins and not isinstance(one.text, Public):
                self._seen |= _runs(one.text)
        self._done = len(before)
        return part if mine.isdisjoint(self._seen) else Part("unknown", part.text, "shared")


def _answers(messages: Sequence[tuple[str, str, Origin | None]]) -> set[int]:
    """The places of messages that are answers which went out. A call of a tool is none, and neither is what is said
    beside it ("Let me look."): the result of the tool comes next, and the user still waits."""
    spoken = {k for k, (role, text, origin) in enumerate(messages)
              if _ROLES.get(role.lower()) == "answer" and origin in (None, "user") and text.strip()}
    results = {k for k, (role, _, origin) in enumerate(messages) if (origin or _ROLES.get(role.lower())) == "tool"}
    return {k for k in spoken if k + 1 not in results}


def _messages(answer: Answer) -> Iterator[tuple[str, str, Origin | None]]:
    for turn in answer.conversation:
        yield turn.role, turn.text, turn.origin
    if answer.question:
        yield "user", answer.question, None


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _PIECE.findall(text.lower())
    return {tuple(words[i : i + _SHARED]) for i in range(len(words) - _SHARED + 1)}


def _windows(text: str) -> tuple[str, ...]:
    """A text, and a long one also by overlapping stretches, each behind its first words: of a question the last words
    are read. Of more than the most, those with a question mark come first."""
    words = text.split()
    if len(words) <= _WINDOW:
        return (text, *_asking(text))
    head = " ".join(words[:_HEAD])
    found = [f"{head} … {' '.join(words[at : at + _WINDOW - _HEAD])}" for at in range(_HEAD, len(words), _STEP)]
    asking = sorted(dict.fromkeys(found), key=lambda piece: "?" not in piece)[:_STRETCHES]
    return (*([text] if len(words) <= _SHORT else ()), *asking)


def _asking(text: str) -> tuple[str, ...]:
    """The questions of a text that is longer than one: what stands around them may hide them."""
    sentences = _SENTENCE.split(text) if len(text.split()) > _LONGER else []
    found = [one for one in sentences if one.endswith("?") and len(one.split()) > _TERSE]
    return tuple(found[:_QUESTIONS]) if len(sentences) > 1 else ()


def _pieces(line: str) -> list[str]:
    """A line, or the first and the last two sentences of a long one."""
    if len(line.split()) <= _LINE:
        return [line]
    sentences = _SENTENCE.split(line)
    ends = (" ".join(sentences[:2]), " ".join(sentences[-2:])) if len(sentences) > 2 else (line,)
    return [" ".join(end.split()[:_SHORT]) for end in ends]
