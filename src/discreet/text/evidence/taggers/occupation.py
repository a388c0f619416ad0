"""Occupations and standing: what a person does, did or studies, where a list holds it and the wording binds it.

`occupation_construction.py` reads those that no list holds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.gazetteers import matcher
from discreet.text.evidence.mentions import Context, Mention, taggers
from discreet.text.resources import patterns, rows

_P = patterns("occupations")
# Whether weak, the value ("=": the words themselves), the reason, the pattern.
_PHRASES = [
    (strength == "weak", value, why, re.compile(text))
    for strength, value, why, text in rows("patterns/occupation_phrases", 4)
]
_AGED = frozenset("old aged yo o".split())
_CONDITIONS = lex.CONDITIONALS - {"as", "like", "such", "where", "when", "once"}
_MY = re.compile(r"\bmy\b")
_THE_ONLY = re.compile(r"\bthe (?:only|first|sole|last|youngest|oldest) (?:[\w-]+ ?){0,4}$")
# Before a job whose name is also an ordinary word, and before one that in answers mostly acts in office.
_CLEAR = re.compile(r"\b(?:an?|retired|former|as|was the|is the|became the)\s(?:[\w-]+\s){0,2}$")
_IN_OFFICE = re.compile(r"\b(?:by|with|from|to|see|consult|contact|your|their) (?:an?|the)\s*$")


@taggers.register("occupation")
class OccupationTagger:
    """Listed occupations that are bound to a person by the wording, and set phrases."""

    kinds = ("occupation",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """All mentions; "a retired seamstress" is one fact, the job."""
        found = [*self._listed(context), *self._phrases(context)]
        starts = sorted(m.start for m in found)
        for m in found:
            after = bisect_right(starts, m.end)
            near = after < len(starts) and starts[after] <= m.end + 24
            if m.value not in ("retired", "former") or not near or "." in context.text[m.end : starts[after]]:
                yield m

    def _listed(self, context: Context) -> Iterator[Mention]:
        table = gazetteers.occupations()
        for first, last, key in matcher("occupations").find(context.doc.lowers):
            if self._bound(context, first, last, table[key].flag):
                yield context.mention("occupation", table[key].canonical, first, last, "occupation of a person")

    @staticmethod
    def _phrases(context: Context) -> Iterator[Mention]:
        """Words of trades, study and standing; weak ones only in a personal text."""
        for weak, value, why, pattern in _PHRASES:
            for m in pattern.finditer(context.lower):
                at = next((i for i in range(1, m.re.groups + 1) if m.group(i)), 0)
                told = m.group(at).lower()
                offered = weak and told.startswith("job") and _P["offer"].match(context.text[m.end() :])
                if offered or _P["if"].search(context.text[max(0, m.start() - 16) : m.start()]):
                    continue
                if not weak or context.is_personal or "where" in why or told in ("clients", "patients"):
                    head = "my" if _MY.search(m.group()) else m.group().split()[0]
                    who = "speaker" if head in lex.FIRST or head in lex.FIRST_PLURAL else None
                    yield Mention("occupation", told if value == "=" else value, m.start(at), m.end(at), why, who, weak)

    def _bound(self, context: Context, first: int, last: int, flag: str) -> bool:
        """Whether the wording makes a listed job somebody's."""
        words = context.doc.lowers
        if last - first == 1 and words[first] in lex.NOT_JOBS:
            return False
        begin, end = context.doc.sentence_of(first)
        start = context.doc.tokens[first].start
        before = context.lower[max(context.doc.tokens[begin].start, start - 64) : start]
        following = words[last] if last < end else "."
        if following in gazetteers.organisation_heads() or (following == "'" and flag != "-") or following == "-":
            return False
        if flag == "-" and (self._acts(words, begin, first, last, end) or self._is_head(context, first, last)):
            return True
        if _THE_ONLY.search(before) or self._aged(words[max(begin, first - 8) : first]):
            return True
        if first >= begin + 2 and words[first - 1] in ("a", "an") and words[first - 2] == ",":
            # An apposition to a particular person: "Smith, a sole proprietor,", "my mother, a nurse".
            own = (r for r in context.referents if r.last == first - 2 and r.first >= begin)
            return any(r.subject in ("third", "speaker", "public") for r in own)
        near = words[max(begin, first - 6) : first]
        if not _P["binds"].search(before) or _CONDITIONS & set(near) or lex.GENERIC_DETERMINERS & set(near[-2:]):
            return False
        if flag == "w":
            clear = following != "of" and _CLEAR.search(before) is not None
            return clear or before.endswith(("profession: ", "occupation: "))
        return flag != "r" or _IN_OFFICE.search(before) is None

    @staticmethod
    def _is_head(context: Context, first: int, last: int) -> bool:
        """ "a Somali-born welder who …": the job is the noun by which a particular person is introduced."""
        for r in context.referents:
            if r.first <= first and r.last == last and r.form == "noun":
                determined = context.doc.lowers[r.first] in ("a", "an", "our")
                return r.subject in ("third", "speaker", "public") and determined
        return False

    @staticmethod
    def _acts(words: tuple[str, ...], begin: int, first: int, last: int, end: int) -> bool:
        """ "A retailer agreed to …": an indefinite job noun that did something is a particular person's job."""
        determined = {"a", "an"} & set(words[max(begin, first - 3) : first])
        if not determined or last >= end or lex.PHRASE_BREAKS & set(words[max(begin, first - 2) : first]):
            return False
        return words[last] in lex.PAST_AUX or (words[last].endswith("ed") and len(words[last]) > 4)

    @staticmethod
    def _aged(words: tuple[str, ...]) -> bool:
        """ "a 52-year-old female litigator": an age in the same noun phrase."""
        ages = [i for i, word in enumerate(words) if word in _AGED]
        return bool(ages) and not lex.PHRASE_BREAKS & set(words[ages[-1] + 1 :])
