"""What the words around a person noun say of it: where its phrase begins, whether it is particular or a rule."""

from __future__ import annotations

import re

from discreet.text.doc import Doc
from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence import occupation_morphology as doers


def is_predicate(doc: Doc, i: int) -> bool:
    """ "they were students", "both are teachers": said of those before, not of a new group."""
    return doc.lowers[i - 1] in lex.PREDICATES or (
        i > 1 and doc.lowers[i - 1] in ("both", "all") and doc.lowers[i - 2] in lex.PREDICATES
    )


def is_job(word: str) -> bool:
    """Whether a word is a job that introduces a person as well as "a man" does."""
    job = gazetteers.occupations().get(word)
    return (
        job is not None
        and job.flag == "-"
        and job.canonical not in ("retired", "student", "unemployed", "homemaker", "military")
    )


def is_aged_head(doc: Doc, i: int) -> bool:
    """ "a 34-year-old from Omaha": the age itself stands for the person."""
    if doc.lowers[i] != "old" or i < 2 or doc.lowers[i - 1] != "-" or i + 1 >= len(doc.tokens):
        return False
    after = doc.lowers[i + 1]
    return (
        after in lex.PHRASE_BREAKS
        or after in lex.MODALS
        or after in lex.PAST_AUX
        or after == ","
        or after.endswith("ed")
    )


def is_aged_doer(doc: Doc, i: int) -> bool:
    """ "a 44-year-old thatcher", "a 62-year-old heavy smoker": an age right before it makes any doer a person."""
    if not (doers.is_doer(doc.lowers[i]) or doc.lowers[i] in doers.NO_TRADE):
        return False
    phrase = doc.lowers[noun_start(doc, i) : i]
    aged = "old" in phrase[-2:] and phrase[-1] not in lex.PERSON_NOUNS
    return aged and phrase[0] in ("a", "an")


def describes(following: str) -> bool:
    """ "female" before another noun is no noun itself."""
    return following[0].isalpha() and following not in lex.FUNCTION | lex.PAST_AUX | lex.MODALS


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


def is_hypothetical(doc: Doc, first: int, noun: int) -> bool:
    """ "if a patient …", "a 50-year-old woman should …", "a defendant is entitled to …"."""
    if is_conditional(doc, first):
        return True
    end = doc.sentence_of(noun)[1]
    after = doc.lowers[noun + 1 : min(end, noun + 14)]
    for w in after:
        if w in lex.MODALS:
            return True
        if w in lex.CLAUSE_BREAKS or w in lex.PAST_AUX:
            return False
    return False


def is_conditional(doc: Doc, first: int) -> bool:
    """Whether "if", "when" or the like stands shortly before a noun phrase."""
    begin = doc.sentence_of(first)[0]
    return any(w in lex.CONDITIONALS for w in doc.lowers[max(begin, first - 6) : first])


_RULE_VERBS = frozenset(
    "owes inherits receives pays files claims needs requires qualifies gets bears retains loses acquires waives "
    "forfeits "
    "incurs assumes enjoys breaches commits recovers defaults dies".split()
)
_RULE_STATES = frozenset(
    "entitled liable required bound subject eligible presumed deemed allowed permitted not considered treated "
    "obligated "
    "barred exempt responsible guilty competent free".split()
)
_RULE_THINGS = frozenset(
    "duty right burden obligation claim standing option cause power authority defense remedy interest lien".split()
)


def states_a_rule(doc: Doc, noun: int) -> bool:
    """"A trustee owes …", "a defendant is entitled to …": the indefinite present of rules, not of a story.

    Only verbs that lay down what holds; "a client lives in Texas and works as a nurse" tells of somebody.
    """
    words = doc.lowers[noun + 1 : min(doc.sentence_of(noun)[1], noun + 18)]
    for i, verb in enumerate(words):
        after = words[i + 1 : i + 4]
        if verb in lex.PAST_AUX and verb != "filed":
            return False
        if verb in _RULE_VERBS or (verb == "is" and set(after[:2]) & _RULE_STATES):
            return True
        if verb == "has" and set(after) & _RULE_THINGS:
            return True
        if verb in (";", "."):
            return False
    return False


def has_apostrophe(doc: Doc, i: int) -> bool:
    """Whether token `i` owns what follows: "the patient's"."""
    return doc.text[doc.tokens[i].end : doc.tokens[i].end + 2].lower() in ("'s", "’s") or doc.lowers[i].endswith("'s")


def is_generic_pronoun(doc: Doc, i: int) -> bool:
    """ "he or she", "his/her": nobody in particular."""
    near = doc.words(i - 2, i + 3)
    return bool(re.search(r"\b(he|his|him|she|her)\s*(or|/)\s*(he|his|him|she|hers?)\b", near))


def owns(doc: Doc, i: int, word: str) -> bool:
    """Whether "his" or "her" stands before what is owned."""
    if word in ("his", "hers"):
        return True
    if word != "her" or i + 1 >= len(doc.tokens):
        return False
    nxt = doc.tokens[i + 1]
    return nxt.text[0].isalnum() and nxt.lower not in lex.FUNCTION
