"""Ethnicity, nationality, religion and native language, where they describe a person and not a thing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.finders import matcher
from discreet.text.evidence.mentions import Context, Mention, taggers

_BEFORE = re.compile(
    r"(?:(?:\b(?:i'?m|am|is|was|were|are|we're|he's|she's|being|identif\w+ as|"
    r"raised|as|born|become|became|devout|practicing|practising|ethnic\w*|descent|heritage|origin|race|native|ancestry|background|half|part|mixed)|,)"
    r"(?: an?| very| not| both| also| half| all)*\s*)$")
_AFTER = re.compile(
    r"^[\s-]*(?:american\b|born\b|descent|heritage|origin|ancestry|background|immigrant|citizen|national\b|native|refugee|family|parents|"
    r"household|speaker|speaking|faith|ethnicity|race|community|expat)", re.I)
_ADJECTIVES = frozenset("old year - young elderly middle aged married single divorced widowed retired obese healthy pregnant "
                        "right handed left previously otherwise well nourished developed non smoking black white american "
                        "hispanic latino latina asian african caucasian female male right-handed unemployed gravida".split())
_CITIZEN = re.compile(r"\b(?:an?|as|not a|permanent) ((?:us|u\.s\.|uk|eu|american|canadian|indian|british|australian) (?:citizen|resident|national)|"
                      r"green card holder|permanent resident|dual citizen|h-?1b\b|nri\b)", re.I)
_NATIVE = re.compile(r"\b(?:native|first|mother) (?:language|tongue) (?:is|was) (\w+)|\b(\w+)[ -]speaking (?:woman|man|patient|client|family|household)", re.I)


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
        for m in _CITIZEN.finditer(context.text):
            yield Mention("ethnicity", m.group(1).lower(), m.start(1), m.end(1), "citizenship")
        for m in _NATIVE.finditer(context.text):
            yield Mention("ethnicity", (m.group(1) or m.group(2)).lower(), m.start(), m.end(), "native language")

    def _describes(self, context: Context, first: int, last: int) -> bool:
        doc = context.doc
        end = doc.sentence_of(first)[1]
        j = last
        while j < end and j - last < 4 and doc.lowers[j] in _ADJECTIVES:
            j += 1
        if j < end and (doc.lowers[j] in lex.PERSON_NOUNS or doc.lowers[j] in lex.PLURAL_NOUNS or doc.lowers[j] in lex.KIN):
            return True
        start, stop = doc.tokens[first].start, doc.tokens[last - 1].end
        if _AFTER.match(context.text[stop:stop + 24]):
            return True
        following = doc.lowers[last] if last < end else "."
        closes = following in ".,;:!?)" or following in ("and", "but", "or", "so", "who", "with", "from", "in", "by", "because", "living")
        return closes and _BEFORE.search(context.lower[max(0, start - 28):start]) is not None
