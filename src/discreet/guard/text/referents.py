"""Who a text speaks of: mentions of persons, in order, each linked to one person.

A referent is a place where the text points at somebody: "I", "she", "the patient", "a 45-year-old woman",
"my husband", "Mrs. Ortiz", "adults", "you". Referents of one person share a `person` key. The linking is shallow
on purpose: one open person per gender, a role noun ("the patient") that meets an open person joins it, an
indefinite noun opens a new one, a relative belongs to its owner.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from discreet.core.records import Subject
from discreet.guard.text import lexicon as lex
from discreet.guard.text import noun_phrases as phrases
from discreet.guard.text.doc import Doc
from discreet.guard.text.resources import patterns

_NO_HEAD = lex.FUNCTION | lex.PAST_AUX | lex.MODALS
_AUTHORS = patterns("referents")["authors"]
_PRONOUNS = lex.FIRST | lex.FIRST_PLURAL | lex.SECOND | lex.THIRD.keys() | lex.THEY
Form = Literal["pronoun", "noun", "kin", "name", "plural", "author"]


@dataclass(frozen=True, slots=True)
class Referent:
    """One pointing at somebody, whose key is such as "speaker", "p1", "speaker/husband".

    `possessive` marks "my", "her", "the patient's", which point at an owner and not at the one the clause is about.
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

    words: lex.PersonWords
    last: str | None = None
    subject: Subject = "third"
    gender: str | None = None
    count: int = 0
    by_gender: dict[str, tuple[str, Subject]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    heads: dict[str, tuple[str, Subject]] = field(default_factory=dict)

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


def find_referents(doc: Doc, nouns: lex.PersonWords | None = None) -> tuple[Referent, ...]:
    """All referents of a text, in order of their first token, by the person nouns of its domain; asked once."""
    nouns = nouns or lex.person_words()
    return doc.once(("referents", nouns), lambda: _referents(doc, nouns))


def _referents(doc: Doc, nouns: lex.PersonWords) -> tuple[Referent, ...]:
    state = _Open(nouns)
    found: list[Referent] = []
    pointing = {word for word in set(doc.lowers) if _may_point(word, nouns)}
    last = 0
    for i, token in enumerate(doc.tokens):
        if i < last or not (token.lower in pointing or token.is_capitalised):
            continue
        if (referent := _at(doc, i, state, found)) is not None:
            found.append(referent)
            last = referent.last
    return tuple(found)


def _may_point(word: str, nouns: lex.PersonWords) -> bool:
    """Whether a lower-case word points at somebody in some text, without regard to what stands around it."""
    return (word in _PRONOUNS or word in lex.KIN or word in nouns.nouns or word in nouns.plurals or phrases.is_job(word)
            or phrases.may_be_aged(word))


def _at(doc: Doc, i: int, state: _Open, found: list[Referent]) -> Referent | None:
    word = doc.lowers[i]
    if word in _PRONOUNS:
        return _pronoun(doc, i, state, found)
    if word in lex.KIN and (kin := _kin(doc, i, state, found)) is not None:
        return kin
    capitalised = doc.tokens[i].is_capitalised
    titled = capitalised and (word in phrases.OFFICES or word in phrases.TITLES)
    if titled and (named := _name(doc, i, state)) is not None:
        return named
    if word in state.words.nouns or phrases.is_job(word) or phrases.is_aged(doc, i):
        return _noun(doc, i, state, found)
    if word in state.words.plurals:
        return _plural(doc, i, found)
    return _name(doc, i, state) if capitalised else None


def _pronoun(doc: Doc, i: int, state: _Open, found: list[Referent]) -> Referent | None:
    word = doc.lowers[i]
    if word in lex.FIRST:
        return Referent("speaker", "speaker", "pronoun", i, i + 1, possessive=word in ("my", "mine"))
    if word in lex.FIRST_PLURAL:
        # "We" points at the speaker of a personal text and at the authors of a report.
        if _AUTHORS.match(doc.words(i + 1, i + 4)):
            return Referent("authors", "nobody", "author", i, i + 1)
        return Referent("speaker", "speaker", "pronoun", i, i + 1, possessive=word in ("our", "ours"))
    if word in lex.SECOND:
        return Referent("addressee", "asker", "pronoun", i, i + 1, possessive=word in ("your", "yours"))
    if word in lex.THIRD:
        gender = lex.THIRD[word]
        if phrases.GENERIC_PRONOUN.search(doc.words(i - 2, i + 3)):
            return None
        person, subject = _cohort_before(doc, i, found, gender) or state.pronoun(gender)
        return Referent(person, subject, "pronoun", i, i + 1, gender, possessive=phrases.owns(doc, i, word))
    if word in lex.THEY:
        # Singular "they": the one just spoken of, where nothing tells their gender and no group intervenes.
        if state.last is None or state.gender is not None or not found or found[-1].person != state.last:
            return None
        return Referent(state.last, state.subject, "pronoun", i, i + 1, possessive=word == "their")
    return None


def _plural(doc: Doc, i: int, found: list[Referent]) -> Referent | None:
    """A group; not somebody's children, and not what is said of those before ("they were students")."""
    before = doc.lowers[i - 1] if i else ""
    if doc.lowers[i] in lex.OWNED and (before in lex.COUNTS or before in lex.DETERMINERS - {"these", "those"}):
        return None
    if i and phrases.is_predicate(doc, i) and found and found[-1].first >= doc.sentence_of(i)[0]:
        return None
    return Referent("cohort", "cohort", "plural", i, i + 1)


def _cohort_before(doc: Doc, i: int, found: list[Referent], gender: str) -> tuple[str, Subject] | None:
    """ "A widow may claim the benefit of her late husband": her is as much nobody in particular as the widow."""
    begin = doc.sentence_of(i)[0]
    said = [r for r in found[-6:] if r.first >= begin and r.form in ("noun", "name", "kin", "pronoun")]
    heads = [r for r in said if r.gender in (None, gender)]
    if heads and heads[-1].subject == "cohort" and not any(r.subject == "third" for r in said):
        return "cohort", "cohort"
    return None


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
    return Referent(person, subject, "kin", i, i + 1, head[1], possessive=phrases.has_apostrophe(doc, i))


def _noun(doc: Doc, i: int, state: _Open, found: list[Referent]) -> Referent | None:
    """A singular person noun: particular, or nobody in particular."""
    word = doc.lowers[i]
    following = doc.lowers[i + 1] if i + 1 < len(doc.tokens) else ""
    if following in lex.COMPOUND_AFTER.get(word, ()):
        return None
    # "female" before another noun is no noun itself.
    if word in ("male", "female") and following[:1].isalpha() and following not in _NO_HEAD:
        return None
    first = phrases.noun_start(doc, i)
    who = _meant(doc, i, first, state, found)
    possessive = phrases.has_apostrophe(doc, i)
    return Referent(*who, "noun", first, i + 1, lex.PERSON_NOUNS.get(word), possessive) if who is not None else None


def _meant(doc: Doc, i: int, first: int, state: _Open, found: list[Referent]) -> tuple[str, Subject] | None:
    """Whom the noun phrase from `first` to `i` means: the speaker, one already spoken of, nobody, or a new person."""
    word, before = doc.lowers[i], doc.lowers[first:i]
    gender = lex.PERSON_NOUNS.get(word)
    aged = any(b in ("year", "month", "week", "day", "aged", "yo", "y") for b in before)
    determiner = before[0] if before and before[0] in lex.DETERMINERS else ""
    ahead = _as_ahead(doc, first, i)
    if ahead is not None:
        return ahead
    same = _same_as_before(doc, first, determiner, gender, state, found)
    if same is not None:
        if same.subject in ("third", "public"):
            state.note(same.person, same.subject, gender or same.gender)
        return same.person, same.subject
    hypothetical = determiner in ("a", "an", "", "one") and phrases.is_hypothetical(doc, first, i)
    rule = determiner in ("a", "an") and not aged and phrases.states_a_rule(doc, i)
    if hypothetical or rule or determiner in lex.GENERIC_DETERMINERS:
        return "cohort", "cohort"
    if determiner in ("the", "this", "that", "said", "our") and not aged:
        known = state.heads.get(word)
        if known is None and word in lex.OFFICIALS:
            return None
        if known is None and phrases.is_conditional(doc, first):
            return "cohort", "cohort"
        agrees = gender is None or state.gender in (None, gender)
        anybody = word in lex.ANYBODY or word in state.words.own
        if known is None and state.last is not None and anybody and agrees:
            known = state.last, state.subject
        if known is not None:
            state.note(*known, gender)
            state.heads[word] = known
            return known
    if not determiner and not aged and word not in lex.BARE_ROLES and word not in state.words.own:
        return None
    person = state.fresh()
    state.heads[word] = person, "third"
    # "She has a twin sister. She …": a relative in passing is not the one the story goes on about.
    if word not in lex.KIN or state.last is None:
        state.note(person, "third", gender)
    return person, "third"


def _as_ahead(doc: Doc, first: int, noun: int) -> tuple[str, Subject] | None:
    """ "As a 61-year-old welder, I …": the one who speaks, or who is spoken to, comes after."""
    if not first or doc.lowers[first - 1] != "as":
        return None
    said = doc.lowers[noun + 1 : min(doc.sentence_of(noun)[1], noun + 12)]
    word = next((w for w in said if w in lex.FIRST or w in lex.SECOND or w in lex.THIRD), "")
    if word in lex.FIRST:
        return "speaker", "speaker"
    return ("addressee", "asker") if word in lex.SECOND else None


def _same_as_before(
    doc: Doc, first: int, determiner: str, gender: str | None, state: _Open, found: list[Referent]
) -> Referent | None:
    """The person that a predicate ("she is a nurse") or an apposition (", a nurse,") goes on about, or None."""
    if not first or determiner not in ("a", "an", "the", "") or not found:
        return None
    before = doc.lowers[first - 1]
    apposed = before == "," and determiner in ("a", "an")
    contracted = before == "'s" and first > 1 and doc.lowers[first - 2] in (*lex.THIRD, "who")
    if not apposed and not contracted and before not in lex.PREDICATES:
        return None
    begin = doc.sentence_of(first)[0]
    one = next((r for r in reversed(found[-4:]) if not r.possessive and r.first >= begin), None)
    if one is None and not apposed and found[-1].first < begin and state.last is not None:
        # A note goes on about the one it has: "Works as a litigator."
        one = next((r for r in reversed(found[-6:]) if r.person == state.last), None)
    if one is None or one.form in ("plural", "author"):
        return None
    open_gender = one.subject == "speaker" or state.gender in (None, gender)
    agrees = gender is None or (one.gender in (None, gender) and open_gender)
    return one if agrees and not (apposed and one.subject == "cohort") else None


def _name(doc: Doc, i: int, state: _Open) -> Referent | None:
    """A person's name: a title and a name, a given name, or a capitalised word that acts like a person."""
    name = phrases.name_at(doc, i)
    if name is None:
        return None
    if name.key not in state.names:
        opened = state.last if name.joins and state.last not in state.named else None
        state.names[name.key] = opened or state.fresh()
        state.named.add(state.names[name.key])
    person = state.names[name.key]
    subject: Subject = "public" if name.official else "third"
    if subject == "third":
        state.note(person, subject, name.gender)
    owns = phrases.has_apostrophe(doc, name.last - 1)
    return Referent(person, subject, "name", i, name.last, name.gender, possessive=owns)
