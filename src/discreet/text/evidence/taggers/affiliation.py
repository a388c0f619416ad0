"""Affiliation: a named employer, school, institution, club or church that a person belongs to.

Read two ways: names that a list or an organisation's word gives away, with a tie to a person in the clause; and any
capitalised name in a construction that makes somebody belong to it ("works at …", "a member of …").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import constructions as cons
from discreet.text.evidence import gazetteers
from discreet.text.evidence.gazetteers import matcher
from discreet.text.evidence.mentions import Context, Mention, taggers
from discreet.text.resources import patterns

_P = patterns("affiliation")
_POSTS = ("job", "position", "post", "shift", "shifts", "postdoc", "post-doc")
_COPULAS = ("is", "was", "am", "are", "'s", "been")


@taggers.register("affiliation")
class AffiliationTagger:
    """Named organisations that a person works for, studies at or belongs to."""

    kinds = ("affiliation",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Names of organisations with a tie in the clause, and names after verbs and nouns of belonging."""
        yield from self._listed(context)
        yield from self._constructed(context)

    @staticmethod
    def _listed(context: Context) -> Iterator[Mention]:
        text, tokens = context.text, context.doc.tokens
        spans: dict[int, tuple[int, str]] = {}
        for first, last, key in matcher("organisations").find(context.doc.lowers):
            start = tokens[first].start
            before = text[max(0, start - 32) : start]
            clear = gazetteers.organisations()[key].flag != "w" or _P["employed"].search(before)
            if clear and text[start].isupper():
                spans[start] = tokens[last - 1].end, key
        heads = gazetteers.organisation_heads()
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

    def _constructed(self, context: Context) -> Iterator[Mention]:
        doc = context.doc
        for m in _P["belongs"].finditer(context.lower):
            first = doc.token_at(m.end())
            if not self._may_open(context, first, m.end()):
                continue
            found = self._name(context, first, m)
            if found is None:
                continue
            verb = doc.token_at(m.start())
            if doc.tokens[verb].sentence == doc.tokens[found[0]].sentence and self._is_tied(context, m, verb):
                yield context.mention("affiliation", doc.words(*found), *found, "body that a person belongs to")

    @staticmethod
    def _may_open(context: Context, first: int, offset: int) -> bool:
        doc = context.doc
        at = first + 1 if doc.lowers[first] in ("the", "a") and first + 1 < len(doc.tokens) else first
        return doc.tokens[first].start >= offset - 1 and doc.tokens[at].text[0].isupper()

    @staticmethod
    def _name(context: Context, first: int, m: re.Match[str]) -> tuple[int, int] | None:
        """A name with the word of a body, or any name of things where the tie says employment or membership."""
        doc = context.doc
        found = cons.name_after(context, first, cons.BODY_JOINS)
        if found is None:
            return None
        first, last = found
        cue = m.group("verb") or m.group("part") or m.group("joins")
        employs = _P["one word"].match(cue) is not None
        places, given = gazetteers.places(), gazetteers.given_names()
        if cons.is_body(doc, first, last) and doc.words(first, last) not in places:
            return found
        if "and" in doc.lowers[first:last]:
            second = first + doc.lowers[first:last].index("and") + 1
            partner = doc.lowers[second]
            if employs and m.group("prep") in ("for", "at", "by") and partner not in given and partner not in places:
                return found
            last = second - 1
        key, words = doc.words(first, last), doc.lowers[first:last]
        if any(key in table for table in (places, gazetteers.medical_terms(), gazetteers.occupations())):
            return None
        if key in gazetteers.demonyms() or any(words[0] in t for t in (given, gazetteers.demonyms(), places)):
            return None
        if m.group("prep") in ("in", "on", "from", "under") or _P["needs a body"].match(cue) or "'s" in words:
            return None
        if last - first == 1 and (not employs or doc.tokens[first].text.isupper() or m.group("prep") == "with"):
            return None
        return None if all(t.text.isupper() for t in doc.tokens[first:last]) else (first, last)

    @staticmethod
    def _is_tied(context: Context, m: re.Match[str], verb: int) -> bool:
        doc = context.doc
        if m.group("verb") or m.group("joins"):
            if (m.group("joins") or "").endswith((" is", " was", ":")) or m.group("verb") in _POSTS:
                return cons.has_owner(context, verb)
            return cons.is_said_of_person(context, verb)
        copula = next((k for k in range(verb - 1, max(0, verb - 6), -1) if doc.lowers[k] in _COPULAS), None)
        if copula is not None and doc.tokens[copula].sentence == doc.tokens[verb].sentence:
            return cons.is_said_of_person(context, copula)
        own = cons.referent_over(context, verb)
        return cons.is_particular(own) if own is not None else cons.near_person(context, verb)
