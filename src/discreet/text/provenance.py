"""Who said which words of a request, and what of them an answer may tell back.

Every stretch of a request has an origin: the user's own words, retrieved text, the result of a tool, system text, an
earlier answer, or unknown. Only the user's own words are consent, and a stretch is theirs for one of four reasons: the
caller declares it (`Answer.user_words`, or `user_messages: words`); a pinned template gives it to them; a closed one
does; or the whole message reads as a user's speech. Everything else only withdraws consent: the origin of a typed
part, and words that stand in retrieved or earlier text as well.

Consent covers repetition of what users say of themselves or of somebody whom they bring as theirs ("my mother", "our
client Mrs Ortiz"). It covers no word that is bound to another person. Nothing else of the package asks who said
something (`tests/guard/test_provenance.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from discreet.core.records import Answer, Origin, Prompts
from discreet.core.unicode import squeezed
from discreet.text import templates
from discreet.text.doc import Doc
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.mentions import Attribute
from discreet.text.evidence.referents import Referent, find_referents
from discreet.text.facts import fact_words, is_alike
from discreet.text.render import render
from discreet.text.resources import patterns

_ROLES: dict[str, Origin] = {"system": "system", "developer": "system", "tool": "tool", "function": "tool",
                             "assistant": "answer", "ai": "answer", "model": "answer"}
_USER = ("user", "human")
_LONGEST = 1_500
"""Characters of a message beyond which none reads as speech."""
_SHARED = 8
"""Words in a row that stand in retrieved or earlier text as well: such a message is not the user's own."""
_REPEATED = ("third", "speaker", "cohort")
"""Subjects of which an attribute may repeat what the user said."""
_POINTING = frozenset("the this that".split())
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
    asked = ""
    for role, text, origin in _messages(answer):
        if origin is not None and origin != "user":
            parts.append(Part(origin, text, "typed"))
        elif role.lower() not in _USER:
            parts.append(Part(_ROLES.get(role.lower(), "unknown"), text, "role"))
        elif answer.user_words is not None:
            parts.append(Part("unknown", text, "undeclared"))
            asked = text
        else:
            found = list(_user_message(text, answer.prompts))
            before = [part.text for part in parts if part.origin in ("retrieved", "tool", "answer")]
            parts += [_withdrawn(part, before) for part in found]
            asked = next((p.text for p in found if p.origin == "user"), _question_of(found))
    if answer.user_words is not None:
        before = [part.text for part in parts if part.origin in ("retrieved", "tool")]
        parts.append(_withdrawn(Part("user", answer.user_words, "declared"), before))
        asked = answer.user_words
    return Request(tuple(part for part in parts if part.text.strip()), asked)


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
    pinned = [(t, cut) for t in map(templates.parse, prompts.templates) if (cut := t.cut(text)) is not None]
    if pinned:
        yield from _slots(pinned, "pinned")
        return
    if prompts.user_messages == "auto" and why_not_plain(text) is None:
        yield Part("user", text, "plain")
        return
    matches = [(t, cut) for t in templates.known() if (cut := t.cut(text)) is not None]
    closed = [(t, cut) for t, cut in matches if t.is_closed]
    if closed and all(_is_closed(t, text, cut) for t, cut in closed):
        yield from _slots(closed, "closed")
    elif matches:
        yield from _slots(matches, "undeclared")
    else:
        yield Part("unknown", text, "undeclared")


def _is_closed(template: templates.Template, text: str, cut: tuple[str, ...]) -> bool:
    return template.is_sure(text, cut) and why_not_plain(cut[template.slots.index("question")]) is None


def _slots(matches: Sequence[tuple[templates.Template, tuple[str, ...]]], how: str) -> Iterator[Part]:
    """The slots of a message; of several templates the question is what all of them give to the user."""
    template, cut = matches[0]
    questions = [one[t.slots.index("question")] if "question" in t.slots else "" for t, one in matches]
    shortest = min(questions, key=len)
    question = shortest if all(shortest in one for one in questions) else ""
    for name, text in zip(template.slots, cut, strict=True):
        if name != "question":
            yield Part("retrieved" if name == "context" else "unknown", text, how)
    origin: Origin = "user" if how != "undeclared" else "unknown"
    yield Part(origin, question, "undeclared" if how == "undeclared" else how)


