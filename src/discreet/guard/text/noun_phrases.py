"""What a person noun or a name and the words around it say: where its phrase begins, whether it is a trade, an office,
a story or a rule.

A noun is read as a trade by its form ("luthier", "hedgelayer", "stablehand"), whether or not a list holds it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from discreet.guard.text import lexicon as lex
from discreet.guard.text.doc import Doc
from discreet.guard.text.resources import given_names, patterns, words

_WORDS, _PEOPLE = words("occupations"), words("referents")
_AGENT_NOUN = patterns("occupations")["agent noun"]
GENERIC_PRONOUN = re.compile(r"\b(he|his|him|she|her)\s*(or|/)\s*(he|his|him|she|hers?)\b")
"""Nobody in particular: "he or she", "his/her"."""
_STANDINGS = frozenset(["retired", "student", "unemployed", "homemaker", "military"])
_AFTER_PERSON = lex.PHRASE_BREAKS | lex.MODALS | lex.PAST_AUX
NO_TRADE = _WORDS["not a trade"]
TITLES: dict[str, str | None] = {title: gender for gender in "mf" for title in _PEOPLE[f"titles {gender}"]}
OFFICES = _PEOPLE["offices"]
_NOT_NAMES = _PEOPLE["not names"]
_APPOSED = frozenset(["a", "an", "who", "whose", "age", "aged"])


@lru_cache(maxsize=8192)
def is_agent_noun(word: str) -> bool:
    """Whether a lower-case noun has the form of a trade ("luthier", "hedgelayer") and is none of `NO_TRADE`."""
    if word.endswith(("ator", "over")) and word not in _WORDS["ator"]:
        return False
    if len(word) < 3 or word in NO_TRADE or word in lex.demonyms():
        return False
    listed = word in lex.occupations() and lex.occupations()[word].flag != "r" and word not in lex.NOT_JOBS
    return listed or _AGENT_NOUN.match(word) is not None


def is_job(word: str) -> bool:
    """Whether a word is a job that introduces a person as well as "a man" does."""
    job = lex.occupations().get(word)
    return job is not None and job.flag == "-" and job.canonical not in _STANDINGS


def is_aged(doc: Doc, i: int) -> bool:
    """Whether an age makes a word a person ("a 44-year-old thatcher") or is one ("a 34-year-old from Omaha")."""
    if doc.lowers[i] == "old" and i >= 2 and doc.lowers[i - 1] == "-" and i + 1 < len(doc.tokens):
        after = doc.lowers[i + 1]
        if after == "," or after.endswith("ed") or after in _AFTER_PERSON:
            return True
    if not _is_worker(doc.lowers[i]):
        return False
    phrase = doc.lowers[noun_start(doc, i) : i]
    aged = "old" in phrase[-2:] and phrase[-1] not in lex.PERSON_NOUNS
    return aged and phrase[0] in ("a", "an")


def may_be_aged(word: str) -> bool:
    """Whether a word is a person where an age stands before it, or ends such an age."""
    return word == "old" or _is_worker(word)


def _is_worker(word: str) -> bool:
    return is_agent_noun(word) or word in NO_TRADE


def noun_start(doc: Doc, i: int) -> int:
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


def is_predicate(doc: Doc, i: int) -> bool:
    """ "they were students", "both are teachers": said of those before, not of a new group."""
    at = i - 2 if i > 1 and doc.lowers[i - 1] in ("both", "all") else i - 1
    return doc.lowers[at] in lex.PREDICATES


def is_conditional(doc: Doc, first: int) -> bool:
    """Whether "if", "when" or the like stands shortly before a noun phrase."""
    begin = doc.sentence_of(first)[0]
    return any(w in lex.CONDITIONALS for w in doc.lowers[max(begin, first - 6) : first])


def is_hypothetical(doc: Doc, first: int, noun: int) -> bool:
    """ "if a patient …", "a 50-year-old woman should …", "a defendant is entitled to …"."""
    said = doc.lowers[noun + 1 : min(doc.sentence_of(noun)[1], noun + 14)]
    telling = (w for w in said if w in lex.MODALS or w in lex.CLAUSE_BREAKS or w in lex.PAST_AUX)
    return is_conditional(doc, first) or next(telling, "") in lex.MODALS


def states_a_rule(doc: Doc, noun: int) -> bool:
    """ "A trustee owes …": the indefinite present of rules, and not a story ("a client lives in Texas and works …")."""
    words = doc.lowers[noun + 1 : min(doc.sentence_of(noun)[1], noun + 18)]
    for i, verb in enumerate(words):
        after = words[i + 1 : i + 4]
        if verb in lex.PAST_AUX and verb != "filed":
            return False
        if verb in lex.RULE_VERBS or (verb == "is" and set(after[:2]) & lex.RULE_STATES):
            return True
        if verb == "has" and set(after) & lex.RULE_THINGS:
            return True
        if verb in (";", "."):
            return False
    return False


def has_apostrophe(doc: Doc, i: int) -> bool:
    """Whether token `i` owns what follows: "the patient's"."""
    return doc.text[doc.tokens[i].end : doc.tokens[i].end + 2].lower() in ("'s", "’s") or doc.lowers[i].endswith("'s")


def owns(doc: Doc, i: int, word: str) -> bool:
    """Whether "his" or "her" stands before what is owned."""
    if word in ("his", "hers"):
        return True
    if word != "her" or i + 1 >= len(doc.tokens):
        return False
    following = doc.tokens[i + 1]
    return following.text[0].isalnum() and following.lower not in lex.FUNCTION


@dataclass(frozen=True, slots=True)
class Name:
    """A person's name: its key, the token after it, and what the title tells."""

    key: str = field(repr=False)
    last: int
    gender: str | None
    official: bool
    joins: bool


