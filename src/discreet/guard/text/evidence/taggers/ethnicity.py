"""Ethnicity, nationality, religion and native language, where they describe a person and not a thing."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import Context, Mention, mentions_of, tagger
from discreet.guard.text.resources import patterns, words

_P = patterns("ethnicity")
_ADJECTIVES = words("constructions")["adjectives of a person"]
_CLOSING = (*".,;:!?)", "and", "but", "or", "so", "who", "with", "from", "in", "by", "because", "living")


@tagger("ethnicity", "ethnicity")
def ethnicities(context: Context) -> Iterator[Mention]:
    """Listed words in a person's noun phrase or after "is a", citizenship, and native language."""
    doc = context.doc
    for first, last, key in lex.matcher("demonyms").find(doc.lowers):
        entry = lex.demonyms()[key]
        ordinary = entry.flag == "w" and entry.kind == "religion" and not doc.tokens[first].text[0].isupper()
        if not ordinary and _describes(context, first, last):
            yield context.mention("ethnicity", entry.canonical, first, last, f"{entry.kind} of a person")
    yield from mentions_of("ethnicity", _P["citizen"].finditer(context.text), "citizenship")
    for m in _P["native"].finditer(context.text):
        yield Mention("ethnicity", (m[1] or m[2]).lower(), *m.span(), "native language")


def _describes(context: Context, first: int, last: int) -> bool:
    doc = context.doc
    end = doc.sentence_of(first)[1]
    noun = next((w for w in doc.lowers[last : min(end, last + 5)] if w not in _ADJECTIVES), "")
    if any(noun in people for people in (context.person_words.nouns, context.person_words.plurals, lex.KIN)):
        return True
    start, stop = doc.tokens[first].start, doc.tokens[last - 1].end
    if _P["after"].match(context.text[stop : stop + 24]):
        return True
    closes = last >= end or doc.lowers[last] in _CLOSING
    return closes and _P["before"].search(context.lower[max(0, start - 28) : start]) is not None
