"""User messages: which of their words a user typed.

By a template of the application that is pinned, or a known one that is closed, or where the whole message reads as a
user's speech. Where nothing tells, nobody's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.core.records import Origin, Prompts
from discreet.guard.text import lexicon as lex
from discreet.guard.text.consent import Spoken
from discreet.guard.text.doc import Docs
from discreet.guard.text.resources import patterns
from discreet.guard.text.templates import Message, Slot, Template, collapsed, known, parse

_LONGEST = 1_500
"""Characters of a message beyond which none reads as speech."""
_TAIL = 25
"""Most words behind the first question: what follows it at length may be text that was put behind it."""


def stretches(text: str, prompts: Prompts, docs: Docs) -> Iterator[tuple[Origin, str, str, Spoken | None]]:
    """The stretches of an undeclared user message."""
    message = Message(text)
    pinned = [(t, cut) for t in map(parse, prompts.templates) if (cut := t.cut(message)) is not None]
    if pinned:
        yield from _slots(pinned, "pinned")
        return
    if prompts.user_messages == "words":
        yield "user", text, "words", None
        return
    spoken = Spoken(text, docs)
    if prompts.user_messages == "auto" and why_not_plain(spoken) is None:
        yield "user", text, "plain", spoken
        return
    matches = [(t, cut) for t in known() if (cut := t.cut(message)) is not None]
    closed = [(t, cut) for t, cut in matches if t.is_closed]
    if closed and all(_is_closed(t, message, cut) for t, cut in closed):
        yield from _slots(closed, "closed")
    elif matches:
        yield from _slots(matches, "undeclared")
    else:
        yield "unknown", text, "undeclared", None


def in_system(text: str, prompts: Prompts) -> Iterator[tuple[Origin, str, str]]:
    """The stretches of a system message: what a template, pinned or known, puts into it is retrieved."""
    message = Message(text)
    for template in (*map(parse, prompts.templates), *known("system")):
        cut = template.cut(message)
        if cut is not None and "question" not in template.slots:
            yield "system", " ".join(template.fixed), "slot"
            for slot in cut:
                yield "retrieved" if slot.name == "context" else "unknown", slot.widest, "slot"
            return
    yield "system", text, "role"


def _is_closed(template: Template, message: Message, cut: tuple[Slot, ...]) -> bool:
    return template.is_sure(message, cut) and why_not_plain(Spoken(_question(cut).text)) is None


def _question(cut: tuple[Slot, ...]) -> Slot:
    return next((slot for slot in cut if slot.name == "question"), Slot("question", "", ""))


def _slots(matches: Sequence[tuple[Template, tuple[Slot, ...]]], how: str) -> Iterator[tuple[Origin, str, str, None]]:
    """The slots of a message; of several templates the question is what all of them give to the user."""
    questions = [_question(cut) for _, cut in matches]
    shortest = min((one.text for one in questions), key=len)
    question = shortest if all(shortest in one.text for one in questions) else ""
    for slot in matches[0][1]:
        if slot.name != "question":
            yield "retrieved" if slot.name == "context" else "unknown", slot.text, "slot", None
    asked = max((one.widest for one in questions), key=len)
    if how != "undeclared":
        yield "user", question, how, None
    if how == "undeclared" or asked != question:
        yield "unknown", asked, "undeclared", None


def why_not_plain(spoken: Spoken) -> str | None:
    """Why a message does not read as a user's speech as a whole; None where it does.

    Speech is one paragraph without marks of structure. Each of its statements speaks of the user, of somebody whom they
    bring, or to the reader; others are asked. It says nothing of a person who is no part of that.
    """
    text = spoken.text
    if len(text) > _LONGEST:
        return "longer than a user's message"
    kept = [line for line in collapsed(text).replace("\v", "\n").split("\n")
            if not patterns("requests")["greeting"].fullmatch(line.lower().strip())]
    if len(kept) > 1:
        return "several lines"
    said = " ".join(kept)
    if patterns("requests")["block"].search(said):
        return "marks of structure"
    if patterns("requests")["pointing"].search(said.lower()):
        return "words that point at other text"
    if len(said.partition("?")[2].split()) > _TAIL and "?" in said:
        return "a long text behind the question"
    return _recorded(spoken if said == text else Spoken(said))


def _recorded(spoken: Spoken) -> str | None:
    """Why a line holds a record of somebody: a statement about a person whom its writer does not bring."""
    doc, referents, mine = spoken.doc, spoken.referents, spoken.mine
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
