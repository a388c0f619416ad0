"""Ethnicity, nationality, religion and native language, where they describe a person and not a thing."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.gazetteers import matcher
from discreet.text.evidence.mentions import Context, Mention, taggers
from discreet.text.resources import patterns, words

_P = patterns("ethnicity")
_ADJECTIVES = words("constructions")["adjectives of a person"]
_CLOSING = (*".,;:!?)", "and", "but", "or", "so", "who", "with", "from", "in", "by", "because", "living")


@taggers.register("ethnicity")
class EthnicityTagger:
    """Demonyms next to a person, citizenship, religion, native language."""

    kinds = ("ethnicity",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Listed words in a person's noun phrase or after "is a", and set phrases."""
        doc = context.doc
        table = gazetteers.demonyms()
        for first, last, key in matcher("demonyms").find(doc.lowers):
            entry = table[key]
            if entry.flag == "w" and entry.kind == "religion" and not doc.tokens[first].text[0].isupper():
                continue
            if self._describes(context, first, last):
                yield context.mention("ethnicity", entry.canonical, first, last, f"{entry.kind} of a person")
        for m in _P["citizen"].finditer(context.text):
            yield Mention("ethnicity", m.group(1).lower(), m.start(1), m.end(1), "citizenship")
        for m in _P["native"].finditer(context.text):
            yield Mention("ethnicity", (m.group(1) or m.group(2)).lower(), m.start(), m.end(), "native language")

    @staticmethod
    def _describes(context: Context, first: int, last: int) -> bool:
        doc = context.doc
        end = doc.sentence_of(first)[1]
        j = last
        while j < end and j - last < 4 and doc.lowers[j] in _ADJECTIVES:
            j += 1
        if j < end and any(doc.lowers[j] in people for people in (lex.PERSON_NOUNS, lex.PLURAL_NOUNS, lex.KIN)):
            return True
        start, stop = doc.tokens[first].start, doc.tokens[last - 1].end
        if _P["after"].match(context.text[stop : stop + 24]):
            return True
        closes = last >= end or doc.lowers[last] in _CLOSING
        return closes and _P["before"].search(context.lower[max(0, start - 28) : start]) is not None
