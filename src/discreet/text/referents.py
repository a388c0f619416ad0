"""Who a text speaks of: mentions of persons, in order, each linked to one person.

A referent is a place where the text points at somebody: "I", "she", "the patient", "a 45-year-old woman",
"my husband", "Mrs. Ortiz", "adults", "you". Referents of one person share a `person` key. The linking is shallow
on purpose: one open person per gender, a role noun ("the patient") that meets an open person joins it, an
indefinite noun opens a new one, a relative belongs to its owner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from discreet.records import Subject
from discreet.text import gazetteers
from discreet.text import lexicon as lex
from discreet.text.doc import Doc
from discreet.text.naming import name_at

Form = Literal["pronoun", "noun", "kin", "name", "plural", "author"]


@dataclass(frozen=True, slots=True)
class Referent:
    """One pointing at somebody.

    `person` is a key such as "speaker", "p1", "speaker/husband"; `possessive` marks "my", "her", "the patient's",
    which point at an owner and not at the one the clause is about.
    """

    person: str
    subject: Subject
    form: Form
    first: int
    last: int
    gender: str | None = None
    possessive: bool = False


@dataclass
class _Open:
    """The persons that a pronoun or a role noun may still mean."""

    last: str | None = None
    subject: Subject = "third"
    gender: str | None = None
    count: int = 0

    def __post_init__(self) -> None:
        self.by_gender: dict[str, tuple[str, Subject]] = {}
        self.names: dict[str, str] = {}
        self.heads: dict[str, tuple[str, Subject]] = {}

    def fresh(self) -> str:
        self.count += 1
        return f"p{self.count}"

    def note(self, person: str, subject: Subject, gender: str | None) -> None:
        self.last, self.subject, self.gender = person, subject, gender
        if gender:
            self.by_gender[gender] = person, subject

    def pronoun(self, gender: str) -> tuple[str, Subject]:
        """The person that "he" or "she" means: one of that gender, else the last one of unknown gender."""
        if gender in self.by_gender and self.gender != gender:
            person, subject = self.by_gender[gender]
        elif self.last is not None and self.gender in (None, gender):
            person, subject = self.last, self.subject
        else:
            person, subject = self.fresh(), "third"
        self.note(person, subject, gender)
        return person, subject


def find_referents(doc: Doc) -> tuple[Referent, ...]:
    """All referents of a text, in order of their first token."""
    state = _Open()
    found: list[Referent] = []
    i = 0
    while i < len(doc.tokens):
        referent = _at(doc, i, state, found)
        if referent is None:
            i += 1
            continue
        found.append(referent)
        i = max(i + 1, referent.last)
    return tuple(found)


def _at(doc: Doc, i: int, state: _Open, found: list[Referent]) -> Referent | None:
    word = doc.lowers[i]
    if word in lex.FIRST:
        return Referent("speaker", "speaker", "pronoun", i, i + 1, possessive=word in ("my", "mine"))
    if word in lex.FIRST_PLURAL:
        return _we(doc, i, word)
    if word in lex.SECOND:
        return Referent("addressee", "asker", "pronoun", i, i + 1, possessive=word in ("your", "yours"))
    if word in lex.THIRD:
        gender = lex.THIRD[word]
        if _generic_pronoun(doc, i):
            return None
        person, subject = state.pronoun(gender)
        return Referent(person, subject, "pronoun", i, i + 1, gender, possessive=_owns(doc, i, word))
    if word in lex.THEY:
        return _they(doc, i, word, state, found)
    kin = _kin(doc, i, state, found)
    if kin is not None:
        return kin
    if word in lex.PERSON_NOUNS or _is_job(word):
        return _noun(doc, i, state, found)
    if word in lex.PLURAL_NOUNS:
        if i and word in lex.OWNED and (doc.lowers[i - 1] in lex.COUNTS or doc.lowers[i - 1] in lex.DETERMINERS - {"these", "those"}):
            return None
        if i and _predicate(doc, i) and found and found[-1].first >= doc.sentence_of(i)[0]:
            return None
        return Referent("cohort", "cohort", "plural", i, i + 1)
    if doc.tokens[i].is_capitalised:
        return _name(doc, i, state)
    return None


def _they(doc: Doc, i: int, word: str, state: _Open, found: list[Referent]) -> Referent | None:
    """Singular "they": the one just spoken of, where nothing tells their gender and no group intervenes."""
    if state.last is None or state.gender is not None or not found or found[-1].person != state.last:
        return None
    return Referent(state.last, state.subject, "pronoun", i, i + 1, possessive=word == "their")


def _we(doc: Doc, i: int, word: str) -> Referent | None:
    """ "We" points at the speaker of a personal text and at the authors of a report."""
    after = doc.words(i + 1, i + 4)
    if lex.AUTHORIAL.match(after):
        return Referent("authors", "nobody", "author", i, i + 1)
    return Referent("speaker", "speaker", "pronoun", i, i + 1, possessive=word in ("our", "ours"))


def _generic_pronoun(doc: Doc, i: int) -> bool:
    """ "he or she", "his/her": nobody in particular."""
    near = doc.words(i - 2, i + 3)
    return bool(re.search(r"\b(he|his|him|she|her)\s*(or|/)\s*(he|his|him|she|hers?)\b", near))


def _owns(doc: Doc, i: int, word: str) -> bool:
    if word in ("his", "hers"):
        return True
    if word != "her" or i + 1 >= len(doc.tokens):
        return False
    nxt = doc.tokens[i + 1]
    return nxt.text[0].isalnum() and nxt.lower not in lex.FUNCTION


def _kin(doc: Doc, i: int, state: _Open, found: list[Referent]) -> Referent | None:
    """A relative with an owner: "my late husband", "her two sons", "the patient's mother"."""
    word = doc.lowers[i]
    head = lex.KIN.get(word)
    if head is None or not found:
        return None
    owner = found[-1]
    gap = doc.lowers[owner.last : i]
    modifiers = [g for g in gap if g not in lex.AGE_WORDS and not g[0].isdigit()]
    if len(modifiers) > 3 or any(g in lex.STOPS_KIN or not g[0].isalnum() for g in modifiers):
        return None
    if not owner.possessive or owner.subject in ("cohort", "nobody"):
        return None
    person = f"{owner.person}/{head[0]}"
    subject: Subject = "asker" if owner.subject == "asker" else owner.subject if owner.subject == "public" else "third"
    if subject == "third":
        state.note(person, subject, head[1])
    return Referent(person, subject, "kin", i, i + 1, head[1], possessive=_apostrophe(doc, i))


def _apostrophe(doc: Doc, i: int) -> bool:
    return doc.text[doc.tokens[i].end : doc.tokens[i].end + 2].lower() in ("'s", "’s") or doc.lowers[i].endswith("'s")


def _noun(doc: Doc, i: int, state: _Open, found: list[Referent]) -> Referent | None:
    """A singular person noun: particular, or nobody in particular."""
    word = doc.lowers[i]
    gender = lex.PERSON_NOUNS.get(word)
    if i + 1 < len(doc.tokens) and doc.lowers[i + 1] in lex.COMPOUND_AFTER.get(word, ()):
        return None
    if word in ("male", "female") and i + 1 < len(doc.tokens) and _describes(doc.lowers[i + 1]):
        return None
    first = _noun_start(doc, i)
    before = doc.lowers[first:i]
    aged = any(b in ("year", "month", "week", "day", "aged", "yo", "y") for b in before)
    determiner = before[0] if before and before[0] in lex.DETERMINERS else ""
    possessive = _apostrophe(doc, i)
    if determiner in lex.GENERIC_DETERMINERS or (determiner in ("a", "an", "", "one") and _hypothetical(doc, first, i)):
        return Referent("cohort", "cohort", "noun", first, i + 1, gender, possessive)
    said_before = bool(found) and found[-1].first >= doc.sentence_of(i)[0] and found[-1].form not in ("plural", "author")
    if said_before and first and doc.lowers[first - 1] in lex.PREDICATES and determiner in ("a", "an", "the", ""):
        return None
    if said_before and determiner in ("a", "an") and doc.lowers[first - 1] == ",":
        one = next((r for r in reversed(found[-4:]) if not r.possessive), found[-1])
        if _apposes(state, one, gender):
            state.note(one.person, one.subject, gender)
            return Referent(one.person, one.subject, "noun", first, i + 1, gender, possessive)
    if determiner in ("the", "this", "that", "said", "our") and not aged:
        known = state.heads.get(word)
        if known is None and word in lex.OFFICIALS:
            return None
        if (
            known is None
            and state.last is not None
            and word in lex.ANYBODY
            and (gender is None or state.gender in (None, gender))
        ):
            known = state.last, state.subject
        if known is not None:
            state.note(*known, gender)
            state.heads[word] = known
            return Referent(*known, "noun", first, i + 1, gender, possessive)
    if not determiner and not aged and word not in lex.BARE_ROLES:
        return None
    person = state.fresh()
    state.note(person, "third", gender)
    state.heads[word] = person, "third"
    return Referent(person, "third", "noun", first, i + 1, gender, possessive)


def _apposes(state: _Open, before: Referent, gender: str | None) -> bool:
    """"a school bus driver from Yakima, a mother of three, …" speaks of one person."""
    particular = before.subject in ("third", "speaker", "public") and not before.possessive
    return particular and (gender is None or before.gender in (None, gender) and state.gender in (None, gender))


def _predicate(doc: Doc, i: int) -> bool:
    """ "they were students", "both are teachers": said of those before, not of a new group."""
    return doc.lowers[i - 1] in lex.PREDICATES or (
        i > 1 and doc.lowers[i - 1] in ("both", "all") and doc.lowers[i - 2] in lex.PREDICATES
    )


def _is_job(word: str) -> bool:
    job = gazetteers.occupations().get(word)
    return (
        job is not None
        and job.flag == "-"
        and job.canonical not in ("retired", "student", "unemployed", "homemaker", "military")
    )


def _describes(following: str) -> bool:
    """"female" before another noun is no noun itself."""
    return following[0].isalpha() and following not in lex.FUNCTION | lex.PAST_AUX | lex.MODALS


def _noun_start(doc: Doc, i: int) -> int:
    """First token of the noun phrase that ends at `i`: back to its determiner over at most nine modifiers."""
    begin = doc.sentence_of(i)[0]
    j = i
    while j > begin and i - j < 10:
        j -= 1
        word = doc.lowers[j]
        if word in lex.DETERMINERS:
            return j
        if word in lex.PHRASE_BREAKS or not (word[0].isalnum() or word in "-'’/,"):
            return j + 1
    return j


def _hypothetical(doc: Doc, first: int, noun: int) -> bool:
    """ "if a patient …", "a 50-year-old woman should …", "a defendant is entitled to …"."""
    begin, end = doc.sentence_of(noun)
    before = doc.lowers[max(begin, first - 6) : first]
    if any(w in lex.CONDITIONALS for w in before):
        return True
    after = doc.lowers[noun + 1 : min(end, noun + 8)]
    for w in after:
        if w in lex.MODALS:
            return True
        if w in lex.CLAUSE_BREAKS or w in lex.PAST_AUX:
            return False
    return False


def _name(doc: Doc, i: int, state: _Open) -> Referent | None:
    """A person's name: a title and a name, a given name, or a capitalised word that acts like a person."""
    name = name_at(doc, i)
    if name is None:
        return None
    key = state.names.get(name.key)
    subject: Subject = "public" if name.official else "third"
    if key is None:
        opened = name.joins and state.last is not None and state.last not in state.names.values()
        key = state.last if opened and state.last is not None else state.fresh()
        state.names[name.key] = key
    if subject == "third":
        state.note(key, subject, name.gender)
    return Referent(key, subject, "name", i, name.last, name.gender, possessive=_apostrophe(doc, name.last - 1))
