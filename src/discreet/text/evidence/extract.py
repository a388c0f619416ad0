"""Quasi-identifier evidence: typed, normalised attributes, each bound to the subject it is about."""

from __future__ import annotations

from dataclasses import replace

from discreet.core.errors import DetectorError
from discreet.domains import Domain, DomainLike, load_domain
from discreet.text.doc import Doc
from discreet.text.evidence.bind import bind
from discreet.text.evidence.mentions import Attribute, Context, Mention, classes_of, taggers


def find_evidence(doc: Doc, domain: DomainLike, question: str | None = None) -> tuple[Attribute, ...]:
    """Every attribute that a text states, bound to its subject.

    Parameters
    ----------
    doc : Doc
        The answer.
    domain : Domain, str or Path
        The name of a built-in domain, or the folder of one.
    question : str, optional
        What the user said. Attributes that it already contains are the asker's, and no leaks.

    Returns
    -------
    tuple of Attribute
        In order of their place; one per mention, so a repeated fact appears repeatedly.
    """
    domain = load_domain(domain)
    found = _attributes(doc, domain)
    if question:
        said = {(a.kind, a.value) for a in _attributes(Doc.of(question), domain)}
        found = tuple(
            replace(a, subject="asker", why=f"{a.why}; already said in the question")
            if (a.kind, a.value) in said and a.subject in ("third", "speaker", "asker")
            else a
            for a in found
        )
    return found


def _attributes(doc: Doc, domain: Domain) -> tuple[Attribute, ...]:
    if not doc.tokens:
        return ()
    wanted = classes_of(domain)
    if not len(taggers):
        raise DetectorError("the taggers' registry", "no tagger to load")
    context = Context(doc, domain)
    mentions: set[Mention] = set()
    for _, tagger in taggers.items():
        if tagger.domains is None or domain.name in tagger.domains:
            mentions.update(m for m in tagger.find(context) if m.kind in wanted)
    ordered = sorted(mentions, key=lambda m: (m.start, m.end, m.kind, m.value, m.why, str(m.who), m.weak))
    return bind(context, _without_inner(ordered))


def _without_inner(mentions: list[Mention]) -> list[Mention]:
    """Of mentions of one kind that lie in one another, the longest."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda m: (m.start, -(m.end - m.start), m.weak)):
        alike = (k for k in kept[-12:] if (k.kind, k.who) == (mention.kind, mention.who))
        if not any(k.start <= mention.start and mention.end <= k.end for k in alike):
            kept.append(mention)
    return kept
