"""Where a text turns from the one it is about to somebody else: "Another patient …", "The brother of the patient …".

A pure function of the text. Rules and reader link whoever is called alike, which is right where a doubt must count as a
leak; a record that claims its classes of one person is believed only where no wording says that there are two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from discreet.guard.text import lexicon as lex

MAIN = "main"
"""The one that a text is about."""
# Not "so" for a significant other, "mil" and the like.
_KIN = "|".join(sorted((re.escape(w) for w in lex.KIN if len(w) > 3 or w in ("mom", "mum", "dad", "son", "kid")),
                       key=len, reverse=True))
_PEOPLE = ("person|man|woman|patient|client|customer|claimant|applicant|caller|resident|student|pupil|case|individual|"
           "borrower|member|visitor|participant|party|one|guy|lady|gentleman|boy|girl|child|adult")
_COMPANION = ("neighbou?r|colleague|co-?worker|friend|room-?mate|flat-?mate|house-?mate|stranger|carer|caregiver|"
              "companion|boss|relative|visitor|guardian|landlord|landlady|lodger|bystander|witness|partner|cousin|"
              "in-law|acquaintance|classmate|godparent|interpreter|escort|driver")
_OTHER = r"another|(?:a|some|any|one|the)\s+(?:other|different|second|third|fourth|next)"
_NEAR = (r"in\s+the\s+(?:next|other|opposite|adjoining)|next\s+door|across\s+the|opposite|"
         r"who\s+(?:came|comes|went|goes)\s+along")
_CLAUSE = re.compile(
    r"[.!?][\"”’)]*\s+|\n+(?:[-*•]\s*)?|[;:]\s+|\s[—–-]+\s|—|"
    r",\s+(?:and|but|while|whereas|though|although|yet)\s+|\s+(?:while|whereas)\s+", re.I)
_SENTENCE = re.compile(r"[.!?\n]")
_LEAD = r"(?:as\s+for\s+|meanwhile,?\s+|by\s+contrast,?\s+|in\s+contrast,?\s+|also,?\s+|and\s+|but\s+|yet\s+)?"
_VERB = (r"(?:,|['’]s\b|(?:is|was|has|had|does|did|can|could|will|would|may|might|who|whose|lives|lived|resides|"
         r"resided|works|worked|teaches|taught|earns|belongs|makes|runs|keeps|holds|serves|drives|comes|came|goes|went|"
         r"turns|turned)\b)")
_CUES = (
    # Somebody of the same kind, who is not the same.
    ("other", re.compile(rf"{_LEAD}(?:(?:{_OTHER})\s+(?:[\w-]+\s+)?(?:{_PEOPLE}|{_COMPANION})\b|(?:somebody|someone)\s+"
                         rf"else\b|(?:the\s+(?:other|second|third|latter|younger|older|elder)|another)\s*(?={_VERB})|"
                         rf"(?:the|a|one)\s+(?:[\w-]+\s+)?(?:{_PEOPLE})\s+(?:{_NEAR})\b)", re.I)),
    # Somebody who belongs to the one, as a subject. "A mother of two" is the one herself.
    ("kin", re.compile(rf"{_LEAD}(?:(?:the|her|his|their|my|our)\s+|[\w-]+\s+[\w-]+['’]s\s+)(?:[\w-]+\s+)?"
                       rf"(?P<head>{_KIN}|{_COMPANION})\b(?!\s+(?:of|to)\s+(?!the\b|this\b|that\b|our\b|my\b))", re.I)),
    ("kin", re.compile(rf"{_LEAD}an?\s+(?:[\w-]+\s+)?(?P<head>{_KIN}|{_COMPANION})\s+of\s+(?:the|this|that|our|hers|"
                       r"his|theirs)\b", re.I)),
    ("kin", re.compile(rf"{_LEAD}an?\s+(?:[\w-]+\s+)?(?P<head>{_COMPANION})\b", re.I)),
)
_LABEL = re.compile(rf"(?i:{_LEAD}(?:(?:the|this|our)\s+)?(?:{_PEOPLE}))\s+(?P<label>[A-H]|[1-9]|one|two|three)\b(?!-)")
_RELATIVE = re.compile(rf"\b(?:{_KIN}|{_COMPANION}),?\s+who(?:se)?\b.*?(?=,|\s+and\b|$)", re.I | re.S)
_PRONOUN = re.compile(rf"{_LEAD}(?:s?he|they|his|her|their)\b", re.I)
_SUBJECT = re.compile(rf"{_LEAD}(?:the|this|that|these|those|an?|our|your|my|its?|you|we|i|there|here|both|all|each)\b",
                      re.I)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where [start, end) may be told of the persons `about`: `MAIN`, or somebody else's key."""

    start: int
    end: int
    about: frozenset[str]
    relatives: bool = False

    def of(self, kind: str) -> frozenset[str]:
        """Whom a class may be told of. That there is a relative is a fact of whose relative they are."""
        return self.about | {MAIN} if self.relatives and kind == "family" else self.about


def turns(text: str) -> tuple[Turn, ...]:
    """The clauses of a text that may be, or are, about somebody else; whatever lies in none is about `MAIN`.

    A pronoun after a relative may mean either of the two; after "another patient" it means the other one.
    """
    labels = {m["label"].lower() for start, end, _ in _clauses(text) if (m := _LABEL.match(text, start, end))}
    found: list[Turn] = []
    key, relatives = "", False
    for start, end, opens in _clauses(text):
        named = _LABEL.match(text, start, end) if len(labels) > 1 else None
        cue = next(((kind, m) for kind, one in _CUES if (m := one.match(text, start, end))), None)
        if named is not None:
            key, relatives = f"label {named['label'].lower()}", False
        elif cue is not None:
            kind, match = cue
            relatives = kind == "kin"
            key = f"kin {match['head'].lower()}" if relatives else f"other {start}"
        elif key and _PRONOUN.match(text, start, end):
            found.append(Turn(start, end, frozenset({key, MAIN} if relatives else {key}), relatives))
            continue
        elif opens or _SUBJECT.match(text, start, end):
            key = ""
        if key:
            found.append(Turn(start, end, frozenset({key}), relatives))
        elif (relative := _RELATIVE.search(text, start, end)) is not None:
            found.append(Turn(relative.start(), relative.end(), frozenset({f"relative {start}"}), True))
    return tuple(found)


def _clauses(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each clause, and whether it opens a sentence."""
    cuts = [(0, 0), *(m.span() for m in _CLAUSE.finditer(text)), (len(text), len(text))]
    for (left, start), (end, _) in pairwise(cuts):
        if end > start:
            yield start, end, start == 0 or bool(_SENTENCE.search(text, left, start))