def name_at(doc: Doc, i: int) -> Name | None:
    """The name that begins at token `i`, or None."""
    word = doc.lowers[i]
    if word in TITLES or word in OFFICES:
        return _titled(doc, i, word)
    if word in _NOT_NAMES or not word.isalpha():
        return None
    last = _name_end(doc, i + 1, i + 4)
    beside = {doc.lowers[last - 1], *doc.lowers[last : last + 1]}
    if beside & _PEOPLE["company words"] or doc.words(i - 2, i).endswith(("v .", "v", "vs")):
        return None
    acts = _acts(doc, last)
    if given_names().get(word) == "-" and word not in lex.places() and (last > i + 1 or acts):
        return Name(doc.lowers[last - 1], last, None, False, joins=False)
    if last == i + 1 and acts and not _listed(word) and _stands_alone(doc, i, last):
        return Name(word, last, None, False, joins=False)
    return None


def _titled(doc: Doc, i: int, word: str) -> Name | None:
    first = i + 2 if doc.lowers[i + 1 : i + 2] == (".",) else i + 1
    last = _name_end(doc, first, first + 3)
    if last == first or not doc.tokens[i].text[0].isupper():
        return None
    official = word in OFFICES
    return Name(doc.lowers[last - 1], last, TITLES.get(word), official, joins=not official)


def _name_end(doc: Doc, first: int, end: int) -> int:
    """The end of the capitalised words from `first` on, in the sentence of the token before."""
    for last in range(first, min(end, len(doc.tokens))):
        token = doc.tokens[last]
        named = token.text[0].isupper() and token.lower.isalpha() and token.lower not in _NOT_NAMES
        if not named or token.sentence != doc.tokens[last - 1].sentence:
            return last
    return max(first, min(end, len(doc.tokens)))


def _listed(word: str) -> bool:
    """Whether a capitalised word is something else than a surname: a place, a people, a term, a job."""
    tables = (lex.places, lex.demonyms, lex.occupations, lex.organisations)
    return any(word in table() for table in tables) or lex.is_domain_term(word)


def _stands_alone(doc: Doc, i: int, last: int) -> bool:
    """A surname alone: not the tail of a longer name, and at the head of a sentence only with more to go on."""
    if i > doc.sentence_of(i)[0]:
        before = doc.tokens[i - 1].text
        return not (before[0].isupper() and before.isalpha() and len(before) > 1)
    if doc.lowers[last] == "," or doc.lowers[last] in _PEOPLE["human verbs"]:
        return True
    # Named again, inside a sentence.
    again = doc.once("words inside sentences", lambda: {
        token.text for before, token in pairwise(doc.tokens) if before.sentence == token.sentence})
    return doc.tokens[i].text in again


def _acts(doc: Doc, i: int) -> bool:
    """Whether what follows a capitalised word is what follows a person: a deed, or an apposition."""
    following = doc.lowers[i : i + 2]
    if not following:
        return False
    return following[0] in _PEOPLE["name verbs"] or (following[0] == "," and following[-1] in _APPOSED)
