"""Affiliation: a named employer, school, institution, club or church that a person belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence.finders import matcher
from discreet.text.evidence.mentions import Context, Mention, taggers

_TIE = re.compile(
    r"\b(?:work(?:s|ed|ing)?|employ(?:ed|ee|er)|job|position|hired|intern(?:ed|ing|ship)?|teach(?:es|ing)?|taught|stud(?:y|ies|ied|ying)|student|attend(?:s|ed|ing)?|enrolled|graduat\w+|"
    r"alum\w+|degree|phd|mba|member|belongs?|serv(?:es|ed|ing)|volunteer\w*|join(?:ed|ing)?|professor|engineer|manager|nurse|teacher|analyst|director|officer|partner|coach|"
    r"plays?|played|went|go(?:es)?|going|accepted|applied|fired|laid off|retired|resigned|pastor|parishioner|drives?|years|shift|career|left|for|quit|ceo|cfo|president|founder|veteran|undergrad|freshman|sophomore|junior|senior)"
    r"\b(?:\W+\w+){0,4}?\W+(?:at|for|from|of|with|by|in|to|as an?|the|called|named|another)\W+(?:the )?$|"
    r"\b(?:joined|joining|left|quit|attend(?:s|ed|ing)?|transfer to another|run by)\s+(?:the )?$", re.I)
_HEAD_END = re.compile(r"\b[A-Z][\w'&-]*(?: (?:of|the|and|&|at|for|de|in) (?=[A-Z])| (?:[A-Z]\.(?= [A-Z])|[A-Z][\w'&-]*)){0,5}")
_OF_HEAD = re.compile(r"\b(?:University|College|Bank|Church|Department|School|Institute|Diocese|Archdiocese|Port|Ministry|Bureau|Board|Order|Sisters) of (?:the )?[A-Z][\w-]*(?: [A-Z][\w-]*){0,2}")


@taggers.register("affiliation")
class AffiliationTagger:
    """Named organisations that a person works for, studies at or belongs to."""

    kinds = ("affiliation",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Known organisations and capitalised names with an organisation word, with a tie in the clause."""
        text = context.text
        spans: dict[int, tuple[int, str]] = {}
        for first, last, key in matcher("organisations").find(context.doc.lowers):
            token = context.doc.tokens[first]
            entry = gazetteers.organisations()[key]
            if token.text[0].isupper() and (entry.flag != "w" or self._employed(text, token.start)):
                spans[token.start] = context.doc.tokens[last - 1].end, key
        heads = gazetteers.organisation_heads()
        for m in _HEAD_END.finditer(text):
            words = m.group().split()
            if len(words) > 1 and (words[-1].lower().strip(".,") in heads or " ".join(words[-2:]).lower() in heads):
                spans.setdefault(m.start(), (m.end(), m.group().lower()))
        for m in _OF_HEAD.finditer(text):
            spans[m.start()] = m.end(), m.group().lower()
        for start, (end, key) in sorted(spans.items()):
            if self._tied(context, start):
                yield Mention("affiliation", key, start, end, "named organisation of a person")

    def _tied(self, context: Context, start: int) -> bool:
        sentence = context.doc.sentence_of(context.doc.token_at(start))[0]
        before = context.text[max(context.doc.tokens[sentence].start, start - 80):start]
        if _TIE.search(before) is None:
            return False
        return any(r.subject in ("third", "speaker", "asker", "public") for r in context.referents)

    def _employed(self, text: str, start: int) -> bool:
        return re.search(r"\b(?:work(?:s|ed|ing)? (?:at|for)|employed (?:at|by)|job (?:at|with)|(?:manager|cashier|engineer|employee|job|nurse|clerk) (?:at|for|with)|shift at|left|joined|quit|interned at)\s+$",
                         text[max(0, start - 32):start], re.I) is not None
