"""Consent: what an answer may repeat of a user's own words.

It covers repetition of what users say of themselves or of somebody whom they bring as theirs ("my mother", "our client
Mrs Ortiz"), and no word that is bound to another person. Whose words those are is decided in `provenance.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from discreet.core.unicode import squeezed
from discreet.guard.text import lexicon as lex
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.doc import Doc, Docs
from discreet.guard.text.record import STEM, fact_words, is_alike, token_words
from discreet.guard.text.referents import Referent, find_referents
from discreet.guard.text.resources import patterns

_REPEATED = ("third", "speaker", "cohort")
"""Subjects of which an attribute may repeat what the user said."""
_POINTING = frozenset("the this that".split())
_GREETS = frozenset("hi hello hey dear good morning afternoon evening it's this , . ! -".split())
"""What may stand before a name in the sentence in which its bearer says who speaks."""
_GIVEN = re.compile(r"(?:[A-Z][\w'’-]+ ){1,2}$")
"""Given names right before a surname."""
_PIECE = re.compile(r"[^\W_]+")
_TITLE = re.compile(r"^(?:mr|mrs|ms|miss|mx|dr|prof)\.? ")
_OF_AGE = frozenset("- year years old".split())
_SPEAKS = (lex.FIRST | lex.FIRST_PLURAL) - {"me", "us"}
"""Words of somebody who speaks of themselves: "tell me who was here" does not."""


def brought(doc: Doc, referents: Sequence[Referent]) -> frozenset[str]:
    """The persons of a user's text who are its writer, or whom the writer brings as theirs: a relative, "my patient",
    "one of our tenants", and whom the text describes once it has brought somebody."""
    mine = {"speaker"}
    for number, one in enumerate(referents):
        if one.subject in ("cohort", "nobody", "asker") or one.person in mine:
            continue
        if one.subject == "speaker" or _is_brought(doc, referents, number, mine):
            mine.add(one.person)
    return frozenset(mine)


def _is_brought(doc: Doc, referents: Sequence[Referent], number: int, mine: set[str]) -> bool:
    one, cues = referents[number], patterns("requests")
    if one.form == "pronoun":
        return False
    begin, end = doc.sentence_of(one.first)
    opening = doc.lowers[one.first]
    before = doc.words(max(begin, one.first - 8), one.first)
    after = " " + doc.words(one.last, min(end, one.last + 6))
    if one.person.startswith("speaker/") or opening in ("my", "our") or cues["is mine"].search(after):
        return True
    if cues["act for"].search(before) or cues["of mine"].search(after):
        return True
    if one.form == "name":
        last = referents[number - 1] if number else None
        apposed = (last is not None and last.person in mine and last.form in ("noun", "kin")
                   and one.first - last.last < 2)
        return apposed or cues["named"].search(before) is not None
    if cues["bring"].search(before):
        return True
    # "one of our employees, a machinist": the noun goes on about whom the sentence has brought.
    pointed = opening in _POINTING
    said = [r for r in referents[:number] if r.person in mine and r.first >= begin]
    return not pointed and (cues["one of ours"].search(before) is not None or any(r.form == "kin" for r in said))


class Spoken:
    """A text that somebody may have said, with whom it speaks of, parsed once; `docs` holds what is parsed."""

    def __init__(self, text: str, docs: Docs | None = None) -> None:
        self.text = text
        self._docs = Docs() if docs is None else docs

    @property
    def doc(self) -> Doc:
        """The rendered text."""
        return self._docs[self.text]

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words of facts."""
        return frozenset(fact_words(self.text))

    @cached_property
    def referents(self) -> tuple[Referent, ...]:
        """Whom it points at."""
        return find_referents(self.doc)

    @cached_property
    def mine(self) -> frozenset[str]:
        """Its writer, and whom the writer brings as theirs."""
        return brought(self.doc, self.referents)


