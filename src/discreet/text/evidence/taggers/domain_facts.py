"""Domain facts: conditions, treatments, visits; assets, income, transactions; matters, roles, dispositions.

They do not make a cluster of their own under the default rule; they make a cluster narrower, and count in full
under `rule=paper`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from discreet.text.evidence import gazetteers
from discreet.text.evidence.finders import matcher
from discreet.text.evidence.gazetteers import Term
from discreet.text.evidence.mentions import Context, Mention, taggers

_SHORT_WORDS = frozenset(["flu", "car", "van", "job", "ira", "tia", "dui"])
_VISIT = re.compile(
    r"\b(?:presented|was (?:admitted|referred|brought|seen|hospitali[sz]ed|discharged|transferred)|admitted|hospitali[sz]ed|followed up|"
    r"follow-up (?:visit|appointment)|(?:weekly|monthly|biweekly|annual|daily) (?:visits?|appointments?|infusions?|sessions?)|seen (?:at|in) (?:the|our) (?:clinic|office)|"
    r"came to (?:the|our) (?:clinic|hospital|office|emergency)|comes to the (?:emergency|physician|office|clinic)|brought to the (?:emergency|physician|hospital|office))\b", re.I)
_MONEY = r"(?:[$£€₹]\s?\d(?:[\d,.]*\d)?(?:\s?(?:k|m|million|billion|thousand|lakhs?|crores?)\b)?|\d(?:[\d,.]*\d)?\s?(?:k\b|dollars|euros|pounds|lakhs?))"
_INCOME = re.compile(rf"\b(?:earn(?:s|ed|ing)?|mak(?:es?|ing)|made|salary (?:of|is)|income (?:of|is)|paid|gross(?:es|ing)?|takes? home|pension of|bonus of|stipend of)\b(?:\W+\w+){{0,3}}?\W*({_MONEY})", re.I)
_TRANSACTION = re.compile(rf"\b(?:bought|purchased|sold|paid|transferred|withdrew|deposited|borrowed|loaned|lent|invested|donated|gifted|owes?|owed|refinanced|spent|inherited|received|wired|sent)\b(?:\W+[\w'-]+){{0,5}}?\W*({_MONEY})", re.I)


def _matched(context: Context, table: str, entries: Mapping[str, Term], kinds: Mapping[str, str]) -> Iterator[Mention]:
    for first, last, key in matcher(table).find(context.doc.lowers):
        term = entries[key]
        kind = kinds.get(term.kind)
        # A short key is an abbreviation: "MS" is a disease, "Ms." is not.
        spelled = len(key) > 3 or key in _SHORT_WORDS or context.doc.tokens[first].text.isupper()
        if kind is not None and spelled:
            yield context.mention(kind, term.canonical, first, last, f"{term.kind} term", weak=term.flag == "w")


class _Terms:
    """A tagger over one term list."""

    def __init__(self, table: str, domain: str, kinds: Mapping[str, str], entries: Callable[[], Mapping[str, Term]]) -> None:
        self.kinds: tuple[str, ...] = tuple(dict.fromkeys(kinds.values()))
        self.domains: tuple[str, ...] | None = (domain,)
        self._table, self._map, self._entries = table, kinds, entries

    def find(self, context: Context) -> Iterator[Mention]:
        """Listed terms, without those that are ordinary words."""
        return _matched(context, self._table, self._entries(), self._map)


taggers.register("finance_terms")(_Terms(
    "finance_terms", "finance", {"asset": "asset", "debt": "asset", "income": "income", "transaction": "transaction"},
    gazetteers.finance_terms))
taggers.register("legal_terms")(_Terms(
    "legal_terms", "law", {"matter": "matter", "role": "role", "disposition": "disposition"}, gazetteers.legal_terms))


@taggers.register("medical_facts")
class MedicalFacts:
    """Conditions, treatments (drugs included) and visits."""

    kinds = ("condition", "treatment", "visit")
    domains = ("medical",)

    def find(self, context: Context) -> Iterator[Mention]:
        """Listed terms, words with a clinical suffix, and visit phrases."""
        kinds = {"condition": "condition", "treatment": "treatment", "drug": "treatment"}
        yield from _matched(context, "medical_terms", gazetteers.medical_terms(), kinds)
        for token in context.doc.tokens:
            if len(token.lower) > 6 and token.lower.isalpha():
                kind = kinds.get(gazetteers.medical_suffix_class(token.lower) or "")
                if kind is not None:
                    yield Mention(kind, token.lower, token.start, token.end, "clinical suffix")
        for m in _VISIT.finditer(context.text):
            yield Mention("visit", m.group().lower(), m.start(), m.end(), "visit phrase")


@taggers.register("money_facts")
class MoneyFacts:
    """Sums that a person earns or moves."""

    kinds = ("income", "transaction")
    domains = ("finance",)

    def find(self, context: Context) -> Iterator[Mention]:
        """A verb of earning or moving money with a sum."""
        for pattern, kind in ((_INCOME, "income"), (_TRANSACTION, "transaction")):
            for m in pattern.finditer(context.text):
                yield Mention(kind, m.group(1).lower(), m.start(), m.end(), f"{kind} with a sum")