def _question_of(parts: Sequence[Part]) -> str:
    """Where a question may stand in a message whose words are nobody's: what a template calls the question, or all."""
    return next((p.text for p in reversed(parts) if p.origin == "unknown" and p.text), "")


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
    kept = [line for line in templates.collapsed(text).split("\n")
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
        elif not here and last - first > 12 and not owned:
            return "a statement of nobody's"
        else:
            owned = owned or speaks
    return None


def brought(doc: Doc, referents: Sequence[Referent]) -> frozenset[str]:
    """The persons of a text who are its writer, or whom the writer brings as theirs."""
    cues = patterns("requests")
    mine = {"speaker"}
    for number, one in enumerate(referents):
        if one.form == "pronoun" or one.subject in ("cohort", "nobody"):
            if one.subject == "speaker":
                mine.add(one.person)
            continue
        begin, end = doc.sentence_of(one.first)
        before = doc.words(max(begin, one.first - 7), one.first)
        inside = doc.words(one.first, one.first + 1)
        after = " " + doc.words(one.last, min(end, one.last + 6))
        last = referents[number - 1] if number else None
        apposed = (last is not None and last.person in mine and last.form in ("noun", "kin")
                   and 0 <= one.first - last.last <= 1 and one.form == "name")
        if (one.person.startswith("speaker/") or inside in ("my", "our") or apposed
                or (one.form != "name" and cues["bring"].search(before)) or cues["act for"].search(before)
                or (one.form == "name" and cues["named"].search(before))
                or cues["of mine"].search(after) or cues["is mine"].search(after)):
            mine.add(one.person)
    return frozenset(mine)


class OwnWords:
    """What a user says of themselves and of those whom they bring, in some texts of theirs."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(texts)

    def __bool__(self) -> bool:
        return bool(self.texts)

    @cached_property
    def _read(self) -> tuple[tuple[str, Doc, tuple[bool, ...]], ...]:
        """Of each text its lower-case words as rendered, and which tokens are bound to no other person."""
        found = []
        for text in self.texts:
            doc = Doc(render(text))
            found.append((doc.text.lower(), doc, tuple(_consents(doc))))
        return tuple(found)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that may be told back, in the forms in which they are compared."""
        found: set[str] = set()
        for _, doc, own in self._read:
            mine = " ".join(t.text for t, consents in zip(doc.tokens, own, strict=True) if consents)
            found.update(fact_words(mine.replace(" - ", "-")))
        return frozenset(found)

    @cached_property
    def brings(self) -> bool:
        """Whether the user speaks of anybody but themselves."""
        return any(r.subject not in ("speaker", "asker", "nobody", "cohort")
                   for _, doc, _ in self._read for r in find_referents(doc))

    @cached_property
    def ages(self) -> frozenset[str]:
        """Numbers that are no count of anything else."""
        found: set[str] = set()
        for _, doc, own in self._read:
            for token, mine in zip(doc.tokens, own, strict=True):
                after = doc.text[token.end : token.end + 30].lower()
                if mine and not patterns("requests")["count not age"].search(after):
                    found.update(fact_words(token.text))
        return frozenset(found)

    def tell(self, kind: str, value: str) -> bool:
        """Whether an attribute with these words repeats what the user said: all of its telling words, of more than two
        words two thirds."""
        told = set(fact_words(value))
        known = self.ages if kind == "age" else self.words
        exact = kind in ("place", "age", "affiliation")
        hits = sum(word in known or (not exact and any(is_alike(word, other) for other in known)) for word in told)
        return bool(told) and (hits == len(told) or (len(told) > 2 and 3 * hits >= 2 * len(told)))

    def gave(self, kind: str, value: str, *, anybody: bool = False) -> bool:
        """Whether the user gave an identifier as theirs, or that of somebody whom they bring; with `anybody` whether
        they gave it at all."""
        wanted = value.lower().strip()
        if not squeezed(wanted):
            return False
        for lower, doc, own in self._read:
            for start in _places(lower, wanted):
                token = doc.token_at(start)
                before = lower[max(0, start - 60) : start]
                after = " " + lower[start + len(wanted) : start + len(wanted) + 40].strip()
                cues = patterns("requests")
                named = cues["named"].search(before) or cues["is mine"].search(after)
                begin, end = doc.sentence_of(token)
                first = set(doc.lowers[begin:end]) & (lex.FIRST | lex.FIRST_PLURAL)
                if anybody or named or (kind != "person_name" and own[token] and first):
                    return True
        return False


def repeated(attributes: Iterable[Attribute], doc: Doc, own: OwnWords) -> tuple[Attribute, ...]:
    """Attributes of a text, those that repeat what the user said of themselves or of somebody whom they bring as the
    asker's.

    Those read of a group too ("As a litigator from Omaha, you can …"): else the reader's count would speak of them.
    """
    if not own:
        return tuple(attributes)
    return tuple(replace(a, subject="asker", why=f"{a.why}; already said by the user") if _repeats(a, doc, own) else a
                 for a in attributes)


def _repeats(a: Attribute, doc: Doc, own: OwnWords) -> bool:
    return a.subject in _REPEATED and own.tell(a.kind, a.value) and (own.brings or _may_be_asker(doc, a))


def _may_be_asker(doc: Doc, a: Attribute) -> bool:
    """Whether the sentence of an attribute may speak of the one who asks: of "you", or of no particular person."""
    first, last = doc.sentence_of(doc.token_at_original(a.start))
    words = doc.lowers[first:last]
    if not lex.SECOND.isdisjoint(words):
        return True
    pointed = any(word in _POINTING and not lex.PERSON_NOUNS.keys().isdisjoint(words[i + 1 : i + 4])
                  for i, word in enumerate(words))
    return not pointed and lex.THIRD.keys().isdisjoint(words)


def _places(text: str, wanted: str) -> Iterator[int]:
    """Where a value stands in a text, letter for letter and not within a longer one; else in other spacing."""
    alone = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
    found = [m.start() for m in alone.finditer(text)]
    if not found and len(squeezed(wanted)) > 3:
        spaced = r"[\W_]{0,2}".join(map(re.escape, squeezed(wanted)))
        found = [m.start() for m in re.finditer(rf"(?<![^\W_]){spaced}(?![^\W_])", text)]
    yield from found


def _consents(doc: Doc) -> Iterator[bool]:
    """Of each token whether it is bound to nobody but the writer and those whom they bring: to the person named last
    before it in its sentence."""
    referents = find_referents(doc)
    mine = brought(doc, referents)
    k, owner, sentence = 0, True, -1
    for i, token in enumerate(doc.tokens):
        if token.sentence != sentence:
            sentence, owner = token.sentence, owner if token.sentence else True
            begin, end = doc.sentence_of(i)
            if any(w in lex.FIRST or w in lex.FIRST_PLURAL for w in doc.lowers[begin:end]):
                owner = True
        while k < len(referents) and referents[k].first <= i:
            one = referents[k]
            owner = one.person in mine or one.subject in ("asker", "nobody", "cohort", "speaker")
            k += 1
        yield owner
