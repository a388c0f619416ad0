"""Facts of a domain, as its folder describes them: conditions and visits, assets and sums, matters and roles.

They do not make a cluster of their own under the default rule; they make a cluster narrower, and count in full
where the policy counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from discreet.domains import Domain
from discreet.text.doc import TOKEN
from discreet.text.evidence.gazetteers import Matcher, suffix_kind
from discreet.text.evidence.mentions import Context, Mention, taggers

_SHORTEST_WITH_SUFFIX = 7
"""Letters of a word whose ending may count."""


@cache
def _matcher(domain: Domain) -> Matcher:
    return Matcher(domain.terms, max_tokens=8, tokenise=TOKEN.findall)


@taggers.register("domain_facts")
class DomainFacts:
    """The classes that a domain has of its own, from its terms, endings and patterns."""

    kinds: tuple[str, ...] = ()
    domains: tuple[str, ...] | None = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Listed terms, words with a known ending, and matches of patterns."""
        yield from _listed(context)
        if context.domain.suffixes[0]:
            yield from _with_suffix(context)
        for kind, why, pattern in context.domain.patterns:
            for m in pattern.finditer(context.text):
                value = m.group(1) if pattern.groups else m.group()
                if value:
                    yield Mention(kind, value.lower(), m.start(), m.end(), why)


def _listed(context: Context) -> Iterator[Mention]:
    domain = context.domain
    for first, last, key in _matcher(domain).find(context.doc.lowers):
        term = domain.terms[key]
        kind = domain.class_of_kind.get(term.kind)
        # A short key is an abbreviation: "MS" is a disease, "Ms." is not.
        spelled = len(key) > 3 or key in domain.lower_case_terms or context.doc.tokens[first].text.isupper()
        if kind is not None and spelled:
            yield context.mention(kind, term.canonical, first, last, f"{term.kind} term", weak=term.flag == "w")


def _with_suffix(context: Context) -> Iterator[Mention]:
    for token in context.doc.tokens:
        if len(token.lower) >= _SHORTEST_WITH_SUFFIX and token.lower.isalpha():
            kind = context.domain.class_of_kind.get(suffix_kind(context.domain, token.lower) or "")
            if kind is not None:
                yield Mention(kind, token.lower, token.start, token.end, context.domain.suffix_reason)
