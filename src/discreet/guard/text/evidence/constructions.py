"""Constructions that bind a word to a person whatever the word is: who the subject is, which noun phrase follows.

Lists know words and ask whether the wording binds them. Constructions go the other way round: the wording ("works as
a …", "lives near …", "belongs to …") says what the next words are, so that a job, a town or a club that no list holds
is read all the same. They must not read it of a drug, a statute or a firm: hence `is_said_of_person`, which walks from
the verb back to its subject.
"""

from __future__ import annotations

from bisect import bisect_left

from discreet.guard.text.doc import Doc
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import Context
from discreet.guard.text.evidence.referents import Referent
from discreet.guard.text.resources import words

_WORDS = words("constructions")
_SKIPPED = _WORDS["skipped"] | {"to"}
_BARE = _WORDS["bare verbs"]
_IF = _WORDS["conditions"]
_JOINS = _WORDS["joins"]
_NO_NAME = _WORDS["not in a name"]
_GOVERNS = _WORDS["governs"]
_TAIL_STOPS = _WORDS["relatives"] | {"is", "was", ";", ":"}
_BULLETS = frozenset(["-", "*", "•", ",", ";", ":", "|", "("])
NEGATED = _WORDS["negations"]
PLACE_JOINS = _WORDS["place joins"]
BODY_JOINS = _WORDS["body joins"]


def referent_over(context: Context, token: int) -> Referent | None:
    """The referent that covers a token, or None."""
    found = context.referents
    at = bisect_left(found, token + 1, key=lambda r: r.first)
    return next((r for r in reversed(found[max(0, at - 2) : at]) if r.first <= token < r.last), None)


def is_particular(referent: Referent) -> bool:
    """Whether a referent can be the subject of a fact: somebody, and not the owner of something."""
    return referent.subject in ("third", "speaker", "public", "asker") and not referent.possessive


def is_said_of_person(context: Context, verb: int) -> bool:
    """Whether the verb at a token has a particular person for its subject, or is a note without one.

    Refuses negations, wishes, conditions, groups, and every subject that is not a person: "the drug works as …",
    "a firm based in …", "she hopes to work as …".
    """
    doc = context.doc
    begin = doc.sentence_of(verb)[0]
    if _IF & set(doc.lowers[max(begin, verb - 10) : verb]):
        return False
    at = verb - 1
    while at >= begin and (doc.lowers[at] in _SKIPPED or doc.lowers[at].endswith("ly")):
        if doc.lowers[at] == "to" and doc.lowers[at - 1] not in _WORDS["before to"]:
            return False
        if doc.lowers[at] in _JOINS:
            break
        at -= 1
    if at < begin:
        return doc.lowers[verb] not in _BARE
    word = doc.lowers[at]
    if word in NEGATED or word in lex.MODALS:
        return False
    if word == "who":
        return _relative(context, at, begin)
    if word in _JOINS:
        return _joined(context, begin, at, verb)
    own = referent_over(context, at)
    if own is None:
        return _has_tail(context, begin, at)
    governed = own.form == "pronoun" and own.first > begin and doc.lowers[own.first - 1] in _GOVERNS
    return is_particular(own) and not governed


def _relative(context: Context, at: int, begin: int) -> bool:
    """Whether the "who" at a token is somebody in particular."""
    doc = context.doc
    before = at - 2 if at - 1 > begin and doc.lowers[at - 1] == "," else at - 1
    if before < begin:
        return False
    own = referent_over(context, before)
    if own is not None:
        return is_particular(own)
    return doc.tokens[before].is_capitalised or _has_tail(context, begin, before)


def _joined(context: Context, begin: int, at: int, verb: int) -> bool:
    """A second verb of one subject ("She wakes early and works as …"), or a note after a mark."""
    doc = context.doc
    if doc.lowers[verb] == "based" and doc.lowers[at] == "," and doc.lowers[verb - 1] == ",":
        return False
    first = doc.once("clause subjects", lambda: _subjects(context)).get(doc.tokens[begin].sentence)
    if first is None or first.first >= at:
        return doc.lowers[at] in (":", ";", "*", "•", "-", "/") and doc.lowers[verb] not in _BARE
    governed = first.first > begin and doc.lowers[first.first - 1] in _GOVERNS
    return is_particular(first) and not governed


