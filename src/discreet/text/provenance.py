"""Who said which words of a request, and what of them an answer may tell back.

Every stretch of a request has an origin: the user's own words, retrieved text, the result of a tool, system text, an
earlier answer, or unknown. Only the user's own words are consent, and a stretch is theirs for one of four reasons: the
caller declares it (`Answer.user_words`, or `user_messages: words`); a pinned template gives it to them; a closed one
does; or the whole message reads as a user's speech. Everything else only withdraws consent: the origin of a typed
part, and words that stand in retrieved or earlier text as well.

What of these words an answer may tell back is in `consent.py`. Nothing else of the package asks who said something
(`tests/guard/test_decide.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from discreet.core.records import Answer, Origin, Prompts
from discreet.text.consent import OwnWords, brought
from discreet.text.doc import Doc
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.referents import find_referents
from discreet.text.render import render
from discreet.text.resources import patterns
from discreet.text.templates import Slot, Template, collapsed, known, parse

_ROLES: dict[str, Origin] = {"system": "system", "developer": "system", "tool": "tool", "function": "tool",
                             "assistant": "answer", "ai": "answer", "model": "answer"}
_USER = ("user", "human")
_LONGEST = 1_500
"""Characters of a message beyond which none reads as speech."""
_SHARED = 8
"""Words in a row that stand in retrieved or earlier text as well: such a message is not the user's own."""
_PIECE = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a request, its origin, and how that is known."""

    origin: Origin
    text: str = field(repr=False)
    how: str


@dataclass(frozen=True)
class Request:
    """A request by origin. `parts` are in the order of the request; `asked` is the text of the last user message that
    may hold a question, whoever wrote it."""

    parts: tuple[Part, ...]
    asked: str = field(repr=False, default="")

    def of(self, *origins: Origin) -> tuple[str, ...]:
        """The texts of some origins."""
        return tuple(part.text for part in self.parts if part.origin in origins)

    @cached_property
    def own(self) -> OwnWords:
        """What the user says of themselves and of those whom they bring."""
        return OwnWords(self.of("user"))

    @property
    def said(self) -> str | None:
        """All text of user messages, whoever wrote it; None where there is none."""
        texts = [part.text for part in self.parts if part.how in _OF_USER]
        return "\n\n".join(texts) if texts else None


_OF_USER = ("declared", "words", "pinned", "closed", "plain", "undeclared", "shared")


def request_of(answer: Answer) -> Request:
    """The request of an answer, by origin. Raises UsageError for a template that is none."""
    parts = [Part("retrieved", text, "source") for text in answer.sources]
    asked: list[str] = []
    for role, text, origin in _messages(answer):
        if origin is not None and origin != "user":
            parts.append(Part(origin, text, "typed"))
        elif role.lower() not in _USER:
            parts.append(Part(_ROLES.get(role.lower(), "unknown"), text, "role"))
            # What was asked before an earlier answer was answered; a call of a tool has no text.
            asked = [] if parts[-1].origin == "answer" and text.strip() else asked
        elif answer.user_words is not None:
            parts.append(Part("unknown", text, "undeclared"))
        else:
            found = list(_user_message(text, answer.prompts))
            before = [part.text for part in parts if part.origin in ("retrieved", "tool", "answer")]
            parts += [_withdrawn(part, before) for part in found]
            asked += sorted((part.text for part in found if part.how in _OF_USER), key=len)[-1:]
    if answer.user_words is not None:
        before = [part.text for part in parts if part.origin in ("retrieved", "tool")]
        parts.append(_withdrawn(Part("user", answer.user_words, "declared"), before))
        asked = [answer.user_words]
    return Request(tuple(part for part in parts if part.text.strip()), "\n".join(asked))


def _messages(answer: Answer) -> Iterator[tuple[str, str, Origin | None]]:
    for turn in answer.conversation:
        yield turn.role, turn.text, turn.origin
    if answer.question:
        yield "user", answer.question, None


def _user_message(text: str, prompts: Prompts) -> Iterator[Part]:
    """The stretches of an undeclared user message."""
    if prompts.user_messages == "words":
        yield Part("user", text, "words")
        return
    pinned = [(t, cut) for t in map(parse, prompts.templates) if (cut := t.cut(text)) is not None]
    if pinned:
        yield from _slots(pinned, "pinned")
        return
    if prompts.user_messages == "auto" and why_not_plain(text) is None:
        yield Part("user", text, "plain")
        return
    matches = [(t, cut) for t in known() if (cut := t.cut(text)) is not None]
    closed = [(t, cut) for t, cut in matches if t.is_closed]
    if closed and all(_is_closed(t, text, cut) for t, cut in closed):
        yield from _slots(closed, "closed")
    elif matches:
        yield from _slots(matches, "undeclared")
    else:
        yield Part("unknown", text, "undeclared")


def _is_closed(template: Template, text: str, cut: tuple[Slot, ...]) -> bool:
    return template.is_sure(text, cut) and why_not_plain(_question(cut).text) is None


def _question(cut: tuple[Slot, ...]) -> Slot:
    return next((slot for slot in cut if slot.name == "question"), Slot("question", "", ""))


def _slots(matches: Sequence[tuple[Template, tuple[Slot, ...]]], how: str) -> Iterator[Part]:
    """The slots of a message; of several templates the question is what all of them give to the user."""
    questions = [_question(cut) for _, cut in matches]
    shortest = min((one.text for one in questions), key=len)
    question = shortest if all(shortest in one.text for one in questions) else ""
    for slot in matches[0][1]:
        if slot.name != "question":
            yield Part("retrieved" if slot.name == "context" else "unknown", slot.text, "slot")
    asked = max((one.widest for one in questions), key=len)
    if how != "undeclared":
        yield Part("user", question, how)
    if how == "undeclared" or asked != question:
        yield Part("unknown", asked, "undeclared")


def _withdrawn(part: Part, before: Sequence[str]) -> Part:
    """The part, of unknown origin where a stretch of it stands in other text of the request as well."""
    if part.origin != "user" or not before:
        return part
    mine = _runs(part.text)
    if mine and any(not mine.isdisjoint(_runs(text)) for text in before):
        return Part("unknown", part.text, "shared")
    return part


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _PIECE.findall(text.lower())
    return {tuple(words[i : i + _SHARED]) for i in range(len(words) - _SHARED + 1)}


def why_not_plain(text: str) -> str | None:
    """Why a message does not read as a user's speech as a whole; None where it does.

    Speech is one paragraph without marks of structure. Each of its statements speaks of the user, of somebody whom they
    bring, or to the reader; others are asked. It says nothing of a person who is no part of that.
    """
    kept = [line for line in collapsed(text).replace("\v", "\n").split("\n")
            if not patterns("requests")["greeting"].fullmatch(line.lower().strip())]
    if len(text) > _LONGEST:
        return "longer than a user's message"
    if len(kept) > 1:
        return "several lines"
    said = " ".join(kept)
    if patterns("requests")["block"].search(said):
        return "marks of structure"
    if patterns("requests")["pointing"].search(said.lower()):
        return "words that point at other text"
    return _recorded(said)


def _recorded(text: str) -> str | None:
    """Why a line holds a record of somebody: a statement about a person whom its writer does not bring."""
    doc = Doc(render(text))
    referents = find_referents(doc)
    mine = brought(doc, referents)
    speaking = any(w in lex.FIRST or w in lex.FIRST_PLURAL for w in doc.lowers)
    owned = False
    for first, last in doc.sentences:
        words = set(doc.lowers[first:last])
        here = [r for r in referents if first <= r.first < last]
        speaks = bool(words & (lex.FIRST | lex.FIRST_PLURAL))
        theirs = [r for r in here if r.subject in ("third", "public") and r.person not in mine]
        opens = next((r for r in here if not r.possessive or r.person in mine), None)
        begins = opens is not None and (opens.person in mine or (opens.form == "pronoun" and owned))
        if "?" in words or words & lex.SECOND or begins:
            owned = owned or speaks or begins
        elif theirs and not (speaks and all(r.form == "noun" for r in theirs)):
            return "a statement about somebody else"
        elif not here and last - first > 12 and not speaking:
            return "a statement of nobody's"
        else:
            owned = owned or speaks
    return None
