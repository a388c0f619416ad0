"""Family: partners, children, parents, siblings named by relation, marital status, who a person lives with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from discreet.domains import Term
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.gazetteers import family_terms, singular, with_singulars
from discreet.text.evidence.mentions import Context, Mention, taggers
from discreet.text.resources import patterns, words

_P = patterns("family")
_NUMBERS = {word: str(n) for n, word in enumerate("one two three four five six seven eight".split(), 1)}
_NUMBERS |= {"a": "1", "an": "1"}
_CHILD = {
    "kid": "child", "boy": "son", "girl": "daughter", "little one": "child", "baby": "child", "toddler": "child",
    "dependent": "child",
}  # fmt: skip
_INFORMAL = {
    "fil": "father-in-law", "mil": "mother-in-law", "sil": "sister-in-law", "bil": "brother-in-law", "hubby": "husband",
    "gf": "girlfriend", "bf": "boyfriend", "roommate": "roommate", "wifes": "wife", "so": "partner",
}  # fmt: skip
_TERMS = {word: Term(word, "extended", canonical, "-") for word, canonical in _INFORMAL.items()}
_WORDS = words("constructions")
_NO_RELATIVE = _WORDS["generic kin"] | _WORDS["not kin"]
_STOPS = lex.FUNCTION | lex.DETERMINERS | lex.PAST_AUX | lex.THIRD.keys() | {"own", "i", "we", "they"}
# The whole match tells the fact: pattern, reason.
_CONSTRUCTIONS = (
    ("shares a home", "living arrangement"), ("in care", "somebody in their care"),
    ("has kin", "a relative that somebody has"), ("rears", "somebody whom they bring up"),
)  # fmt: skip


@taggers.register("family")
class FamilyTagger:
    """Owned relatives, counts of children, marital status, living arrangement; listed kin, and kin by construction."""

    kinds = ("family",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Each relation once per mention; "parents" and "family" alone say nothing."""
        text = context.lower
        living = [m.span() for m in _P["lives"].finditer(text)]
        for mention in self._relatives(context):
            # "lives with his daughter" is one fact.
            if not any(start <= mention.start and mention.end <= end for start, end in living):
                yield mention
        yield from self._status(text)
        for m in _P["bare kin"].finditer(text) if context.is_personal else ():
            why = "a relative without an owner"
            yield Mention("family", m.group(1), m.start(1), m.end(1), why, "speaker", weak=True)
        for name, why in _CONSTRUCTIONS:
            for m in _P[name].finditer(text):
                yield Mention("family", " ".join(m.group(1).split()), m.start(1), m.end(1), why)

    @staticmethod
    def _status(text: str) -> Iterator[Mention]:
        """Counts, marital status, household and affairs, from what the lower-case text says of anybody."""
        for m in _P["children"].finditer(text):
            head = singular(m.group(2).removeprefix("minor "))
            value = f"{_NUMBERS.get(m.group(1), m.group(1))} {_CHILD.get(head, head)}"
            yield Mention("family", value, m.start(1), m.end(), "number of children or siblings")
        for m in _P["parent of"].finditer(text):
            value = f"{_NUMBERS.get(m.group(1), m.group(1))} child"
            yield Mention("family", value, m.start(), m.end(), "parenthood")
        for m in _P["status"].finditer(text):
            at = next(i for i in (1, 2, 3) if m.group(i))
            yield Mention("family", m.group(at), m.start(at), m.end(at), "marital status")
        for m in _P["lives"].finditer(text):
            yield Mention("family", f"lives {m.group(1).lower()}", m.start(), m.end(), "living arrangement")
        for m in _P["has"].finditer(text):
            yield Mention("family", m.group(1), m.start(1), m.end(), "a relative that somebody has")
        for m in _P["affairs"].finditer(text):
            yield Mention("family", m.group(1), m.start(1), m.end(1), "a family affair", weak=True)
        for m in _P["relationship"].finditer(text):
            yield Mention("family", "partner", m.start(), m.end(), "partnership")

    def _relatives(self, context: Context) -> Iterator[Mention]:
        """ "my late husband", "the patient's sister": the relative belongs to the owner."""
        lowers = with_singulars(context.doc.lowers)
        terms: Mapping[str, Term] = {**family_terms(), **_TERMS}
        owning = ("speaker", "third", "public", "asker")
        owners = {r.last: r for r in context.referents if r.possessive and r.subject in owning}
        for r in context.referents:
            owner = owners.get(r.last)
            j = self._head(lowers, terms, r.last) if owner is not None else None
            if owner is None or j is None:
                continue
            term = terms[lowers[j]]
            generic = context.doc.lowers[j] in _NO_RELATIVE or term.canonical in _WORDS["generic kin"]
            if term.kind == "status" or generic:
                continue
            who = None if owner.subject in ("asker", "public") else owner.person
            yield context.mention("family", term.canonical, r.first, j + 1, "relative named by relation", who=who)
        for r in context.referents:
            if r.form == "kin" and r.subject == "third":
                value = f"is {r.person.rpartition('/')[2]} of somebody"
                yield context.mention("family", value, r.first, r.last, "is a relative of somebody", who=r.person)

    @staticmethod
    def _head(lowers: tuple[str, ...], terms: Mapping[str, Term], start: int) -> int | None:
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
