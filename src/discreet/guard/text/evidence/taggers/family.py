"""Family: partners, children, parents, siblings named by relation, marital status, who a person lives with."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache

from discreet.guard.domains import Term
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import Context, Mention, mentions_of, tagger
from discreet.guard.text.resources import patterns, words

_P = patterns("family")
_NUMBERS = {word: str(n) for n, word in enumerate("one two three four five six seven eight".split(), 1)}
_NUMBERS |= {"a": "1", "an": "1"}
_CHILD = {"kid": "child", "boy": "son", "girl": "daughter", "little one": "child", "baby": "child", "toddler": "child",
          "dependent": "child"}
_INFORMAL = {
    "fil": "father-in-law", "mil": "mother-in-law", "sil": "sister-in-law", "bil": "brother-in-law", "hubby": "husband",
    "gf": "girlfriend", "bf": "boyfriend", "roommate": "roommate", "wifes": "wife", "so": "partner",
}
_TERMS = {word: Term(word, "extended", canonical, "-") for word, canonical in _INFORMAL.items()}
_WORDS = words("constructions")
_NO_RELATIVE = _WORDS["generic kin"] | _WORDS["not kin"]
_STOPS = lex.FUNCTION | lex.DETERMINERS | lex.PAST_AUX | lex.THIRD.keys() | {"own", "i", "we", "they"}
# The first group tells the fact: pattern, reason, whether weak.
_PHRASES = (
    ("shares a home", "living arrangement", False), ("in care", "somebody in their care", False),
    ("has", "a relative that somebody has", False), ("has kin", "a relative that somebody has", False),
    ("rears", "somebody whom they bring up", False), ("affairs", "a family affair", True),
)


@tagger("family", "family")
def family(context: Context) -> Iterator[Mention]:
    """Owned relatives, counts of children, status, household: each once; "parents" and "family" alone say nothing."""
    text = context.lower
    living = [m.span() for m in _P["lives"].finditer(text)]
    for mention in _relatives(context):
        # "lives with his daughter" is one fact.
        at = bisect_right(living, (mention.start, len(text))) - 1
        if at < 0 or mention.end > living[at][1]:
            yield mention
    for m in _P["children"].finditer(text):
        head = lex.singular(m[2].removeprefix("minor "))
        value = f"{_NUMBERS.get(m[1], m[1])} {_CHILD.get(head, head)}"
        yield Mention("family", value, m.start(1), m.end(), "number of children or siblings")
    for m in _P["parent of"].finditer(text):
        yield Mention("family", f"{_NUMBERS.get(m[1], m[1])} child", *m.span(), "parenthood")
    for m in _P["status"].finditer(text):
        yield Mention("family", m[m.lastindex or 0], *m.span(m.lastindex or 0), "marital status")
    for m in _P["lives"].finditer(text):
        yield Mention("family", f"lives {m[1]}", *m.span(), "living arrangement")
    yield from mentions_of("family", _P["relationship"].finditer(text), "partnership", group=0, value="partner")
    for m in _P["bare kin"].finditer(text) if context.is_personal else ():
        yield Mention("family", m[1], *m.span(1), "a relative without an owner", "speaker", weak=True)
    for name, why, weak in _PHRASES:
        yield from mentions_of("family", _P[name].finditer(text), why, weak=weak)


@cache
def _terms() -> Mapping[str, Term]:
    return {**lex.family_terms(), **_TERMS}


def _relatives(context: Context) -> Iterator[Mention]:
    """ "my late husband", "the patient's sister": the relative belongs to the owner."""
    lowers = [lex.singular(w) if len(w) > 3 and w.endswith("s") else w for w in context.doc.lowers]
    terms = _terms()
    owning = ("speaker", "third", "public", "asker")
    owners = {r.last: r for r in context.referents if r.possessive and r.subject in owning}
    for r in context.referents:
        owner = owners.get(r.last)
        j = _head(lowers, terms, r.last) if owner is not None else None
        if owner is not None and j is not None:
            term = terms[lowers[j]]
            generic = context.doc.lowers[j] in _NO_RELATIVE or term.canonical in _WORDS["generic kin"]
            if term.kind != "status" and not generic:
                who = None if owner.subject in ("asker", "public") else owner.person
                yield context.mention("family", term.canonical, r.first, j + 1, "relative named by relation", who=who)
        if r.form == "kin" and r.subject == "third":
            value = f"is {r.person.rpartition('/')[2]} of somebody"
            yield context.mention("family", value, r.first, r.last, "is a relative of somebody", who=r.person)


def _head(lowers: list[str], terms: Mapping[str, Term], start: int) -> int | None:
    """The relative after an owner, over an age and at most three modifiers: "her 67-year-old grandmother"."""
    skipped = 0
    for j in range(start, len(lowers)):
        word = lowers[j]
        if word in terms:
            return j
        if word in lex.AGE_WORDS or word[0].isdigit():
            continue
        skipped += 1
        ends = word.endswith("ed") and word not in _WORDS["describing participles"]
        if skipped > 3 or not word[0].isalnum() or word in _STOPS or ends:
            return None
    return None