class OwnWords:
    """What a user says of themselves and of those whom they bring, in some texts of theirs."""

    def __init__(self, texts: Iterable[Spoken], *, of_theirs: bool = False) -> None:
        self._texts, self._of_theirs = tuple(texts), of_theirs

    @cached_property
    def _read(self) -> tuple[tuple[str, Doc, tuple[bool, ...]], ...]:
        """Of each text its lower-case words as rendered, and which tokens are bound to no other person."""
        return tuple((one.doc.text.lower(), one.doc, tuple(self._consents(one))) for one in self._texts)

    def _consents(self, spoken: Spoken) -> Iterator[bool]:
        return (True for _ in spoken.doc.tokens) if self._of_theirs else _consents(spoken)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that may be repeated, in the forms in which they are compared."""
        found: set[str] = set()
        for _, doc, own in self._read:
            mine = " ".join(t.text for t, consents in zip(doc.tokens, own, strict=True) if consents)
            found.update(fact_words(mine.replace(" - ", "-")))
        return frozenset(found)

    @cached_property
    def brings(self) -> bool:
        """Whether the user speaks of somebody whom they bring."""
        return self._of_theirs or any(len(one.mine) > 1 for one in self._texts)

    @cached_property
    def ages(self) -> frozenset[str]:
        """Numbers that are no count of anything else."""
        found: set[str] = set()
        for _, doc, own in self._read:
            for token, mine in zip(doc.tokens, own, strict=True):
                after = doc.text[token.end : token.end + 30].lower()
                if mine and not patterns("requests")["count not age"].search(after):
                    found.update(token_words(token.text))
        return frozenset(found)

    def tell(self, kind: str, value: str) -> bool:
        """Whether an attribute with these words repeats what the user said: all of its telling words, of more than two
        words two thirds."""
        told = set(fact_words(value))
        known = self.ages if kind == "age" else self.words
        exact = kind in ("place", "age", "affiliation")
        hits = sum(word in known or (not exact and self._holds_form_of(word)) for word in told)
        return bool(told) and (hits == len(told) or (len(told) > 2 and 3 * hits >= 2 * len(told)))

    @cached_property
    def _stems(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for word in self.words:
            found.setdefault(word[:STEM], []).append(word)
        return found

    def _holds_form_of(self, word: str) -> bool:
        return any(is_alike(word, other) for other in self._stems.get(word[:STEM], ()))

    def gave(self, kind: str, value: str, *, anybody: bool = False) -> bool:
        """Whether the user gave an identifier as theirs, or that of somebody whom they bring; with `anybody` whether
        they gave it at all."""
        wanted = value.lower().strip()
        if kind == "person_name":
            wanted = _TITLE.sub("", wanted)
        if not squeezed(wanted) or squeezed(wanted)[:STEM] not in self._letters:
            return False
        return any(anybody or self._is_theirs(kind, wanted, start, *one)
                   for one in self._read for start in _places(one[0], wanted))

    @cached_property
    def _letters(self) -> str:
        return " ".join(squeezed(lower) for lower, _, _ in self._read)

    @staticmethod
    def _is_theirs(kind: str, wanted: str, start: int, lower: str, doc: Doc, own: tuple[bool, ...]) -> bool:
        """Whether the words around an identifier, at `start` of a lower-case text, say whose it is."""
        cues = patterns("requests")
        token = doc.token_at(start)
        begin, end = doc.sentence_of(token)
        first = set(doc.lowers[begin:end]) & (lex.FIRST | lex.FIRST_PLURAL)
        after = " " + lower[start + len(wanted) : start + len(wanted) + 40].strip()
        # Of "my aunt Clem Baptiste" the surname alone may have been asked for.
        given = _GIVEN.search(doc.text, doc.tokens[begin].start, start) if kind == "person_name" else None
        starts = (start, start if given is None else given.start())
        if any(cues["named"].search(lower[max(0, one - 60) : one]) for one in starts) or cues["is mine"].search(after):
            return True
        if after.startswith(" here") and _GREETS.issuperset(doc.lowers[begin:token]):  # "Hi, Tom Reed here."
            return True
        return kind != "person_name" and own[token] and bool(first)


def repeated(attributes: Iterable[Attribute], doc: Doc, own: OwnWords) -> tuple[Attribute, ...]:
    """Attributes of a text, those that repeat what the user said of themselves or of somebody whom they bring as the
    asker's.

    Those read of a group too ("As a litigator from Omaha, you can …"): else the reader's count would speak of them.
    """
    return tuple(replace(a, subject="asker", why=f"{a.why}; already said by the user") if _repeats(a, doc, own) else a
                 for a in attributes)


def _shown(a: Attribute, doc: Doc) -> str:
    return doc.prepared.original[a.start : a.end]  # The value of a rule is canonical: "Delft|South Holland|NL".


def _repeats(a: Attribute, doc: Doc, own: OwnWords) -> bool:
    if a.subject not in _REPEATED or not (own.tell(a.kind, _shown(a, doc)) or own.tell(a.kind, a.value)):
        return False
    return own.brings or _may_be_asker(doc, *doc.sentence_of(doc.token_at_original(a.start)))


def without_repeated(doc: Doc, own: OwnWords) -> tuple[str, int]:
    """A text in which each word that only repeats the user's own is an ellipsis, and how many are; offsets stay.

    So the learned reader, which counts what a whole text tells, counts what the answer adds.
    """
    if not own.words:
        return doc.text, 0
    parts, at, found = [], 0, 0
    for first, last in doc.sentences:
        if not (own.brings or _may_be_asker(doc, first, last)):
            continue
        said = False
        for token in doc.tokens[first:last]:
            words = token_words(token.text)
            known = own.ages if token.text.isdigit() else own.words
            # "52-year-old" goes with its number.
            said = all(word in known for word in words) if words else said and token.lower in _OF_AGE
            if said:
                parts += [doc.text[at : token.start], "…".ljust(token.end - token.start)]
                at = token.end
                found += len(words)
    return "".join([*parts, doc.text[at:]]), found


def _may_be_asker(doc: Doc, first: int, last: int) -> bool:
    """Whether a sentence, tokens [first, last), may speak of the one who asks: of "you", or of no particular person."""
    return doc.once(("may be asker", first), lambda: _speaks_to_asker(doc.lowers[first:last]))


def _speaks_to_asker(words: Sequence[str]) -> bool:
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
        spaced = r"[\W_]{0,3}".join(map(re.escape, _PIECE.findall(wanted)))
        found = [m.start() for m in re.finditer(rf"(?<![^\W_]){spaced}(?![^\W_])", text)]
    yield from found


def _consents(spoken: Spoken) -> Iterator[bool]:
    """Of each token whether it is bound to nobody but the writer and those whom they bring: to the person named last
    before it in its sentence. A text that brings somebody speaks of theirs, but for whom it points at or names."""
    doc, mine = spoken.doc, spoken.mine
    referents = [r for r in spoken.referents if not _is_kin(doc, r)]
    speaks = not _SPEAKS.isdisjoint(doc.lowers)
    brings = len(mine) > 1 or any(w in lex.RELATIVES for w in doc.lowers)
    if not (speaks or brings):
        yield from (False for _ in doc.tokens)
        return
    k, owner, sentence = 0, True, -1
    for i, token in enumerate(doc.tokens):
        if token.sentence != sentence:
            sentence = token.sentence
            begin, end = doc.sentence_of(i)
            words = doc.lowers[begin:end]
            owner = owner or any(w in lex.FIRST or w in lex.FIRST_PLURAL or w in lex.RELATIVES for w in words)
        while k < len(referents) and referents[k].first <= i:
            one = referents[k]
            pointed = one.form == "name" or doc.lowers[one.first] in _POINTING
            # "Retired teacher, 67, in Leeds.": a note of one who speaks is about themselves.
            noted = speaks and one.form == "noun" and doc.lowers[one.first] not in lex.DETERMINERS
            owner = (one.person in mine or one.subject in ("asker", "nobody", "cohort", "speaker")
                     or (brings and not pointed) or (noted and owner))
            k += 1
        yield owner


def _is_kin(doc: Doc, one: Referent) -> bool:
    """Whether a noun is a relative without an owner ("Gran says", "brother's 52"), who is the writer's."""
    word = doc.lowers[one.last - 1]
    return one.form == "noun" and word in lex.KIN and doc.lowers[one.first] not in lex.DETERMINERS
