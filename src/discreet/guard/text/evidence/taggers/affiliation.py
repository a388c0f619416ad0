"""Affiliation: a named employer, school, institution, club or church that a person belongs to.

Read two ways: names that a list or an organisation's word gives away, with a tie to a person in the clause; and any
capitalised name in a construction that makes somebody belong to it ("works at …", "a member of …").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.guard.domains import load_domain
from discreet.guard.text.evidence import constructions as cons
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import Context, Mention, tagger
from discreet.guard.text.resources import patterns

_P = patterns("affiliation")
_POSTS = ("job", "position", "post", "shift", "shifts", "postdoc", "post-doc")
_COPULAS = ("is", "was", "am", "are", "'s", "been")


@tagger("affiliation", "affiliation")
def affiliations(context: Context) -> Iterator[Mention]:
    """Names of organisations with a tie in the clause, and names after verbs and nouns of belonging."""
    yield from _listed(context)
    doc = context.doc
    for m in _P["belongs"].finditer(context.lower):
        first = doc.token_at(m.end())
        at = first + 1 if doc.lowers[first] in ("the", "a") and first + 1 < len(doc.tokens) else first
        if doc.tokens[first].start < m.end() - 1 or not doc.tokens[at].text[0].isupper():
            continue
        found, verb = _name(context, first, m), doc.token_at(m.start())
        if found and doc.tokens[verb].sentence == doc.tokens[found[0]].sentence and _is_tied(context, m, verb):
            yield context.mention("affiliation", doc.words(*found), *found, "body that a person belongs to")


def _listed(context: Context) -> Iterator[Mention]:
    text, tokens = context.text, context.doc.tokens
    spans: dict[int, tuple[int, str]] = {}
    for first, last, key in lex.matcher("organisations").find(context.doc.lowers):
        start = tokens[first].start
        clear = lex.organisations()[key].flag != "w" or _P["employed"].search(text[max(0, start - 32) : start])
        if clear and text[start].isupper():
            spans[start] = tokens[last - 1].end, key
    heads = lex.organisation_heads()
    for m in _P["head at end"].finditer(text):
        words = m.group().split()
        if len(words) > 1 and (words[-1].lower().strip(".,") in heads or " ".join(words[-2:]).lower() in heads):
            spans.setdefault(m.start(), (m.end(), m.group().lower()))
    for m in _P["head before of"].finditer(text):
        spans[m.start()] = m.end(), m.group().lower()
    somebody = any(r.subject in ("third", "speaker", "asker", "public") for r in context.referents)
    for start, (end, key) in sorted(spans.items()) if somebody else ():
        sentence = context.doc.sentence_of(context.doc.token_at(start))[0]
        if _P["tie"].search(text[max(tokens[sentence].start, start - 80) : start]):
            yield Mention("affiliation", key, start, end, "named organisation of a person")


def _name(context: Context, first: int, m: re.Match[str]) -> tuple[int, int] | None:
    """A name with the word of a body, or any name of things where the tie says employment or membership."""
    doc = context.doc
    found = cons.name_after(context, first, cons.BODY_JOINS)
    if found is None:
        return None
    first, last = found
    cue = m["verb"] or m["part"] or m["joins"]
    employs = _P["one word"].match(cue) is not None
    places, given, peoples = lex.places(), lex.given_names(), lex.demonyms()
    if cons.is_body(doc, first, last) and doc.words(first, last) not in places:
        return found
    if "and" in doc.lowers[first:last]:
        second = first + doc.lowers[first:last].index("and") + 1
        partner = doc.lowers[second]
        if employs and m["prep"] in ("for", "at", "by") and partner not in given and partner not in places:
            return found
        last = second - 1
    key, words = doc.words(first, last), doc.lowers[first:last]
    if any(key in table for table in (places, load_domain("medical").terms, lex.occupations(), peoples)):
        return None
    if any(words[0] in table for table in (given, peoples, places)):
        return None
    if m["prep"] in ("in", "on", "from", "under") or _P["needs a body"].match(cue) or "'s" in words:
        return None
    if last - first == 1 and (not employs or m["prep"] == "with"):
        return None
    return None if all(t.text.isupper() for t in doc.tokens[first:last]) else (first, last)


def _is_tied(context: Context, m: re.Match[str], verb: int) -> bool:
    doc = context.doc
    if m["verb"] or m["joins"]:
        if (m["joins"] or "").endswith((" is", " was", ":")) or m["verb"] in _POSTS:
            return cons.has_owner(context, verb)
        return cons.is_said_of_person(context, verb)
    copula = next((k for k in range(verb - 1, max(0, verb - 6), -1) if doc.lowers[k] in _COPULAS), None)
    if copula is not None and doc.tokens[copula].sentence == doc.tokens[verb].sentence:
        return cons.is_said_of_person(context, copula)
    own = cons.referent_over(context, verb)
    return cons.is_particular(own) if own is not None else cons.near_person(context, verb)