def _subjects(context: Context) -> dict[int, Referent]:
    """The first referent of each sentence that a clause can be about."""
    found: dict[int, Referent] = {}
    for r in context.referents:
        if not r.possessive and r.form != "author":
            found.setdefault(context.doc.tokens[r.first].sentence, r)
    return found


def _has_tail(context: Context, begin: int, at: int) -> bool:
    """ "the patient in bed four works as …": a person, and a short phrase that describes them."""
    doc = context.doc
    found = context.referents
    last = bisect_left(found, at + 1, key=lambda r: r.first)
    own = next((r for r in reversed(found[max(0, last - 3) : last]) if r.first >= begin and not r.possessive), None)
    if own is None or not is_particular(own):
        return False
    if own.last > at:
        return False
    opens = doc.lowers[own.last]
    if opens == "," and doc.lowers[at + 1] != ",":
        return False
    return opens in _WORDS["tail"] and not doc.has_any(_TAIL_STOPS, own.last, at + 1)


def name_after(context: Context, first: int, joins: frozenset[str]) -> tuple[int, int] | None:
    """Tokens [first, last) of the capitalised name that begins at `first`, at most eight; None where there is none.

    `joins` are the small words and marks that may stand inside a name of this class.
    """
    doc = context.doc
    end = doc.sentence_of(first)[1] if first < len(doc.tokens) else first
    if first < end and doc.lowers[first] == "the":
        first += 1
    if first >= end or not doc.tokens[first].is_capitalised or doc.lowers[first] in _NO_NAME:
        return None
    last = first + 1
    while last < min(end, first + 8):
        token = doc.tokens[last]
        goes_on = token.text[0].isupper() and (token.lower not in _NO_NAME or token.lower in ("st", "hill"))
        shortened = token.text == "." and doc.lowers[last - 1] in ("st", "mt", "ste", "ft") and last + 1 < end
        if goes_on or shortened:
            last += 1
            continue
        ahead = next((k for k in range(last, min(last + 3, end)) if doc.lowers[k] not in joins), end)
        if token.lower not in joins or ahead >= end or doc.lowers[ahead] in _NO_NAME:
            break
        if not doc.tokens[ahead].text[0].isupper():
            break
        last = ahead + 1
    if last < end and doc.lowers[last] in ("'s", "’s") and doc.lowers[first] in ("st", "saint"):
        last += 1
    return first, last


def is_body(doc: Doc, first: int, last: int) -> bool:
    """Whether a capitalised name is a body: by its last word, the word before "of", or as a saint's church."""
    words = doc.lowers[first:last]
    of_saint = words[0] in ("st", "saint") and words[-1] in ("'s", "’s")
    if of_saint or doc.words(first, last) in lex.organisations():
        return True
    if last - first == 1 or "&" in words:
        return last - first > 1
    ends = [last, *(k for k in range(first + 1, last) if doc.lowers[k] in ("of", "for", "at"))]
    heads = lex.organisation_heads()
    pairs, lasts = (doc.words(k - 2, k) for k in ends), {doc.lowers[k - 1] for k in ends}
    return bool(lasts & heads or lasts & _WORDS["body words"]) or any(pair in heads for pair in pairs)


def has_owner(context: Context, noun: int) -> bool:
    """ "her job as a …", "has work as a …", "Occupation: …": a noun with an owner, or the label of a note."""
    doc = context.doc
    begin = doc.sentence_of(noun)[0]
    before = doc.lowers[max(begin, noun - 5) : noun]
    if set(before) & (NEGATED | _IF | lex.GENERIC_DETERMINERS | {"no"}):
        return False
    if not before or before[-1] in _BULLETS:
        return doc.lowers[noun + 1] in (":", "-", "–", "—", "=") if noun + 1 < len(doc.tokens) else False
    return near_person(context, noun)


def near_person(context: Context, noun: int) -> bool:
    """Whether somebody in particular, or a possessive of theirs, stands in the five tokens before a noun."""
    begin = context.doc.sentence_of(noun)[0]
    near = [referent_over(context, k) for k in range(max(begin, noun - 5), noun)]
    found = [r for r in near if r is not None]
    return bool(found) and found[-1].subject in ("third", "speaker", "public", "asker")
