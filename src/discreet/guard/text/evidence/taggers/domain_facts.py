"""Facts of a domain, as its folder describes them: conditions and visits, assets and sums, matters and roles.

They do not make a cluster of their own under the default rule; they make a cluster narrower, and count in full
where the policy counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from discreet.guard.domains import Domain
from discreet.guard.text.doc import TOKEN
from discreet.guard.text.evidence.lexicon import Matcher, suffix_kind
from discreet.guard.text.evidence.mentions import Context, Mention, tagger

_SHORTEST_WITH_SUFFIX = 7
"""Letters of a word whose ending may count."""


@cache
def _matcher(domain: Domain) -> Matcher:
    return Matcher(domain.terms, max_tokens=8, tokenise=TOKEN.findall)


@tagger("domain_facts")
def domain_facts(context: Context) -> Iterator[Mention]:
    """Listed terms, words with a known ending, and matches of patterns."""
    doc, domain = context.doc, context.domain
    for first, last, key in _matcher(domain).find(doc.lowers):
        term = domain.terms[key]
        kind = domain.class_of_kind.get(term.kind)
        # A short key is an abbreviation: "MS" is a disease, "Ms." is not.
        spelled = len(key) > 3 or key in domain.lower_case_terms or doc.tokens[first].text.isupper()
        if kind is not None and spelled:
            yield context.mention(kind, term.canonical, first, last, f"{term.kind} term", weak=term.flag == "w")
    for token in doc.tokens if domain.suffixes[0] else ():
        if len(token.lower) >= _SHORTEST_WITH_SUFFIX and token.lower.isalpha():
            kind = domain.class_of_kind.get(suffix_kind(domain, token.lower) or "")
            if kind is not None:
                yield Mention(kind, token.lower, token.start, token.end, domain.suffix_reason)
    for kind, why, pattern in domain.patterns:
        for m in pattern.finditer(context.text):
            value = m[1] if pattern.groups else m.group()
            if value:
                yield Mention(kind, value.lower(), *m.span(), why)
